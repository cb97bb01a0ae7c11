"""An idle image costs next to nothing and answers at once; it runs in the memory it says it needs."""

import statistics
import time

import pytest

from clients import MIB, check_echo
from guest import ADDRESS


@pytest.mark.parametrize("device", ["", "disable-modern=on", "event_idx=off", "vectors=0"])
def test_idle_host_cpu_is_under_2_percent(boot, net, device):
    guest = boot("iperf", net, device=device)
    guest.ready()
    check_echo(net, 8 * MIB)  # idle again after work
    time.sleep(1.5)

    before = guest.cpu_seconds()
    time.sleep(5)

    assert (guest.cpu_seconds() - before) / 5 < 0.02


def test_an_idle_guest_answers_within_a_millisecond(iperf, net):
    net.ping(count=20, interval=0.2)

    assert len(net.rtts) == 20
    assert statistics.quantiles(net.rtts, n=4)[0] < 0.001  # the host's other work delays some, never speeds one up


@pytest.mark.parametrize("device", ["", "disable-modern=on", "rx_queue_size=1024", "mrg_rxbuf=off"])
def test_it_runs_in_8_mib(boot, net, device):
    guest = boot("iperf", net, mem=8, device=device, append=ADDRESS)
    guest.ready()

    assert net.ping(count=5, size=1400) == 5
    check_echo(net, 16 * MIB)
    assert net.ping(count=3, size=8000) == 3


@pytest.mark.parametrize("mem", [1, 2, 3, 4, 5, 6])
def test_with_less_it_runs_or_says_why_not(boot, net, mem):
    guest = boot("iperf", net, mem=mem)
    deadline = time.monotonic() + 5
    while guest.alive() and not guest.lines("^ready: ") and time.monotonic() < deadline:
        time.sleep(0.05)

    if guest.lines("^ready: "):
        assert net.ping(count=3) == 3
    elif mem > 1:  # with 1 MiB the loader itself has no room
        assert guest.lines(r"\] error .*memory"), "neither ready nor a reason"
