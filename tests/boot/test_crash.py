"""A crash prints one block (reason, registers, a backtrace with names, counters) and ends with status 70."""

import re

import pytest

REASONS = {
    "read-null": r"NULL pointer: .*reading",
    "write-null": r"NULL pointer: .*writing",
    "call-null": r"NULL pointer: .*executing",
    "write-text": r"page fault: writing .*not allowed",
    "write-constant": r"page fault: writing .*not allowed",
    "run-data": r"page fault: executing .*not allowed",
    "run-heap": r"page fault: executing .*not allowed",
    "read-unmapped": r"page fault: reading .*not mapped",
    "read-non-canonical": r"general protection",
    "overflow-stack": r"stack overflow: the main stack is used up",
    "overflow-thread": r"stack overflow: a thread needs more than its 65536 bytes",
    "big-frame": r"stack overflow: the main stack is used up",
    "big-frame-thread": r"stack overflow: a thread needs more than its 65536 bytes",
    "write-upwards": r"^page fault: writing .*not mapped",
    "lose-stack": r"stack|double fault|NULL",
    "lose-frames": r"invalid instruction",
    "divide": r"divide error",
    "bad-instruction": r"invalid instruction",
    "panic": r"asked to, with 42 and words",
    "assert": r"abort",
    "check": r"nowhere == 1",
    "abort": r"abort",
    "in-callback": r"NULL pointer",
    "in-interrupt": r"NULL pointer",
    "mid-line": r"NULL pointer",
}
NAMES = {"write-null": "write_null", "divide": "divide", "in-callback": "compare_and_crash", "in-interrupt": "cpu_idle",
         "overflow-stack": "recurse", "read-null": "read_null", "bad-instruction": "bad_instruction", "check": "fail_check",
         "panic": "ask_panic"}
START, END = r"^---- crash: (.+)$", r"^---- end of crash$"
REGISTERS = ["rip", "rsp", "rbp", "rfl", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
             "r14", "r15", "cr2", "cr3"]


def block(guest):
    """(reason, text) of the only crash block."""
    text = guest.console()
    assert len(re.findall(START, text, re.M)) == 1 and len(re.findall(END, text, re.M)) == 1, text
    start, end = re.search(START, text, re.M), re.search(END, text, re.M)
    return start[1], text[start.start():end.end()]


@pytest.mark.parametrize("way", REASONS)
def test_it_is_one_block_with_its_reason_and_status_70(boot, way):
    guest = boot("test/crash", append=f"-- {way}")
    guest.expects_crash = True

    assert guest.exit_status() == 70
    reason, text = block(guest)
    assert re.search(REASONS[way], reason)
    assert re.search(r"^backtrace:\n(  |\? )", text, re.M)
    counters = text[text.index("counters that are not 0:\n"):]
    assert re.search(r"^  log_lines_total\{level=\"info\"\} 1$", counters, re.M)


@pytest.mark.parametrize("way", ["write-null", "divide", "overflow-stack"])
def test_a_fault_shows_all_registers(boot, way):
    guest = boot("test/crash", append=f"-- {way}")
    guest.expects_crash = True
    guest.exit_status()

    values = dict(re.findall(r"\b([a-z][a-z0-9]{1,2}) +([0-9a-f]{16})\b", block(guest)[1]))

    assert sorted(values) == sorted(REGISTERS)
    assert int(values["rip"], 16) >= 0x100000


@pytest.mark.parametrize("way, name", NAMES.items())
def test_the_backtrace_names_the_function_at_fault(boot, way, name):
    guest = boot("test/crash", append=f"-- {way}")
    guest.expects_crash = True
    guest.exit_status()

    trace = re.findall(r"^[ ?] *[0-9a-f]{16} ([a-z_0-9]+)\+\d+$", block(guest)[1], re.M)

    assert name in trace
    if way != "overflow-stack":
        assert "main" in trace


def test_the_way_is_wrong_when_main_returns(boot):
    guest = boot("test/crash", append="-- no-such-way")

    assert guest.exit_status() == 2


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_without_the_exit_device_a_crash_powers_off(boot, machine):
    guest = boot("test/crash", append="-- divide", machine=machine, debug_exit=False)
    guest.expects_crash = True

    assert guest.wait() == 0
    assert guest.console().splitlines()[-1] == "exit: 70"
