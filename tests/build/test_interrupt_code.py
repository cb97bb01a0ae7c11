"""What runs in interrupt context uses no vector or x87 register: nobody saves them there."""

import re

from conftest import BUILD, run

# Entered by isr.S, or through a pointer from there. read_isr exists once a transport.
INNER = "ringlet_in_"  # tools/mkentries.py
ENTRIES = {"irq_dispatch", "preempt_tick", "queue_event", "config_event", "line_event", "on_event", "vnet_interrupt", "read_isr"}
MAY_BE_INLINED = {"preempt_tick", "vnet_interrupt"}
VECTOR = re.compile(r"%(?:[xyz]mm\d+|st\b|mm\d|k[0-7]\b)")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:\n((?:.+\n)*)", re.M)
TARGET = re.compile(r"\b(?:call|jmp) +[0-9a-f]+ <([^>+]+)>")


def functions():
    """{name: its instructions}, LTO's suffixes kept."""
    listing = run("objdump", "-d", "--no-show-raw-insn", BUILD / "iperf.debug").stdout
    return dict(FUNCTION.findall(listing + "\n"))


def plain(name):
    return name.removeprefix(INNER).split(".")[0]


def reached(code, names):
    """The named functions and all that they call directly."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name in code and name not in seen:
            seen.add(name)
            todo += TARGET.findall(code[name])
    return seen


def test_interrupt_code_uses_no_vector_registers():
    code = functions()
    entries = [name for name in code if plain(name) in ENTRIES]
    assert {plain(name) for name in entries} >= ENTRIES - MAY_BE_INLINED

    # A panic ends the machine: it may use what it likes.
    inside = reached(code, entries) - reached(code, [INNER + "panic"])

    assert len(inside) >= len(ENTRIES) - 1
    assert {name for name in inside if VECTOR.search(code[name])} == set()


def test_the_check_would_see_one():
    code = functions()

    assert VECTOR.search("".join(code.values())), "no vector register in the whole image: the pattern is wrong"
