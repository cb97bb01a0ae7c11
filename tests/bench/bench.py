"""Ringlet beside a stock Linux guest on the same QEMU: work done in turn (A B B A), instructions counted.

    bench.py --plugin P --linux FOLDER [--rounds 1] [--seconds 5] [--json FILE] [--only TEXT]

Two passes. The first has no plugin and measures rates and latencies; guests take turns, so that what else the machine does
falls on both. The second counts guest instructions, which don't depend on load. A figure is the median of its turns, its spread the
smallest and largest; the ratio says how many times better Ringlet is.
"""

import argparse
import contextlib
import dataclasses
import json
import pathlib
import platform
import socket
import statistics
import subprocess
import tempfile
import time

import count
import linux_guest
from clients import CHARGEN, DISCARD, ECHO, IPERF2
from guest import ADDRESS, Guest, image_path
from netns import GUEST, Net

IPERF3 = 5201
MIB = 1 << 20
ORDER = ["ringlet", "linux", "linux", "ringlet"]
MEM = 256


@dataclasses.dataclass
class Figure:
    name: str
    unit: str
    more_is_better: bool
    values: dict = dataclasses.field(default_factory=lambda: {"ringlet": [], "linux": []})

    def median(self, who):
        return statistics.median(self.values[who]) if self.values[who] else None

    def ratio(self):
        """How many times better Ringlet does; None when one of the two could not be measured."""
        ours, theirs = self.median("ringlet"), self.median("linux")
        if not ours or not theirs:
            return None
        return ours / theirs if self.more_is_better else theirs / ours

    def row(self):
        def cell(who):
            values = self.values[who]
            return f"{number(self.median(who))} ({number(min(values))}–{number(max(values))})" if values else "–"

        ratio = self.ratio()
        return f"{self.name:<42} {self.unit:<14} {cell('ringlet'):>28} {cell('linux'):>28}  " \
               f"{'×' + number(ratio) if ratio else '–':>7}"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# ---- Rates and latencies, without the plugin ---------------------------------------------------------


def iperf2(net, seconds, *words):
    done = net.run("iperf", "-c", GUEST, "-p", IPERF2, "-t", seconds, "-y", "C", *words, timeout=seconds + 40, check=False)
    rows = [line.split(",") for line in done.stdout.splitlines() if line.count(",") >= 8]
    assert rows, done.stdout
    return max(float(row[8]) for row in rows) / 1e6  # the sum, where there are several streams


def iperf3(net, seconds, *words):
    done = net.run("iperf3", "-c", GUEST, "-p", IPERF3, "-t", seconds, "-J", *words, timeout=seconds + 40, check=False)
    end = json.loads(done.stdout)["end"]
    return end["sum_received"]["bits_per_second"] / 1e6


def tcp_in(net, seconds):
    block, sent, begin = bytes(MIB), 0, time.monotonic()
    with net.connect(DISCARD) as sock:
        while time.monotonic() < begin + seconds:
            sent += sock.send(block)
    return sent * 8 / (time.monotonic() - begin) / 1e6


def tcp_out(net, seconds):
    room, got, begin = bytearray(4 * MIB), 0, time.monotonic()
    with net.connect(CHARGEN) as sock:
        while time.monotonic() < begin + seconds:
            got += sock.recv_into(room)
    return got * 8 / (time.monotonic() - begin) / 1e6


def udp_echo(net, seconds, window=32):
    """Round trips a second of 64-byte datagrams, a window of them on their way."""
    back, begin = 0, time.monotonic()
    with net.udp(ECHO, timeout=0.5) as sock:
        for _ in range(window):
            sock.send(bytes(64))
        while time.monotonic() < begin + seconds:
            try:
                sock.recv(64)
                back += 1
            except TimeoutError:
                pass
            sock.send(bytes(64))
    return back / (time.monotonic() - begin)


def round_trips(net, seconds):
    """Microseconds of each request and answer of one byte over TCP."""
    times, end = [], time.monotonic() + seconds
    with net.connect(ECHO) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (begin := time.monotonic()) < end:
            sock.send(b"x")
            sock.recv(1)
            times.append(1e6 * (time.monotonic() - begin))
    return times


def pings(net, seconds):
    net.ping(count=int(seconds * 200), interval=0.005)
    return [1e6 * rtt for rtt in net.rtts]


def p99(values):
    return statistics.quantiles(values, n=100)[98]


def http_connections(net, seconds):
    done, begin = 0, time.monotonic()
    while time.monotonic() < begin + seconds:
        with net.connect(80) as sock:
            sock.send(b"GET / HTTP/1.0\r\n\r\n")
            while sock.recv(65536):
                pass
        done += 1
    return done / (time.monotonic() - begin)


# Name, unit, more is better, function(net, seconds).
RATES = [
    ("TCP to the guest, raw API", "Mbit/s", True, tcp_in),
    ("TCP from the guest, raw API", "Mbit/s", True, tcp_out),
    *[(f"iperf2 to the guest, {n} streams", "Mbit/s", True, lambda net, s, n=n: iperf2(net, s, "-P", n)) for n in (1, 8, 64)],
    *[(f"iperf2 from the guest, {n} streams", "Mbit/s", True, lambda net, s, n=n: iperf2(net, s, "-R", "-P", n)) for n in (1, 8)],
    *[(f"iperf3 to the guest, {n} streams", "Mbit/s", True, lambda net, s, n=n: iperf3(net, s, "-P", n)) for n in (1, 8)],
    *[(f"iperf3 from the guest, {n} streams", "Mbit/s", True, lambda net, s, n=n: iperf3(net, s, "-R", "-P", n)) for n in (1, 8)],
    ("UDP echo, 64 bytes, 32 in flight", "round trips/s", True, udp_echo),
    ("TCP request and answer, median", "µs", False, lambda net, s: statistics.median(round_trips(net, s))),
    ("TCP request and answer, 99th percentile", "µs", False, lambda net, s: p99(round_trips(net, s))),
    ("ping, median", "µs", False, lambda net, s: statistics.median(pings(net, s))),
    ("ping, 99th percentile", "µs", False, lambda net, s: p99(pings(net, s))),
    ("HTTP, a connection each", "requests/s", True, http_connections),
]
COUNTS = ["tcp_in", "tcp_out", "iperf2_in", "iperf2_out", "iperf3_in", "iperf3_out", "echo", "ping", "udp_in", "http"]


