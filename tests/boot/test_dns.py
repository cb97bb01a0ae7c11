"""getaddrinfo() and getnameinfo() of a guest, against a name server of ours in the namespace."""

import socket
import struct
import threading

from guest import ADDRESS

A, CNAME, PTR, AAAA = 1, 5, 12, 28
NXDOMAIN, SERVFAIL = 3, 2
ZONE = {
    ("www.test", A): ["192.0.2.1", "192.0.2.2"],
    ("www.test", AAAA): ["2001:db8::1"],
    ("alias.test", CNAME): ["www.test"],
    ("four.test", A): ["192.0.2.4"],
    ("many.test", A): [f"192.0.2.{i}" for i in range(10, 50)],
    ("33.2.0.192.in-addr.arpa", PTR): ["host.test"],
}


def encode_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def encode_data(kind, value):
    if kind == A:
        return socket.inet_aton(value)
    if kind == AAAA:
        return socket.inet_pton(socket.AF_INET6, value)
    return encode_name(value)


def records_for(name, kind):
    if (name, CNAME) in ZONE:
        target = ZONE[name, CNAME][0]
        return [(name, CNAME, target)] + records_for(target, kind)
    return [(name, kind, value) for value in ZONE.get((name, kind), [])]


class NameServer:
    """Answers over UDP and TCP; counts what it was asked. `lost` queries get no answer at first."""

    def __init__(self, net, lost=0, rcode=0):
        self.lost, self.rcode, self.asked, self.over_tcp = lost, rcode, [], 0
        self.udp = net.socket(kind=socket.SOCK_DGRAM)
        self.udp.bind(("10.99.0.1", 53))
        self.tcp = net.socket()
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.tcp.bind(("10.99.0.1", 53))
        self.tcp.listen()
        for sock, serve in ((self.udp, self._serve_udp), (self.tcp, self._serve_tcp)):
            sock.settimeout(None)
            threading.Thread(target=serve, daemon=True).start()

    def answer(self, query, limit):
        ident, = struct.unpack_from("!H", query)
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind, = struct.unpack_from("!H", query, at + 1)
        name = ".".join(labels)
        self.asked.append((name, kind))
        records = records_for(name, kind)
        known = any(name == key for key, _ in ZONE)
        rcode = self.rcode or (0 if known else NXDOMAIN)
        body = b"".join(encode_name(n) + struct.pack("!HHIH", k, 1, 60, len(encode_data(k, v))) + encode_data(k, v)
                        for n, k, v in records)
        question = query[12:at + 5]
        if 12 + len(question) + len(body) > limit:
            return struct.pack("!HHHHHH", ident, 0x8380, 1, 0, 0, 0) + question
        return struct.pack("!HHHHHH", ident, 0x8180 | rcode, 1, len(records), 0, 0) + question + body

    def _serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(512)
            except OSError:
                return
            if self.lost > 0:
                self.lost -= 1
                continue
            self.udp.sendto(b"\0\0nonsense", peer)
            self.udp.sendto(self.answer(query, 512), peer)

    def _serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                size, = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))
                reply = self.answer(connection.recv(size, socket.MSG_WAITALL), 65535)
                self.over_tcp += 1
                connection.sendall(struct.pack("!H", len(reply)) + reply)

    def close(self):
        for sock in (self.udp, self.tcp):
            sock.close()


def resolve(boot, net, *words, dns="10.99.0.1", timeout=40):
    guest = boot("test/resolve", net, append=f"{ADDRESS} dns={dns} ip6=off -- {' '.join(words)}")
    assert guest.exit_status(timeout=timeout) == 0
    return [line[9:] for line in guest.console().replace("\r", "").split("\n") if line.startswith("resolve: ")]


def test_a_guest_resolves_names_and_addresses(boot, net):
    server = NameServer(net)
    try:
        lines = resolve(boot, net, "4:www.test", "6:www.test", "www.test", "4:alias.test", "6:four.test", "4:none.test",
                        "=192.0.2.33", "=192.0.2.34", "ringlet", "4:many.test")
    finally:
        server.close()

    assert lines[:9] == [
        "www.test: 0 192.0.2.1 192.0.2.2 = www.test",
        "www.test: 0 2001:db8::1 = www.test",
        "www.test: 0 192.0.2.1 192.0.2.2 2001:db8::1 = www.test",
        "alias.test: 0 192.0.2.1 192.0.2.2 = www.test",
        "four.test: -5",
        "none.test: -2",
        "=192.0.2.33: 0 host.test",
        "=192.0.2.34: -2 ",
        "ringlet: 0 10.99.0.2 = ringlet",
    ]
    assert lines[9] == "many.test: 0 " + " ".join(f"192.0.2.{i}" for i in range(10, 26)) + " = many.test"
    assert server.over_tcp == 1


def test_a_lost_query_is_sent_again_while_others_run(boot, net):
    server = NameServer(net, lost=2)
    try:
        lines = resolve(boot, net, "4:www.test")
    finally:
        server.close()

    assert lines == ["www.test: 0 192.0.2.1 192.0.2.2 = www.test", "others ran: 1"]


def test_without_an_answer_it_may_be_tried_later(boot, net):
    server = NameServer(net, lost=10**6)
    try:
        lines = resolve(boot, net, "4:www.test")
    finally:
        server.close()

    assert lines == ["www.test: -3", "others ran: 1"]


def test_a_server_that_fails_is_asked_again_and_then_given_up(boot, net):
    server = NameServer(net, rcode=SERVFAIL)
    try:
        lines = resolve(boot, net, "4:www.test")
    finally:
        server.close()

    assert lines[0] == "www.test: -3"
    assert len(server.asked) == 3
