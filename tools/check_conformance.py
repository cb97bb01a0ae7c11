#!/usr/bin/env python3
"""Every function and every test that docs/virtio-conformance.md names exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs/virtio-conformance.md"
ROWS_MIN = 60


def rows():
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0] != "clause" and not cells[0].startswith("---"):
            yield cells


def is_defined(path, function):
    """A definition, not a call: the name begins a parameter list at the left margin's type."""
    return path.exists() and re.search(rf"^(?!\s|\*|/).*\b{function}\(", path.read_text(), re.M)


def complaints():
    count = 0
    for clause, _, duty, keeper, test in rows():
        count += 1
        kept = re.fullmatch(r"`(\S+): (\w+)`", keeper)
        shown = re.fullmatch(r"`(test_\w+): (\w+)`", test)
        if not kept or not is_defined(ROOT / kept[1], kept[2]):
            yield f"§{clause} ({duty}): there is no function {keeper}"
        if not shown or not is_defined(ROOT / "tests/host" / f"{shown[1]}.c", shown[2]):
            yield f"§{clause} ({duty}): there is no test {test}"
    if count < ROWS_MIN:
        yield f"only {count} rows could be read"


def main():
    wrong = list(complaints())
    for line in wrong:
        print(f"docs/virtio-conformance.md: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
