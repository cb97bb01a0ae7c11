"""The table of devices for test_matrix.py: every pair of values that can be had together stands in some row.

    matrix.py           write matrix.tsv
    matrix.py --check   end with 1 if matrix.tsv is not what this script would write

Rows are found greedily, from a fixed seed: a row starts with a pair that is still missing and takes on, value by value, what covers
most of the rest. `forbidden()` says what QEMU refuses, or what doesn't exist.
"""

import itertools
import pathlib
import random
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "matrix.tsv"
TRIES, SEED = 60, 4

FACTORS = {
    "place": ["pc", "q35", "q35-port", "q35-bridge", "microvm-mmio", "microvm-pcie"],
    "kind": ["legacy", "transitional", "modern"],
    "irq": ["msix", "vectors=0", "vectors=1", "vectors=2", "line"],
    "mtu": ["none", "1280", "1400", "9000"],
    "rx_queue_size": ["256", "512", "1024"],
    "mrg_rxbuf": ["on", "off"],
    "event_idx": ["on", "off"],
    "indirect_desc": ["on", "off"],
    "packed": ["off", "on"],
    "csum": ["on", "off"],
    "tso": ["on", "off"],
    "guest": ["on", "off"],
    "mq": ["off", "on"],
    "iommu_platform": ["off", "on"],
}
NAMES = list(FACTORS)

# What each value can't stand beside.
FORBIDDEN = {
    ("kind", "legacy"): [("packed", "on"), ("iommu_platform", "on"), ("place", "microvm-pcie")],  # no ports for its BAR there
    ("kind", "transitional"): [("iommu_platform", "on"), ("place", "microvm-mmio")],
    ("place", "microvm-mmio"): [("irq", value) for value in FACTORS["irq"] if value != "line"],
    ("irq", "line"): [("place", value) for value in FACTORS["place"] if value != "microvm-mmio"],
    ("irq", "vectors=0"): [("place", "microvm-pcie")],  # nobody says there which line INTx is
}


def forbidden(one, other):
    return other in FORBIDDEN.get(one, ()) or one in FORBIDDEN.get(other, ())


def fits(row, item):
    return all(not forbidden(item, other) for other in row.items())


def can_be_completed(row):
    """Is there a value for each missing factor? Looked for in order, with steps back."""
    missing = next((name for name in NAMES if name not in row), None)
    if missing is None:
        return True
    return any(fits(row, (missing, value)) and can_be_completed({**row, missing: value}) for value in FACTORS[missing])


def pairs_of(row):
    return {pair for pair in itertools.combinations([(name, row[name]) for name in NAMES], 2)}


def all_pairs():
    pairs = set()
    for one, other in itertools.combinations(NAMES, 2):
        for pair in itertools.product([(one, value) for value in FACTORS[one]], [(other, value) for value in FACTORS[other]]):
            if not forbidden(*pair) and can_be_completed(dict(pair)):
                pairs.add(pair)
    return pairs


def gain(row, item, missing):
    """How many missing pairs this value makes with those in the row."""
    return sum(((item, other) in missing) + ((other, item) in missing) for other in row.items())


def make_row(missing, dice):
    row = dict(dice.choice(sorted(missing)))
    names = [name for name in NAMES if name not in row]
    dice.shuffle(names)
    for name in names:
        values = [value for value in FACTORS[name]
                  if fits(row, (name, value)) and can_be_completed({**row, name: value})]
        dice.shuffle(values)
        row[name] = max(values, key=lambda value: gain(row, (name, value), missing))
    return row


def make_table():
    dice = random.Random(SEED)
    missing, table = all_pairs(), []
    while missing:
        best = max((make_row(missing, dice) for _ in range(TRIES)), key=lambda row: len(pairs_of(row) & missing))
        missing -= pairs_of(best)
        table.append(best)
    return table


def to_text(table):
    return "".join("\t".join(cells) + "\n" for cells in [NAMES, *([row[name] for name in NAMES] for row in table)])


def read_table():
    names, *rows = [line.split("\t") for line in TABLE.read_text().splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


# ---- What a row means to QEMU


def machine_words(row):
    """(machine, model, words before the NIC, words after it)."""
    port = ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1"]
    return {
        "pc": ("pc", "virtio-net-pci", [], []),
        "q35": ("q35", "virtio-net-pci", [], []),
        "q35-port": ("q35", "virtio-net-pci", port, []),
        "q35-bridge": ("q35", "virtio-net-pci", [*port, "-device", "pcie-pci-bridge,id=br0,bus=rp0"], []),
        "microvm-mmio": ("microvm", "virtio-net-device", [],
                         [] if row["kind"] == "legacy" else ["-global", "virtio-mmio.force-legacy=false"]),
        "microvm-pcie": ("microvm,pcie=on", "virtio-net-pci", [], []),
    }[row["place"]]


def device_words(row):
    """The NIC's options."""
    words = [f"{name}={row[name]}" for name in
             ("rx_queue_size", "mrg_rxbuf", "event_idx", "indirect_desc", "packed", "csum", "mq", "iommu_platform")]
    words += [f"host_{name}={row['tso']}" for name in ("tso4", "tso6", "ecn")]
    words += [f"guest_{name}={row['guest']}" for name in ("csum", "tso4", "tso6", "ecn")]
    if row["mtu"] != "none":
        words.append(f"host_mtu={row['mtu']}")
    if row["irq"].startswith("vectors"):
        words.append(row["irq"])
    if row["place"] != "microvm-mmio":
        words += {"legacy": ["disable-modern=on", "disable-legacy=off"], "transitional": ["disable-legacy=off"],
                  "modern": ["disable-legacy=on"]}[row["kind"]]
    return ",".join(words + {"q35-port": ["bus=rp0"], "q35-bridge": ["bus=br0", "addr=3"]}.get(row["place"], []))


def main():
    text = to_text(make_table())
    if "--check" in sys.argv[1:]:
        return int(TABLE.read_text() != text)
    TABLE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
