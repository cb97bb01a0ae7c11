"""The SDK, installed into a folder of its own, moved, and used from there."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RINGLET_BUILD", ROOT / "build"))
DEPS = pathlib.Path(os.environ.get("RINGLET_DEPS", ROOT / "build"))
EXAMPLES = ROOT / "sdk/examples"


class Sdk:
    def __init__(self, folder):
        """Installed at one place and used at another: nothing may remember where it was."""
        subprocess.run([ROOT / "sdk/install.sh", "install", "/opt/ringlet", BUILD, DEPS / "newlib", DEPS / "lwip"], cwd=ROOT,
                       env=os.environ | {"DESTDIR": str(folder / "dest")}, check=True, stdout=subprocess.DEVNULL)
        self.prefix = folder / "moved here"
        shutil.move(folder / "dest/opt/ringlet", self.prefix)
        self.env = {"PATH": f"{self.prefix}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def run(self, *command, cwd, check=True, timeout=120):
        done = subprocess.run([str(word) for word in command], cwd=cwd, env=self.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout, check=False, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
        return done

    def cc(self, *words, cwd, check=True):
        return self.run("ringlet-cc", *words, cwd=cwd, check=check)

    def boot(self, image, *words, cwd, check=False):
        return self.run("ringlet-run", "--no-net", "--timeout", "30", image, *words, cwd=cwd, check=check)
