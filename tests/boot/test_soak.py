"""The soak in short: two runs of 5 seconds of each kind. `make soak` is the long one."""

import pytest

from soak import DEVICES, KINDS, Run, perform


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", DEVICES)
def test_bulk_runs_never_pause(tmp_path, device, kind, number):
    run = perform(Run(number, kind, device, seconds=5), tmp_path)

    assert not run.reason, run.row()
    assert run.moved > 1000
