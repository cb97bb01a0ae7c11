"""Builds in different folders give the same bytes."""

import hashlib

import pytest

from conftest import BUILD, DEPS, ROOT, clean_env, run


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["hello.elf", "iperf.elf", "hello.debug", "iperf.debug"])
def test_a_clean_build_elsewhere_without_network_gives_the_same_bytes(clean_build, name):
    assert sha256(clean_build / "build" / name) == sha256(BUILD / name)


def test_newlib_built_elsewhere_gives_the_same_bytes(tmp_path):
    done = run(ROOT / "tools/build_newlib.sh", DEPS / "newlib-src", "out", cwd=tmp_path, env=clean_env(),
               timeout=600)

    assert done.returncode == 0, done.stdout
    for name in ("libc.a", "libm.a"):
        assert sha256(tmp_path / "out/lib" / name) == sha256(DEPS / "newlib/lib" / name)


def test_no_path_of_the_building_machine_is_in_an_image(clean_build):
    for name in ("hello.debug", "iperf.debug"):
        data = (clean_build / "build" / name).read_bytes()
        assert str(clean_build).encode() not in data
        assert str(BUILD).encode() not in data
