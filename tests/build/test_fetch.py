"""tools/fetch_deps.sh, against a made-up package on a mirror of our own on the loopback."""

import hashlib
import http.server
import os
import pathlib
import shutil
import tarfile
import threading

import pytest

from conftest import ROOT, run

FILE = "demo_1.0.orig.tar.gz"
POOL = "/debian/pool/main/d/demo/"


class Mirror(http.server.ThreadingHTTPServer):
    """Serves `files` by path, and remembers what was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked = {}, []
        self.base = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802 (the base class names it)
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def mirror():
    server = Mirror()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def make_archive(path, text="int demo;\n", top="demo-1.0"):
    (path.parent / "make" / top / "src").mkdir(parents=True, exist_ok=True)
    (path.parent / "make" / top / "src/demo.c").write_text(text)
    with tarfile.open(path, "w:gz") as tar:
        tar.add(path.parent / "make" / top, arcname=top)
    return path.read_bytes()


class Place:
    """A copy of the script with a lock file of its own, and sources.list files of its own."""

    def __init__(self, folder, mirror):
        self.folder, self.mirror = folder, mirror
        self.apt = folder / "apt"
        (self.apt / "sources.list.d").mkdir(parents=True)
        shutil.copy(ROOT / "tools/fetch_deps.sh", folder)
        (folder / "os-release").write_text("VERSION_CODENAME=bookworm\n")
        self.archive = make_archive(folder / "good.tar.gz")
        self.sources(f"deb {mirror.base}/debian bookworm main\n")
        self.lock()

    def lock(self, *more):
        line = b"%s  src/demo.c\n" % hashlib.sha256(b"int demo;\n").hexdigest().encode()
        (self.folder / "deps.lock").write_text("\n".join([
            "demo version 1.0", f"demo file {FILE}", f"demo sha256 {hashlib.sha256(self.archive).hexdigest()}",
            "demo pool pool/main/d/demo", "demo part src", f"demo tree {hashlib.sha256(line).hexdigest()}",
            *more]) + "\n")

    def sources(self, text, name="sources.list"):
        (self.apt / name).write_text(text)

    def fetch(self, src="", as_user=()):
        env = {"PATH": os.environ["PATH"], "APT_DIR": str(self.apt), "OS_RELEASE": str(self.folder / "os-release"),
               "DEBIAN_MIRRORS": ""}
        return run(*as_user, self.folder / "fetch_deps.sh", "demo", "out/demo", "out/dl", src,
                   cwd=self.folder, env=env)

    def text(self):
        return (self.folder / "out/demo/src/demo.c").read_text()


@pytest.fixture
def place(tmp_path, mirror):
    return Place(tmp_path, mirror)


def test_the_users_own_mirror_is_asked_first(place, mirror):
    mirror.files[POOL + FILE] = place.archive

    done = place.fetch()

    assert done.returncode == 0, done.stdout
    assert place.text() == "int demo;\n"
    assert mirror.asked == [POOL + FILE]


def test_deb822_sources_are_understood_and_a_disabled_stanza_is_not_asked(place, mirror):
    place.sources("")
    place.sources(f"Types: deb\nURIs: {mirror.base}/off\nSuites: bookworm\nComponents: main\nEnabled: no\n\n"
                  f"Types: deb\n# a comment\nURIs: {mirror.base}/debian/\nSuites: bookworm\n bookworm-updates\n"
                  "Components: main contrib\n", "sources.list.d/debian.sources")
    mirror.files[POOL + FILE] = place.archive

    assert place.fetch().returncode == 0
    assert mirror.asked == [POOL + FILE]


def test_other_vendors_archives_are_not_asked(place, mirror):
    place.sources(f"deb {mirror.base}/vendor cloud-bookworm main\ndeb {mirror.base}/shop bookworm stable\n"
                  f"# deb {mirror.base}/old bookworm main\n"
                  f"deb [arch=amd64 signed-by=/k] {mirror.base}/debian bookworm main\n")
    mirror.files[POOL + FILE] = place.archive

    assert place.fetch().returncode == 0
    assert mirror.asked == [POOL + FILE]


def test_a_mirror_list_file_is_followed(place, mirror):
    (place.folder / "mirrors").write_text(f"{mirror.base}/debian\tpriority:1\n")
    place.sources(f"deb mirror+file:{place.folder}/mirrors bookworm main\n")
    mirror.files[POOL + FILE] = place.archive

    assert place.fetch().returncode == 0
    assert place.text() == "int demo;\n"


def test_a_wrong_checksum_stops_with_one_clear_line(place, mirror):
    mirror.files[POOL + FILE] = make_archive(place.folder / "bad.tar.gz", "int changed;\n")

    done = place.fetch()

    assert done.returncode == 1
    assert "wrong checksum" in done.stdout
    assert not (place.folder / "out/demo").exists()


def test_the_next_address_is_tried_when_one_lacks_the_file_or_has_another(place, mirror):
    mirror.files[POOL + FILE] = b"an error page"
    mirror.files["/same/demo.tar.gz"] = place.archive
    place.lock(f"demo same {mirror.base}/same/demo.tar.gz")

    assert place.fetch().returncode == 0
    assert place.text() == "int demo;\n"


def test_another_archive_of_the_release_is_held_to_the_files_in_it(place, mirror):
    place.lock(f"demo other {mirror.base}/rel/v1.tar.gz")
    mirror.files["/rel/v1.tar.gz"] = make_archive(place.folder / "v1.tar.gz", top="demo-STABLE")

    assert place.fetch().returncode == 0
    assert place.text() == "int demo;\n"


def test_another_archive_with_one_changed_file_is_refused(place, mirror):
    place.lock(f"demo other {mirror.base}/rel/v1.tar.gz")
    mirror.files["/rel/v1.tar.gz"] = make_archive(place.folder / "v1.tar.gz", "int demo ;\n")

    done = place.fetch()

    assert done.returncode == 1
    assert "wrong checksum" in done.stdout
    assert not (place.folder / "out/demo").exists()


def test_what_is_fetched_is_not_fetched_again(place, mirror):
    mirror.files[POOL + FILE] = place.archive
    place.fetch()
    shutil.rmtree(place.folder / "out/demo")

    assert place.fetch().returncode == 0
    assert place.fetch().stdout == ""
    assert len(mirror.asked) == 1


def test_a_fetched_file_that_was_damaged_is_refused(place, mirror):
    (place.folder / "out/dl").mkdir(parents=True)
    (place.folder / "out/dl" / FILE).write_bytes(b"half of it")

    done = place.fetch()

    assert done.returncode == 1
    assert "wrong checksum" in done.stdout and mirror.asked == []


def test_a_folder_that_is_there_is_used_and_nothing_is_fetched(place, mirror):
    done = place.fetch(place.folder / "make/demo-1.0")

    assert done.returncode == 0, done.stdout
    assert place.text() == "int demo;\n" and mirror.asked == []


def test_a_folder_with_other_files_is_used_with_a_note(place):
    (place.folder / "make/demo-1.0/src/demo.c").write_text("int mine;\n")

    done = place.fetch(place.folder / "make/demo-1.0")

    assert done.returncode == 0
    assert "differs from demo 1.0" in done.stdout and place.text() == "int mine;\n"


@pytest.mark.parametrize("wrong, says", [("nowhere", "no such folder or file"), ("apt", "not a demo source tree")])
def test_a_folder_that_is_none_is_refused(place, wrong, says):
    done = place.fetch(place.folder / wrong)

    assert done.returncode == 1 and says in done.stdout


def test_an_archive_that_is_there_is_used_when_its_checksum_is_right(place, mirror):
    assert place.fetch(place.folder / "good.tar.gz").returncode == 0
    assert place.text() == "int demo;\n" and mirror.asked == []


def test_an_archive_that_is_there_is_refused_when_its_checksum_is_wrong(place):
    make_archive(place.folder / "bad.tar.gz", "int changed;\n")

    done = place.fetch(place.folder / "bad.tar.gz")

    assert done.returncode == 1
    assert "wrong checksum" in done.stdout and not (place.folder / "out/demo").exists()


def test_a_file_that_is_no_archive_is_refused_in_one_line(place):
    (place.folder / "bad.tar.gz").write_bytes(b"an error page")

    done = place.fetch(place.folder / "bad.tar.gz")

    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1 and "wrong checksum" in done.stdout


def test_what_cannot_be_had_is_told_with_the_way_out(place):
    done = place.fetch()

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("demo: could not fetch") and "DEMO_SRC=" in done.stdout


def test_it_works_without_rights_and_leaves_the_systems_apt_alone(place, mirror):
    def state():
        return {p: p.stat().st_mtime_ns for top in ("/etc/apt", "/var/lib/apt", "/var/cache/apt/archives")
                for p in pathlib.Path(top).rglob("*")}
    mirror.files[POOL + FILE] = place.archive
    before = state()
    as_user = ()
    if os.getuid() == 0:
        for path in [place.folder, *place.folder.parents]:
            if path.is_relative_to("/tmp") and path != pathlib.Path("/tmp"):
                path.chmod(0o777)
        as_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent")

    done = place.fetch(as_user=as_user)

    assert done.returncode == 0, done.stdout
    assert state() == before
