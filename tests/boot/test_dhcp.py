"""An address by DHCP: from dnsmasq, over a checksum-offloading tap, and from a server that misbehaves."""

import time

import pytest

from netns import GUEST_MAC, PEER, PEER_MAC
from scapy.layers.dhcp import BOOTP, DHCP
from wire import ARP, ICMP, IP, UDP, Ether


@pytest.fixture
def dnsmasq(net, tmp_path):
    """On the tap: addresses 10.99.0.50 to .60, gateway and resolver."""
    def start(*words):
        process = net.start("dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--port=0", "--user=root", "--group=root",
                            "--interface=t0", "--bind-interfaces", "--dhcp-range=10.99.0.50,10.99.0.60,1h",
                            "--dhcp-option=3,10.99.0.1", "--dhcp-option=6,10.99.0.53", "--no-ping",
                            "--log-dhcp", f"--dhcp-leasefile={tmp_path}/leases", "--pid-file=", *words)
        line = process.stdout.readline()
        while "sockets bound exclusively" not in line and "DHCP, " not in line:
            assert line, "dnsmasq did not start"
            line = process.stdout.readline()
        return process
    return start


@pytest.mark.parametrize("device", ["", "csum=off", "guest_csum=off", "csum=off,guest_csum=off", "disable-modern=on"])
def test_dnsmasq_gives_an_address(boot, net, dnsmasq, device, tmp_path):
    dnsmasq()
    guest = boot("iperf", net, append="hostname=web-7", device=device)

    ready = guest.ready()

    address = ready.split()[1].split("/")[0]
    assert ready.startswith("net0 10.99.0.5") and "/24 " in ready and " gw 10.99.0.1 " in ready
    assert net.ping(count=3, host=address) == 3
    lease = (tmp_path / "leases").read_text()
    assert GUEST_MAC in lease and address in lease and "web-7" in lease


def test_the_address_comes_without_a_wait(boot, net, dnsmasq):
    dnsmasq()
    guest = boot("iperf", net, append="")

    seconds = float(guest.ready().split()[-2])

    assert seconds < 1


def test_a_given_gateway_wins(boot, wire):
    guest = boot("iperf", wire, append="gw=10.99.0.77")
    reply(wire, await_message(wire, 1), OFFER)
    reply(wire, await_message(wire, 3), ACK)
    assert " gw 10.99.0.77 " in guest.ready()

    wire.send(IP(src="192.0.2.9", dst="10.99.0.2") / ICMP() / b"from afar")

    wire.expect(lambda p: ARP in p and p[ARP].op == 1 and p[ARP].pdst == "10.99.0.77", what="question for the gateway")


def test_a_server_that_comes_late_is_heard(boot, net, dnsmasq):
    guest = boot("iperf", net, append="")
    time.sleep(3)
    assert not guest.lines("^ready: net0 10")
    dnsmasq()

    assert guest.wait_for(r"^ready: net0 10\.99\.0\.5", timeout=40)


# ---- By hand


OFFER, ACK, NAK = 2, 5, 6


def options(packet):
    return {option[0]: option[1] for option in packet[DHCP].options if isinstance(option, tuple)}


def await_message(wire, kind, timeout=15):
    return wire.expect(lambda p: DHCP in p and options(p).get("message-type") == kind, timeout, f"DHCP message {kind}")


def reply(wire, request, kind, address="10.99.0.2", lease=3600, xid=None, **changes):
    words = [("message-type", kind), ("server_id", PEER), ("lease_time", lease), ("subnet_mask", "255.255.255.0"),
             ("router", PEER), *changes.pop("more", []), "end"]
    packet = (Ether(src=PEER_MAC, dst=request.src) / IP(src=PEER, dst=changes.pop("dst", address)) / UDP(sport=67, dport=68) /
              BOOTP(op=2, xid=request[BOOTP].xid if xid is None else xid, yiaddr=address, siaddr=PEER, chaddr=request[BOOTP].chaddr) /
              DHCP(options=words))
    wire.send(packet)


