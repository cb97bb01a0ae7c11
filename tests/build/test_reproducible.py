"""Builds in different folders give the same bytes."""

import hashlib
import shutil

import pytest

from conftest import BUILD, DEPS, ROOT, build_alone, clean_env, run


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def second_build(clean_build, tmp_path_factory):
    place = tmp_path_factory.mktemp("second") / "a-folder" / "deeper" / "ringlet"
    shutil.copytree(clean_build, place, ignore=lambda folder, _: ["build"] if folder == str(clean_build) else [])
    build_alone(place)
    return place


@pytest.mark.parametrize("name", ["hello.elf", "iperf.elf", "hello.debug", "iperf.debug"])
def test_clean_builds_in_two_folders_without_network_give_the_same_bytes(clean_build, second_build, name):
    assert sha256(clean_build / "build" / name) == sha256(second_build / "build" / name)


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
