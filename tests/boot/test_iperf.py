"""Debian's iperf 2 against the guest: every mode, exact numbers, and the report of a UDP test always arrives."""

import re
import struct

import pytest

from clients import IPERF2, check_nothing_left, idle_state, iperf, mbits, metrics, refused_by_the_hosts_socket, udp_reports
from guest import ADDRESS
from netns import GUEST6
from relay import Rule

MODES = {
    "to the guest": [],
    "from the guest": ["-R"],
    "both, one connection": ["--full-duplex"],
    "both at once": ["-d"],
    "one after the other": ["-r"],
    "four streams": ["-P", "4"],
    "four streams back": ["-P", "4", "-R"],
    "enhanced": ["-e"],
    "trip times": ["--trip-times"],
    "one-byte writes": ["-l", "1"],
    "large writes": ["-l", "1M"],
    "an amount": ["-n", "64M"],
    "small segments": ["-M", "536"],
    "slow": ["-b", "10m"],
}


@pytest.mark.parametrize("mode", MODES)
def test_tcp_in_every_mode(iperf_guest, net, mode):
    amount = [] if mode == "an amount" else ["-t", "2"]

    rates = mbits(iperf(net, *amount, "-f", "m", *MODES[mode]))

    assert rates and min(rates) > 0
    assert net.ping() == 1


@pytest.fixture
def iperf_guest(iperf, net):
    """The image, and afterwards nothing is left of the test."""
    before = idle_state(net)
    yield iperf
    check_nothing_left(net, before)


@pytest.mark.parametrize("host", ["fd00:99::2", f"{GUEST6}%t0"])
def test_ipv6_tcp_and_udp(boot, net, host):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()
    assert net.ping(count=3, host=host.split("%")[0]) == 3

    assert min(mbits(iperf(net, "-V", "-t", "1", host=host))) > 0
    report, = udp_reports(iperf(net, "-V", "-u", "-b", "10m", "-t", "1", host=host))

    assert report.lost == 0 and report.total > 800


def test_the_sender_is_believed_byte_for_byte(iperf_guest, net):
    text = iperf(net, "-n", "100000000", "-f", "b")
    values = metrics(net)

    assert "100000000 Bytes" in text or "100000000" in text
    assert values['iperf_bytes_total{direction="in"}'] == 100000000
    assert values["iperf_failed_total"] == values["iperf_refused_total"] == 0


# ---- UDP


def ids_at_the_tap(capture):
    """The numbers of the datagrams to port 5001 (64 bits; negative: the end), in order; and those of the guest's reports."""
    sent, reports = [], 0
    for _, _, frame in capture.frames():
        if frame[12:14] != b"\x08\x00" or frame[23] != 17 or struct.unpack_from("!H", frame, 20)[0] & 0x1FFF:
            continue
        header = 14 + (frame[14] & 15) * 4
        source, target = struct.unpack_from("!HH", frame, header)
        if target == IPERF2:
            low, high = struct.unpack_from("!I8xi", frame, header + 8)
            sent.append(high << 32 | low)
        elif source == IPERF2:
            reports += 1
    return sent, reports


def sent_until_the_end(sent):
    """How many datagrams the client sent, the first end marker included."""
    return next(-number if number < 0 else number for number in sent if number < 0)


UDP = {
    "10 Mbit/s": ["-b", "10m", "-t", "3"],
    "as fast as it goes": ["-b", "2g", "-t", "2"],
    "64 bytes": ["-l", "64", "-b", "5m", "-t", "2"],
    "1470 bytes": ["-l", "1470", "-b", "50m", "-t", "2"],
    "8000 bytes": ["-l", "8000", "-b", "50m", "-t", "2"],
    "slow": ["-t", "1", "-b", "1k"],
    "enhanced": ["-e", "-b", "10m", "-t", "1"],
    "an amount": ["-n", "14700"],
}


@pytest.mark.parametrize("mode", UDP)
def test_a19_the_report_equals_a_count_at_the_tap(iperf_guest, net, mode):
    with net.capture("udp port 5001 or (ip[6:2] & 0x1fff != 0)", snaplen=64) as capture:
        text = iperf(net, "-u", *UDP[mode])
    sent, reports = ids_at_the_tap(capture)

    report, = udp_reports(text)

    received = metrics(net)["iperf_udp_datagrams_total"]
    assert sent[0] in (0, 1) and reports >= 1
    assert abs(report.total - sent_until_the_end(sent)) <= 1  # whether the end marker counts, versions of iperf differ
    assert report.lost == len(sent) - received
    assert report.out_of_order == 0 and report.jitter_ms >= 0


def test_a19_four_at_once_and_a_second_test_at_once(iperf_guest, net):
    for _ in range(2):
        reports = udp_reports(iperf(net, "-u", "-b", "5m", "-t", "1", "-P", "4"))

        assert len(reports) == 4
        assert all(report.lost == 0 and report.total > 400 for report in reports)


@pytest.mark.parametrize("words", [["-R"], ["--full-duplex"], ["-d"], ["-r"]])
def test_udp_from_the_guest(iperf_guest, net, words):
    text = iperf(net, "-u", "-b", "10m", "-t", "2", *words)

    lost = sum(int(count) for count in re.findall(r"(\d+)/ *\d+ \(", text))
    assert max(mbits(text)) > 8 - lost * 12e-3
    assert lost <= refused_by_the_hosts_socket(net), text


def test_a19_five_percent_loss_is_counted_exactly(boot, plain_net, relay):
    wire = relay(seed=3, to_guest=Rule(loss=0.05))
    guest = boot("iperf", wire)
    guest.ready()
    plain_net.ping(count=3)  # resolved both ways before frames are counted

    text = iperf(plain_net, "-u", "-b", "10m", "-t", "3")
    done = wire.close()
    report, = udp_reports(text)

    assert report.total > 2500
    # ARP, the ping and repeated end markers are lost among these too.
    assert done["to_guest"]["lost"] - 5 <= report.lost <= done["to_guest"]["lost"]
    assert report.lost > 50 and report.out_of_order == 0


def test_a19_reordered_datagrams_are_counted_and_not_lost(boot, plain_net, relay):
    wire = relay(seed=3, to_guest=Rule(reorder=0.02))
    guest = boot("iperf", wire)
    guest.ready()

    text = iperf(plain_net, "-u", "-b", "10m", "-t", "2")
    report, = udp_reports(text)

    assert report.lost == 0
    assert 0 < report.out_of_order <= wire.close()["to_guest"]["reordered"]


def test_a19_the_report_is_repeated_until_it_arrives(boot, plain_net, relay):
    wire = relay(from_guest=Rule(lose_port=5001, lose_count=3, lose_bytes=100))
    guest = boot("iperf", wire)
    guest.ready()

    report, = udp_reports(iperf(plain_net, "-u", "-b", "10m", "-t", "1"))

    assert wire.close()["from_guest"]["lost"] == 3
    assert report.lost == 0 and report.total > 800


def test_what_is_no_iperf_client_does_no_harm(iperf_guest, net):
    for data in (b"", b"\0", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 4000, bytes(24), b"\x40\x00\x00\x00" + b"\xff" * 100):
        with net.connect(IPERF2) as sock:
            sock.sendall(data)
        with net.udp(IPERF2) as sock:
            sock.send(data)

    assert min(mbits(iperf(net, "-t", "1"))) > 0
