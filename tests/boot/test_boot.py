"""An image boots on its machines, says one ready line, answers, and ends with the program's status."""

import re

import pytest

READY = re.compile(r"^net0 10\.99\.0\.2/24 .*mtu 1500 after \d+\.\d+ s$")
LOG_LINE = re.compile(r"^\[\d+\.\d{6}\] (error|warn|info|debug) [a-z0-9_]+: \S")


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("device", ["", "disable-legacy=on", "disable-modern=on"])
def test_it_boots_and_answers(boot, net, machine, device):
    guest = boot("iperf", net, machine=machine, device=device)

    assert READY.match(guest.ready())
    assert net.ping(count=3) == 3


def test_every_line_has_the_form_of_the_contract_and_one_is_ready(boot, net):
    guest = boot("iperf", net)
    guest.ready()
    net.ping(count=3)

    lines = guest.console().splitlines()

    assert len([line for line in lines if line.startswith("ready: ")]) == 1
    assert all(LOG_LINE.match(line) or line.startswith("ready: ") for line in lines), lines


@pytest.mark.parametrize("status", [0, 1, 2, 42, 127])
def test_the_programs_status_is_qemus(boot, status):
    guest = boot("hello", append=f"-- {status}")

    assert guest.exit_status() == status
    assert guest.process.returncode == 2 * status + 1


def test_words_behind_two_dashes_are_the_programs_arguments(boot):
    guest = boot("hello", append='log=debug -- 7 ip=nonsense "two words" --')

    assert guest.exit_status() == 7
    assert guest.lines("^argument") == ["argument 1: 7", "argument 2: ip=nonsense", "argument 3: two words",
                                        "argument 4: --"]


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_without_the_exit_device_it_powers_off(boot, machine):
    guest = boot("hello", append="-- 3", machine=machine, debug_exit=False)

    assert guest.wait() == 0
    assert guest.console().splitlines()[-1] == "exit: 3"
