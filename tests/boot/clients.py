"""What the scenarios do with a guest: exact echo, iperf runs, and a look at what is left behind."""

import dataclasses
import hashlib
import re
import socket
import threading
import time

from netns import GUEST

MIB = 1 << 20
ECHO, DISCARD, CHARGEN, IPERF2 = 7, 9, 19, 5001


# ---- Bytes that are the same for the same seed, and nowhere periodic within a MiB


def stream(total, seed=1):
    """Pieces of up to a MiB. Each is the first one turned by its number, so that a piece in a wrong place shows."""
    import random
    block = random.Random(seed).randbytes(MIB)
    for number in range((total + MIB - 1) // MIB):
        turned = block[number % MIB:] + block[:number % MIB]
        yield turned[:min(MIB, total - number * MIB)]


def digest(total, seed=1):
    sha = hashlib.sha256()
    for piece in stream(total, seed):
        sha.update(piece)
    return sha.hexdigest()


class Sender(threading.Thread):
    """Sends the stream, then closes that half; its error is raised by finish()."""

    def __init__(self, sock, total, seed=1, shut=True):
        super().__init__(daemon=True)
        self.sock, self.total, self.seed, self.shut = sock, total, seed, shut
        self.error = None
        self.sent = 0
        self.start()

    def run(self):
        try:
            for piece in stream(self.total, self.seed):
                self.sock.sendall(piece)
                self.sent += len(piece)
            if self.shut:
                self.sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.error = error

    def finish(self, timeout=10):
        self.join(timeout)
        assert not self.is_alive(), f"sending stopped after {self.sent} bytes"
        if self.error:
            raise self.error


def receive_digest(sock, most=1 << 62):
    """(bytes, SHA-256) of what comes until the end, or until so many bytes."""
    sha, count = hashlib.sha256(), 0
    while count < most:
        data = sock.recv(min(MIB, most - count))
        if not data:
            break
        sha.update(data)
        count += len(data)
    return count, sha.hexdigest()


def check_echo(net, total, seed=1, host=GUEST, timeout=30):
    """Send a stream to port 7, close that half, read everything and then the end: equal, byte for byte. Seconds taken."""
    begin = time.monotonic()
    with net.connect(ECHO, host, timeout) as sock:
        sender = Sender(sock, total, seed)
        count, sha = receive_digest(sock)
        sender.finish()
    assert count == total, f"{count} of {total} bytes came back"
    assert sha == digest(total, seed), f"{count} bytes came back, and not the same"
    return time.monotonic() - begin


def check_datagrams(net, lengths, host=GUEST, window=16, tries=4):
    """A datagram of each length to port 7, several on their way at once, compared. UDP may lose: up to `tries` attempts each."""
    with net.udp(ECHO, host, timeout=0.5) as sock:
        left, attempt = list(lengths), 0
        while left:
            attempt += 1
            assert attempt <= tries, f"no answer to datagrams of {left[:10]} bytes"
            left = [length for at in range(0, len(left), window)
                    for length in echo_window(sock, left[at:at + window])]
    return attempt


def datagram(length):
    return (length.to_bytes(4, "big") + bytes((i * 7 + length) & 0xFF for i in range(256)) * (length // 256 + 1))[:length]


def echo_window(sock, lengths):
    """Those of the lengths that did not come back. What comes must be one of what is out."""
    waiting = {datagram(length): length for length in lengths}
    for data in waiting:
        sock.send(data)
    try:
        while waiting:
            back = sock.recv(65536)
            if len(back) in lengths and back == datagram(len(back)):
                waiting.pop(back, None)
            else:
                assert back == datagram(len(back)), f"a datagram of {len(back)} bytes came back changed"
    except socket.timeout:
        pass
    return list(waiting.values())


# ---- iperf 2


@dataclasses.dataclass
class UdpReport:
    lost: int
    total: int
    jitter_ms: float
    out_of_order: int


SERVER_REPORT = re.compile(r"^\[ *(?:\d+|\*\d+)\][^\n]*?([\d.]+) ms +(\d+)/ *(\d+) \(", re.M)


def iperf(net, *words, host=GUEST, timeout=60, check=True):
    """Debian's client against the guest: its output. Its status must be 0, and it must not complain."""
    done = net.run("iperf", "-c", host, *words, timeout=timeout, check=False)
    if check:
        assert done.returncode == 0, f"iperf {words} ended with {done.returncode}:\n{done.stdout}"
        assert not re.search(r"WARNING|failed|error|did not", done.stdout, re.I), done.stdout
    return done.stdout


def mbits(text):
    """The rate of each result line, in Mbit/s."""
    return [float(value) * {"": 1e-6, "K": 1e-3, "M": 1, "G": 1e3}[unit]
            for value, unit in re.findall(r"([\d.]+) ([KMG]?)bits/sec", text)]


def udp_reports(text):
    """The servers' reports that a UDP client printed."""
    found = []
    for part in text.split("Server Report:")[1:]:
        match = SERVER_REPORT.search(part)
        assert match, text
        disorder = re.search(r"(\d+) datagrams received out-of-order", part)
        found.append(UdpReport(int(match[2]), int(match[3]), float(match[1]), int(disorder[1]) if disorder else 0))
    return found


def refused_by_the_hosts_socket(net):
    """Datagrams that arrived while the client's socket buffer was full."""
    names, values = [line.split() for line in net.run("cat", "/proc/net/snmp").stdout.splitlines() if line.startswith("Udp: ")]
    return int(values[names.index("RcvbufErrors")])


# ---- What is left


TIME_WAIT = 'tcp_connections{state="time_wait"}'


def metrics(net):
    """{name: value}, without the prefix that all share."""
    return {name.removeprefix("ringlet_"): value for name, value in net.metrics().items()}


def in_use(values):
    """What traffic takes and must give back. Not counted is what may stay a while: a control block in TIME-WAIT, and the
    timer that watches UDP tests without an end; one fragment each."""
    lingering = values[TIME_WAIT] + (values["iperf_udp_flows"] > 0)
    return {"fragments": values["frag_outstanding"] - lingering, "bytes held for echo": values["echo_held_bytes"],
            "posted": values['vnet_rx_posted{nic="net0"}'], "queues broken": values['vnet_queues_broken{nic="net0"}']}


def idle_state(net):
    """To compare with after traffic. Asked twice: the first question resolves addresses."""
    net.metrics()
    return in_use(metrics(net))


def check_nothing_left(net, before, seconds=20):
    """Fragments, held bytes and posted buffers come back to what they were when idle. The metrics then.

    20 seconds: a datagram that lost a piece on a busy host stays 15 in reassembly (RFC 1122 3.3.2)."""
    deadline = time.monotonic() + seconds
    while True:
        values = metrics(net)
        now = in_use(values)
        if now == before:
            return values
        assert time.monotonic() < deadline, f"not as before: {before} became {now}"
        time.sleep(0.25)
