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


def read_junit(path, tally):
    suites = ElementTree.parse(path).getroot().iter("testsuite")
    for suite in suites:
        total, skipped = int(suite.get("tests")), int(suite.get("skipped", 0))
        bad = int(suite.get("failures")) + int(suite.get("errors"))
        tally.passed += total - bad - skipped
        tally.failed += bad
        tally.skipped += skipped


def run_pytest(folder, junit_dir, tally):
    os.makedirs(junit_dir, exist_ok=True)
    junit = os.path.join(junit_dir, folder.strip("/").replace("/", "-") + ".xml")
    if os.path.exists(junit):
        os.remove(junit)
    command = [sys.executable, "-B", "-m", "pytest", "-v", "-p", "no:cacheprovider", "--durations=5",
               f"--junitxml={junit}", folder, *os.environ.get("PYTEST_ARGS", "").split()]
    try:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PYTEST_LIMIT_SECONDS,
                                check=False).returncode
    except subprocess.TimeoutExpired:
        status = -1
    before = tally.failed
    if os.path.exists(junit):
        read_junit(junit, tally)
    if status not in (0, NOTHING_COLLECTED) and tally.failed == before:
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
