"""Socket options whose effect is on the wire: TCP_MAXSEG, SO_RCVBUF, TCP_USER_TIMEOUT; raw and ping sockets."""

import re
import socket
import time

from guest import ADDRESS

PEER, PORT, DEAD_PORT = "10.99.0.1", 7000, 7001
MSS, WINDOW, SENT = 700, 8192, 100000


def lines(guest, wanted, within=20):
    until = time.monotonic() + within
    while not any(wanted in line for line in guest.console().split("\n")) and time.monotonic() < until:
        time.sleep(0.05)
    return guest.console().replace("\r", "")


def tcp_options(frame):
    """(flags, window, {kind: value}) of a TCP segment in an IPv4 frame."""
    tcp = 14 + (frame[14] & 15) * 4
    end, at, options = tcp + (frame[tcp + 12] >> 4) * 4, tcp + 20, {}
    while at < end and frame[at]:
        if frame[at] == 1:
            at += 1
            continue
        options[frame[at]] = int.from_bytes(frame[at + 2:at + frame[at + 1]], "big")
        at += frame[at + 1]
    return frame[tcp + 13], int.from_bytes(frame[tcp + 14:tcp + 16], "big"), options


def test_pings_and_user_timeout(boot, net):
    listener = net.socket()
    listener.bind((PEER, DEAD_PORT))
    listener.listen()
    guest = boot("test/sockopt", net, append=f"{ADDRESS} -- {PEER}")
    deaf, _ = listener.accept()
    deaf.send(b"x")
    time.sleep(0.3)
    net.sh(f"ip address del {PEER}/24 dev {net.tap}")
    text = lines(guest, "serving", 30)
    net.sh(f"ip address add {PEER}/24 dev {net.tap}")

    assert text.count("ping: 8 bytes, type 0, sequence 3") == 2
    seconds = int(re.search(r"user timeout: 1 after (\d+) s", text)[1])
    assert 2 <= seconds <= 6


def test_mss_and_window_are_seen_on_the_wire(boot, net):
    listener = net.socket()
    listener.bind((PEER, DEAD_PORT))
    listener.listen()
    guest = boot("test/sockopt", net, append=f"{ADDRESS} -- {PEER}")
    listener.accept()[0].close()
    lines(guest, "serving")

    with net.capture(f"tcp port {PORT}", snaplen=100) as capture:
        with net.connect(PORT) as sock:
            sock.setblocking(False)
            pushed, until = 0, time.monotonic() + 1.5
            while time.monotonic() < until:
                try:
                    pushed += sock.send(b"y" * 1000)
                except BlockingIOError:
                    time.sleep(0.01)
            sock.setblocking(True)
            waiting = 0
            while waiting < SENT:
                waiting += len(sock.recv(65536))
            sock.shutdown(socket.SHUT_WR)
            text = lines(guest, "info:")

    assert "info: mss 688, retransmitted 0" in text  # timestamps take 12
    from_guest = [frame for _, _, frame in capture.frames() if frame[26:30] == socket.inet_aton("10.99.0.2")]
    flags, window, options = tcp_options(from_guest[0])
    assert flags == 0x12 and options[2] == MSS and window == WINDOW
    windows = [tcp_options(frame)[1] << 7 for frame in from_guest[1:] if not tcp_options(frame)[0] & 4]
    assert len(windows) > 10 and max(windows) <= WINDOW
