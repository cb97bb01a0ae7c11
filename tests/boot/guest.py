"""Guest: an image under QEMU. Its console goes to a file; it is always ended, by process id."""

import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from netns import GUEST_MAC, stop

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RINGLET_BUILD", ROOT / "build"))
ADDRESS = "ip=10.99.0.2/24"
CRASH_STATUS = 70


def image_path(name):
    """"iperf", "test/crash", "iperf.iso", or a path."""
    if isinstance(name, pathlib.Path):
        return name
    return BUILD / (name if name.endswith((".iso", ".elf")) else f"{name}.elf")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


class Guest:
    """Started by the constructor. `nic` is a Net, Wire or Relay, or None for no network; `device` are
    options of `model`; `qemu` are more words, `buses` those that must stand before the NIC, `fds` the descriptors
    that they name (taken); reboot: a reset starts it again, instead of ending QEMU. What must be true is checked by
    AssertionError with the console in hand."""

    def __init__(self, folder, image, nic=None, *, append=None, mem=64, machine="pc", device="", debug_exit=True,
                 qemu=(), buses=(), fds=(), smp=1, model="virtio-net-pci", reboot=False):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, str(image)
        self.console_path, self.errors_path = folder / "console", folder / "errors"
        self.expects_crash = False
        if append is None:
            append = ADDRESS if nic else ""
        words = ["qemu-system-x86_64", "-accel", "tcg", "-M", machine, "-m", str(mem), "-smp", str(smp), "-display", "none",
                 "-vga", "none", "-monitor", "none", "-serial", "stdio",
                 "-qmp", f"unix:{self.qmp_path()},server=on,wait=off"]
        words += [] if reboot else ["-no-reboot"]
        path = image_path(image)
        words += ["-cdrom", path, "-boot", "d"] if path.suffix == ".iso" else ["-kernel", path, "-append", append]
        if debug_exit:
            words += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        network, own = self.network(nic, device, model)
        fds = [*own, *fds]
        self.command = [str(word) for word in [*words, *buses, *network, *qemu]]
        with open(self.console_path, "wb") as out, open(self.errors_path, "wb") as err:
            self.started = time.monotonic()
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            pass_fds=fds, preexec_fn=die_with_parent)
        for fd in fds:
            os.close(fd)

    def qmp_path(self):
        """Short, because a unix socket's path is: relative to a folder would need a chdir."""
        path = self.folder / "qmp"
        return path if len(str(path)) < 100 else pathlib.Path(f"/tmp/ringlet-qmp-{os.getpid()}-{id(self):x}")

    @staticmethod
    def network(nic, device, model):
        if nic is None:
            return ["-nic", "none"], []
        netdev, fds = nic.netdev()
        options = f"{model},netdev=n0,mac={GUEST_MAC}" + (",romfile=" if "pci" in model else "") + ("," + device if device else "")
        return ["-netdev", netdev, "-device", options], fds

    # ---- Console

    def console(self):
        return self.console_path.read_bytes().decode(errors="replace").replace("\r\n", "\n")

    def whole_lines(self):
        """Without a last line that is still being written."""
        text = self.console()
        return text[:text.rfind("\n") + 1]

    def lines(self, pattern):
        """The console's lines that hold the pattern."""
        return [line for line in self.console().splitlines() if re.search(pattern, line)]

    def wait_for(self, pattern, timeout=20):
        """The match in whole lines; fails when the time is over, or at once when QEMU ends before it comes."""
        deadline = time.monotonic() + timeout
        while True:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.whole_lines(), re.M)
            if found:
                return found
            assert not ended, f"QEMU ended with {self.process.returncode} before {pattern!r}: {self.errors()}"
            assert time.monotonic() < deadline, f"no {pattern!r} within {timeout} s"
            time.sleep(0.005)

    def ready(self, timeout=20):
        """The text of the ready line."""
        return self.wait_for(r"^ready: (.+)$", timeout)[1]

    def errors(self):
        return self.errors_path.read_text(errors="replace")

    # ---- End

    def wait(self, timeout=20):
        """QEMU's own status."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s") from None

    def exit_status(self, timeout=20):
        """The program's status, by isa-debug-exit; the console must say the same in its last line."""
        status = self.wait(timeout)
        assert status % 2 == 1 and status > 0, f"QEMU ended with {status}: {self.errors()}"
        assert not re.search(r"^qemu", self.errors(), re.M), self.errors()
        assert self.console().splitlines()[-1] == f"exit: {status // 2}"
        self.expects_crash = self.expects_crash or status // 2 == CRASH_STATUS
        return status // 2

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        stop(self.process)
        self.qmp_path().unlink(missing_ok=True)

    # ---- QEMU

    def qmp(self, command, **arguments):
        """One command on a connection of its own; its answer."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(str(self.qmp_path()))
            stream = sock.makefile("rw")
            stream.readline()
            for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                stream.write(json.dumps(request))
                stream.flush()
                answer = json.loads(stream.readline())
                while "event" in answer:
                    answer = json.loads(stream.readline())
        assert "error" not in answer, answer
        return answer["return"]

    def set_link(self, up):
        self.qmp("set_link", name="n0", up=up)

    def cpu_seconds(self):
        """Host CPU time of the QEMU process so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def crashed(self):
        return bool(self.lines(r"^---- crash: "))
