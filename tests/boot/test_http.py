"""The http image: files from an archive, with the clients that people use, and some that nobody should."""

import gzip
import hashlib
import re
import socket
import struct
import subprocess
import time

import pytest

from netns import GUEST

BIG = bytes(i * i % 251 for i in range(1 << 16)) * 320  # 20 MiB


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "sub/empty").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>home</h1>\n")
    (folder / "a.txt").write_text("0123456789\n")
    (folder / "none.bin").write_bytes(b"")
    (folder / "style.css").write_text("body{}\n")
    (folder / "style.css.gz").write_bytes(gzip.compress(b"body{}\n"))
    (folder / "big.bin").write_bytes(BIG)
    (folder / "sub/a <b> & c.html").write_text("odd\n")
    for hidden in (".git/config", "sub/.secret", ".well-known/acme"):
        (folder / hidden).parent.mkdir(exist_ok=True)
        (folder / hidden).write_text("hidden\n")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "out").symlink_to("/../../../etc")
    path = folder.parent / f"{folder.name}.tar"
    subprocess.run(["tar", "-C", folder, "--mtime=@784111777", "-cf", path, "."], check=True)
    return path


@pytest.fixture
def server(boot, net, archive):
    guest = boot("http", net, mem=64, qemu=["-initrd", archive])
    guest.ready()
    return guest


def test_hidden_names_are_neither_listed_nor_served(server, net):
    for path in ("/.git/config", "/.git", "/.git/", "/sub/.secret", "/%2egit/config"):
        assert get(net, path)[0] == 404, path
    assert get(net, "/.well-known/acme")[::2] == (200, b"hidden\n")
    assert b".secret" not in get(net, "/sub/")[2]


def exchange(net, request, timeout=10, finish=True):
    """All that comes back."""
    with net.connect(80, timeout=timeout) as sock:
        sock.sendall(request)
        if finish:
            sock.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := sock.recv(1 << 20):
            answer += piece
    return answer


def get(net, target, *fields, method="GET"):
    """(status, {field: value}, body)"""
    lines = [f"{method} {target} HTTP/1.1", "Host: guest", "Connection: close", *fields, "", ""]
    head, _, body = exchange(net, "\r\n".join(lines).encode()).partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}, body


def counters(net):
    return {name.removeprefix("ringlet_"): value for name, value in net.metrics().items()}


def test_files_folders_and_types(server, net):
    assert get(net, "/")[2] == b"<h1>home</h1>\n"
    status, fields, body = get(net, "/a.txt")
    assert (status, body, fields["content-length"]) == (200, b"0123456789\n", "11")
    assert fields["content-type"] == "text/plain; charset=utf-8"
    assert fields["last-modified"] == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert get(net, "/none.bin")[1:] == (get(net, "/none.bin")[1], b"")
    assert get(net, "/sub")[0] == 301 and get(net, "/sub")[1]["location"] == "/sub/"
    listing = get(net, "/sub/")[2].decode()
    assert 'href="./a%20%3Cb%3E%20%26%20c.html">a &#60;b&#62; &#38; c.html</a>' in listing
    assert get(net, "/sub/a%20%3Cb%3E%20%26%20c.html")[2] == b"odd\n"
    assert get(net, "/link.txt")[2] == b"0123456789\n"
    assert get(net, "/nothing")[0] == get(net, "/a.txt/")[0] == get(net, "/a.txt/x")[0] == 404
    assert get(net, "/style.css", "Accept-Encoding: br, gzip")[1]["content-encoding"] == "gzip"
    assert "content-encoding" not in get(net, "/style.css")[1]


def test_head_has_the_same_fields_and_no_body(server, net):
    of_get, of_head = get(net, "/a.txt"), get(net, "/a.txt", method="HEAD")

    assert of_head[0] == 200 and of_head[2] == b""
    assert {k: v for k, v in of_head[1].items() if k != "date"} == {k: v for k, v in of_get[1].items() if k != "date"}


@pytest.mark.parametrize("field, status, body, content_range", [
    ("bytes=2-4", 206, b"234", "bytes 2-4/11"), ("bytes=8-", 206, b"89\n", "bytes 8-10/11"), ("bytes=-2", 206, b"9\n", "bytes 9-10/11"),
    ("bytes=0-999", 206, b"0123456789\n", "bytes 0-10/11"), ("bytes=11-", 416, None, "bytes */11"),
    ("bytes=1-2,4-5", 200, b"0123456789\n", None), ("nonsense", 200, b"0123456789\n", None)])
