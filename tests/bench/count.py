"""Guest instructions per unit of work, kicks and interrupts: figures that don't depend on how busy the machine is.

    count.py [--plugin P] [--image iperf] [--append WORDS] [--device OPTIONS] [--mem MIB] [--json FILE]
             [--profile WORK [--top N]] [WORK …]

An image is booted on a tap in a namespace; for each kind of WORK the plugin's counter is read before and after, what the
guest does when idle is taken off, and the rest is divided by the units done. Notifications and interrupts are QEMU's trace
events, so any guest can be measured the same way. --profile prints the functions that the instructions of one WORK went to.
"""

import argparse
import bisect
import json
import mmap
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/boot"))

from clients import CHARGEN, DISCARD, ECHO, IPERF2  # noqa: E402
from guest import ADDRESS, Guest, image_path  # noqa: E402
from netns import GUEST, Net  # noqa: E402

MIB = 1 << 20
MAGIC = 0x6E736E69
COUNTER_PORT = 9


class Instructions:
    """The plugin's file, live."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        magic, self.places = struct.unpack_from("<QQ", self.map)
        assert magic == MAGIC, "the plugin has not started"

    def snapshot(self):
        """{address of a block: instructions}"""
        words = struct.unpack_from(f"<{2 * self.places}Q", self.map, 16)
        return {address: count for address, count in zip(words[::2], words[1::2]) if count}

    def total(self):
        return sum(self.snapshot().values())


class Events:
    """QEMU's trace of notifications (by queue number) and interrupts (by queue)."""

    NOTIFY = re.compile(r"virtio_queue_notify vdev \S+ n (\d+) vq (\S+)")
    INTERRUPT = re.compile(r"virtio_notify vdev \S+ vq (\S+)")

    def __init__(self, path):
        self.path, self.at, self.names = path, 0, {}

    def take(self):
        """(notifications, interrupts) since the last call, each {queue: count}; a queue never notified is -1."""
        with open(self.path, encoding="ascii", errors="replace") as file:
            file.seek(self.at)
            text = file.read()
            self.at = file.tell()
        kicks, irqs = {}, {}
        for number, pointer in self.NOTIFY.findall(text):
            self.names[pointer] = int(number)
            kicks[int(number)] = kicks.get(int(number), 0) + 1
        for pointer in self.INTERRUPT.findall(text):
            number = self.names.get(pointer, -1)
            irqs[number] = irqs.get(number, 0) + 1
        return kicks, irqs


class Rig:
    """A guest under the plugin. start(folder, net, qemu) boots it with those more words for QEMU, as a Guest."""

    def __init__(self, plugin, start, ready_seconds=20):
        self.folder = tempfile.TemporaryDirectory(prefix="ringlet-bench-")
        folder = pathlib.Path(self.folder.name)
        self.net = Net()
        self.net.sh("ethtool -K t0 tso on gso on >/dev/null 2>&1 || :")
        self.guest = start(folder / "guest", self.net,
                           ["-plugin", f"{plugin},counts={folder}/insns", "-D", folder / "trace", "-d",
                            "trace:virtio_queue_notify,trace:virtio_notify"])
        self.guest.ready(ready_seconds)
        self.boot_instructions = Instructions(folder / "insns").total()
        self.insns = Instructions(folder / "insns")
        self.events = Events(folder / "trace")
        self.net.ping(count=2)
        self.idle_rate = self.idle()

    def idle(self, seconds=1.0):
        """Instructions a second when nothing happens."""
        time.sleep(0.3)
        begin, first = time.monotonic(), self.insns.total()
        time.sleep(seconds)
        return (self.insns.total() - first) / (time.monotonic() - begin)

    def frames(self):
        """(received, sent) by the tap's counters: sent to the guest, received from it."""
        line = self.net.run("cat", "/proc/net/dev").stdout
        words = re.search(r"t0:(.*)", line)[1].split()
        return int(words[1]), int(words[9])

    def close(self):
        self.guest.stop()
        self.net.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- Kinds of work: each does it and returns how many units were done. --------------------------------


def tcp_in(net, seconds=2.0, port=DISCARD):
    """MiB into the guest, to the discard port."""
    block, sent, end = bytes(MIB), 0, time.monotonic() + seconds
    with net.connect(port) as sock:
        while time.monotonic() < end:
            sent += sock.send(block)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(4096):
            pass
    return sent / MIB


def tcp_out(net, seconds=2.0):
    """MiB from the guest: character generator."""
    got, end, room = 0, time.monotonic() + seconds, bytearray(4 * MIB)
    with net.connect(CHARGEN) as sock:
        while time.monotonic() < end:
            got += sock.recv_into(room)
    time.sleep(0.1)
    return got / MIB


def iperf2(net, *words):
    done = net.run("iperf", "-c", GUEST, "-p", IPERF2, "-t", 2, "-f", "M", "-y", "C", *words, timeout=30)
    rows = [line.split(",") for line in done.stdout.splitlines() if line.count(",") >= 8]
    assert rows, done.stdout
    return max(int(row[7]) for row in rows) / MIB


def iperf3(net, *words):
    """By the receiver's count: what iperf3 calls received."""
    done = net.run("iperf3", "-c", GUEST, "-t", 2, "-J", *words, timeout=30)
    return json.loads(done.stdout)["end"]["sum_received"]["bytes"] / MIB


