"""Net: a network namespace of its own with a tap in it. The host's side of a boot test.

Addresses are the same in every namespace, so tests run side by side: the peer (the tap) is 10.99.0.1 and
fd00:99::1, the guest 10.99.0.2. Works as root, and as any user who may open /dev/net/tun.
"""

import contextlib
import errno
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import echo_request

GUEST, GUEST6, GUEST_MAC = "10.99.0.2", "fe80::5054:ff:fe12:3456", "52:54:00:12:34:56"
PEER, PEER6, PEER_MAC = "10.99.0.1", "fd00:99::1", "02:00:00:00:00:01"
PEER_LINK_LOCAL = "fe80::ff:fe00:1"
HERE = pathlib.Path(__file__).resolve().parent


class Net:
    def __init__(self, tap="t0", vnet_hdr=True, mtu=1500, addresses=True):
        self.tap, self.vnet_hdr, self.mtu = tap, vnet_hdr, mtu
        self.processes = []
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours
        # Root needs no user namespace, and a chroot refuses them.
        user = [] if os.getuid() == 0 else ["-U"]
        self.agent = subprocess.Popen(["unshare", "-rn" if user else "-n", sys.executable,
                                       str(HERE / "nsagent.py")], stdin=theirs)
        theirs.close()
        ours.settimeout(20)
        if ours.recv(16) != b"ready":
            raise RuntimeError("no network namespace: may unprivileged users make one?")
        self.prefix = ["nsenter", "-t", str(self.agent.pid), *user, "-n", "--preserve-credentials", "--"]
        # Not the host's own choice: BBR would pace by its own guesses for a minute after a closed window.
        self.sh("ip link set lo up; cd /proc/sys/net/ipv4; "
                "echo reno >tcp_congestion_control")
        self.add_tap(tap, mtu)
        if addresses:
            self.sh(f"ip addr add {PEER}/24 dev {tap}; ip -6 addr add {PEER6}/64 dev {tap} nodad")

    def add_tap(self, name, mtu=1500, mac=PEER_MAC):
        """A persistent tap, up; QEMU gets it by netdev()."""
        self.sh(f"ip tuntap add dev {name} mode tap {'vnet_hdr' if self.vnet_hdr else ''}; "
                f"ip link set {name} address {mac} mtu {mtu}; "
                f"echo 0 >/proc/sys/net/ipv6/conf/{name}/accept_dad; ip link set {name} up")

    # ---- For Guest: the words for QEMU, and the descriptors it must inherit

    def netdev(self, ident="n0", tap=None):
        fd = self.tap_fd(tap or self.tap)
        return f"tap,id={ident},fd={fd}", [fd]

    def tap_fd(self, name=None):
        return self._ask(tap=name or self.tap, vnet_hdr=self.vnet_hdr)

    # ---- Programs in the namespace

    def run(self, *command, timeout=60, stdin=None, check=True):
        """The finished process, output as text with errors merged in; check: its status must be 0."""
        done = subprocess.run([*self.prefix, *map(str, command)], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout, check=False, text=True,
                              **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
        return done

    def sh(self, script, **kwargs):
        return self.run("sh", "-ec", script, **kwargs)

    def start(self, *command, **kwargs):
        """A program that runs beside the test, as Popen; it is ended with the namespace."""
        process = subprocess.Popen([*self.prefix, *map(str, command)],
                                   **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                      "stderr": subprocess.STDOUT, "text": True, **kwargs})
        self.processes.append(process)
        return process

    # ---- Sockets in the namespace

    def _ask(self, **request):
        self.control.send(json.dumps(request).encode())
        text, fds, _, _ = socket.recv_fds(self.control, 64, 1)
        if text != b"ok":
            raise OSError(int(text), os.strerror(int(text)))
        return fds[0]

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, proto=0, timeout=20):
        made = socket.socket(fileno=self._ask(family=int(family), kind=int(kind), proto=proto))
        made.settimeout(timeout)
        return made

    def address(self, host, port):
        """(family, sockaddr); a link-local address is on the tap."""
        if ":" not in host:
            return socket.AF_INET, (host, port)
        return socket.AF_INET6, (host, port, 0, self.index() if host.startswith(("fe80", "ff02")) else 0)

    def index(self):
        """Of the tap. /sys shows the namespace it was mounted in, so ip(8) is asked."""
        return int(self.run("ip", "-o", "link", "show", self.tap).stdout.split(":")[0])

    def connect(self, port, host=GUEST, timeout=20):
        family, address = self.address(host, port)
        sock = self.socket(family, timeout=timeout)
        sock.connect(address)
        return sock

    def udp(self, port, host=GUEST, timeout=5):
        family, address = self.address(host, port)
        sock = self.socket(family, socket.SOCK_DGRAM, timeout=timeout)
        sock.connect(address)
        return sock

    def packet_socket(self):
        """AF_PACKET on the tap: raw frames to the guest, as fast as the host can."""
        sock = self.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind((self.tap, 0))
        return sock

    # ---- The guest seen from here

    def ping(self, count=1, size=56, host=GUEST, interval=0.02, wait=3, pattern=None):
        """How many of the requests were answered, the last within `wait` seconds; their times are in .rtts."""
        family, address = self.address(host, 0)
        proto = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
        with self.socket(family, socket.SOCK_RAW, proto) as sock:
            self.rtts = echo_request.ping(sock, address, count, size, interval, wait, pattern)
        return len(self.rtts)

    def answers(self, within):
        """A ping gets through within so many seconds. For after a flood: what is left in the tap's queue is in front."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if self.ping(wait=0.3):
                return True
        return False

    def http(self, path="/", host=GUEST, timeout=10):
        connection = http.client.HTTPConnection(host, 80, timeout=timeout)
        connection.sock = self.connect(80, host, timeout)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Connection": "close"})
            reply = connection.getresponse()
            body = reply.read()
        assert reply.status == 200, f"{path}: {reply.status} {reply.reason}"
        return body.decode()

    def metrics(self, host=GUEST):
        """{name or name{labels}: value}."""
        lines = [line for line in self.http("/metrics", host).splitlines() if line and line[0] != "#"]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    @contextlib.contextmanager
    def capture(self, expression="", snaplen=160, tap=None):
        """Watch the tap while the body runs; afterwards .frames() has what passed."""
        with Capture(self, expression, snaplen, tap or self.tap) as capture:
            yield capture

    def close(self):
        for process in self.processes:
            stop(process)
        self.control.close()
        stop(self.agent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Capture:
    """By dumpcap: tcpdump insists on giving up rights, which can't be done in a namespace of this kind."""

    def __init__(self, net, expression, snaplen, tap):
        handle, self.path = tempfile.mkstemp(suffix=".pcap")
        os.close(handle)
        self.process = net.start("dumpcap", "-q", "-P", "-i", tap, "-s", snaplen, "-B", 64, "-f", expression,
                                 "-w", self.path)

    def __enter__(self):
        line = said = self.process.stdout.readline()
        while not line.startswith("File: "):
            assert line, f"dumpcap did not start: {said}"
            line = self.process.stdout.readline()
            said += line
        return self

    def __exit__(self, *_):
        time.sleep(0.3)  # the ring is handed over in blocks
        self.process.send_signal(signal.SIGINT)
        try:
            text = self.process.communicate(timeout=10)[0]
            counts = re.search(r"received/dropped on interface .*: (\d+)/(\d+) ", text)
            assert counts and counts[2] == "0", f"not every frame was captured: {text}"
            self.bytes = pathlib.Path(self.path).read_bytes()
        finally:
            os.unlink(self.path)

    def frames(self):
        """[(time, length on the wire, captured bytes)]."""
        result, at = [], 24
        while at + 16 <= len(self.bytes):
            sec, usec, kept, length = struct.unpack_from("<IIII", self.bytes, at)
            result.append((sec + usec / 1e6, length, self.bytes[at + 16:at + 16 + kept]))
            at += 16 + kept
        return result


def stop(process, seconds=2):
    """End a process of ours, by its id; politely first."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdout, process.stderr, process.stdin):
        if stream:
            stream.close()


def refused(error):
    return isinstance(error, OSError) and error.errno == errno.ECONNREFUSED
