"""Echo requests by hand: ping(8) gives up on replies after two round trips, which a busy host makes meaningless."""

import os
import select
import socket
import struct
import time

ECHO4, REPLY4, ECHO6, REPLY6 = 8, 0, 128, 129


def inet_sum(data):
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def message(family, ident, seq, data):
    """The kernel puts the sum into ICMPv6."""
    if family == socket.AF_INET6:
        return struct.pack("!BBHHH", ECHO6, 0, 0, ident, seq) + data
    text = struct.pack("!BBHHH", ECHO4, 0, 0, ident, seq) + data
    return text[:2] + struct.pack("!H", inet_sum(text)) + text[4:]


def parse(family, packet):
    """(ident, seq, data) of an echo reply, else None. IPv4's raw sockets pass the header along."""
    if family == socket.AF_INET:
        packet = packet[(packet[0] & 15) * 4:]
    if packet[0] != (REPLY6 if family == socket.AF_INET6 else REPLY4):
        return None
    return *struct.unpack_from("!HH", packet, 4), packet[8:]


class Pinger:
    def __init__(self, sock, address, size, pattern):
        self.sock, self.address = sock, address
        self.family = sock.family
        self.ident = os.getpid() & 0xFFFF
        self.data = bytes([pattern]) * size if pattern is not None else bytes(i & 0xFF for i in range(size))
        self.sent, self.rtts = {}, {}

    def send(self, seq):
        self.sent[seq] = time.monotonic()
        self.sock.sendto(message(self.family, self.ident, seq, self.data), self.address)

    def take(self, until, count):
        """Replies until that time, or until so many are there. Each must bring back what was sent."""
        while len(self.rtts) < count and (left := until - time.monotonic()) > 0:
            if not select.select([self.sock], [], [], left)[0]:
                return
            reply = parse(self.family, self.sock.recv(1 << 17))
            if reply and reply[0] == self.ident and reply[1] in self.sent:
                assert reply[2] == self.data, f"an echo of {len(self.data)} bytes came back changed"
                self.rtts.setdefault(reply[1], time.monotonic() - self.sent[reply[1]])


def ping(sock, address, count, size, interval, wait, pattern):
    """The round-trip times of those that were answered, in seconds; the last reply may take `wait`."""
    pinger = Pinger(sock, address, size, pattern)
    for seq in range(1, count + 1):
        pinger.send(seq)
        pause = time.monotonic() + interval
        pinger.take(pause, seq)
        time.sleep(max(0, pause - time.monotonic()) if seq < count else 0)
    pinger.take(time.monotonic() + wait, count)
    return list(pinger.rtts.values())
