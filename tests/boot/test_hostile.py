"""An adversary on the wire: whatever comes, ping, an exact echo and the idle state are there right afterwards."""

import random
import socket
import struct
import time

import pytest

from clients import CHARGEN, ECHO, IPERF2, MIB, check_echo, check_nothing_left, idle_state, metrics
from guest import ADDRESS
from netns import GUEST, GUEST6, GUEST_MAC, PEER, PEER_MAC

ETHER = bytes.fromhex((GUEST_MAC + PEER_MAC).replace(":", "")) + b"\x08\x00"
SYN, RST, ACK = 0x02, 0x04, 0x10


def checksum(data):
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) & 1))
    total = sum(words)
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ip_frame(proto, payload, src=PEER, dst=GUEST, ident=0, fragment=0):
    """An IPv4 frame, made quickly: scapy takes a millisecond for one."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, fragment, 64, proto, 0, socket.inet_aton(src),
                       socket.inet_aton(dst))
    return ETHER + head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def tcp_frame(flags, dport, sport, src=PEER, seq=0, ack=0, window=65535, data=b"", options=b""):
    words = (20 + len(options)) // 4
    segment = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, words << 4, flags, window, 0, 0)
    segment += options + data
    pseudo = socket.inet_aton(src) + socket.inet_aton(GUEST) + struct.pack("!HH", 6, len(segment))
    return ip_frame(6, segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:], src)


def udp_frame(dport, sport, data, src=PEER):
    return ip_frame(17, struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data, src)


class Target:
    """An iperf guest with frames thrown at it from its own tap, and what must hold afterwards."""

    def __init__(self, net, guest):
        self.net, self.guest = net, guest
        check_echo(net, MIB)
        self.before = idle_state(net)
        self.packets = net.packet_socket()
        self.packets.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)

    def throw(self, frames):
        for frame in frames:
            while True:
                try:
                    self.packets.send(frame)
                    break
                except OSError:  # the queue is full
                    time.sleep(0.001)

    def check_well(self, seconds=10, lines=4):
        """Nothing that a wire can bring may leave more than that behind."""
        told = len(self.guest.console().splitlines())
        assert self.net.ping(count=5, interval=0.2) >= 4  # the host's queue may still be full at the first
        assert check_echo(self.net, MIB, timeout=10) < 5
        check_nothing_left(self.net, self.before, seconds)
        assert len(self.guest.console().splitlines()) - told <= lines, "a line for each packet"


@pytest.fixture
def target(net, boot):
    guest = boot("iperf", net)
    guest.ready()
    return Target(net, guest)


# ---- UDP and fragments


def test_random_datagrams_make_nobody_send(target):
    """Half of all random headers would ask an iperf server for a test in which it sends, for hours and at any rate."""
    rng = random.Random(2)
    target.throw(udp_frame(IPERF2, rng.randrange(1024, 65536), rng.randbytes(rng.randrange(1000))) for _ in range(3000))

    target.check_well()
    before = metrics(target.net)
    time.sleep(2)
    sent = [metrics(target.net)[name] - before[name] for name in ('vif_out_frames_total{nic="net0"}',)]
    assert sent[0] < 50


def test_datagrams_that_seem_to_come_from_odd_places_are_no_loop(target):
    for source in (GUEST, "127.0.0.1", "255.255.255.255", "224.0.0.1", "0.0.0.0", "10.99.0.255"):
        target.throw(udp_frame(ECHO, port, b"x", source) for port in (ECHO, IPERF2, 9, 19) * 20)

    target.check_well()


@pytest.mark.parametrize("kind", ["random", "tiny", "one", "beyond the end", "of everybody"])
def test_incomplete_packets_go_by_themselves(target, kind):
    rng = random.Random(3)

    def fragment(i):
        if kind == "random":
            return ip_frame(rng.choice((1, 6, 17)), rng.randbytes(8 * rng.randrange(1, 180)), ident=i,
                            fragment=0x2000 | rng.randrange(8192))
        if kind == "tiny":
            return ip_frame(17, bytes(8), ident=i, fragment=0x2000 | i * 7 % 8000)
        if kind == "one":
            return ip_frame(17, bytes(8), ident=1, fragment=0x2000 | i * 2 % 8000)
        if kind == "beyond the end":
            return ip_frame(1, bytes(1480), ident=i // 12, fragment=0x2000 | i % 12 * 740 if i % 12 < 11 else 8189)
        return ip_frame(1, bytes(1400), ident=i, fragment=0x2000, src=f"10.99.{i // 250}.{i % 250 + 3}")

    target.throw(fragment(i) for i in range(5000))

    target.check_well(seconds=25)


# ---- TCP


@pytest.mark.parametrize("network", ["10.99.0", "172.16.5"])
def test_ten_thousand_syns_close_no_port(target, network):
    """The second SYN of an honest client, a second later, finds room; RFC 4987 §2 has the attack."""
    rng = random.Random(1)
    target.throw(tcp_frame(SYN, ECHO, rng.randrange(1024, 65536), f"{network}.{rng.randrange(3, 255)}", rng.randrange(1 << 32),
                           options=b"\x02\x04\x05\xb4") for _ in range(10000))

    begin = time.monotonic()
    target.net.connect(ECHO).close()

    assert time.monotonic() - begin < 8
    target.check_well(seconds=30)


@pytest.mark.parametrize("device", ["", "guest_csum=off,mrg_rxbuf=off"])
def test_a_port_used_again_within_time_wait_is_a_new_connection(boot, net, device):
    """The server closes first, so the minute of TIME-WAIT is the guest's. RFC 9293 §3.10.7.4."""
    guest = boot("iperf", net, device=device)
    guest.ready()
    net.metrics()
    begin = time.monotonic()
    for _ in range(5):
        with net.socket(timeout=10) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((PEER, 45678))
            sock.connect((GUEST, 80))
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            while data := sock.recv(65536):
                answer += data
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        time.sleep(0.05)  # our own end is still in LAST-ACK

    assert time.monotonic() - begin < 2
    assert metrics(net)["tcp_reopened_total"] == 4


