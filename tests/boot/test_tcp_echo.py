"""Bytes that go through the guest come back equal: devices, ring sizes, MTUs, a bad network, half-closed connections."""

import concurrent.futures
import itertools
import socket
import threading
import time

import pytest

from clients import CHARGEN, ECHO, MIB, Sender, check_echo, digest, receive_digest
from guest import ADDRESS
from netns import GUEST6, Net
from relay import Rule

DEVICES = ["disable-legacy=on", "disable-modern=on", ""]


@pytest.mark.parametrize("mrg", ["on", "off"])
@pytest.mark.parametrize("device", DEVICES, ids=["modern", "legacy", "transitional"])
def test_a4_100_mib_come_back_whatever_the_header_length(boot, net, device, mrg):
    guest = boot("iperf", net, device=f"{device},mrg_rxbuf={mrg}".strip(","))
    guest.ready()

    assert net.ping(count=20, size=1400, pattern=0xFF) == 20
    check_echo(net, 100 * MIB)


def test_a8_200_mib_through_curl_and_ncat_with_offloads(boot, net):
    guest = boot("iperf", net, mem=128)
    guest.ready()

    sent = net.sh("head -c 200M /dev/urandom >/tmp/$$ && sha256sum </tmp/$$ && "
                  "ncat 10.99.0.2 7 </tmp/$$ | sha256sum; rm /tmp/$$", timeout=100).stdout.splitlines()

    assert len(sent) == 2 and sent[0] == sent[1]


@pytest.mark.parametrize("mtu, device", [(1500, ""), (9000, "host_mtu=9000"), (9000, "host_mtu=9000,mrg_rxbuf=off"),
                                         (1400, "host_mtu=1400"), (1280, "host_mtu=1280")])
def test_a8_200_mib_at_each_mtu(boot, mtu, device):
    with Net(mtu=mtu) as net:
        guest = boot("iperf", net, device=device, mem=128)
        assert f"mtu {mtu} " in guest.ready()

        check_echo(net, 200 * MIB)


FEATURES = list(itertools.product(["disable-legacy=on", "disable-modern=on"], ["on", "off"], ["on", "off"], ["on", "off"]))


@pytest.mark.parametrize("device, mrg, event, indirect", FEATURES)
def test_every_combination_of_ring_features_carries_bytes(boot, net, device, mrg, event, indirect):
    guest = boot("iperf", net,
                 device=f"{device},mrg_rxbuf={mrg},event_idx={event},indirect_desc={indirect},rx_queue_size=1024")
    guest.ready()

    check_echo(net, 20 * MIB)
    assert net.ping(count=3) == 3


OFFLOADS = ["csum=off", "guest_csum=off", "csum=off,guest_csum=off", "host_tso4=off,host_tso6=off",
            "guest_tso4=off,guest_tso6=off", "gso=off", "ctrl_vq=off", "status=off", "mac=off"]


@pytest.mark.parametrize("device", [word for word in OFFLOADS if word != "mac=off"])
def test_every_offload_may_be_missing(boot, net, device):
    guest = boot("iperf", net, device=device)
    guest.ready()

    check_echo(net, 20 * MIB)


def test_ipv6_carries_the_same(boot, net):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()

    check_echo(net, 50 * MIB, host="fd00:99::2")
    check_echo(net, 20 * MIB, host=GUEST6)


def test_ten_connections_at_once_are_each_exact(iperf, net):
    errors = []

    def one(seed):
        try:
            check_echo(net_socket_safe, 8 * MIB, seed=seed)
        except (AssertionError, OSError) as error:
            errors.append(f"{seed}: {error!r}")

    net_socket_safe = Prepared(net, 10)
    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert not errors
    assert net.ping() == 1


class Prepared:
    """Connections made beforehand: the namespace's agent serves one thread."""

    def __init__(self, net, count):
        self.socks = [net.connect(ECHO, timeout=40) for _ in range(count)]

    def connect(self, *_args, **_kwargs):
        return self.socks.pop()


BAD_NETWORKS = {
    "loss 0.3 %": (64, Rule(loss=0.003)),
    "loss 1 %": (16, Rule(loss=0.01)),
    "reordered": (32, Rule(reorder=0.02)),
    "duplicated": (32, Rule(duplicate=0.02)),
    "delayed": (32, Rule(delay_ms=5)),
    "all of it": (16, Rule(loss=0.005, reorder=0.01, duplicate=0.01, delay_ms=2)),
}


@pytest.mark.parametrize("name", BAD_NETWORKS)
def test_bytes_are_exact_through_a_bad_network(boot, plain_net, relay, name):
    mib, rule = BAD_NETWORKS[name]
    guest = boot("iperf", relay(seed=7, to_guest=rule, from_guest=rule), mem=128)
    guest.ready()

    check_echo(plain_net, mib * MIB, timeout=60)


def test_a13_a_path_of_10_ms_each_way(boot, plain_net, relay):
    guest = boot("iperf", relay(to_guest=Rule(delay_ms=10), from_guest=Rule(delay_ms=10)))
    guest.ready()

    check_echo(plain_net, 16 * MIB, timeout=40)


def test_a13_a_client_that_reads_late_gets_everything(iperf, net):
    with net.connect(ECHO, timeout=60) as sock:
        sender = Sender(sock, 4 * MIB + 8 * MIB, shut=True)
        time.sleep(12)  # several window probes
        assert net.ping() == 1

        count, sha = receive_digest(sock)
        sender.finish()

    assert (count, sha) == (12 * MIB, digest(12 * MIB))


def test_a13_fifty_clients_that_read_late(boot, net):
    guest = boot("iperf", net, mem=64)
    guest.ready()
    socks = [net.connect(ECHO, timeout=60) for _ in range(50)]
    senders = [Sender(sock, 4 * MIB, seed=n) for n, sock in enumerate(socks)]
    time.sleep(10)
    assert net.ping(count=5, interval=0.5) > 0  # the memory is theirs, but not the last of it

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        got = list(pool.map(receive_digest, socks))

    assert got == [(4 * MIB, digest(4 * MIB, n)) for n in range(50)]
    for sender, sock in zip(senders, socks):
        sender.finish()
        sock.close()
    assert net.ping() == 1


def test_a17_all_comes_back_after_the_clients_end(iperf, net):
    with net.connect(ECHO, timeout=30) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * MIB)
        sender = Sender(sock, 8 * MIB)
        time.sleep(1)  # nothing is read yet

        count, sha = receive_digest(sock)  # ends by FIN: a reset raises
        sender.finish()

    assert (count, sha) == (8 * MIB, digest(8 * MIB))


def test_a17_netcat_that_ends_its_sending_half_gets_the_answer(iperf, net):
    done = net.sh("head -c 3000000 /dev/zero | tr '\\0' A | nc -N 10.99.0.2 7 | sha256sum; "
                  "head -c 3000000 /dev/zero | tr '\\0' A | sha256sum; printf text | nc -N 10.99.0.2 7")

    first, second, text = done.stdout.splitlines()
    assert first == second and text == "text"
    assert b"200 OK" in request_and_shut(net, b"GET / HTTP/1.0\r\n\r\n")


def request_and_shut(net, request):
    with net.connect(80) as sock:
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while data := sock.recv(65536):
            answer += data
        return answer


def test_a17_chargen_ends_with_the_client(iperf, net):
    with net.connect(CHARGEN) as sock:
        assert len(sock.recv(1 << 20)) > 0
        sock.shutdown(socket.SHUT_WR)
        count, _ = receive_digest(sock)

    assert count >= 0
    assert net.ping() == 1
