"""Make the image's symbol table (lib/symbols.h) as assembly.

    nm -n IMAGE | mksyms.py >OUT.S

Reads `nm` lines from standard input, keeps functions, and writes the table to standard output; with no
input an empty one. Compilers' suffixes (.lto_priv.0, .constprop.1, .isra.2 …) are cut: a reader of a
backtrace wants the name in the source. Where several names share an address, the shortest
public one stays.
"""

import sys

KINDS = "tTwWi"
SKIP_PREFIXES = (".L", "__pfx_", "$")
INNER = "ringlet_in_"  # tools/mkentries.py


def read_functions(lines):
    """{address: (rank, name)} of every function."""
    best = {}
    for line in lines:
        fields = line.split()
        if len(fields) != 3 or fields[1] not in KINDS:
            continue
        addr, kind, name = int(fields[0], 16), fields[1], fields[2].split(".")[0].removeprefix(INNER)
        if not name or name.startswith(SKIP_PREFIXES) or addr >= 1 << 32:
            continue
        rank = (kind not in "TW", len(name), name)
        if addr not in best or rank < best[addr]:
            best[addr] = rank
    return {addr: rank[2] for addr, rank in best.items()}


def main():
    functions = sorted(read_functions(sys.stdin).items())
    out = [
        '    .section .symbols, "a", @progbits',
        "    .balign 8",
        f"    .long {len(functions)}",
    ]
    out += [f"    .long {addr:#x}" for addr, _ in functions]
    out += [f'    .asciz "{name}"' for _, name in functions]
    out.append('    .section .note.GNU-stack, "", @progbits')
    print("\n".join(out))


if __name__ == "__main__":
    main()
