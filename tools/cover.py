"""Print line and branch coverage per file, from gcov's data.

    cover.py OBJECT_FOLDER SOURCE_FOLDER…     run at the top of the tree, after the instrumented tests
"""

import collections
import json
import os
import subprocess
import sys


def gcov(notes_file):
    """gcov's own report on one object, as parsed JSON; one that no test linked counts as never run."""
    done = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", notes_file],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)


def notes_files(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".gcno"):
                yield os.path.join(place, name)


def collect(folder, wanted):
    """{source: {line: [times run, [times each branch was taken]]}}, summed over all objects."""
    seen = collections.defaultdict(dict)
    for path in notes_files(folder):
        for source in gcov(path)["files"]:
            name = os.path.normpath(source["file"])
            if not name.startswith(wanted):
                continue
            for line in source["lines"]:
                taken = [b["count"] for b in line["branches"]]
                had = seen[name].setdefault(line["line_number"], [0, [0] * len(taken)])
                had[0] += line["count"]
                had[1] = [a + b for a, b in zip(had[1], taken)] if had[1] else taken
    return seen


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "      –"


def report(seen):
    totals = [0, 0, 0, 0]
    print(f"{'file':40} {'lines':>8} {'branches':>9}")
    for name in sorted(seen):
        lines = list(seen[name].values())
        branches = [taken for _, of_line in lines for taken in of_line]
        row = [sum(1 for count, _ in lines if count), len(lines),
               sum(1 for taken in branches if taken), len(branches)]
        totals = [a + b for a, b in zip(totals, row)]
        print(f"{name:40} {percent(row[0], row[1]):>8} {percent(row[2], row[3]):>9}")
    print(f"{'all':40} {percent(totals[0], totals[1]):>8} {percent(totals[2], totals[3]):>9}")


if __name__ == "__main__":
    report(collect(sys.argv[1], tuple(f"{folder}/" for folder in sys.argv[2:])))
