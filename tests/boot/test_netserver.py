"""netperf's server from its unmodified source, with the real client built from the same source."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = pathlib.Path(os.environ.get("RINGLET_DEPS", ROOT / "build")) / "netperf/src"
FILES = ("netperf netlib netsh nettest_bsd nettest_dlpi nettest_unix nettest_xti nettest_sctp nettest_sdp nettest_omni net_uuid dscp netcpu_none "
         "netsys_none netsec_none netfirewall_none netrt_none netdrv_none netslot_none").split()
TESTS = ["TCP_STREAM", "TCP_MAERTS", "TCP_RR", "TCP_CRR", "UDP_STREAM", "UDP_RR", "OMNI"]


@pytest.fixture(scope="module")
def netperf(tmp_path_factory):
    path = tmp_path_factory.mktemp("netperf") / "netperf"
    subprocess.run(["gcc", "-w", "-O1", "-fcommon", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", f"-I{ROOT}/apps/netserver", f"-I{SOURCE}", "-o", path,
                    *[SOURCE / f"{name}.c" for name in FILES], "-lm"], check=True)
    return path


@pytest.fixture
def server(boot, net):
    guest = boot("netserver", net, mem=128)
    guest.ready()
    return guest


def value(text, key):
    return float(re.search(rf"^{key}=(\S+)$", text, re.M)[1])


@pytest.mark.parametrize("test", TESTS)
def test_a_real_netperf_runs_twice(server, net, netperf, test):
    words = [netperf, "-H", "10.99.0.2", "-l", "1", "-t", test]
    if test != "OMNI":
        words += ["--", "-k", "THROUGHPUT,ELAPSED_TIME,REMOTE_RECV_CALLS,REMOTE_SEND_CALLS,LOCAL_SEND_CALLS"]
        words += ["-m", "1000"] if test == "UDP_STREAM" else []

    for _ in range(2):
        done = net.run(*words, timeout=30)
        if test != "OMNI":
            assert value(done.stdout, "THROUGHPUT") > 0
            assert 0.9 < value(done.stdout, "ELAPSED_TIME") < 5
    assert server.alive()


def test_over_ipv6(server, net, netperf):
    assert "Throughput" in net.run(netperf, "-6", "-H", "fe80::5054:ff:fe12:3456%t0", "-l", "1", "-t", "TCP_STREAM", timeout=30).stdout


def test_a_client_that_dies_makes_room_for_the_next(server, net, netperf):
    dying = net.start(netperf, "-H", "10.99.0.2", "-l", "30", "-t", "TCP_STREAM")
    server.wait_for("ready")
    assert net.ping()
    dying.kill()
    dying.wait()

    net.run(netperf, "-H", "10.99.0.2", "-l", "1", "-t", "TCP_RR", timeout=40)
