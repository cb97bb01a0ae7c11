"""What the Makefile promises."""

import re

from conftest import BUILD, DEPS, ROOT, clean_env, run


def make(*words, cwd=ROOT):
    return run("make", *words, cwd=cwd, env=clean_env(), timeout=300)


def test_help_lists_every_target_a_person_would_call():
    listed = {line.split()[0] for line in make("help").stdout.splitlines() if line.strip()}

    assert {"all", "run", "iso", "test", "test-host", "test-build", "test-boot", "fuzz", "lint", "cover", "soak",
            "docs", "ci", "deps", "clean", "distclean", "help"} <= listed


def test_a_second_build_does_nothing(clean_build):
    before = {p: p.stat().st_mtime_ns for p in (clean_build / "build").rglob("*") if p.is_file()}

    done = make(f"DEPS={DEPS}", "build/hello.elf", "build/iperf.elf", cwd=clean_build)

    assert done.returncode == 0, done.stdout
    assert not re.search(r"^ *(CC|AS|LTO|LINK|IMAGE)\b|setup:|fetching|newlib:", done.stdout, re.M), done.stdout
    assert before == {p: p.stat().st_mtime_ns for p in (clean_build / "build").rglob("*") if p.is_file()}


def test_an_app_that_is_not_there_is_said_to_be_missing(clean_build):
    done = make(f"DEPS={DEPS}", "build/nosuch.elf", cwd=clean_build)

    assert done.returncode == 2
    assert "apps/nosuch has no C file" in done.stdout


def test_another_command_line_makes_another_disc(clean_build):
    def disc(args):
        done = make(f"DEPS={DEPS}", "iso", "APP=hello", f"ARGS={args}", cwd=clean_build)
        assert done.returncode == 0, done.stdout
        return (clean_build / "build/hello.iso").read_bytes()

    assert b"log=info" in disc("log=info")
    assert b"log=warn" in disc("log=warn")


def test_a_changed_header_rebuilds_what_includes_it(clean_build):
    done = make(f"DEPS={DEPS}", "-n", "-W", "lib/log.h", "build/hello.elf", cwd=clean_build)

    assert "lib/log.c" in done.stdout and "LINK" in done.stdout


def test_warnings_are_errors_in_our_code(clean_build):
    bad = clean_build / "lib" / "zz_bad.c"
    bad.write_text("int zz_bad(unsigned n);\nint zz_bad(unsigned n)\n{\n    return n;\n}\n")
    try:
        done = make(f"DEPS={DEPS}", "build/obj/lib/zz_bad.c.o", cwd=clean_build)
    finally:
        bad.unlink()

    assert done.returncode != 0
    assert "-Werror=sign-conversion" in done.stdout


def test_nothing_of_lwips_applications_or_socket_layer_is_built():
    """docs/decisions/0001-lwip-patches.md relies on this."""
    objects = make("-n", "-B", "build/kernel.o").stdout

    assert "lwip/src/core/tcp_in" in objects
    assert not re.search(r"lwip/src/(apps|api)/|lwip/contrib/", objects)


def test_the_table_of_options_in_docs_is_the_one_in_the_code():
    done = make(f"B={BUILD}", f"DEPS={DEPS}", f"{BUILD}/host-gcc/options_md")

    assert done.returncode == 0, done.stdout
    assert run(BUILD / "host-gcc/options_md").stdout == (ROOT / "docs/options.md").read_text()


def test_no_third_party_source_is_committed():
    names = run("git", "-c", "safe.directory=*", "ls-files").stdout.splitlines()

    assert not [n for n in names if re.search(r"lwip-2|newlib-4|\.(tar|zip|a|o|elf|iso)(\.|$)", n)]
