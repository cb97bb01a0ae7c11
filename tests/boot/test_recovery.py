"""A7: the guest comes back from exhaustion by itself. And indices that wrap, and nothing that is left behind."""

import socket
import threading
import time

import pytest

from clients import DISCARD, ECHO, MIB, Sender, check_datagrams, check_echo, check_nothing_left, idle_state, iperf, metrics
from netns import GUEST_MAC, PEER, PEER_MAC
from wire import IP, UDP, Ether


class Flood(threading.Thread):
    """UDP to port 7 from a raw socket, as fast as this process can."""

    def __init__(self, net, size=1400):
        super().__init__(daemon=True)
        self.sock = net.packet_socket()
        self.frame = bytes(Ether(src=PEER_MAC, dst=GUEST_MAC) / IP(src=PEER, dst="10.99.0.2") /
                           UDP(sport=4000, dport=ECHO) / (b"f" * size))
        self.stopping, self.sent = False, 0
        self.start()

    def run(self):
        while not self.stopping:
            try:
                self.sock.send(self.frame)
                self.sent += 1
            except OSError:  # the tap's queue is full
                time.sleep(0.0005)

    def stop(self):
        self.stopping = True
        self.join()
        self.sock.close()
        return self.sent


@pytest.mark.timeout(200)
@pytest.mark.parametrize("device", ["", "mrg_rxbuf=off,disable-legacy=on"])
def test_a7_ten_rounds_of_flood_and_unread_connections(boot, net, device):
    guest = boot("iperf", net, mem=24, device=device)
    guest.ready()
    before = idle_state(net)

    for _ in range(10):
        flood_with_unread_connections(net, seconds=3)
        begin = time.monotonic()
        assert net.answers(within=2), "deaf"
        net.http("/", timeout=2)
        assert net.ping(count=3) == 3
        assert time.monotonic() - begin < 2.5, "back, but late"

    # A reset that the tap's queue dropped leaves a connection behind until its next retransmission: a minute.
    values = check_nothing_left(net, before, seconds=75)
    assert values['vnet_queues_broken{nic="net0"}'] == 0


def flood_with_unread_connections(net, seconds):
    """64 connections that send and never read, and a flood; all stopped at the end."""
    socks = [net.connect(ECHO) for _ in range(64)]
    for sock in socks:
        sock.setblocking(False)
    flood = Flood(net)
    deadline = time.monotonic() + seconds
    data = b"u" * 65536
    while time.monotonic() < deadline:
        for sock in socks:
            try:
                sock.send(data)
            except BlockingIOError:
                pass
        time.sleep(0.01)
    assert flood.stop() > 1000
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # by reset
        sock.close()


def test_a7_a_flood_of_small_datagrams_is_counted(iperf, net):
    before = idle_state(net)
    flood = Flood(net, size=18)
    time.sleep(5)
    flood.stop()

    assert net.ping(count=4) >= 3  # the first may meet the flood's last frames in a full tap
    check_nothing_left(net, before)
    values = metrics(net)
    assert values["echo_udp_datagrams_total"] > 1000


@pytest.mark.parametrize("device", ["", "event_idx=off", "disable-modern=on", "mrg_rxbuf=off", "indirect_desc=off"])
def test_indices_wrap_three_times_each_way_without_a_stall(boot, net, device):
    guest = boot("iperf", net, device=device)
    guest.ready()
    before = idle_state(net)

    lost = 0
    with net.udp(ECHO, timeout=2) as sock:
        for _ in range(210000 // 30):
            for _ in range(30):
                sock.send(b"wrap")
            for _ in range(30):
                try:
                    sock.recv(100)
                except socket.timeout:
                    lost += 1
            assert lost < 30, "stalled"

    values = check_nothing_left(net, before)
    assert values['vnet_rx_frames_total{nic="net0"}'] > 200000 < values['vnet_tx_frames_total{nic="net0"}']
    assert net.ping() == 1


def test_nothing_is_left_after_all_services_were_used(boot, net):
    guest = boot("iperf", net)
    guest.ready()
    before = idle_state(net)

    check_echo(net, 20 * MIB)
    check_datagrams(net, range(1, 2000, 11))
    iperf(net, "-t", "1")
    iperf(net, "-t", "1", "-R", "-P", "4")
    iperf(net, "-u", "-b", "20m", "-t", "1")
    net.ping(count=5, size=30000)
    with net.connect(DISCARD) as sock:
        Sender(sock, 10 * MIB).finish()
    with net.connect(19) as sock:
        sock.recv(100000)
    for sock in [net.connect(ECHO) for _ in range(50)]:
        sock.close()

    check_nothing_left(net, before, seconds=20)


def test_the_receive_window_returns_after_a_client_that_never_read(iperf, net):
    before = idle_state(net)
    with net.connect(ECHO, timeout=2) as sock:
        with pytest.raises(socket.timeout):
            for _ in range(100):
                sock.sendall(bytes(MIB))
    check_echo(net, 8 * MIB)

    check_nothing_left(net, before, seconds=20)
