"""A20, the whole kind: an iperf3 client that vanishes, stops half-way or talks nonsense keeps the server from nobody for more than
a minute, and leaves nothing behind. Both images that serve iperf3 are tried."""

import contextlib
import json
import socket
import struct
import time

import pytest

from clients import check_nothing_left, idle_state
from netns import GUEST

PARAM_EXCHANGE, CREATE_STREAMS, TEST_START, TEST_RUNNING, ACCESS_DENIED = 9, 10, 1, 2, 0xFF
LIMIT_S = 60
COOKIE = b"a" * 36 + b"\0"


def client(net, *words, timeout=30):
    """(worked, what it said) of a short test."""
    done = net.run("iperf3", "-c", GUEST, "-n", "100K", *words, timeout=timeout, check=False)
    return done.returncode == 0, done.stdout


def seconds_until_served(net, limit=LIMIT_S, every=0.5):
    """From now. Each refusal on the way must be the busy server's word, not silence."""
    begin = time.monotonic()
    while True:
        worked, said = client(net)
        if worked:
            return time.monotonic() - begin
        assert time.monotonic() - begin < limit, said
        time.sleep(every)


def start_long_test(net, *words):
    """A client of a minute that has begun: a second one hears that the server is busy."""
    running = net.start("iperf3", "--forceflush", "-c", GUEST, "-t", "60", *words)
    said = ""
    while "connected to" not in said:
        line = running.stdout.readline()
        assert line, said
        said += line
    time.sleep(0.5)
    assert "busy" in client(net)[1]
    return running


@pytest.fixture(params=["iperf3", "iperf"])
def server(request, boot, net):
    guest = boot(request.param, net, mem=128)
    guest.ready()
    return guest


# ---- The host is gone: nothing answers any more


@pytest.mark.parametrize("words", [["-R"], ["--bidir"], ["-u", "-b", "5M"], ["-u", "-b", "5M", "-R"], ["-P", "4"]], ids=" ".join)
def test_a20_a_host_that_vanished_makes_room_within_a_minute(server, net, words):
    running = start_long_test(net, *words)
    # Whatever the guest sends to the old address is dropped without a word; the next client has another one.
    net.sh("ip addr del 10.99.0.1/24 dev t0; ip addr add 10.99.0.7/24 dev t0")
    running.kill()

    assert seconds_until_served(net, every=5) < LIMIT_S


@pytest.mark.parametrize("words", [[], ["-R"], ["-u", "-b", "5M", "-R"]], ids=lambda words: " ".join(words) or "to the guest")
def test_a20_a_lost_control_connection_ends_a_test_whose_streams_go_on(server, net, words):
    running = start_long_test(net, "--cport", "4444", *words)
    ports = [line.split()[3].rsplit(":", 1)[1] for line in net.run("ss", "-Htn", "dst", GUEST).stdout.splitlines() if "ESTAB" in line]
    control = next(port for port in ports if port != "4444")
    net.sh(f"ip rule add ipproto tcp sport {control} dport 5201 blackhole")  # the host may not answer on it

    assert "busy" in client(net)[1]
    assert seconds_until_served(net, every=5) < LIMIT_S
    running.kill()


# ---- The host lives, and its program sleeps or is wicked


class Control:
    """A control connection, step by step."""

    def __init__(self, net):
        self.net, self.sock = net, net.connect(5201)

    def greet(self):
        self.sock.sendall(COOKIE)
        assert self.state() == PARAM_EXCHANGE
        return self

    def ask(self, **parameters):
        text = json.dumps({"tcp": True, "omit": 0, "time": 5, "num": 0, "blockcount": 0, "parallel": 1, "len": 131072,
                           "pacing_timer": 1000, "client_version": "3.12"} | parameters).encode()
        self.sock.sendall(struct.pack(">I", len(text)) + text)
        return self

    def state(self):
        data = self.sock.recv(1)
        return data[0] if data else None

    def stream(self):
        made = self.net.connect(5201)
        made.sendall(COOKIE)
        return made


def greeted(net):
    return [Control(net).greet().sock]


def half_of_the_parameters(net):
    control = Control(net).greet()
    control.sock.sendall(struct.pack(">I", 200) + b'{"tcp": tr')
    return [control.sock]


def no_streams(net):
    control = Control(net).greet().ask(reverse=True)
    assert control.state() == CREATE_STREAMS
    return [control.sock]


def one_stream_of_two(net):
    control = Control(net).greet().ask(parallel=2, reverse=True)
    assert control.state() == CREATE_STREAMS
    return [control.sock, control.stream()]


