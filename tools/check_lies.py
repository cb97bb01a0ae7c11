#!/usr/bin/env python3
"""Every fault of the fake devices has a row in tests/fake/README.md, and every test that a row names exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/fake/README.md"
HEADERS = ("fake_vdev.h", "fake_vpci.h")
NO_LIES = {"FAKE_HONEST", "FAKE_VPCI_HONEST", "FAKE_FAULT_COUNT", "FAKE_CAP_LAST_FAULT"}


def faults():
    """The names in the enums called fake_…fault."""
    for header in HEADERS:
        text = (ROOT / "tests/fake" / header).read_text()
        for body in re.findall(r"enum fake_\w*fault \{(.*?)\n\};", text, re.S):
            yield from re.findall(r"^\s+(FAKE_\w+)", body, re.M)


def rows():
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] != "lie" and not cells[0].startswith("---"):
            yield cells


def complaints():
    known, told = set(faults()) - NO_LIES, set()
    for lie, fault, test, _ in rows():
        told |= set(re.findall(r"FAKE_\w+", fault))
        found = re.match(r"(test_\w+): (\w+)", test)
        source = ROOT / "tests/host" / f"{found[1]}.c" if found else None
        if not found or not source.exists() or f"void {found[2]}(" not in source.read_text():
            yield f"{lie!r}: there is no test {test!r}"
    yield from (f"{fault} is in no row" for fault in sorted(known - told))
    yield from (f"{fault} is no fault of the fakes" for fault in sorted(told - known))


def main():
    wrong = list(complaints())
    for line in wrong:
        print(f"tests/fake/README.md: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