class Bench:
    def __init__(self, args):
        self.args = args
        self.starters = {"ringlet": self.start_ringlet, "linux": linux_guest.starter(args.linux, MEM)}
        self.figures = {}

    @staticmethod
    def start_ringlet(folder, net, qemu):
        return Guest(folder, "iperf", net, append=ADDRESS, mem=MEM, qemu=qemu)

    def figure(self, name, unit, more_is_better):
        return self.figures.setdefault(name, Figure(name, unit, more_is_better))

    def wanted(self, name):
        return self.args.only in name

    @contextlib.contextmanager
    def booted(self, who):
        """(net, guest), ready; the boot itself is measured on the way."""
        with tempfile.TemporaryDirectory(prefix="ringlet-bench-") as folder, Net() as net:
            begin = time.monotonic()
            guest = self.starters[who](pathlib.Path(folder) / "guest", net, [])
            try:
                while not net.ping(wait=0.02 if who == "ringlet" else 0.2):
                    assert guest.alive(), guest.console()
                self.figure("start of QEMU to first ping", "s", False).values[who].append(time.monotonic() - begin)
                guest.ready(60)
                yield net, guest
            finally:
                guest.stop()

    def rates(self):
        for _ in range(self.args.rounds):
            for who in ORDER:
                with self.booted(who) as (net, _guest):
                    for name, unit, more_is_better, work in RATES:
                        if self.wanted(name):
                            self.figure(name, unit, more_is_better).values[who].append(work(net, self.args.seconds))
                print(f"measured {who}", flush=True)

    def instructions(self):
        for who in ("ringlet", "linux"):
            with count.Rig(self.args.plugin.resolve(), self.starters[who], 120) as rig:
                self.figure("boot", "instructions", False).values[who].append(rig.boot_instructions)
                for name in COUNTS:
                    if not self.wanted(name) or name not in count.WORK:
                        continue
                    row, _ = count.measure(rig, name)
                    self.take_counts(who, name, row)
            print(f"counted {who}", flush=True)

    def take_counts(self, who, name, row):
        def add(what, unit, value):
            self.figure(f"{name}: {what}", unit, False).values[who].append(value)

        add("instructions", f"per {row['unit']}", row["instructions_per_unit"])
        if row["frames_out"] > 1000:
            add("kicks", "per 1000 sent", row["tx_kicks_per_1000"])
            add("TX interrupts", "per 1000 sent", row["tx_interrupts_per_1000"])

    def sizes(self):
        kernel, archive, _ = linux_guest.build(self.args.linux)
        size = self.figure("image", "MiB", False)
        size.values["ringlet"].append(image_path("iperf").stat().st_size / MIB)
        size.values["linux"].append((kernel.stat().st_size + archive.stat().st_size) / MIB)
        memory = self.figure("smallest memory that answers a ping", "MiB", False)
        memory.values["ringlet"].append(smallest_memory(self.start_small_ringlet, range(4, 17), 5))
        memory.values["linux"].append(smallest_memory(self.start_small_linux, range(48, 161, 8), 60))

    @staticmethod
    def start_small_ringlet(folder, net, mem):
        return Guest(folder, "iperf", net, append=ADDRESS, mem=mem)

    def start_small_linux(self, folder, net, mem):
        return linux_guest.starter(self.args.linux, mem)(folder, net, [])

    def print(self):
        print(f"\n{'':<42} {'':<14} {'Ringlet':>28} {'Linux':>28}  better")
        for figure in self.figures.values():
            print(figure.row())

    def write(self, path):
        facts = {"machine": cpu_name(), "qemu": first_line("qemu-system-x86_64", "--version"), "host": platform.release(),
                 "reference": linux_guest.build(self.args.linux)[2], "seconds": self.args.seconds, "order": ORDER,
                 "figures": [dataclasses.asdict(figure) | {"ratio": figure.ratio()} for figure in self.figures.values()]}
        path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def smallest_memory(start, candidates, seconds):
    """The first size in which a ping is answered."""
    for mem in candidates:
        with tempfile.TemporaryDirectory(prefix="ringlet-bench-") as folder, Net() as net:
            guest = start(pathlib.Path(folder) / "guest", net, mem)
            try:
                end = time.monotonic() + seconds
                while time.monotonic() < end and guest.alive():
                    if net.ping(wait=0.3):
                        return mem
            finally:
                guest.stop()
    raise AssertionError(f"no answer with up to {candidates[-1]} MiB")


def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", type=pathlib.Path, required=True)
    parser.add_argument("--linux", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--counts", action="store_true", help="instructions only: figures that a busy machine can give, too")
    parser.add_argument("--only", default="", help="only figures whose name holds this")
    bench = Bench(parser.parse_args())
    if not bench.args.counts:
        bench.rates()
    bench.instructions()
    bench.sizes()
    bench.print()
    if bench.args.json:
        bench.write(bench.args.json)


if __name__ == "__main__":
    main()
