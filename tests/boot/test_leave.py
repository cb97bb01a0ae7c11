"""An image that ends right after it sent something, and a program that needs an address before there is one."""

import socket
import time

import pytest

from guest import ADDRESS
from netns import PEER
from test_dhcp import dnsmasq  # noqa: F401 (a fixture)

PORT, PEER_PORT = 7200, 7300


def receive_all(sock):
    count = 0
    while data := sock.recv(1 << 16):
        assert set(data) == {ord("x")}
        count += len(data)
    return count


@pytest.mark.parametrize("how", ["close", "exit", "shutdown"])
@pytest.mark.parametrize("size", [4, 100_000, 5_000_000])
def test_what_was_sent_before_the_end_arrives(boot, net, how, size):
    guest = boot("test/leave", net, append=f"{ADDRESS} -- {how} {size}")
    guest.ready()
    with net.connect(PORT) as sock:
        assert receive_all(sock) == size  # and then the end of the stream, not a reset

    assert guest.exit_status() == 0


def test_a_slow_reader_gets_everything_too(boot, net):
    guest = boot("test/leave", net, append=f"{ADDRESS} -- close 3000000")
    guest.ready()
    with net.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.connect(("10.99.0.2", PORT))
        got = 0
        for _ in range(4):
            time.sleep(0.7)
            got += len(sock.recv(200_000))
        assert got + receive_all(sock) == 3_000_000

    assert guest.exit_status() == 0


def test_a_peer_that_vanished_does_not_keep_the_image(boot, net):
    guest = boot("test/leave", net, append=f"{ADDRESS} -- close 1000000")
    guest.ready()
    with net.connect(PORT) as sock:
        sock.recv(1)
        net.sh("ip link set t0 down")
        begin = time.monotonic()

        assert guest.exit_status(timeout=40) == 0
        assert time.monotonic() - begin < 35


def test_datagrams_leave_although_the_neighbour_has_to_be_found_first(boot, net):
    with net.socket(kind=socket.SOCK_DGRAM) as sock:
        sock.bind((PEER, PEER_PORT))
        guest = boot("test/leave", net, append=f"{ADDRESS} -- udp {PEER} 5")

        assert [sock.recv(100) for _ in range(5)] == [b"datagram"] * 5
        assert guest.exit_status() == 0


def test_a_client_waits_for_the_address_that_dhcp_is_asked_for(boot, net, dnsmasq):  # noqa: F811
    dnsmasq()
    with net.socket() as listener:
        listener.bind((PEER, PEER_PORT))
        listener.listen()
        guest = boot("test/leave", net, append=f"-- client {PEER}")
        peer = listener.accept()[0]

        assert peer.recv(100) == b"hello" and peer.recv(100) == b""
        assert guest.exit_status() == 0


def test_without_a_server_it_fails_after_a_while(boot, net):
    guest = boot("test/leave", net, append=f"-- client {PEER}")

    assert guest.exit_status(timeout=30) == 4
    assert "connect: Network is unreachable" in guest.console()
