"""ESnet's iperf3 from its unmodified source, against the real clients: Debian's, and one built from the same source."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from clients import check_nothing_left, idle_state
from netns import GUEST, PEER, stop

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = pathlib.Path(os.environ.get("RINGLET_DEPS", ROOT / "build")) / "iperf3/src"
MODES = {
    "plain": [], "reverse": ["-R"], "both ways": ["--bidir"], "16 streams": ["-P", "16"], "16 streams back": ["-P", "16", "-R"],
    "zero copy": ["-Z"], "window": ["-w", "64K"], "segments": ["-M", "1000"], "omit": ["-O", "1"],
    "udp": ["-u", "-b", "20M"], "udp back": ["-u", "-b", "20M", "-R"], "udp both ways": ["-u", "-b", "10M", "--bidir"],
    "udp streams": ["-u", "-b", "5M", "-P", "4"], "short blocks": ["-l", "100", "-b", "10M"], "paced": ["-b", "50M"],
}


@pytest.fixture(scope="module")
def same_source(tmp_path_factory):
    """A client of the server's own version."""
    folder = tmp_path_factory.mktemp("iperf3")
    # The host has struct tcp_info whole in the kernel's header only.
    config = (ROOT / "apps/iperf3/iperf_config.h").read_text().replace("#define HAVE_TCP_INFO_SND_WND 1", "#define HAVE_TCP_INFO_SND_WND 1\n#define HAVE_LINUX_TCP_H 1")
    (folder / "iperf_config.h").write_text(config + "#define HAVE_SENDFILE 1\n")
    shutil.copy(ROOT / "apps/iperf3/version.h", folder)
    files = [path for path in SOURCE.glob("*.c") if not path.name.startswith("t_")]
    subprocess.run(["gcc", "-w", "-O1", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H", f"-I{folder}", f"-I{SOURCE}", "-o", folder / "iperf3", *files, "-lm",
                    "-lpthread"], check=True)
    return folder / "iperf3"


@pytest.fixture
def server(boot, net):
    guest = boot("iperf3", net, mem=128)
    guest.ready()
    return guest


def run(net, program, *words, seconds=1, check=True, timeout=40):
    """The client's JSON."""
    done = net.run(program, "-c", GUEST, "-J", *(["-t", seconds] if seconds else []), *words, timeout=timeout, check=False)
    result = json.loads(done.stdout)
    assert not check or "error" not in result, result["error"]
    return result


def sums(result):
    return {key: value for key, value in result["end"].items() if key.startswith("sum")}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("client", ["debian", "same source"])
def test_every_mode_of_a_real_client(server, net, same_source, client, mode):
    program = "iperf3" if client == "debian" else same_source

    result = run(net, program, *MODES[mode])

    for name, total in sums(result).items():
        assert total["bytes"] > 0, name
    if "-u" not in MODES[mode]:
        sent, received = result["end"]["sum_sent"]["bytes"], result["end"]["sum_received"]["bytes"]
        assert received <= sent * 1.001 + 4_000_000
    again = run(net, program)
    assert again["end"]["sum_received"]["bytes"] > 0


@pytest.mark.parametrize("words", [["-R"], ["-R", "-6"]])
def test_totals_agree_to_the_byte(server, net, words):
    """From the guest: what it says it sent arrived. The other way iperf3 (since 3.16) stops counting when the end of the test is told
    on the control connection, on Linux too, and what is on its way then is not counted."""
    words = [word for word in words if word != "-6"] + (["-c", "fe80::5054:ff:fe12:3456%t0"] if "-6" in words else [])

    result = run(net, "iperf3", "-n", "20M", *words, seconds=0)

    assert result["end"]["sum_sent"]["bytes"] == result["end"]["sum_received"]["bytes"] >= 20 << 20


@pytest.mark.parametrize("words", [[], ["-P", "4"], ["-Z"]])
def test_a_fixed_number_of_bytes_is_taken(server, net, words):
    result = run(net, "iperf3", "-n", "20M", *words, seconds=0)

    assert 0 < result["end"]["sum_received"]["bytes"] <= result["end"]["sum_sent"]["bytes"]
    assert result["end"]["sum_sent"]["bytes"] >= 20 << 20


