"""Debian's iperf client in every mode a server takes part in. Both sides' numbers are compared: the client's own against the
guest's counters, and for UDP against the frames at the tap. `RINGLET_IPERF=/path/iperf` tries another client.
"""

import os
import re
import shutil
import socket
import struct
import time

import pytest

from clients import IPERF2, check_nothing_left, idle_state, metrics, refused_by_the_hosts_socket, udp_reports
from guest import ADDRESS
from netns import GUEST, GUEST6
from relay import Rule

IPERF = os.environ.get("RINGLET_IPERF", "iperf")
TRANSFER = re.compile(r"^\[ *(\*?\d+)\] +0\.0+-([\d.]+) sec +([\d.]+) KBytes", re.M)
KIB, SLACK = 1024, 2  # KiB: results are rounded, one line for each stream


def client(net, *words, host=GUEST, timeout=40, check=True):
    """The client's output, results in KBytes. It must end by itself, with status 0, and must not complain."""
    if host.startswith("fe80"):
        host, words = f"{host}%{net.tap}", ("-V", *words)
    done = net.run(IPERF, "-c", host, "-f", "K", *words, timeout=timeout, check=False)
    if check:
        assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}"
        assert not re.search(r"WARNING: (did|ack)|failed|ERROR|refused", done.stdout), done.stdout
    return done.stdout


def kbytes(text):
    """(from the client, to the client), over all streams; an interval's or a server's report is left out."""
    text = re.sub(r"Server Report:\n(\[ ID\].*\n)?.*\n", "", text)
    whole = {}
    for stream, end, count in TRANSFER.findall(text):
        whole[stream] = max(whole.get(stream, (0, 0)), (float(end), float(count)))
    return (sum(count for stream, (_, count) in whole.items() if "*" not in stream),
            sum(count for stream, (_, count) in whole.items() if "*" in stream))


def guest_bytes(net):
    now = metrics(net)
    return now['iperf_bytes_total{direction="in"}'], now['iperf_bytes_total{direction="out"}']


def settled(net, before, least_in, least_out, seconds=3):
    """What the guest's totals grew by, once it has closed its books."""
    deadline = time.monotonic() + seconds
    while True:
        grown = [now - then for now, then in zip(guest_bytes(net), before)]
        if (grown[0] >= least_in and grown[1] >= least_out) or time.monotonic() > deadline:
            return grown
        time.sleep(0.1)


def close_to(bytes_there, kib_here, streams=1):
    return abs(bytes_there / KIB - kib_here) <= SLACK * streams


# ---- TCP: every mode twice, so that the second begins where the first ended --------------------------

RECEIVE = ["", "-P 4", "-l 100", "-l 1M", "-N", "-w 64K", "-e", "-i 0.5", "-n 20M", "-b 20m", "-X", "--trip-times", "-S 0x10",
           "--tcp-write-times -e", "-M 500", "-Z reno", "--burst-period=0.1 --burst-size=200K"]
REVERSE = ["", "-P 4", "-e", "-i 0.5", "-n 20M", "-b 20m", "-l 1M", "-X"]


@pytest.mark.parametrize("words", RECEIVE)
def test_tcp_the_guest_receives_what_the_client_sent(iperf, net, words):
    for _ in range(2):
        before = guest_bytes(net)
        text = client(net, *words.split(), *([] if "-n" in words else ["-t", 1]))
        sent, _ = kbytes(text)
        got, out = settled(net, before, (sent - SLACK) * KIB, 0)

        assert sent > 0 and out == 0
        assert close_to(got, sent, 4), f"guest {got / KIB} KiB:\n{text}"
    assert net.ping() == 1


@pytest.mark.parametrize("words", REVERSE)
def test_tcp_reverse_the_client_receives_what_the_guest_sent(iperf, net, words):
    for _ in range(2):
        before = guest_bytes(net)
        text = client(net, "-R", *words.split(), *([] if "-n" in words else ["-t", 1]))
        _, received = kbytes(text)
        came, sent = settled(net, before, 0, (received - SLACK) * KIB)

        assert received > 0 and came == 0
        assert close_to(sent, received, 4), f"guest {sent / KIB} KiB:\n{text}"
        if words == "-n 20M":
            assert received == pytest.approx(20 * 1024, abs=SLACK)
        if words == "-b 20m":
            assert 0.3 < received / (20e6 / 8 / KIB) < 1.1, text  # a busy host may stop the guest for a while


@pytest.mark.parametrize("words", ["", "-P 2", "-e", "--trip-times"])
def test_tcp_full_duplex_both_count_the_same(iperf, net, words):
    for _ in range(2):
        before = guest_bytes(net)
        text = client(net, "--full-duplex", "-t", 1, *words.split())
        sent, received = kbytes(text)
        came, out = settled(net, before, (sent - SLACK) * KIB, (received - SLACK) * KIB)

        assert sent > 0 and received > 0
        assert close_to(came, sent, 2) and close_to(out, received, 2), f"guest {came / KIB} {out / KIB}:\n{text}"


