"""tools/setup.sh, with stand-ins for dpkg, apt, sudo and id."""

import os

import pytest

from conftest import ROOT, run

SETUP = ROOT / "tools/setup.sh"


class Machine:
    """A folder of stand-in commands; every call of apt-get and sudo is logged."""

    def __init__(self, folder, installed=(), uid=0, sudo=False):
        self.folder, self.log = folder, folder / "log"
        self.log.write_text("")
        self.put("dpkg-query", f'case " {" ".join(installed)} " in *" ${{@: -1}} "*) echo installed;; *) exit 1;; esac')
        self.put("id", f"echo {uid}")
        self.put("apt-get", f'echo "apt-get $* [$DEBIAN_FRONTEND]" >>{self.log}')
        self.put("sudo", f'echo "sudo" >>{self.log}; shift; exec "$@"' if sudo else "exit 1")

    def put(self, name, body):
        (self.folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (self.folder / name).chmod(0o755)

    def setup(self, *groups):
        return run(SETUP, *groups, env={"PATH": f"{self.folder}:{os.environ['PATH']}"})

    def calls(self):
        return self.log.read_text().splitlines()


def packages(*groups):
    return run(SETUP, "--list", *groups).stdout.split()


def test_nothing_is_run_when_nothing_is_missing(tmp_path):
    machine = Machine(tmp_path, installed=packages("build"), uid=1000)

    assert machine.setup("build").returncode == 0
    assert machine.calls() == []


def test_root_installs_exactly_what_is_missing_and_answers_no_question(tmp_path):
    have = [p for p in packages("test") if p not in ("tshark", "ncat")]
    machine = Machine(tmp_path, installed=have)

    done = machine.setup("test")

    assert done.returncode == 0, done.stdout
    update, install = machine.calls()
    assert "update" in update
    assert install.split()[-3:] == ["tshark", "ncat", "[noninteractive]"]
    assert "--no-install-recommends" in install


def test_an_ordinary_user_with_sudo_installs_by_it(tmp_path):
    machine = Machine(tmp_path, uid=1000, sudo=True)

    assert machine.setup("lint").returncode == 0
    assert "sudo" in machine.calls()
    assert [c for c in machine.calls() if "install" in c and "noninteractive" in c]


def test_an_ordinary_user_without_sudo_gets_one_line_that_names_the_packages(tmp_path):
    have = [p for p in packages("build") if p not in ("xz-utils", "iperf")]
    machine = Machine(tmp_path, installed=have, uid=1000)

    done = machine.setup("build")

    assert done.returncode == 1
    assert done.stdout == "setup: missing packages; install them with: apt-get install xz-utils iperf\n"
    assert machine.calls() == []


def test_a_failed_installation_is_told_with_apts_own_words(tmp_path):
    machine = Machine(tmp_path)
    machine.put("apt-get", "echo 'E: no such mirror'; exit 100")

    done = machine.setup("lint")

    assert done.returncode == 1
    assert "E: no such mirror" in done.stdout and "could not install" in done.stdout


@pytest.mark.parametrize("group", ["build", "iso", "test", "lint"])
def test_every_package_is_known_to_this_release(group):
    done = run("apt-cache", "show", *packages(group))

    assert "No packages found" not in done.stdout and "Unable to locate" not in done.stdout


def test_an_unknown_group_is_refused():
    assert run(SETUP, "nonsense").returncode != 0
