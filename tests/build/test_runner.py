"""tools/run_tests.py counts right, and its closing line can be relied on."""

from conftest import ROOT, clean_env, run


def script(folder, name, body):
    (folder / name).write_text(f"#!/bin/bash\n{body}\n")
    (folder / name).chmod(0o755)
    return folder / name


def run_tests(folder, *words):
    return run("/usr/bin/python3", ROOT / "tools/run_tests.py", "--junit", folder / "junit", *words, cwd=folder,
               env=clean_env(PYTEST_ARGS=""))


def last(done):
    return done.stdout.splitlines()[-1]


def test_cmocka_programs_and_pytest_folders_are_summed(tmp_path):
    one = script(tmp_path, "one", 'echo "[  PASSED  ] 3 test(s)."')
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/test_x.py").write_text("def test_a():\n    pass\n\ndef test_b():\n    pass\n")

    done = run_tests(tmp_path, one, "--pytest", "suite")

    assert done.returncode == 0
    assert last(done) == "5 passed, 0 failed"


def test_a_failure_is_counted_and_its_output_shown_whole(tmp_path):
    bad = script(tmp_path, "bad", 'echo "[  PASSED  ] 1 test(s)."; echo why it failed; '
                                  'echo "[  FAILED  ] 2 test(s), listed below:"; exit 2')

    done = run_tests(tmp_path, bad)

    assert done.returncode == 1
    assert last(done) == "1 passed, 2 failed"
    assert "why it failed" in done.stdout


def test_a_program_that_dies_is_a_failure(tmp_path):
    dies = script(tmp_path, "dies", 'echo "[  PASSED  ] 4 test(s)."; kill -SEGV $$')

    assert last(run_tests(tmp_path, dies)) == "4 passed, 1 failed"


def test_a_program_that_hangs_is_stopped(tmp_path):
    hangs = script(tmp_path, "hangs", "exec sleep 60")

    done = run_tests(tmp_path, "--limit", "1", hangs)

    assert last(done) == "0 passed, 1 failed"
    assert "stopped after" in done.stdout


def test_a_failing_pytest_folder_is_a_failure(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/test_x.py").write_text("def test_a():\n    assert 0\n\ndef test_b():\n    pass\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/test_y.py").write_text("import no_such_module\n")

    done = run_tests(tmp_path, "--pytest", "suite", "broken")

    assert done.returncode == 1
    assert last(done) == "1 passed, 2 failed"


def test_what_fails_beside_others_and_not_alone_has_passed_and_both_is_said(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite/test_x.py").write_text(
        "import pathlib\n\ndef test_a():\n    mark = pathlib.Path(__file__).with_suffix('.mark')\n"
        "    seen = mark.exists()\n    mark.touch()\n    assert seen\n\ndef test_b():\n    pass\n")

    done = run_tests(tmp_path, "--pytest", "suite")

    assert done.returncode == 0
    assert last(done) == "2 passed, 0 failed"
    assert "1 failed in suite: once more, alone" in done.stdout
    assert "once more, alone: 1 passed, 0 failed" in done.stdout


def test_no_test_at_all_is_a_failure(tmp_path):
    done = run_tests(tmp_path)

    assert done.returncode == 1 and last(done) == "0 passed, 1 failed"