ETH_P_ALL = 3
STRANGER = "10.99.0.9"  # nobody's: the host's stack sends no RST for it


class RawPeer:
    """A TCP peer by hand, at STRANGER."""

    def __init__(self, target, dport, sport, window=65535):
        self.target, self.dport, self.sport, self.window = target, dport, sport, window
        target.packets.bind((target.net.tap, ETH_P_ALL))
        target.packets.settimeout(2)
        self.seq, self.ack = 1000, 0
        self.send(SYN, options=b"\x02\x04\x05\xb4\x01\x03\x03\x07")
        self.ack = self.receive()[0] + 1
        self.seq += 1
        self.send(ACK)

    def send(self, flags, ahead=0, data=b"", **words):
        self.target.throw([tcp_frame(flags, self.dport, self.sport, STRANGER, self.seq + ahead, self.ack, self.window, data,
                                     **words)])

    def receive(self, timeout=3):
        """(seq, ack, flags, data) of the next segment to us; None when none comes. Answers ARP requests on the way."""
        deadline = time.monotonic() + timeout
        ours = socket.inet_aton(STRANGER)
        while time.monotonic() < deadline:
            frame = self.target.packets.recv(65536)
            if frame[12:14] == b"\x08\x06" and frame[38:42] == ours:
                self.target.throw([ETHER[:12] + b"\x08\x06" + frame[14:20] + b"\0\2" + ETHER[6:12] + ours + frame[22:32]])
            elif frame[12:14] == b"\x08\x00" and frame[23] == 6 and frame[30:34] == ours:
                sport, dport, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", frame, 34)
                if (sport, dport) == (self.dport, self.sport):
                    return seq, ack, flags, frame[34 + (offset >> 4) * 4:14 + int.from_bytes(frame[16:18], "big")]
        return None


