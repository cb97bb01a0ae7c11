"""What the outside does to a machine and its NICs: stopped, reset, saved and restored, unplugged, broken. TCP lives on."""

import time

import pytest

from clients import ECHO, check_echo, metrics
from netns import GUEST

SLOT = 2  # of the only NIC of machine pc without a display
HARM = 9


def check_connection(sock, text=b"still here?"):
    """Sent and echoed."""
    sock.sendall(text)
    got = b""
    while len(got) < len(text):
        part = sock.recv(100)
        assert part, "the connection ended"
        got += part
    assert got == text


def resets(values, nic="net0"):
    """{reason: count}."""
    prefix = f'vnet_resets_total{{nic="{nic}",reason="'
    return {name[len(prefix):-2]: value for name, value in values.items() if name.startswith(prefix)}


def check_nothing_reset(net):
    values = metrics(net)
    assert set(resets(values)) == {"lie", "needs_reset", "state_lost", "stall"}
    assert not any(resets(values).values()), resets(values)
    assert values['vnet_tx_kicks_again_total{nic="net0"}'] == 0


# ---- The machine


def test_ten_seconds_of_stop_are_no_reason_to_reset(iperf, net):
    with net.connect(ECHO) as sock:
        check_connection(sock)
        iperf.qmp("stop")
        time.sleep(10)
        assert not net.answers(within=0.5)
        iperf.qmp("cont")
        check_connection(sock)

    check_nothing_reset(net)


def test_ten_seconds_without_a_link_are_no_reason_to_reset(iperf, net):
    with net.connect(ECHO) as sock:
        check_connection(sock)
        iperf.set_link(False)
        iperf.wait_for("net0: link down")
        sock.sendall(b"into nothing")
        time.sleep(10)
        iperf.set_link(True)
        iperf.wait_for("net0: link up")
        assert sock.recv(100) == b"into nothing"

    check_nothing_reset(net)


@pytest.mark.parametrize("device", ["", "disable-modern=on", "vectors=0"])
def test_a_machine_that_is_reset_boots_again(boot, net, device):
    guest = boot("iperf", net, device=device, reboot=True)
    guest.ready()
    net.connect(ECHO).close()
    guest.qmp("system_reset")
    guest.wait_for(r"(?s)^ready: .*^ready: ")

    check_echo(net, 1 << 20)
    check_nothing_reset(net)


def test_a_machine_restored_from_a_file_goes_on(boot, net, tmp_path):
    saved = tmp_path / "saved"
    first = boot("iperf", net)
    first.ready()
    with net.connect(ECHO) as sock:
        check_connection(sock)
        first.qmp("stop")
        first.qmp("migrate", uri=f"exec:cat >{saved}")
        wait_for_migration(first)
        first.stop()

        second = boot("iperf", net, qemu=["-incoming", f"exec:cat {saved}"])
        wait_for_migration(second)
        second.qmp("cont")
        check_connection(sock)

    assert net.answers(within=5)
    check_echo(net, 1 << 20)
    check_nothing_reset(net)


def test_a_machine_put_back_to_a_snapshot_goes_on(boot, net, tmp_path):
    guest = boot("iperf", net)
    guest.ready()
    add_snapshot_disk(guest, tmp_path / "snapshots")
    check_echo(net, 1 << 20)
    job(guest, "snapshot-save", tag="here", vmstate="disk", devices=["disk"])
    check_echo(net, 1 << 20)
    for _ in range(3):
        guest.qmp("stop")
        job(guest, "snapshot-load", tag="here", vmstate="disk", devices=["disk"])
        guest.qmp("cont")
        assert net.answers(within=5)
        check_echo(net, 1 << 20)

    check_nothing_reset(net)


def add_snapshot_disk(guest, path):
    """A qcow2 that the machine doesn't see, for its states."""
    path.touch()
    guest.qmp("blockdev-add", **{"driver": "file", "node-name": "file", "filename": str(path)})
    job(guest, "blockdev-create", options={"driver": "qcow2", "file": "file", "size": 1 << 26})
    guest.qmp("blockdev-add", **{"driver": "qcow2", "node-name": "disk", "file": "file"})


def job(guest, command, **arguments):
    guest.qmp(command, **{"job-id": "job", **arguments})
    deadline = time.monotonic() + 20
    while guest.qmp("query-jobs")[0]["status"] != "concluded":
        assert time.monotonic() < deadline, guest.qmp("query-jobs")
        time.sleep(0.05)
    assert "error" not in guest.qmp("query-jobs")[0], guest.qmp("query-jobs")
    guest.qmp("job-dismiss", id="job")


