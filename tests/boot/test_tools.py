"""tools/boot-ping and tools/run_qemu.py: what they print, their statuses, and that no QEMU is left behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from guest import BUILD, ROOT, image_path

BOOT_PING, RUN_QEMU = ROOT / "tools/boot-ping", ROOT / "tools/run_qemu.py"


def tool(*words, timeout=30, **kwargs):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, check=False, **kwargs)


def boot_ping(*words, image="iperf", **kwargs):
    return tool(BOOT_PING, image_path(image), *words, **kwargs)


def children_of(pid):
    """Of the process: by /proc, so that nobody else's QEMU is looked at."""
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state != "Z"


# ---- boot-ping


def test_boot_ping_pings_in_under_two_seconds():
    begin = time.monotonic()
    done = boot_ping("--count", 7)

    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < 2
    assert len(re.findall(r"^ping \d+: 56 bytes from 10\.99\.0\.2, [\d.]+ ms$", done.stdout, re.M)) == 7
    assert re.search(r"^10\.99\.0\.2 is at 52:54:00:12:34:56$", done.stdout, re.M)
    assert re.search(r"^7 sent, 7 answered; min/median/max [\d.]+/[\d.]+/[\d.]+ ms$", done.stdout, re.M)
    assert 0.05 < float(re.search(r"^first reply ([\d.]+) s after QEMU was started$", done.stdout, re.M)[1]) < 2


@pytest.mark.parametrize("words", [["--dhcp"], ["-6"], ["-M", "q35"], ["--device", "disable-modern=on"],
                                   ["--device", "disable-legacy=on", "--device", "mrg_rxbuf=off"], ["--size", "1472"],
                                   ["--size", "0"], ["--address", "192.0.2.7/28"], ["--mac", "52:54:00:aa:bb:cc"],
                                   ["--append", "log=debug -- x"], ["--qemu-arg=-smp", "--qemu-arg=2"], ["-m", "16"]],
                         ids=lambda words: " ".join(words))
def test_boot_ping_does_it_that_way_too(words):
    done = boot_ping(*words, "--count", 3)

    assert done.returncode == 0, done.stdout + done.stderr


def test_boot_ping_boots_a_disc():
    done = boot_ping("--dhcp", image="iperf.iso")

    assert done.returncode == 0, done.stdout + done.stderr


def test_boot_ping_takes_options_one_by_one():
    done = boot_ping("--append", "hostname=first", "--append", "nonsense=1", "--append", "log=info", "--console")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("nonsense") == 1


def test_boot_ping_speaks_json():
    done = boot_ping("--json", "--count", 4)

    result = json.loads(done.stdout)
    assert result["status"] == 0 and len(result["rtt_ms"]) == 4
    assert result["rtt_ms_min"] <= result["rtt_ms_median"] <= result["rtt_ms_max"]
    assert 0.05 < result["first_reply_seconds"] < 2


def test_boot_ping_shows_the_console_when_asked():
    assert "ready: net0 10.99.0.2/24" in boot_ping("--console").stdout


