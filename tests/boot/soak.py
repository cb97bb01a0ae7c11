#!/usr/bin/python3
"""Bulk runs that show lost wake-ups: TCP to the guest, TCP from it, UDP with 32 datagrams on their way; EVENT_IDX on and off.

    soak.py [--runs 100] [--seconds 30] [--jobs 2] [--folder DIR]

Every run boots a guest of its own, moves bytes for so many seconds, watches how long nothing moved, and then pings it. A
run fails when nothing moved for 2 seconds, when a ping is lost, or when the guest ends. A table is printed as it goes,
and one closing line; the status is 1 when a run failed. A failed run's console stays in DIR.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import select
import shutil
import sys
import tempfile
import time

from clients import CHARGEN, ECHO, IPERF2, MIB
from guest import Guest
from netns import Net

STALL_SECONDS = 2.0
SAMPLE_SECONDS = 0.5  # a lost datagram is replaced after so long
IN_FLIGHT, DATAGRAM = 32, 64
KINDS = ["tcp in", "tcp out", "udp echo"]
DEVICES = ["event_idx=on", "event_idx=off"]


@dataclasses.dataclass
class Run:
    number: int
    kind: str
    device: str
    seconds: float
    moved: int = 0  # bytes, or datagrams that came back
    lost: int = 0
    longest: float = 0  # seconds without progress
    reason: str = ""  # why it failed

    def rate(self):
        if self.kind == "udp echo":
            return f"{self.moved / self.seconds:9.0f} /s"
        return f"{self.moved * 8 / self.seconds / 1e6:7.0f} Mbit/s"

    def row(self):
        return (f"{self.number:4}  {self.kind:9} {self.device:14} {self.rate():>16}  lost {self.lost:4}  "
                f"longest pause {self.longest:5.2f} s  {self.reason or 'ok'}")


class Watch:
    """How long nothing has moved."""

    def __init__(self, run):
        self.run = run
        self.start = self.last = time.monotonic()

    def moved(self, amount):
        now = time.monotonic()
        self.run.longest = max(self.run.longest, now - self.last)
        self.run.moved += amount
        self.last = now

    def goes_on(self):
        """False when the time is over; AssertionError when the run stalls."""
        now = time.monotonic()
        pause = now - self.last
        if pause >= STALL_SECONDS:
            self.run.longest = max(self.run.longest, pause)
            raise AssertionError(f"stalled {now - self.start - pause:.1f} s after the start")
        return now - self.start < self.run.seconds


def tcp_in(net, run):
    """No iperf header: the server takes it as just data."""
    with net.connect(IPERF2) as sock:
        sock.setblocking(False)
        data, watch = bytes(MIB), Watch(run)
        while watch.goes_on():
            if select.select([], [sock], [], SAMPLE_SECONDS)[1]:
                watch.moved(sock.send(data))


def tcp_out(net, run):
    with net.connect(CHARGEN) as sock:
        sock.setblocking(False)
        watch = Watch(run)
        while watch.goes_on():
            if select.select([sock], [], [], SAMPLE_SECONDS)[0]:
                data = sock.recv(MIB)
                assert data, "chargen closed the connection"
                watch.moved(len(data))


def udp_echo(net, run):
    with net.udp(ECHO) as sock:
        sock.setblocking(False)
        watch, data, waiting = Watch(run), b"s" * DATAGRAM, 0
        while watch.goes_on():
            for _ in range(IN_FLIGHT - waiting):
                sock.send(data)
            waiting = IN_FLIGHT
            if not select.select([sock], [], [], SAMPLE_SECONDS)[0]:
                run.lost += waiting
                waiting = 0
                continue
            waiting -= receive_all(sock, watch)


def receive_all(sock, watch):
    count = 0
    try:
        while True:
            sock.recv(2048)
            count += 1
    except BlockingIOError:
        watch.moved(count)
        return count


WORK = {"tcp in": tcp_in, "tcp out": tcp_out, "udp echo": udp_echo}


def perform(run, folder):
    """Boot, move, ping: fills in the run and returns it."""
    place = pathlib.Path(folder) / f"run{run.number}"
    with Net() as net:
        guest = Guest(place, "iperf", net, device=run.device)
        try:
            guest.ready()
            WORK[run.kind](net, run)
            answered = net.ping(count=3, interval=0.2)
            assert answered == 3, f"only {answered} of 3 pings answered afterwards"
            assert guest.alive() and not guest.crashed(), "the guest ended"
        except (AssertionError, OSError) as error:
            run.reason = f"FAILED: {error}".splitlines()[0]
        finally:
            guest.stop()
    if not run.reason:
        shutil.rmtree(place, ignore_errors=True)
    return run


def plan(runs, seconds):
    turn = itertools.cycle(itertools.product(DEVICES, KINDS))
    return [Run(number + 1, kind, device, seconds) for number, (device, kind) in zip(range(runs), turn)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="(100)")
    parser.add_argument("--seconds", type=float, default=30, help="of each run (30)")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="side by side (half the processors)")
    parser.add_argument("--folder", help="for the consoles of failed runs (a new one)")
    args = parser.parse_args()

    folder = args.folder or tempfile.mkdtemp(prefix="soak-")
    done = []
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for future in concurrent.futures.as_completed(pool.submit(perform, run, folder) for run in plan(args.runs, args.seconds)):
            done.append(future.result())
            print(done[-1].row(), flush=True)
    failed = [run for run in done if run.reason]
    print(f"{len(done)} runs of {args.seconds:g} s: {len(done) - len(failed)} passed, {len(failed)} failed; "
          f"longest pause {max((run.longest for run in done), default=0):.2f} s"
          + (f"; consoles in {folder}" if failed else ""))
    if not failed and not args.folder:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