def wait_for_migration(guest):
    deadline = time.monotonic() + 20
    while not guest.qmp_path().exists() or guest.qmp("query-migrate").get("status") != "completed":
        assert time.monotonic() < deadline and guest.alive(), guest.errors()
        time.sleep(0.05)


# ---- The NIC


def harm(net, command):
    """The answer of the harm image, which may be lost with its NIC."""
    with net.udp(HARM, timeout=3) as sock:
        sock.send(command.encode())
        try:
            return sock.recv(100).decode()
        except TimeoutError:
            return None


@pytest.mark.parametrize("command,reason", [("break", "the device asked for it"),
                                            ("lose", "the device had lost its state")])
@pytest.mark.parametrize("device", ["", "vectors=2", "vectors=0", "mrg_rxbuf=off,event_idx=off"])
def test_connections_outlive_a_reset_of_the_device(boot, net, device, command, reason):
    check_resets(boot("test/harm", net, device=device), net, command, reason)


def test_a_packed_ring_starts_its_first_lap_after_a_reset(boot, net):
    """`break` writes an index, of which a packed ring has none."""
    guest = boot("test/harm", net, device="packed=on", append="ip=10.99.0.2/24 vnet.packed=on")
    check_resets(guest, net, "lose", "the device had lost its state")
    assert " packed " in guest.lines("net0: negotiated: ")[0]


def check_resets(guest, net, command, reason):
    guest.ready()
    with net.connect(ECHO) as sock:
        check_connection(sock)
        for _ in range(3):
            count = len(guest.lines(reason))
            harm(net, f"{command} {SLOT}")
            check_connection(sock)
            wait_for_lines(guest, reason, count + 1)
            time.sleep(1.1)  # such lines come once a second
    check_echo(net, 4 << 20)
    assert net.ping(count=3) == 3
    assert not guest.lines("out of use|unplugged| error ")


def wait_for_lines(guest, pattern, count):
    deadline = time.monotonic() + 10
    while len(guest.lines(pattern)) < count:
        assert time.monotonic() < deadline, f"{len(guest.lines(pattern))} lines of {pattern!r}"
        time.sleep(0.05)


def test_the_watchdog_resets_a_device_that_broke_in_silence(boot, net):
    """A legacy device can't ask for a reset: it just does nothing any more."""
    guest = boot("test/harm", net, device="disable-modern=on")
    guest.ready()
    with net.connect(ECHO, timeout=30) as sock:
        check_connection(sock)
        assert harm(net, f"break {SLOT}") is None
        check_connection(sock)
    assert len(guest.lines("net0: reset, because the device had stopped sending")) == 1
    check_echo(net, 1 << 20)


@pytest.mark.parametrize("device", ["", "disable-modern=on", "vectors=0"])
def test_a_nic_that_is_unplugged_leaves_the_others_alone(boot, net, device):
    net.add_tap("t1", mac="02:00:00:00:00:02")
    net.sh("ip addr add 10.99.1.1/24 dev t1")
    netdev, fds = net.netdev("n1", "t1")
    words = f"virtio-net-pci,netdev=n1,mac=52:54:00:12:34:57,romfile=,addr=5,{device}".rstrip(",")
    guest = boot("test/harm", net, append="ip=10.99.0.2/24 net1.ip=10.99.1.2/24",
                 qemu=["-netdev", netdev, "-device", words], fds=fds)
    guest.ready()
    assert net.ping(host="10.99.1.2") == 1
    assert harm(net, "link net1") == "up"

    with net.connect(ECHO) as sock:
        check_connection(sock)
        assert harm(net, "pull 5") == "done"
        guest.wait_for("net1: unplugged")
        check_connection(sock)
        time.sleep(2)
        assert harm(net, "link net1") == "down"
        assert harm(net, "link net0") == "up"
    assert len(guest.lines("net1: (unplugged|reset|out of use)|virtqueue|error ")) == 1
    check_echo(net, 1 << 20)


@pytest.mark.parametrize("machine,buses,device", [
    ("pc", [], "id=nic"),
    ("q35", ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1"], "id=nic,bus=rp0")])
def test_a_wish_to_unplug_is_not_heard_and_does_no_harm(boot, net, machine, buses, device):
    """docs/decisions/0009: QEMU asks by ACPI or by the slot's button; nobody here listens, so the NIC stays."""
    guest = boot("iperf", net, machine=machine, buses=buses, device=device)
    guest.ready()
    guest.qmp("device_del", id="nic")
    time.sleep(2)

    check_echo(net, 1 << 20)
    check_nothing_reset(net)
    assert GUEST in guest.console()
