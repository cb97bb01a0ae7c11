"""Wire: raw Ethernet frames to and from a guest over QEMU's dgram back end. No namespace, no rights.

The test is the machine 10.99.0.1 / fe80::ff:fe00:1. ARP requests and neighbour solicitations for it are answered
while frames are being received; everything else is the test's business, with scapy or by hand. The back end carries no
virtio-net header, so QEMU offers no checksum or segmentation features here.
"""

import contextlib
import shutil
import socket
import struct
import tempfile
import time

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptSrcLLAddr, IPv6)
from scapy.layers.l2 import ARP, Ether

from netns import GUEST, GUEST6, GUEST_MAC, PEER, PEER_LINK_LOCAL, PEER_MAC

__all__ = ["Wire", "ARP", "Ether", "ICMP", "IP", "UDP", "IPv6", "ICMPv6EchoReply", "ICMPv6EchoRequest"]


class Wire:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ringlet-", dir="/tmp")  # short: 107 bytes is a socket's limit
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(f"{self.folder}/peer")
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.answers = True  # ARP and neighbour solicitations for our addresses

    def netdev(self, ident="n0"):
        return (f"dgram,id={ident},local.type=unix,local.path={self.folder}/qemu,"
                f"remote.type=unix,remote.path={self.folder}/peer"), []

    def send(self, frame, timeout=5):
        """Bytes, or a scapy packet; an Ether header is put before one that lacks it."""
        if not isinstance(frame, bytes):
            frame = bytes(frame if isinstance(frame, Ether) else ether() / frame)
        self.sock.settimeout(timeout)
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self.sock.sendto(frame, f"{self.folder}/qemu")
            except (FileNotFoundError, ConnectionRefusedError):  # QEMU isn't there yet
                assert time.monotonic() < deadline, "QEMU did not open its socket"
                time.sleep(0.005)

    def receive(self, timeout=2):
        """The next frame as bytes, or None."""
        self.sock.settimeout(max(timeout, 0.000001))
        try:
            frame = self.sock.recv(1 << 17)
        except (socket.timeout, BlockingIOError):
            return None
        if self.answers:
            self.answer(frame)
        return frame

    def frames(self, timeout=2):
        """Parsed frames until the time is over."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            frame = self.receive(left)
            if frame:
                yield Ether(frame)

    def expect(self, matches, timeout=5, what="frame"):
        """The first frame for which matches(packet) is true."""
        for packet in self.frames(timeout):
            if matches(packet):
                return packet
        raise AssertionError(f"no {what} within {timeout} s")

    def quiet(self, matches, timeout=0.3, what="frame"):
        """No frame matches for that long."""
        for packet in self.frames(timeout):
            assert not matches(packet), f"unexpected {what}: {packet!r}"

    def answer(self, frame):
        kind = frame[12:14]
        if kind == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == socket.inet_aton(PEER):
            self.send(Ether(src=PEER_MAC, dst=frame[6:12]) /
                      ARP(op=2, hwsrc=PEER_MAC, psrc=PEER, hwdst=frame[22:28], pdst=frame[28:32]))
        elif kind == b"\x86\xdd" and frame[20] == 58 and len(frame) >= 78 and frame[54] == 135:
            packet = Ether(frame)
            if packet[ICMPv6ND_NS].tgt == PEER_LINK_LOCAL and packet[IPv6].src != "::":
                self.send(Ether(src=PEER_MAC, dst=packet.src) / IPv6(src=PEER_LINK_LOCAL, dst=packet[IPv6].src) /
                          ICMPv6ND_NA(tgt=PEER_LINK_LOCAL, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=PEER_MAC))

    def arp(self, timeout=10, address=GUEST):
        """Ask until the guest answers; its MAC."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.send(Ether(src=PEER_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=PEER_MAC, psrc=PEER, pdst=address))
            with contextlib.suppress(AssertionError):
                return self.expect(lambda p: ARP in p and p[ARP].op == 2 and p[ARP].psrc == address, 0.05)[ARP].hwsrc
        raise AssertionError(f"{address} answered no ARP request within {timeout} s")

    def ping(self, ident=1, seq=1, data=b"ringlet", timeout=2):
        """One echo request; the reply's data must be equal."""
        self.send(IP(src=PEER, dst=GUEST) / ICMP(id=ident, seq=seq) / data)
        reply = self.expect(lambda p: ICMP in p and p[ICMP].type == 0 and p[ICMP].seq == seq and p[ICMP].id == ident,
                            timeout, "echo reply")
        assert bytes(reply[ICMP].payload)[:len(data)] == data

    def solicit(self, timeout=5, address=GUEST6):
        """The same for IPv6."""
        group = socket.inet_ntop(socket.AF_INET6, bytes.fromhex("ff0200000000000000000001ff") +
                                 socket.inet_pton(socket.AF_INET6, address)[13:])
        mac = "33:33:ff:" + ":".join(f"{b:02x}" for b in socket.inet_pton(socket.AF_INET6, address)[13:])
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.send(Ether(src=PEER_MAC, dst=mac) / IPv6(src=PEER_LINK_LOCAL, dst=group) /
                      ICMPv6ND_NS(tgt=address) / ICMPv6NDOptSrcLLAddr(lladdr=PEER_MAC))
            with contextlib.suppress(AssertionError):
                return self.expect(lambda p: ICMPv6ND_NA in p and p[ICMPv6ND_NA].tgt == address, 0.05)
        raise AssertionError(f"{address} answered no solicitation within {timeout} s")

    def close(self):
        self.sock.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def ether(dst=GUEST_MAC):
    return Ether(src=PEER_MAC, dst=dst)


class Reassembly:
    """IPv4 fragments of one sender, put together by hand, so that the test checks each piece: units of 8 bytes, no overlap, one
    end. RFC 791 §3.2."""

    def __init__(self):
        self.parts = {}

    def add(self, frame):
        """The whole payload once it is complete, else None. Frames that are no IPv4 are ignored."""
        if frame[12:14] != b"\x08\x00":
            return None
        total, ident, offset = struct.unpack_from("!2xHHH", frame, 14)
        header = (frame[14] & 15) * 4
        key = (ident, frame[23])
        data = frame[14 + header:14 + total]
        pieces = self.parts.setdefault(key, {})
        pieces[(offset & 0x1FFF) * 8] = (data, bool(offset & 0x2000))
        return self.whole(key, pieces)

    def whole(self, key, pieces):
        at, out = 0, b""
        for start in sorted(pieces):
            data, more = pieces[start]
            if start != at:
                return None
            assert not more or len(data) % 8 == 0, "a fragment in the middle of a packet ends off an 8-byte unit"
            out += data
            at += len(data)
            if not more:
                del self.parts[key]
                return out
        return None