def never_reads(net):
    control = Control(net).greet().ask(reverse=True, time=3600)
    assert control.state() == CREATE_STREAMS
    return [control.sock, control.stream()]


def never_ends(net):
    """Data comes for as long as the server takes it, long after the end of the test."""
    control = Control(net).greet().ask(time=1)
    assert control.state() == CREATE_STREAMS
    stream = control.stream()
    stream.setblocking(False)
    return [control.sock, stream]


STOPS = [greeted, half_of_the_parameters, no_streams, one_stream_of_two, never_reads, never_ends]


def keep_sending(sockets):
    for sock in sockets:
        if sock.getblocking() is False:
            try:
                sock.send(b"x" * 1000)
            except (BlockingIOError, ConnectionError):
                pass


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.__name__)
def test_a20_a_client_that_stops_half_way_keeps_nobody_out(server, net, stop):
    held = stop(net)
    begin = time.monotonic()

    while True:
        keep_sending(held)
        # Silence is allowed only before the server knows who it talks to.
        if client(net, "--connect-timeout", "5000", timeout=LIMIT_S)[0]:
            break
        assert time.monotonic() - begin < LIMIT_S
        time.sleep(0.2)
    for sock in held:
        sock.close()


def test_a20_a_second_client_hears_minus_one(server, net):
    first = Control(net).greet()
    first.ask(reverse=True)
    assert first.state() == CREATE_STREAMS
    stream = first.stream()
    while first.state() != TEST_RUNNING:
        pass

    with net.connect(5201) as second:
        second.sendall(COOKIE)
        assert second.recv(1) == bytes([ACCESS_DENIED])
        with contextlib.suppress(ConnectionResetError):  # its cookie was not read
            assert second.recv(1) == b""
    first.sock.close()
    stream.close()
    assert seconds_until_served(net) < 4


NONSENSE = [b"", b"x", b"GET / HTTP/1.0\r\n\r\n", COOKIE + b"\xff" * 100, COOKIE + b"\x7f\xff\xff\xff{", COOKIE + b"\0\0\0\4true",
            COOKIE + b"\0\0\0\0", COOKIE + struct.pack(">I", 8000) + b"[" * 8000]
PARAMETERS = [{"parallel": 10 ** 9}, {"parallel": -1}, {"len": 2 ** 31 - 1}, {"len": -5}, {"len": 0}, {"time": -1}, {"time": 10 ** 9, "omit": 10 ** 9},
              {"window": 2 ** 31 - 1}, {"window": -1}, {"MSS": 1}, {"MSS": 10 ** 6}, {"pacing_timer": 0, "bandwidth": 1}, {"title": "x" * 7000},
              {"congestion": "no such thing"}, {"TOS": 1 << 20}, {"udp": True, "len": 1}, {"sctp": True}, {"burst": 10 ** 9, "bandwidth": 10 ** 9}]


def test_a20_nonsense_on_the_control_port_is_survived(server, net):
    for data in NONSENSE:
        with net.connect(5201) as sock:
            sock.sendall(data)
            time.sleep(0.05)

    assert seconds_until_served(net) < LIMIT_S


def test_a20_impossible_wishes_are_survived(server, net):
    for wish in PARAMETERS:
        control = Control(net).greet().ask(**({"reverse": True} | wish))
        stream = control.stream() if control.state() == CREATE_STREAMS and "udp" not in wish else None
        time.sleep(0.1)
        for sock in filter(None, (stream, control.sock)):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        assert seconds_until_served(net) < 10, wish


# ---- What is left


def test_a20_a_hundred_killed_clients_leave_nothing_behind(boot, net):
    guest = boot("iperf", net, mem=64)
    guest.ready()
    words = [[], ["-R"], ["--bidir"], ["-u", "-b", "10M"], ["-u", "-b", "10M", "-R"], ["-P", "4"]]
    for each in words:  # once whole, so that what stays for good is there: the receive ring has grown
        net.run("iperf3", "-c", GUEST, "-t", "1", *each)
    before, pages = idle_state(net), net.metrics()["ringlet_pages_free"]

    for round_number in range(100):
        running = net.start("iperf3", "-c", GUEST, "-t", "60", *words[round_number % len(words)])
        time.sleep(0.15 if round_number % 5 else 0.4)
        running.kill()
        running.wait()
    assert seconds_until_served(net) < 4

    values = check_nothing_left(net, before, seconds=40)
    assert values["pages_free"] >= pages - 600  # of 4 KiB: the ring's buffers change their size with the traffic
    assert values["file_pages"] == 0 and values["iperf3_failed_total"] > 50
