"""Guest instructions for each kind of work, counted by QEMU's plugin: they hardly depend on how busy the machine is.

The limits lie half above what was measured (docs/PERFORMANCE.md), because batches differ with the host's pace. They are there to
find a fault that costs a multiple: a checksum computed twice, segments of one MSS again, a kick for each frame.
"""

import pathlib
import sys

import pytest

from guest import ADDRESS, Guest, image_path

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import count  # noqa: E402

LIMITS = {
    "tcp_in": 65_000, "tcp_out": 90_000, "iperf2_in": 70_000, "iperf2_out": 90_000,
    "iperf3_in": 290_000, "iperf3_out": 300_000,  # through sockets: a third of a Linux guest's 636 k is 212 k
    "echo": 8_000, "ping": 5_000, "udp_in": 1_600,
}
BOOT_LIMIT = 12_000_000
TX_KICKS_PER_1000 = 200  # a bulk sender's; a Linux guest has 730 to 905


@pytest.fixture(scope="module")
def rig():
    def start(folder, net, qemu):
        return Guest(folder, "iperf", net, append=ADDRESS, mem=256, qemu=qemu)

    plugin = image_path("iperf").with_name("insn_plugin.so").resolve()
    with count.Rig(plugin, start) as made:
        yield made


def test_a_start_costs_few_instructions(rig):
    assert 1_000_000 < rig.boot_instructions < BOOT_LIMIT


@pytest.mark.parametrize("work", LIMITS)
def test_work_costs_few_instructions(rig, work):
    row, _ = count.measure(rig, work)

    count.print_row(row)
    assert 0 < row["instructions_per_unit"] < LIMITS[work]
    if work.endswith("_out"):
        assert row["tx_kicks_per_1000"] < TX_KICKS_PER_1000
        assert row["tx_interrupts_per_1000"] < 2
