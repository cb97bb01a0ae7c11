"""Run test programs and pytest folders; close with one line "N passed, N failed".

    run_tests.py [--jobs N] [--limit SECONDS] [--junit DIR] [PROGRAM…] [--pytest DIR…]

Programs run side by side, each in its time limit. A cmocka program counts as many tests as it says; any
other counts as one. The output of a program that fails is shown whole.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (\d+) test", re.M)
PYTEST_LIMIT_SECONDS = 3000
RETRY_MAX = 12  # more than so many failures are no accident
NOTHING_COLLECTED = 5  # pytest's status when a folder holds no test


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def sanitizer_env():
    env = dict(os.environ)
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


def run_program(command, limit):
    """(passed, failed, seconds, output). One that dies or says nothing counts as one test."""
    start = time.monotonic()
    try:
        # A fuzz replay takes its corpus as arguments: "program folder".
        done = subprocess.run(command.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit, env=sanitizer_env(), check=False)
        output, status = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace") + f"\nstopped after {limit} s\n"
        status = -1
    passed = sum(int(n) for n in PASSED.findall(output))
    failed = sum(int(n) for n in FAILED.findall(output))
    if status != 0 and failed == 0:
        failed = 1
        output += f"\nended with status {status}\n"
    if status == 0 and passed + failed == 0:
        passed = 1
    return passed, failed, time.monotonic() - start, output


def run_programs(commands, jobs, limit, tally):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda command: run_program(command, limit), commands)
        for command, (passed, failed, seconds, output) in zip(commands, results):
            tally.passed += passed
            tally.failed += failed
            word = "FAIL" if failed else "ok"
            print(f"{word:4} {command}: {passed} passed, {failed} failed ({seconds:.1f} s)", flush=True)
            if failed:
                print(output, flush=True)


def read_junit(path):
    """(passed, skipped, names of the tests that failed)."""
    passed, skipped, bad = 0, 0, []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            bad.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, skipped, sorted(set(bad))


def call_pytest(words, junit):
    """Its status, and what read_junit() makes of its report."""
    if os.path.exists(junit):
        os.remove(junit)
    command = [sys.executable, "-B", "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={junit}", *words]
    try:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PYTEST_LIMIT_SECONDS,
                                check=False).returncode
    except subprocess.TimeoutExpired:
        status = -1
    return status, read_junit(junit) if os.path.exists(junit) else (0, 0, [])


def node_ids(folder, names):
    """tests/boot + "test_x::test_y[z]" as pytest wants to be told it."""
    ids = []
    for name in names:
        module, test = name.split("::", 1)
        ids.append(f"{os.path.join(folder, module.split('.')[-1])}.py::{test}")
    return ids


def run_pytest(folder, junit_dir, tally):
    """
    Tests run two at a time against the clock of a machine that may be busy. What fails is tried once more, alone: what fails
    then, too, has failed. Both tries are shown.
    """
    os.makedirs(junit_dir, exist_ok=True)
    junit = os.path.join(junit_dir, folder.strip("/").replace("/", "-"))
    words = ["--durations=5", folder, *os.environ.get("PYTEST_ARGS", "").split()]
    status, (passed, skipped, bad) = call_pytest(words, junit + ".xml")
    if bad and len(bad) <= RETRY_MAX:
        print(f"\n{len(bad)} failed in {folder}: once more, alone", flush=True)
        _, (again, _, still) = call_pytest(["-o", "addopts=", *node_ids(folder, bad)], junit + "-again.xml")
        # Whatever the second try says nothing of (a file that can't even be read) has failed.
        bad = still if again + len(still) == len(bad) else bad
        print(f"once more, alone: {again} passed, {len(bad)} failed", flush=True)
        passed += again if bad is still else 0
        status = 1 if bad else 0
    tally.passed += passed
    tally.skipped += skipped
    tally.failed += len(bad)
    if status not in (0, NOTHING_COLLECTED) and not bad:
        print(f"pytest {folder} ended with status {status}", flush=True)
        tally.failed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--pytest", nargs="+", default=[], metavar="DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=180, help="seconds for one program")
    parser.add_argument("--junit", default="build/results", help="folder for pytest's reports")
    args = parser.parse_args()

    tally = Tally()
    run_programs(args.programs, args.jobs, args.limit, tally)
    for folder in args.pytest:
        run_pytest(folder, args.junit, tally)
    if tally.passed + tally.failed == 0:
        print("no test was run", file=sys.stderr)
        tally.failed = 1
    print(tally.line(), flush=True)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