def test_datagrams_agree_with_the_servers_own_count(server, net):
    result = run(net, "iperf3", "-u", "-b", "20M", "-l", "1000", "--get-server-output", seconds=2)

    total = result["end"]["sum"]
    theirs = result["server_output_json"]["end"]["sum"] if "server_output_json" in result else None
    assert total["packets"] > 4000 and total["jitter_ms"] >= 0
    if theirs:
        assert theirs["packets"] == total["packets"] and theirs["lost_packets"] == total["lost_packets"]
    else:
        assert f"{total['lost_packets']}/{total['packets']}" in result["server_output_text"]


def test_an_image_is_a_client_too(boot, net):
    server = net.start("iperf3", "-s", "-1", "-J")
    guest = boot("iperf3", net, mem=128, append=f"ip=10.99.0.2/24 -- -c {PEER} -t 1 -J")

    assert guest.exit_status(timeout=30) == 0
    text = guest.console()
    ours = json.loads(text[text.index("\n{"):text.rindex("}") + 1])
    theirs = json.loads(server.communicate(timeout=10)[0])
    assert ours["end"]["sum_received"]["bytes"] == theirs["end"]["sum_received"]["bytes"] > 1_000_000


def test_a_refused_connection_ends_the_client_with_its_status(boot, net):
    guest = boot("iperf3", net, mem=128, append=f"ip=10.99.0.2/24 -- -c {PEER} -p 9 -t 1")

    assert guest.exit_status(timeout=30) == 1
    assert guest.lines("Connection refused")


# ---- The same inside the iperf image ----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["plain", "reverse", "both ways", "16 streams", "udp", "udp back", "zero copy"])
def test_the_iperf_image_serves_it_beside_iperf2(boot, net, mode):
    boot("iperf", net).ready()
    before = idle_state(net)

    for _ in range(3):
        assert all(total["bytes"] > 0 for total in sums(run(net, "iperf3", *MODES[mode])).values())
    net.run("iperf", "-c", GUEST, "-t", "1")

    assert check_nothing_left(net, before)["iperf3_tests_total"] == 3


def test_the_iperf_image_survives_garbage_on_the_control_port(boot, net):
    boot("iperf", net).ready()
    for data in (b"", b"x", b"GET / HTTP/1.0\r\n\r\n", b"a" * 36 + b"\0", b"a" * 36 + b"\0" + b"\xff" * 100,
                 b"a" * 36 + b"\0" + b"\x7f\xff\xff\xff{"):
        with net.connect(5201) as sock:
            sock.sendall(data)
            time.sleep(0.2)

    assert wait_until_served(net, 30) < 30


# ---- A20: clients that vanish -----------------------------------------------------------------------


def wait_until_served(net, limit):
    """Seconds until a client is taken."""
    begin = time.monotonic()
    while True:
        result = run(net, "iperf3", check=False)
        if "error" not in result:
            return time.monotonic() - begin
        assert time.monotonic() - begin < limit, result["error"]
        time.sleep(0.5)


@pytest.mark.parametrize("words", [[], ["-R"], ["--bidir"], ["-u", "-b", "10M"]])
def test_a20_a_killed_client_makes_room_at_once(server, net, words):
    for _ in range(3):
        client = net.start("iperf3", "-c", GUEST, "-t", "60", *words)
        server.wait_for("connected to", timeout=10)
        time.sleep(1)
        client.kill()
        client.wait()

        assert wait_until_served(net, 10) < 6  # the test itself takes one


def test_a20_a_second_client_is_told_that_the_server_is_busy(server, net):
    first = net.start("iperf3", "-c", GUEST, "-t", "5")
    server.wait_for("connected to", timeout=10)
    time.sleep(0.5)

    assert "busy" in run(net, "iperf3", check=False)["error"]
    assert first.wait(timeout=20) == 0


@pytest.mark.parametrize("words", [[], ["-R"]])
def test_a20_a_cut_cable_is_noticed_within_a_minute(server, net, words):
    client = net.start("iperf3", "-c", GUEST, "-t", "60", *words)
    server.wait_for("connected to", timeout=10)
    time.sleep(1)
    net.sh("ip addr del 10.99.0.1/24 dev t0; ip addr add 10.99.0.7/24 dev t0")  # whatever the guest sends now gets no answer
    stop(client)

    assert wait_until_served(net, 62) < 62
