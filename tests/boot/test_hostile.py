"""An adversary on the wire: whatever comes, ping, an exact echo and the idle state are there right afterwards."""

import random
import socket
import struct
import time

import pytest

from clients import ECHO, MIB, check_echo, check_nothing_left, idle_state
from netns import GUEST, GUEST_MAC, PEER, PEER_MAC

ETHER = bytes.fromhex((GUEST_MAC + PEER_MAC).replace(":", "")) + b"\x08\x00"
SYN, ACK = 0x02, 0x10


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
        assert self.net.ping(count=3, interval=0.05) == 3
        assert check_echo(self.net, MIB, timeout=10) < 5
        check_nothing_left(self.net, self.before, seconds)
        assert len(self.guest.console().splitlines()) - told <= lines, "a line for each packet"


@pytest.fixture
def target(net, boot):
    guest = boot("iperf", net)
    guest.ready()
    return Target(net, guest)


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
