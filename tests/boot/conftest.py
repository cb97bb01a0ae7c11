"""Fixtures of the boot tests. README.md says how to write one."""

import pathlib

import pytest

from guest import Guest
from netns import Net
from relay import Relay
from wire import Wire

GUESTS = pytest.StashKey[list]()


@pytest.fixture
def net():
    """A namespace with a tap that offers offloads: 10.99.0.1."""
    with Net() as made:
        yield made


@pytest.fixture
def plain_net():
    """The same without a virtio-net header: for a Relay."""
    with Net(vnet_hdr=False) as made:
        yield made


@pytest.fixture
def wire():
    with Wire() as made:
        yield made


@pytest.fixture
def relay(plain_net):
    """relay(seed=…, to_guest=Rule(…), from_guest=Rule(…)) on plain_net."""
    made = []

    def make(**rules):
        made.append(Relay(plain_net, **rules))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def boot(request, tmp_path):
    """boot(image, nic, …): a Guest, ended after the test. No crash block may be on a console that expects none."""
    guests = request.node.stash.setdefault(GUESTS, [])

    def start(image, nic=None, **options):
        guests.append(Guest(pathlib.Path(tmp_path) / f"guest{len(guests)}", image, nic, **options))
        return guests[-1]

    yield start
    for guest in guests:
        guest.stop()
    for guest in guests:
        assert guest.expects_crash or not guest.crashed(), f"{guest.name} crashed:\n{guest.console()}"


@pytest.fixture
def iperf(net, boot):
    """The iperf image on `net`, ready."""
    guest = boot("iperf", net)
    guest.ready()
    return guest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows the consoles."""
    report = (yield).get_result()
    if report.failed:
        for guest in item.stash.get(GUESTS, []):
            report.sections.append((f"console of {guest.name}", guest.console()))
            if guest.errors().strip():
                report.sections.append((f"QEMU's messages for {guest.name}", guest.errors()))
