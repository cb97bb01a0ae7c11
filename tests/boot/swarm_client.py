"""Run in a namespace: COUNT connections to ADDRESS:PORT, at most WIDTH at a time; prints what became of them as JSON.

Each connects, sends two bytes, reads until the end and expects its bytes back.
"""

import collections
import json
import socket
import sys
import threading
import time

address, port, count, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
results = collections.Counter()
lock = threading.Lock()
left = count
slowest = 0.0
quick = 0  # connected within EARLY seconds of the start
EARLY = 5
start = time.monotonic()


def one():
    global quick
    with socket.create_connection((address, port), timeout=60) as sock:
        with lock:
            quick += time.monotonic() - start < EARLY
        sock.sendall(b"hi")
        data = b""
        while piece := sock.recv(100):
            data += piece
    return "ok" if data == b"hi" else f"got {data!r}"


def work():
    global left, slowest
    while True:
        with lock:
            if left == 0:
                return
            left -= 1
        began = time.monotonic()
        try:
            result = one()
        except OSError as error:
            result = type(error).__name__
        took = time.monotonic() - began
        with lock:
            results[result] += 1
            slowest = max(slowest, took)


threads = [threading.Thread(target=work) for _ in range(width)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"results": results, "slowest": slowest, "quick": quick}))