@pytest.mark.parametrize("words", ["-d", "-r", "-d -P 2", "-d -L 6001", "-r -L 6001"])
def test_tcp_two_way_the_guest_connects_back(iperf, net, words):
    for _ in range(2):
        before = guest_bytes(net)
        text = client(net, "-t", 1, *words.split())
        total = sum(kbytes(text))
        came, out = settled(net, before, 1, 1)
        deadline = time.monotonic() + 3
        while not close_to(came + out, total, 4) and time.monotonic() < deadline:
            time.sleep(0.1)
            came, out = (now - then for now, then in zip(guest_bytes(net), before))

        assert came > 0 and out > 0
        assert close_to(came + out, total, 4), f"guest {came / KIB} {out / KIB}:\n{text}"
        assert f"connected with {GUEST} port" in text


def test_tcp_trip_times_reverse_bursts_are_read_whole(iperf, net):
    text = client(net, "-R", "--trip-times", "-t", 1)

    assert kbytes(text)[1] > 0
    found = re.search(r"\((\d+)/(\d+)\) ", text)
    assert found and int(found[1]) > 0 and abs(int(found[2]) - 131072) < 1000, text


@pytest.mark.parametrize("words", ["", "-R", "--full-duplex"])
def test_tcp_isochronous_comes_at_its_rate(iperf, net, words):
    text = client(net, "--isochronous=10:2m,0", "-t", 2, *words.split())
    rate = max(kbytes(text)) * KIB * 8 / 2

    assert rate == pytest.approx(2e6, rel=0.25), text


@pytest.mark.parametrize("words", ["", "--bounceback=4000", "--bounceback-hold=20", "--trip-times", "--bounceback-no-quickack"])
def test_bounce_back_every_request_gets_its_reply(iperf, net, words):
    for _ in range(2):
        before = guest_bytes(net)
        text = client(net, "--bounceback", "-t", 1, *words.split())
        counts = [int(count) for count in re.findall(r"/sec +(\d+)=[\d.]+/", text)]
        came, out = settled(net, before, 1, 1)

        assert counts and counts[-1] >= 8, text
        assert out > 0 and came - out in (0, out / counts[-1])  # the last reply may be held when the client goes
        if "hold" in words:
            assert float(re.findall(r"/sec +\d+=([\d.]+)/", text)[-1]) >= 20


@pytest.mark.parametrize("words", ["--near-congestion=0.5", "--txdelay-time=0.5", "--fq-rate=20m", "--no-connect-sync -P 2"])
def test_what_only_concerns_the_client_works(iperf, net, words):
    text = client(net, "-t", 1, *words.split())

    assert kbytes(text)[0] > 100, text
    assert iperf.lines(r"tcp in ")


# ---- TCP, otherwise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "-R", "--full-duplex", "-d", "-r", "-P 4"])
def test_tcp_over_ipv6(iperf, net, words):
    text = client(net, "-t", 1, *words.split(), host=GUEST6)

    assert sum(kbytes(text)) > 1000, text
    assert net.ping(host=GUEST6) == 1


def test_tcp_over_a_global_ipv6_address(boot, net):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()

    for words in ([], ["-R"], ["-d"]):
        assert sum(kbytes(client(net, "-V", "-t", 1, *words, host="fd00:99::2"))) > 1000


def test_a_connection_without_a_test_is_no_harm(iperf, net):
    text = client(net, "--connect-only=3", check=False)

    assert "connect" in text
    assert kbytes(client(net, "-t", 1))[0] > 0


def test_a_permit_key_is_refused_and_the_client_ends(iperf, net):
    begin = time.monotonic()
    client(net, "-t", 5, "--permit-key=abcdefghijklmnop", check=False)

    assert time.monotonic() - begin < 8
    assert iperf.lines(r"warn iperf: .* refused: it brings a permit key")
    assert kbytes(client(net, "-t", 1))[0] > 0


