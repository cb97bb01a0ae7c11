"""Relay: a bad network between a guest and the host's stack, the same for the same seed.

Sits between QEMU's dgram back end and a tap without virtio-net header, and loses, repeats, delays or reorders
frames by a Rule for each direction. It runs in a process of its own; close() returns what it did.
"""

import dataclasses
import heapq
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

FRAME_MAX = 1 << 16


@dataclasses.dataclass
class Rule:
    """For one direction. Probabilities are per frame; the number of a frame and the seed decide, nothing else."""
    loss: float = 0
    duplicate: float = 0
    reorder: float = 0  # held back until 1 to 5 later frames have passed, 20 ms at most
    delay_ms: float = 0
    lose_port: int = 0  # UDP datagrams from that port: the first lose_count of at least lose_bytes are lost
    lose_count: int = 0
    lose_bytes: int = 0


class Relay:
    """The test's handle. `net` must have been made with vnet_hdr=False. netdev() is for Guest."""

    def __init__(self, net, seed=1, to_guest=Rule(), from_guest=Rule()):
        self.folder = tempfile.mkdtemp(prefix="ringlet-", dir="/tmp")
        tap = net.tap_fd()
        words = json.dumps({"seed": seed, "folder": self.folder, "tap": tap, "to_guest": dataclasses.asdict(to_guest),
                            "from_guest": dataclasses.asdict(from_guest)})
        self.process = subprocess.Popen([sys.executable, __file__, words], pass_fds=[tap], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
        os.close(tap)
        assert self.process.stdout.readline() == "ready\n"
        self.done = None

    def netdev(self, ident="n0"):
        return (f"dgram,id={ident},local.type=unix,local.path={self.folder}/qemu,"
                f"remote.type=unix,remote.path={self.folder}/peer"), []

    def close(self):
        """{"to_guest": {"passed":, "lost":, "duplicated":, "reordered":}, "from_guest": …}"""
        if self.done is None:
            self.process.send_signal(signal.SIGTERM)
            self.done = json.loads(self.process.communicate(timeout=10)[0])
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.done

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- The process ------------------------------------------------------------------------------------


class Direction:
    """Frames that wait for their turn: a heap by time, then number."""

    def __init__(self, rule, seed, send):
        self.rule, self.send = rule, send
        self.random = random.Random(seed)
        self.heap, self.held, self.number = [], [], 0
        self.targeted = 0
        self.stats = dict(passed=0, lost=0, duplicated=0, reordered=0)

    def take(self, frame, now):
        self.number += 1
        # Three draws for each frame, wanted or not: then a rule changed in one respect leaves the others alone.
        lost, twice, late = (self.random.random() for _ in range(3))
        distance = self.random.randint(1, 5)
        due = now + self.rule.delay_ms / 1000
        if lost < self.rule.loss or self.is_target(frame):
            self.stats["lost"] += 1
        elif late < self.rule.reorder:
            self.stats["reordered"] += 1
            self.held.append((self.number + distance, due + 0.02, frame))
        else:
            self.push(due, frame)
            if twice < self.rule.duplicate:
                self.stats["duplicated"] += 1
                self.push(due, frame)
        self.release(due)

    def is_target(self, frame):
        """A UDP datagram over IPv4 that the rule names."""
        if not self.rule.lose_port or self.targeted >= self.rule.lose_count or frame[12:14] != b"\x08\x00":
            return False
        header = (frame[14] & 15) * 4
        if frame[23] != 17 or len(frame) < 22 + header or struct.unpack_from("!H", frame, 14 + header)[0] != self.rule.lose_port:
            return False
        if struct.unpack_from("!H", frame, 18 + header)[0] - 8 < self.rule.lose_bytes:
            return False
        self.targeted += 1
        return True

    def push(self, due, frame):
        heapq.heappush(self.heap, (due, self.number, len(self.heap), frame))

    def release(self, due):
        """What was held back behind frames that have come by now, or for long enough."""
        for item in [h for h in self.held if h[0] <= self.number]:
            self.held.remove(item)
            self.push(due, item[2])

    def run(self, now):
        """Send what is due; the time of the next one, or None."""
        for item in [h for h in self.held if h[1] <= now]:
            self.held.remove(item)
            self.push(now, item[2])
        while self.heap and self.heap[0][0] <= now:
            if not self.send(self.heap[0][3]):
                return now + 0.0005  # the other side is full: a wire would wait, too
            heapq.heappop(self.heap)
            self.stats["passed"] += 1
        times = [h[1] for h in self.held] + ([self.heap[0][0]] if self.heap else [])
        return min(times) if times else None


class Ends:
    """The two descriptors: a dgram socket to QEMU and the tap."""

    def __init__(self, folder, tap):
        self.tap, self.path = tap, f"{folder}/qemu"
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(f"{folder}/peer")
        self.sock.setblocking(False)

    def to_guest(self, frame):
        try:
            self.sock.sendto(frame, self.path)
        except BlockingIOError:
            return False
        except (FileNotFoundError, ConnectionRefusedError):
            pass  # no QEMU: no cable
        return True

    def to_host(self, frame):
        try:
            os.write(self.tap, frame)
        except BlockingIOError:
            return False
        except OSError:
            pass  # the tap is down
        return True

    def read(self, fd):
        try:
            return os.read(self.tap, FRAME_MAX) if fd == self.tap else self.sock.recv(FRAME_MAX)
        except BlockingIOError:
            return None


BACKLOG = 2000  # frames; behind that, the queue in front of us fills, and its owner sees it


def run(ends, inward, outward):
    while True:
        now = time.monotonic()
        due = [t for t in (inward.run(now), outward.run(now)) if t is not None]
        fds = [fd for fd, way in ((ends.tap, inward), (ends.sock.fileno(), outward)) if len(way.heap) < BACKLOG]
        wait = max(0, min(due) - now) if due else None
        for fd in select.select(fds, [], [], wait)[0]:
            way = inward if fd == ends.tap else outward
            for _ in range(64):
                frame = ends.read(fd)
                if frame is None:
                    break
                way.take(frame, time.monotonic())


class Stop(Exception):
    pass


def on_signal(*_):
    raise Stop


def main():
    words = json.loads(sys.argv[1])
    ends = Ends(words["folder"], words["tap"])
    inward = Direction(Rule(**words["to_guest"]), words["seed"], ends.to_guest)
    outward = Direction(Rule(**words["from_guest"]), words["seed"] + 1, ends.to_host)
    signal.signal(signal.SIGTERM, on_signal)
    print("ready", flush=True)
    try:
        run(ends, inward, outward)
    except Stop:
        print(json.dumps({"to_guest": inward.stats, "from_guest": outward.stats}), flush=True)


if __name__ == "__main__":
    main()
