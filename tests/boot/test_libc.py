"""newlib in an image: apps/libc/ checks its functions from inside, and prints a line for each."""

import re
import time


def test_the_c_library_behaves(boot):
    guest = boot("test/libc")

    assert guest.exit_status(timeout=40) == 0
    text = guest.console()
    assert "\nFAIL " not in text
    assert len(re.findall(r"^ok ", text, re.M)) > 40
    assert "atexit ran" in text
    assert re.search(r"^ringlet: file number 1 of 2, 3, 4, 5, 6: No such file or directory$", text, re.M)
    assert re.search(r"^ringlet: 1[.]50 plain\nringlet: $", text, re.M)


def test_time_is_the_hosts(boot):
    guest = boot("test/libc")
    now = int(guest.wait_for(r"^now (\d+) ")[1])

    assert abs(now - time.time()) < 5


def test_the_last_line_stands_alone_after_output_without_newline(boot):
    guest = boot("test/libc")
    guest.exit_status(timeout=40)

    assert guest.console().endswith("no newline after this\nexit: 0\n") or "\nexit: 0\n" in guest.console()