HOSTILE = {
    "garbage": os.urandom(200),
    "nothing": b"",
    "a word": b"\x40\x00\x00",
    "an empty header": struct.pack(">I", 0x40010000),
    "a short header": struct.pack(">I", 0x40010000 | 8 << 1) + bytes(4),
    "all flags": b"\xff" * 300,
    "a bounce of 4 GiB": struct.pack(">II", 0x00800000, 0xFFFFFFFF) + bytes(56),
    "a bounce of nothing": struct.pack(">II", 0x00800000, 0) + bytes(56),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_client_is_harmless(iperf, net, name):
    before = idle_state(net)
    for reset in (False, True) * 4:
        with net.connect(IPERF2) as sock:
            sock.sendall(HOSTILE[name])
            if reset:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                sock.shutdown(socket.SHUT_WR)
                sock.settimeout(5)
                try:
                    while sock.recv(65536):
                        pass
                except ConnectionResetError:
                    pass

    assert kbytes(client(net, "-t", 1))[0] > 0
    check_nothing_left(net, before)


def test_a_client_killed_at_work_leaves_nothing_behind(iperf, net):
    before = idle_state(net)
    for words in (["-t", 30], ["-t", 30, "-R"], ["-t", 30, "--full-duplex"], ["-t", 30, "-d"], ["-u", "-b", "5m", "-t", 30, "-R"]):
        process = net.start(IPERF, "-c", GUEST, *words)
        time.sleep(1)
        process.kill()
        process.wait()
        assert net.ping() == 1
        assert kbytes(client(net, "-t", 1))[0] > 0
    # The UDP sender goes on for its 30 s: nobody tells it.
    check_nothing_left(net, before, seconds=45)


# ---- UDP --------------------------------------------------------------------------------------------

UDP = ["-b 10m", "-b 1m -l 64", "-b 10m -l 1470", "-b 10m -l 8000", "-b 20pps -l 20", "-b 1m -P 4", "-b 10m -e",
       "-b 1m --trip-times", "-n 1M -b 20m", "--isochronous=10:2m,0", "-b 5m -i 0.5"]


def ids_at_the_tap(frames):
    """{source port: ids} of the datagrams to port 5001; an end marker's copies after its first are left out."""
    flows, ended = {}, set()
    for _, _, frame in frames:
        if frame[12:14] != b"\x08\x00" or frame[23] != 17 or struct.unpack_from(">H", frame, 20)[0] & 0x1FFF:
            continue
        at = 14 + (frame[14] & 15) * 4
        source, target = struct.unpack_from(">HH", frame, at)
        if target != IPERF2 or source in ended:
            continue
        low, _, _, high = struct.unpack_from(">IIIi", frame, at + 8)
        ident = high << 32 | low
        flows.setdefault(source, []).append(abs(ident))
        if ident < 0:
            ended.add(source)
    return flows


@pytest.mark.parametrize("words", UDP)
def test_a19_udp_the_report_is_what_passed_the_tap(iperf, net, words):
    for _ in range(2):
        with net.capture(f"udp and dst host {GUEST}", snaplen=128) as capture:
            text = client(net, "-u", *words.split(), *([] if "-n" in words else ["-t", 1]))
        reports = udp_reports(text)
        flows = ids_at_the_tap(capture.frames())

        assert len(reports) == len(flows) == (4 if "-P" in words else 1), text
        assert sorted(report.total for report in reports) == sorted(max(ids) for ids in flows.values()), text
        assert all(report.lost == report.out_of_order == 0 and report.jitter_ms >= 0 for report in reports), text
        assert len(iperf.lines(r"udp in .* 0/")) >= len(reports)


def test_a19_udp_so_slow_that_nothing_else_happens(iperf, net):
    report, = udp_reports(client(net, "-u", "-t", 1, "-b", "1k"))

    assert report.lost == 0 and 2 <= report.total <= 4


@pytest.mark.parametrize("words", ["-b 10m", "-b 10m -R", "-b 10m --full-duplex", "-b 10m -d", "-b 10m -r"])
def test_udp_over_ipv6(iperf, net, words):
    assert sum(kbytes(client(net, "-u", "-t", 1, *words.split(), host=GUEST6))) > 500


@pytest.mark.parametrize("words", ["-b 10m", "-b 1m -l 64", "-b 40m -l 8000", "-b 1m -P 4", "-b 10m -e", "-n 1M -b 20m",
                                   "--isochronous=10:2m,0"])
def test_udp_reverse_the_client_gets_all_of_it(iperf, net, words):
    for _ in range(2):
        text = client(net, "-u", "-R", *words.split(), *([] if "-n" in words else ["-t", 1]))
        results = [(int(lost), int(total)) for lost, total in re.findall(r"ms +(-?\d+)/ *(\d+) \(", text)]

        assert results and all(total > 5 for _, total in results), text
        # A 2.1 client counts its first datagram twice when bursts are announced. A busy host's socket may overflow.
        refused = refused_by_the_hosts_socket(net)
        assert all(lost <= ("isoch" in words) + refused for lost, _ in results), text
    assert iperf.lines(r"udp out ")


@pytest.mark.parametrize("words", ["--full-duplex", "-d", "-r", "-d -L 6001", "-r -L 6001"])
def test_udp_two_way_both_directions_are_whole(iperf, net, words):
    for _ in range(2):
        text = client(net, "-u", "-b", "10m", "-t", 1, *words.split())
        results = [(int(lost), int(total)) for lost, total in re.findall(r"ms +(-?\d+)/ *(\d+) \(", text)]

        # A client whose listener is slow to begin loses the first ones itself; a busy host sends fewer than its 850.
        assert results and all(lost <= total / 4 and 100 < total < 900 for lost, total in results), text
    assert iperf.lines(r"udp out ") and iperf.lines(r"udp in ")


def test_udp_as_fast_as_it_goes_is_counted(iperf, net):
    """More than the guest takes: what is lost is counted, and the end still works."""
    text = client(net, "-u", "-b", "2g", "-t", 2)
    report, = udp_reports(text)
    sent = int(re.search(r"Sent (\d+) datagrams", text)[1])

    assert abs(sent - report.total) <= 250, text  # each end marker counts one further
    assert report.lost < report.total
    assert net.ping(count=2) == 2


def test_a19_with_five_percent_loss_the_report_says_what_was_lost(boot, plain_net, relay):
    wire = relay(seed=3, to_guest=Rule(loss=0.05))
    guest = boot("iperf", wire)
    guest.ready()

    report, = udp_reports(client(plain_net, "-u", "-b", "5m", "-t", 3))

    lost = wire.close()["to_guest"]["lost"]
    assert report.total == pytest.approx(1276, rel=0.03)
    # ARP and end markers may be among what the relay lost, the rest was data.
    assert 0.02 < report.lost / report.total < 0.09
    assert 0 <= lost - report.lost <= 3


def test_a19_reordered_datagrams_are_counted_as_such(boot, plain_net, relay):
    wire = relay(seed=3, to_guest=Rule(reorder=0.02))
    guest = boot("iperf", wire)
    guest.ready()

    report, = udp_reports(client(plain_net, "-u", "-b", "5m", "-t", 3))

    assert report.lost == 0 and report.out_of_order > 5
    assert abs(wire.close()["to_guest"]["reordered"] - report.out_of_order) <= 3


def test_a19_three_lost_reports_are_repeated(boot, plain_net, relay):
    wire = relay(from_guest=Rule(lose_port=IPERF2, lose_count=3, lose_bytes=100))
    guest = boot("iperf", wire)
    guest.ready()

    report, = udp_reports(client(plain_net, "-u", "-b", "5m", "-t", 1))

    assert wire.close()["from_guest"]["lost"] == 3
    assert report.lost == 0 and report.total == pytest.approx(426, rel=0.05)
    assert len(guest.lines(r"udp in ")) == 1


def test_stray_datagrams_begin_no_test(iperf, net):
    tests = metrics(net)["iperf_tests_total"]
    with net.udp(IPERF2, timeout=0.5) as sock:
        for data in (b"", b"x", bytes(15), struct.pack(">iIIi", -5, 1, 1, -1), struct.pack(">iIIi", 0, 1, 1, 0)):
            sock.send(data)
        with pytest.raises(socket.timeout):
            sock.recv(100)

    assert metrics(net)["iperf_tests_total"] == tests


def test_a_thousand_sources_leave_nothing_behind(iperf, net):
    """More flows than are kept: the quietest make room."""
    for start in range(0, 1000, 50):
        socks = [net.udp(IPERF2) for _ in range(50)]
        for sock in socks:
            sock.send(struct.pack(">IIIIIIIIII", 1, 1, 1, 0, 0x48000000, 0, 0, 0, 0, 0))
            sock.close()

    assert metrics(net)["iperf_udp_flows"] <= 512
    report, = udp_reports(client(net, "-u", "-b", "5m", "-t", 1))
    assert report.lost == 0


def test_udp_from_one_port_test_after_test(iperf, net):
    for _ in range(3):
        report, = udp_reports(client(net, "-u", "-b", "5m", "-t", 1, "-B", "10.99.0.1:7777"))
        assert report.lost == report.out_of_order == 0
        assert report.total == pytest.approx(426, rel=0.05)


# ---- Several at once --------------------------------------------------------------------------------


def test_clients_of_all_kinds_at_once(iperf, net):
    kinds = ["-t 3", "-t 3 -R", "-t 3 --full-duplex", "-u -b 5m -t 3", "-u -b 5m -t 3 -R", "-t 3 -b 5m"]
    processes = [net.start(IPERF, "-c", GUEST, "-f", "K", *words.split()) for words in kinds]
    for words, process in zip(kinds, processes):
        text = process.communicate(timeout=40)[0]
        assert process.returncode == 0, f"{words}:\n{text}"
        assert "bits/sec" in text or "KBytes/sec" in text, f"{words}:\n{text}"
    assert net.ping() == 1


def test_the_client_is_there():
    assert shutil.which(IPERF)
