"""Devices of every kind in every place: all pairs of properties, in the rows of matrix.tsv."""

import pytest

import matrix
from clients import MIB, check_echo, check_nothing_left, idle_state
from netns import Net
from test_rings import negotiated

ROWS = matrix.read_table()
TRANSPORTS = {("legacy", True): "mmio legacy", ("modern", True): "mmio", ("legacy", False): "legacy",
              ("transitional", False): "modern", ("modern", False): "modern"}
# What an honest device lacks when it is told to, by the names of the NIC's line.
LACKS = {"mrg_rxbuf": {"mrg"}, "event_idx": {"event_idx"}, "indirect_desc": {"indirect"}, "csum": {"csum", "tso4", "tso6"},
         "tso": {"tso4", "tso6"}, "guest": {"guest_csum", "lro4", "lro6"}}


def test_the_table_holds_every_pair():
    missing = matrix.all_pairs().difference(*(matrix.pairs_of(row) for row in ROWS))

    assert not missing
    assert matrix.to_text(ROWS) == matrix.TABLE.read_text()
    for row in ROWS:
        assert not any(matrix.forbidden(*pair) for pair in matrix.pairs_of(row))


@pytest.fixture
def row_net(request):
    mtu = request.getfixturevalue("row")["mtu"]
    with Net(mtu=1500 if mtu == "none" else int(mtu)) as made:
        yield made


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(len(ROWS))])
def test_a_device_of_this_row_works(boot, row, row_net):
    machine, model, buses, words = matrix.machine_words(row)
    guest = boot("iperf", row_net, machine=machine, model=model, buses=buses, qemu=words, device=matrix.device_words(row),
                 append=f"ip=10.99.0.2/24 vnet.packed={row['packed']}")
    mtu = "1500" if row["mtu"] == "none" else row["mtu"]
    assert f" mtu {mtu} " in guest.ready()

    found = negotiated(guest)
    assert found["transport"] == TRANSPORTS[row["kind"], row["place"] == "microvm-mmio"]
    for name, features in LACKS.items():
        if row[name] == "off":
            assert not features & found["features"]
    assert ("packed" in found["features"]) == (row["packed"] == "on")
    assert ("access_platform" in found["features"]) == (row["iommu_platform"] == "on")

    assert row_net.ping(count=3) == 3
    before = idle_state(row_net)
    count = 10 * int(row["rx_queue_size"])
    done = row_net.run("ping", "-n", "-q", "-f", "-c", count, "10.99.0.2", timeout=60)
    assert ", 0% packet loss" in done.stdout, done.stdout
    check_echo(row_net, 8 * MIB)
    check_nothing_left(row_net, before)
    assert row_net.ping(count=3) == 3
    assert not guest.lines(r"\] (warn|error) ")