def test_ranges(server, net, field, status, body, content_range):
    got = get(net, "/a.txt", f"Range: {field}")

    assert got[0] == status
    assert got[1].get("content-range") == content_range
    assert body is None or got[2] == body


def test_conditions(server, net):
    etag = get(net, "/a.txt")[1]["etag"]
    date = "Sun, 06 Nov 1994 08:49:37 GMT"

    assert get(net, "/a.txt", f'If-None-Match: "x", {etag}')[0] == 304
    assert get(net, "/a.txt", f"If-None-Match: W/{etag}")[2] == b""
    assert get(net, "/a.txt", 'If-None-Match: "x"')[0] == 200
    assert get(net, "/a.txt", f"If-Modified-Since: {date}")[0] == 304
    assert get(net, "/a.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT")[0] == 200
    assert get(net, "/a.txt", f'If-None-Match: "x"', f"If-Modified-Since: {date}")[0] == 200  # the tag decides
    assert get(net, "/a.txt", f"If-Match: {etag}")[0] == 200
    assert get(net, "/a.txt", 'If-Match: "x"')[0] == 412
    assert get(net, "/a.txt", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT")[0] == 412
    assert get(net, "/a.txt", "Range: bytes=0-0", f"If-Range: {etag}")[0] == 206
    assert get(net, "/a.txt", "Range: bytes=0-0", 'If-Range: "x"')[0] == 200
    assert get(net, "/a.txt", "Range: bytes=0-0", f"If-Range: {date}")[0] == 206


@pytest.mark.parametrize("target", [
    "/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/x", "/sub/../../x", "/out/passwd", "/a.txt%00.html", "/%", "/\\..\\..\\x",
    "/sub/%2e%2e/%2e%2e/%2e%2e/dev/zero"])
def test_no_path_leads_out(server, net, target):
    assert get(net, target)[0] in (400, 404)


@pytest.mark.parametrize("request_bytes, status", [
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405), (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501),
    (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/3.0\r\n\r\n", 505), (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501), (b"GET /" + b"a" * 9000, 414),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 9000, 431), (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    (b"GET / HTTP", 400)])
def test_what_cannot_be_served_is_told(server, net, request_bytes, status):
    assert exchange(net, request_bytes).startswith(b"HTTP/1.1 %d " % status)
    assert get(net, "/a.txt")[0] == 200


def test_a_connection_serves_many_requests_also_at_once(server, net):
    one = b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
    with_body = b"GET /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /"
    last = b"GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    answer = exchange(net, one * 40 + with_body + one + last)

    assert answer.count(b"HTTP/1.1 200 OK") == answer.count(b"0123456789\n") == 43
    with net.connect(80) as sock:
        for byte in one * 3:  # a byte at a time
            sock.sendall(bytes([byte]))
        got = b""
        while got.count(b"0123456789\n") < 3:
            got += sock.recv(65536)


def test_a17_a_client_that_has_finished_sending_gets_its_answer(server, net):
    assert exchange(net, b"GET / HTTP/1.0\r\n\r\n").endswith(b"<h1>home</h1>\n")
    assert hashlib.sha256(exchange(net, b"GET /big.bin HTTP/1.0\r\n\r\n", timeout=30).partition(b"\r\n\r\n")[2]).digest() == \
        hashlib.sha256(BIG).digest()


def test_curl_gets_big_files_whole_over_both_families(server, net, tmp_path):
    for number, host in enumerate([GUEST, "[fe80::5054:ff:fe12:3456%25t0]"]):
        net.run("curl", "-gsS", "-o", tmp_path / f"{number}", f"http://{host}/big.bin")
        assert (tmp_path / f"{number}").read_bytes() == BIG
    net.run("curl", "-sS", "-C", "1000000", "-o", tmp_path / "rest", f"http://{GUEST}/big.bin")
    assert (tmp_path / "rest").read_bytes() == BIG[1_000_000:]


def test_a_reader_that_stalls_and_clients_that_vanish_hurt_nobody(server, net):
    before = counters(net)
    slow = net.connect(80)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(b"GET /big.bin HTTP/1.0\r\n\r\n")
    for _ in range(20):
        with net.connect(80) as sock:
            sock.sendall(b"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
            sock.recv(1000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(5)

    assert get(net, "/a.txt")[0] == 200
    got = 0
    while piece := slow.recv(1 << 20):
        got += len(piece)
    assert got > len(BIG)
    slow.close()
    assert_back(net, before)


def assert_back(net, before, seconds=20):
    """Memory and connections are as they were."""
    deadline = time.monotonic() + seconds
    while True:
        now = counters(net)
        waiting = 'tcp_connections{state="time_wait"}'
        same = now["frag_outstanding"] - now[waiting] == before["frag_outstanding"] - before[waiting]
        if same and now["http_connections"] == before["http_connections"]:
            return now
        assert time.monotonic() < deadline, {name: (before[name], now[name]) for name in ("frag_outstanding", "http_connections", waiting)}
        time.sleep(0.5)


def test_slow_heads_are_given_up_and_others_served_meanwhile(server, net):
    """Slowloris: two hundred that send a byte a second."""
    socks = [net.connect(80, timeout=30) for _ in range(200)]
    for sock in socks:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
    begin = time.monotonic()
    while time.monotonic() - begin < 9:
        for sock in socks:
            sock.sendall(b"a")
        assert get(net, "/a.txt")[0] == 200
        time.sleep(1)

    for sock in socks:
        assert sock.recv(1000).startswith(b"HTTP/1.1 408 ")
        sock.close()
    assert time.monotonic() - begin < 25


def test_a_thousand_kept_connections(server, net):
    before = counters(net)
    socks = []
    for _ in range(1000):
        sock = net.connect(80)
        sock.sendall(b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n")
        socks.append(sock)
    for sock in socks:
        assert b"0123456789\n" in sock.recv(4096)
    assert counters(net)["http_connections"] >= 1000
    for sock in socks:
        sock.close()
    assert_back(net, before)


def failed(text):
    assert re.search(r"^Complete requests: +\d+$", text, re.M), text
    return int(re.search(r"^Failed requests: +(\d+)$", text, re.M)[1]) + ("Non-2xx" in text)


@pytest.mark.parametrize("words", [["-n", "20000", "-c", "50"], ["-k", "-n", "20000", "-c", "50"], ["-n", "5000", "-c", "200"]])
def test_a14_thousands_of_short_connections(server, net, words):
    before = counters(net)

    assert failed(net.run("ab", "-q", *words, f"http://{GUEST}/a.txt", timeout=110).stdout) == 0

    after = assert_back(net, before)
    assert after["http_requests_total"] - before["http_requests_total"] >= int(words[words.index("-n") + 1])
    assert after['tcp_connections{state="time_wait"}'] <= 256 + 64 + 200


def test_a14_wrk_five_times_without_a_pause(server, net):
    for words in ([], ["-H", "Connection: close"], [], ["-H", "Connection: close"], []):
        done = net.run("wrk", "-t2", "-c30", "-d2s", *words, f"http://{GUEST}/a.txt", timeout=30)
        assert "Socket errors: connect 0" in done.stdout or "Socket errors" not in done.stdout, done.stdout
        assert "Non-2xx" not in done.stdout
        assert int(re.search(r"(\d+) requests in", done.stdout)[1]) > 500


def test_metrics_are_what_prometheus_takes(server, net):
    status, fields, body = get(net, "/metrics")
    seen, typed = set(), {}

    assert status == 200 and fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in body.decode().splitlines():
        if line.startswith("# HELP "):
            assert re.fullmatch(r"# HELP [a-z_][a-z0-9_]* \S.*", line)
            helped = line.split()[2]
        elif line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name == helped and kind in ("counter", "gauge") and name not in typed
            assert name.endswith("_total") == (kind == "counter"), name  # as promtool wants it
            typed[name] = kind
        else:
            found = re.fullmatch(r'([a-z_][a-z0-9_]*)(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? \d+', line)
            assert found and line.rsplit(" ", 1)[0] not in seen, line
            assert found[1] in typed
            seen.add(line.rsplit(" ", 1)[0])
    assert len(typed) > 40


def test_the_status_page_names_every_counter(server, net):
    page = get(net, "/status")[2].decode()

    assert page.startswith("<!doctype html>") and "http" in page
    for name in counters(net):
        assert name.split("{")[0] in page


def test_without_an_archive_the_status_page_is_served(boot, net):
    boot("http", net).ready()

    assert b"Ringlet" in get(net, "/")[2]


def test_port_and_root_can_be_chosen(boot, net, archive):
    guest = boot("http", net, qemu=["-initrd", archive], append="ip=10.99.0.2/24 -- --port 8080 --root /sub/")
    guest.ready()

    assert "a &#60;b&#62;" in net.run("curl", "-sS", f"http://{GUEST}:8080/").stdout


@pytest.mark.parametrize("words", ["--port 0", "--port x", "--port", "--root nowhere", "--root /a.txt", "--nonsense 1"])
def test_bad_arguments_end_it_with_status_2(boot, archive, words):
    assert boot("http", qemu=["-initrd", archive], append=f"-- {words}").exit_status() == 2
