"""Echo requests of every size come back whole, in fragments of any order; missing ones starve nobody."""

import random
import time

import pytest

from guest import ADDRESS
from netns import GUEST6, PEER
from wire import ICMP, IP, ICMPv6EchoReply, ICMPv6EchoRequest, IPv6, Reassembly, UDP, ether

SIZES = [0, 1, 55, 56, 1471, 1472, 1473, 2000, 8000, 14800, 16000, 32000, 65507]
SIZES6 = [0, 1, 55, 56, 1451, 1452, 1453, 2000, 8000, 14800, 16000, 32000, 65487]


@pytest.mark.parametrize("device", ["", "disable-legacy=on,mrg_rxbuf=off", "disable-modern=on", "guest_csum=off"])
def test_a18_every_size_comes_back(boot, net, device):
    guest = boot("iperf", net, device=device)
    guest.ready()

    answered = {size: net.ping(count=3, size=size) for size in SIZES}

    assert answered == {size: 3 for size in SIZES}


def test_a18_every_size_comes_back_over_ipv6(boot, net):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()
    net.ping(count=5, host=GUEST6)

    answered = {(host, size): net.ping(count=3, size=size, host=host)
                for host in (GUEST6, "fd00:99::2") for size in SIZES6}

    assert all(count == 3 for count in answered.values()), answered


def test_ping_floods_are_answered(iperf, net):
    done = net.run("ping", "-n", "-q", "-f", "-c", 20000, "10.99.0.2", timeout=100)

    assert ", 0% packet loss" in done.stdout, done.stdout


def test_multicast_and_all_nodes_are_answered(iperf, net):
    assert net.ping(count=2, host="ff02::1") == 2


# ---- By hand: fragments in odd orders


@pytest.fixture
def ready_wire(wire, boot):
    guest = boot("iperf", wire)
    guest.ready()
    wire.arp()
    wire.guest = guest
    return wire


def fragments4(size, ident, step=1480):
    """Frames of an echo request of that size, in order."""
    data = random.Random(ident).randbytes(size)
    message = bytes(ICMP(id=9, seq=ident & 0xFFFF) / data)
    return data, [bytes(ether() / IP(src=PEER, dst="10.99.0.2", id=ident, proto=1, frag=at // 8,
                                     flags="MF" if at + step < len(message) else 0) / message[at:at + step])
                  for at in range(0, len(message), step)]


def reply4(wire, seq, timeout=3):
    """The data of echo reply seq, put together by hand, or None."""
    whole, deadline = Reassembly(), time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        frame = wire.receive(left)
        message = whole.add(frame) if frame else None
        if message and message[0] == 0 and int.from_bytes(message[6:8], "big") == seq:
            return message[8:]
    return None


ORDERS = {
    "reversed": lambda f: f[::-1],
    "duplicated": lambda f: [x for frame in f for x in (frame, frame)],
    "shuffled": lambda f: random.Random(5).sample(f, len(f)),
    "last one first": lambda f: f[-1:] + f[:-1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [1473, 4000, 16000, 65507])
def test_a18_fragments_in_any_order_are_put_together(ready_wire, size, order):
    data, frames = fragments4(size, 77)

    for frame in ORDERS[order](frames):
        ready_wire.send(frame)

    assert reply4(ready_wire, 77) == data


@pytest.mark.parametrize("step", [8, 64, 1480])
def test_a18_fragments_of_any_length_are_put_together(ready_wire, step):
    data, frames = fragments4(900 if step == 8 else 8000, 78, step)

    for frame in frames:
        ready_wire.send(frame)

    assert reply4(ready_wire, 78) == data


def test_a18_a_hundred_unfinished_packets_starve_nobody(ready_wire):
    wire = ready_wire
    for ident in range(100):
        for frame in fragments4(20000, 1000 + ident)[1][:-1]:
            wire.send(frame)

    data, frames = fragments4(65507, 5000)
    for frame in frames:
        wire.send(frame)

    assert reply4(wire, 5000) == data
    wire.ping(seq=5001)


def test_a18_overlapping_and_impossible_fragments_do_no_harm(ready_wire):
    wire = ready_wire
    base = IP(src=PEER, dst="10.99.0.2", id=4242, proto=17)
    for frag, flags, data in ((0, "MF", b"a" * 64), (4, "MF", b"b" * 64), (2, 0, b"c" * 8), (8191, "MF", b"d" * 1480),
                              (8191, 0, b"e" * 1480), (1, "MF", b"f" * 7), (0, "MF", b""), (8000, 0, b"")):
        packet = base.copy()
        packet.frag, packet.flags = frag, flags
        wire.send(packet / data)

    wire.ping()


def test_a18_ipv6_fragments_reversed_and_duplicated(ready_wire):
    from scapy.layers.inet6 import IPv6ExtHdrFragment, fragment6
    wire = ready_wire
    wire.solicit()
    data = random.Random(3).randbytes(8000)
    packet = IPv6(src="fe80::ff:fe00:1", dst=GUEST6) / IPv6ExtHdrFragment(id=7) / ICMPv6EchoRequest(id=3, seq=1, data=data)
    for frame in fragment6(packet, 1280)[::-1]:
        wire.send(frame)

    got, more = {}, 1
    while more or sum(map(len, got.values())) < 8008:
        part = wire.expect(lambda p: IPv6ExtHdrFragment in p, what="fragment of the reply")[IPv6ExtHdrFragment]
        got[part.offset * 8] = bytes(part.payload)
        more = more and part.m
    whole = b"".join(got[at] for at in sorted(got))
    assert whole[0] == 129 and whole[8:] == data


def test_a_plain_echo_over_ipv6_is_answered_by_hand(ready_wire):
    ready_wire.solicit()

    ready_wire.send(IPv6(src="fe80::ff:fe00:1", dst=GUEST6) / ICMPv6EchoRequest(id=1, seq=9, data=b"x" * 100))

    reply = ready_wire.expect(lambda p: ICMPv6EchoReply in p, what="echo reply")
    assert reply[ICMPv6EchoReply].seq == 9 and bytes(reply[ICMPv6EchoReply].data) == b"x" * 100


def test_broken_packets_are_ignored(ready_wire):
    wire = ready_wire
    for frame in (b"", b"\0", b"\xff" * 13, bytes(14), b"\xff" * 60, bytes(ether()) + b"\x45", bytes(ether()) + b"\x60" + bytes(10),
                  bytes(ether() / IP(dst="10.99.0.2", ihl=15) / b"x"), bytes(ether() / IP(dst="10.99.0.2", len=9) / b"x"),
                  bytes(ether() / IP(dst="10.99.0.2", len=9000) / UDP() / b"x"),
                  bytes(ether() / IP(dst="10.99.0.2", chksum=1) / ICMP()), bytes(ether() / IP(dst="10.99.0.2") / ICMP(chksum=1)),
                  bytes(ether() / IP(src="10.99.0.2", dst="10.99.0.2") / ICMP())):
        if frame:
            wire.send(frame)

    wire.ping()
    wire.quiet(lambda p: ICMP in p and p[ICMP].type == 0)
