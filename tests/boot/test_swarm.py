"""A14 and A15 through sockets: thousands of short connections, and more of them than a listener wants at once."""

import json
import pathlib
import sys
import time

import pytest

from netns import GUEST

CLIENT = pathlib.Path(__file__).parent / "swarm_client.py"
SHORT, SLOW, MEMORY = 8000, 8001, 8002
BACKLOG = 5  # of SLOW, which begins to accept after ten seconds


def swarm(net, port, count, width, timeout=200):
    out = net.run(sys.executable, str(CLIENT), GUEST, str(port), str(count), str(width), timeout=timeout)
    return json.loads(out.stdout)


def in_use(net):
    """Pieces of memory and descriptors, as the guest counts them."""
    with net.udp(MEMORY) as sock:
        sock.send(b"?")
        return tuple(int(word) for word in sock.recv(100).split())


@pytest.mark.timeout(400)
@pytest.mark.parametrize("memory", [16])
def test_a14_twenty_thousand_short_connections_leave_nothing_behind(boot, net, memory):
    guest = boot("test/swarm", net, mem=memory)
    guest.ready()
    before = in_use(net)

    outcome = swarm(net, SHORT, 20000, 50)

    assert outcome["results"] == {"ok": 20000}
    until = time.monotonic() + 150
    while in_use(net) != before and time.monotonic() < until:
        time.sleep(2)
    assert in_use(net) == before


@pytest.mark.timeout(200)
def test_a15_connections_beyond_the_backlog_wait_and_none_is_reset(boot, net):
    guest = boot("test/swarm", net)
    guest.ready()

    outcome = swarm(net, SLOW, 200, 200)

    assert outcome["results"] == {"ok": 200}
    assert 0 < outcome["quick"] <= BACKLOG + 1
    assert outcome["slowest"] < 40  # the sixth SYN of a client leaves after 31 s