def test_a_segment_without_ack_is_no_data(target):
    """RFC 9293 §3.10.7.4, fifth: its sequence number alone would be enough for somebody off the path (RFC 5961 §5)."""
    peer = RawPeer(target, ECHO, 30000)

    peer.send(0, data=b"injected")
    peer.send(ACK | 8, data=b"mine")

    assert peer.receive()[3] in (b"mine", b"")
    assert peer.receive()[3] in (b"mine", b"")
    peer.seq += 4
    peer.send(RST)
    target.check_well()


def test_a_hundred_thousand_bytes_out_of_order_are_bounded(target):
    """Each piece of a byte takes a buffer: they are given up before memory is."""
    peers = [RawPeer(target, ECHO, 31000 + i) for i in range(40)]
    for peer in peers:
        target.throw(tcp_frame(ACK | 8, ECHO, peer.sport, STRANGER, peer.seq + 2 + 2 * i, peer.ack, data=b"z") for i in range(2500))

    assert target.net.answers(within=3)
    assert target.net.ping(count=3, interval=0.05) == 3
    assert check_echo(target.net, MIB) < 5
    for peer in peers:
        peer.send(RST)
    target.check_well()


def test_peers_that_never_read_leave_room_for_others(target):
    peers = [RawPeer(target, CHARGEN if i % 2 else ECHO, 32000 + i, window=0) for i in range(60)]
    for peer in peers:
        peer.send(ACK | 8, data=b"q" * 1400)

    assert target.net.ping(count=3, interval=0.05) == 3
    assert check_echo(target.net, MIB) < 5
    for peer in peers:
        peer.seq += 1400
        peer.send(RST)
    target.check_well()


# ---- IPv6


ALL_NODES = bytes.fromhex("333300000001")
STRANGER6, STRANGER6_MAC = "fe80::77", bytes.fromhex("020000000077")


def advertisement(target, extension=b""):
    """Unsolicited, to everybody, with the override flag: `target` is mine."""
    source, group = (socket.inet_pton(socket.AF_INET6, text) for text in (STRANGER6, "ff02::1"))
    body = struct.pack("!BBHI", 136, 0, 0, 0x20000000) + socket.inet_pton(socket.AF_INET6, target) + b"\2\1" + STRANGER6_MAC
    total = checksum(source + group + struct.pack("!II", len(body), 58) + body)
    body = body[:2] + struct.pack("!H", total) + body[4:]
    payload = extension + body
    return (ALL_NODES + STRANGER6_MAC + b"\x86\xdd" +
            struct.pack("!IHBB", 0x60000000, len(payload), 0 if extension else 58, 255) + source + group + payload)


@pytest.mark.parametrize("extension", [b"", b"\x3a\0\1\4\0\0\0\0"], ids=["plain", "behind hop-by-hop options"])
def test_nobody_takes_an_ipv6_address_away(net, boot, extension):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()
    assert net.ping(count=2, host=GUEST6) >= 1
    with net.connect(ECHO, "fd00:99::2") as sock, net.packet_socket() as packets:
        for target in (GUEST6, "fd00:99::2"):
            packets.send(advertisement(target, extension))

        sock.sendall(b"still here")
        assert sock.recv(100) == b"still here"
    assert net.ping(count=3, host=GUEST6) == 3
    assert net.ping(count=3, host="fd00:99::2") == 3
    assert metrics(net)["nd6_claims_ignored_total"] == 2


# ---- Devices that insist


@pytest.mark.parametrize("device, qemu", [("", []), (",ats=on", ["-device", "intel-iommu,device-iotlb=on,intremap=off"])])
def test_a_device_behind_an_iommu_works_while_that_is_off(boot, net, device, qemu):
    """virtio 1.2 §6.1: with ACCESS_PLATFORM offered, a device may refuse a driver that doesn't accept it; QEMU's does."""
    guest = boot("iperf", net, machine="q35", device=f"iommu_platform=on,disable-legacy=on{device}", qemu=qemu)
    guest.ready()

    assert net.ping(count=3, size=1400) == 3
    check_echo(net, 4 * MIB)