@pytest.mark.parametrize("words, image, status, reason", [
    ([], "hello", 4, "the guest ended with status 0"),
    (["--append", "-- 9"], "hello", 4, "the guest ended with status 9"),
    (["--append", "log=loud"], "iperf", 4, "the guest ended with status 2"),
    (["--append", "ip=10.99.0.77/24", "-t", "1.5"], "iperf", 5, "did not tell its hardware address"),
    (["--qemu", "/no/such/qemu"], "iperf", 3, "No such file"),
    (["--qemu-arg=-nonsense"], "iperf", 3, "invalid option"),
    (["--device", "nonsense=on"], "iperf", 3, "nonsense"),
    (["--count", "0"], "iperf", 2, "--count"),
    (["--size", "1473"], "iperf", 2, "--size"),
    (["--mac", "01:00:00:00:00:00"], "iperf", 2, "--mac"),
    (["--append", "log=info"], "iperf.iso", 2, "a disc brings its own options"),
    ([], "no-such-image", 2, "no such file"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else str(value))
def test_boot_ping_says_why_not(words, image, status, reason):
    done = boot_ping(*words, image=image)

    assert done.returncode == status
    assert reason in done.stderr
    if status in (4, 5):
        assert "info boot: Ringlet" in done.stderr or "Ringlet" in done.stderr, "the console is shown"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_boot_ping_leaves_no_qemu_behind(number, tmp_path):
    process = subprocess.Popen([str(BOOT_PING), str(image_path("iperf")), "--count", "1000", "--interval", "0.1"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    while not process.stdout.readline().startswith(b"ping 2"):
        assert process.poll() is None
    qemu, = children_of(process.pid)

    process.send_signal(number)
    status = process.wait(5)
    process.stdout.close()

    deadline = time.monotonic() + 2
    while alive(qemu) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(qemu)
    assert status == (-9 if number == signal.SIGKILL else 128 + number)
    assert number == signal.SIGKILL or not list(tmp_path.iterdir())


def test_boot_ping_needs_no_rights(tmp_path):
    if os.getuid() != 0:
        done = boot_ping()  # we are such a user ourselves
    else:
        image = tmp_path / "iperf.elf"
        image.write_bytes((BUILD / "iperf.elf").read_bytes())
        command = tmp_path / "boot-ping"
        command.write_bytes(BOOT_PING.read_bytes())
        for path in (tmp_path, *tmp_path.parents):
            if path.stat().st_uid == os.getuid() and str(path).startswith("/tmp/"):
                path.chmod(0o755)
        done = tool("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", sys.executable, command,
                    image, env={"PATH": os.environ["PATH"], "TMPDIR": "/tmp"})

    assert done.returncode == 0, done.stdout + done.stderr


def test_boot_ping_has_a_manual():
    text = tool(BOOT_PING, "--help").stdout

    assert all(word in text for word in ("exit status", "examples", "--qemu-arg", "--count"))


# ---- run_qemu.py


@pytest.mark.parametrize("status", [0, 1, 42, 70])
def test_run_qemu_returns_the_programs_status(status):
    done = tool(RUN_QEMU, image_path("hello"), "--net", "none", "--", status)

    assert done.returncode == status
    assert done.stdout.splitlines()[-1] == f"exit: {status}"


def test_run_qemu_passes_arguments_as_they_are():
    done = tool(RUN_QEMU, image_path("hello"), "--", "0", "two words", 'a "quote"', "", "--", "-x")

    assert re.findall(r"^argument \d+: ?(.*)$", done.stdout, re.M) == ["0", "two words", 'a "quote"', "", "--", "-x"]


@pytest.mark.parametrize("words, status", [
    (["--append", "ip=nonsense"], 2), (["--timeout", "1", "--append", "ip=10.0.2.15/24"], 124), (["--qemu-arg=-nonsense"], 125),
    (["--qemu", "/no/such/qemu"], 127), (["--net", "token-ring"], 2),
], ids=["bad option", "time is over", "QEMU refuses", "no QEMU", "usage"])
def test_run_qemu_tells_failures_apart(words, status):
    assert tool(RUN_QEMU, image_path("iperf"), *words).returncode == status


@pytest.mark.parametrize("image", ["no-such-image.elf", ROOT / "README.md"], ids=["missing", "not an image"])
def test_run_qemu_never_calls_an_image_that_did_not_start_a_success(image):
    assert tool(RUN_QEMU, image).returncode == 125


def test_run_qemu_forwards_a_port():
    alone = "-n" if os.getuid() == 0 else "-rn"  # a chroot refuses user namespaces
    done = subprocess.run(["unshare", alone, "sh", "-c",
                           f"ip link set lo up; {RUN_QEMU} {image_path('iperf')} --forward tcp:7007:7 --timeout 10 & sleep 2; "
                           "printf hello | nc -N 127.0.0.1 7007; kill $!; wait"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False)

    assert done.stdout.rstrip().endswith("hello") or "\nhello" in done.stdout, done.stdout