def test_the_messages_are_as_rfc_2131_has_them(boot, wire):
    boot("iperf", wire, append="hostname=ringlet-1")
    discover = await_message(wire, 1)
    reply(wire, discover, OFFER)
    request = await_message(wire, 3)

    assert discover[IP].src == "0.0.0.0" and discover[IP].dst == "255.255.255.255"
    assert bytes(discover[BOOTP].chaddr)[:6] == bytes.fromhex(GUEST_MAC.replace(":", ""))
    assert options(discover)["hostname"] == b"ringlet-1"
    assert options(request)["requested_addr"] == "10.99.0.2" and options(request)["server_id"] == PEER
    assert request[BOOTP].xid == discover[BOOTP].xid and request[BOOTP].ciaddr == "0.0.0.0"


def test_an_answer_sent_to_everybody_is_taken(boot, wire):
    guest = boot("iperf", wire, append="")
    reply(wire, await_message(wire, 1), OFFER, dst="255.255.255.255")
    reply(wire, await_message(wire, 3), ACK, dst="255.255.255.255")

    assert guest.ready().startswith("net0 10.99.0.2/24")
    wire.arp()
    wire.ping()


def test_transaction_ids_differ_from_boot_to_boot(boot, wire):
    ids = set()
    for _ in range(4):
        guest = boot("iperf", wire, append="")
        ids.add(await_message(wire, 1)[BOOTP].xid)
        guest.stop()
        while wire.receive(0.05):
            pass

    assert len(ids) == 4


def test_answers_that_are_none_are_ignored(boot, wire):
    guest = boot("iperf", wire, append="")
    discover = await_message(wire, 1)
    reply(wire, discover, OFFER, xid=discover[BOOTP].xid ^ 1)
    reply(wire, discover, ACK)
    for junk in (b"", b"\2", bytes(236), bytes(236) + b"\x63\x82\x53\x63" + b"\x35\xff\x02", bytes(1400)):
        wire.send(IP(src=PEER, dst="255.255.255.255") / UDP(sport=67, dport=68) / junk)
    broken = bytearray(bytes(discover[BOOTP])[:240])
    broken[0] = 2
    for tail in (b"\x35\x01", b"\x35\xff", b"\x33\x04\0", b"\x01\x03\xff\xff\xff\xff", b"\x34\x01\x03\xff", b"\x06\x01\x01\xff"):
        wire.send(IP(src=PEER, dst="255.255.255.255") / UDP(sport=67, dport=68) / (bytes(broken) + tail))

    reply(wire, await_message(wire, 1), OFFER)
    reply(wire, await_message(wire, 3), ACK)

    assert guest.ready().startswith("net0 10.99.0.2/24")


def test_a_refused_lease_is_asked_for_again(boot, wire):
    guest = boot("iperf", wire, append="")
    reply(wire, await_message(wire, 1), OFFER)
    reply(wire, await_message(wire, 3), NAK)

    reply(wire, await_message(wire, 1), OFFER, address="10.99.0.3")
    reply(wire, await_message(wire, 3), ACK, address="10.99.0.3")

    assert guest.ready().startswith("net0 10.99.0.3/24")


@pytest.mark.timeout(150)
def test_a_lease_is_renewed_before_it_ends(boot, wire):
    guest = boot("iperf", wire, append="")
    reply(wire, await_message(wire, 1), OFFER, lease=100)
    reply(wire, await_message(wire, 3), ACK, lease=100)
    guest.ready()
    begin = time.monotonic()

    request = await_message(wire, 3, timeout=100)

    assert 40 <= time.monotonic() - begin <= 95  # half of it (RFC 2131 §4.4.5), and lwIP counts minutes
    assert request[IP].src == "10.99.0.2" and request[BOOTP].ciaddr == "10.99.0.2"
    reply(wire, request, ACK, lease=3600)
    wire.arp()
    wire.ping()


def test_a_static_address_asks_nobody(boot, wire):
    guest = boot("iperf", wire)
    guest.ready()

    wire.quiet(lambda p: DHCP in p, 1)
    wire.arp()
    wire.ping()
