"""A program that computes and never waits silences neither the network nor the other threads."""

import re

import pytest

from clients import MIB, check_echo
from guest import ADDRESS


def worst_ping(net):
    """A busy host may delay a ping or two, not each time."""
    for _ in range(4):
        assert net.ping(count=50, interval=0.02) == 50
        worst = max(net.rtts)
        if worst < 0.010:
            break
    return worst


@pytest.mark.parametrize("device", ["", "vectors=0", "disable-modern=on"])
def test_the_network_answers_while_main_spins(boot, net, device):
    guest = boot("test/spin", net, device=device, append=f"{ADDRESS} -- 0")
    guest.ready()

    assert worst_ping(net) < 0.010
    check_echo(net, 4 * MIB)


@pytest.mark.parametrize("cpu", ["qemu64", "max"])  # without and with xsave
def test_threads_that_compute_keep_their_registers_under_traffic(boot, net, cpu):
    guest = boot("test/spin", net, append=f"{ADDRESS} -- 15", qemu=("-cpu", cpu))
    guest.ready()

    for seed in range(4):
        check_echo(net, 4 * MIB, seed=seed)
        assert net.ping(count=20) == 20
    assert worst_ping(net) < 0.010
    assert guest.alive()
    printed = guest.lines(r"^spin: ")
    assert len(printed) > 15
    for line in printed:
        assert re.fullmatch(r"spin: thread \d+ in round \d+\.", line)