def echo_round_trips(net, count=2000):
    with net.connect(ECHO) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            sock.send(b"x")
            sock.recv(1)
    return count


def pings(net, count=500):
    return net.ping(count=count, interval=0.001)


def udp_in(net, count=20000):
    """Datagrams of 64 bytes that the counter took: what the host's queue dropped is no work."""
    with net.udp(COUNTER_PORT) as sock:
        sock.send(b"?")
        sock.recv(64)
        for number in range(count):
            sock.send(b"\0" * 64)
            if number % 64 == 63:
                time.sleep(0.002)
        time.sleep(0.2)
        sock.send(b"?")
        return int(sock.recv(64).split()[0])


def http_connections(net, count=300):
    """Connections with one request and a short answer: Ringlet's 404, the reference server's page."""
    for _ in range(count):
        with net.connect(80) as sock:
            sock.sendall(b"GET /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while sock.recv(4096):
                pass
    return count


WORK = {
    "tcp_in": ("MiB", tcp_in), "tcp_out": ("MiB", tcp_out),
    "iperf2_in": ("MiB", iperf2), "iperf2_out": ("MiB", lambda net: iperf2(net, "-R")),
    "iperf3_in": ("MiB", iperf3), "iperf3_out": ("MiB", lambda net: iperf3(net, "-R")),
    "echo": ("round trip", echo_round_trips), "ping": ("ping", pings), "udp_in": ("datagram", udp_in),
    "http": ("connection", http_connections),
}
DEFAULT = ["tcp_in", "tcp_out", "iperf2_in", "iperf2_out", "iperf3_in", "iperf3_out", "echo", "ping", "udp_in", "http"]


def measure(rig, name):
    unit, work = WORK[name]
    rig.events.take()
    frames = rig.frames()
    begin, first = time.monotonic(), rig.insns.snapshot()
    units = work(rig.net)
    seconds, last = time.monotonic() - begin, rig.insns.snapshot()
    from_guest, to_guest = (after - before for after, before in zip(rig.frames(), frames))
    kicks, irqs = rig.events.take()
    spent = sum(last.values()) - sum(first.values()) - rig.idle_rate * seconds
    return {"work": name, "unit": unit, "units": units, "seconds": seconds, "instructions_per_unit": spent / units,
            "units_per_second": units / seconds, "frames_in": to_guest, "frames_out": from_guest,
            "tx_kicks_per_1000": 1000 * kicks.get(1, 0) / max(1, from_guest),
            "tx_interrupts_per_1000": 1000 * irqs.get(1, 0) / max(1, from_guest),
            "rx_kicks_per_1000": 1000 * kicks.get(0, 0) / max(1, to_guest),
            "rx_interrupts_per_1000": 1000 * (irqs.get(0, 0) + irqs.get(-1, 0)) / max(1, to_guest),
            }, {address: count - first.get(address, 0) for address, count in last.items()}


def print_row(row):
    print(f"{row['work']:<11} {row['instructions_per_unit']:>11,.0f} instructions/{row['unit']:<10} "
          f"{row['units_per_second']:>9,.1f}/s   frames in {row['frames_in']:>7} out {row['frames_out']:>7}   per 1000: "
          f"tx kicks {row['tx_kicks_per_1000']:.0f} irqs {row['tx_interrupts_per_1000']:.1f}, "
          f"rx kicks {row['rx_kicks_per_1000']:.0f} irqs {row['rx_interrupts_per_1000']:.0f}", flush=True)


# ---- Where they went --------------------------------------------------------------------------------


def symbols(image):
    """Sorted [(address, name)] of an image's functions."""
    out = subprocess.run(["nm", "-n", str(image)], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return [(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwW"]


def print_profile(counts, image, units, top):
    table = symbols(image)
    starts = [address for address, _ in table]
    sums = {}
    for address, count in counts.items():
        at = bisect.bisect_right(starts, address) - 1
        name = table[at][1] if at >= 0 else "?"
        sums[name] = sums.get(name, 0) + count
    whole = sum(sums.values())
    for name, count in sorted(sums.items(), key=lambda item: -item[1])[:top]:
        print(f"  {100 * count / whole:5.1f} %  {count / units:>10,.0f}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", type=pathlib.Path, required=True)
    parser.add_argument("--image", default="iperf")
    parser.add_argument("--append", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--mem", type=int, default=256)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--profile", choices=sorted(WORK))
    parser.add_argument("--top", type=int, default=30)
    parser.add_argument("work", nargs="*", help=", ".join(WORK))
    args = parser.parse_args()
    unknown = set(args.work) - set(WORK)
    if unknown:
        parser.error(f"no such work: {', '.join(sorted(unknown))}")
    rows = []

    def start(folder, net, qemu):
        return Guest(folder, args.image, net, append=f"{ADDRESS} {args.append}".strip(), device=args.device, mem=args.mem,
                     qemu=qemu)

    with Rig(args.plugin.resolve(), start) as rig:
        print(f"idle        {rig.idle_rate:>11,.0f} instructions/s", flush=True)
        for name in [args.profile] if args.profile else args.work or DEFAULT:
            row, counts = measure(rig, name)
            rows.append(row)
            print_row(row)
            if args.profile:
                print_profile(counts, image_path(args.image).with_suffix(".debug"), row["units"], args.top)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
