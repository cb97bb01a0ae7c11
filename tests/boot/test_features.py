"""What a virtio-net device offers beside rings: filters by control queue, MTU, VLANs, announcements, several NICs."""

import struct
import time

import pytest

from netns import GUEST, GUEST6, GUEST_MAC, PEER, PEER_MAC, Net
from scapy.layers.inet import TCP
from scapy.layers.inet6 import ICMPv6ND_NA
from scapy.layers.l2 import Dot1Q
from wire import ARP, ICMP, IP, UDP, Ether, IPv6

ALL_HOSTS, ALL_NODES = "01:00:5e:00:00:01", "33:33:00:00:00:01"
SOLICITED = "33:33:ff:12:34:56"


def rx_filter(guest, wanted, timeout=5):
    """QEMU's own view of the filter, once wanted(it) is true."""
    deadline = time.monotonic() + timeout
    while True:
        seen = guest.qmp("query-rx-filter")[0]
        if wanted(seen):
            return seen
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)


def narrow(seen):
    return not seen["promiscuous"] and SOLICITED in seen["multicast-table"]


def nobcast(seen):
    """QEMU shows NOBCAST as it was told, under a name that says the opposite."""
    return seen["broadcast-allowed"]


# ---- Filters


@pytest.mark.parametrize("device", ["disable-legacy=on", "disable-modern=on", "disable-modern=on,any_layout=off",
                                    "vectors=0", "event_idx=off,indirect_desc=off"])
def test_the_device_is_told_what_is_wanted(boot, wire, device):
    guest = boot("iperf", wire, device=device)
    guest.ready()
    wire.arp()

    seen = rx_filter(guest, narrow)

    assert set(seen["multicast-table"]) == {ALL_HOSTS, ALL_NODES, SOLICITED}
    assert seen["multicast"] == "normal" and not seen["multicast-overflow"] and not seen["unicast-table"]
    assert not nobcast(seen) and seen["main-mac"] == GUEST_MAC
    wire.ping()
    wire.solicit()


def test_without_ipv4_broadcasts_are_not_delivered(boot, wire):
    guest = boot("iperf", wire, append="ip=off")
    guest.ready()

    assert nobcast(rx_filter(guest, narrow))
    wire.solicit()


@pytest.mark.parametrize("refused", ["vnet.ctrl=off", "vnet.ctrl_rx=off"])
def test_without_a_filter_in_the_device_the_image_drops_by_itself(boot, net, refused):
    guest = boot("iperf", net, append=f"ip=10.99.0.2/24 {refused}")
    guest.ready()
    before = net.metrics()
    with net.packet_socket() as sock:
        for dst in (b"\1\0\x5e\0\0\xfb", b"\x33\x33\0\0\0\xfb", b"\x02\x11\x22\x33\x44\x55"):
            sock.send(dst + bytes.fromhex(PEER_MAC.replace(":", "")) + b"\x08\x00" + bytes(46))
    time.sleep(0.3)

    after = net.metrics()

    assert guest.qmp("query-rx-filter")[0]["promiscuous"]
    assert after['ringlet_vif_in_filtered_total{nic="net0"}'] - before['ringlet_vif_in_filtered_total{nic="net0"}'] >= 2
    assert after['ringlet_vif_in_not_ours_total{nic="net0"}'] - before['ringlet_vif_in_not_ours_total{nic="net0"}'] >= 1


def test_no_command_is_refused_or_left_without_an_answer(boot, net):
    guest = boot("iperf", net)
    guest.ready()
    rx_filter(guest, narrow)

    metrics = net.metrics()

    assert metrics['ringlet_vnet_ctrl_commands_total{nic="net0"}'] >= 4
    for what in ("errors", "timeouts", "late"):
        assert metrics[f'ringlet_vnet_ctrl_{what}_total{{nic="net0"}}'] == 0


def group_mac(number):
    return f"01:00:5e:09:00:{number:02x}"


def to_group(number, text):
    return (Ether(src=PEER_MAC, dst=group_mac(number)) / IP(src=PEER, dst=f"239.9.0.{number}") / UDP(sport=9, dport=7600) / text)


def test_groups_of_programs_reach_the_devices_table(boot, wire):
    guest = boot("test/groups", wire, append="ip=10.99.0.2/24 -- 3")
    guest.wait_for("^joined 3")

    seen = rx_filter(guest, lambda it: narrow(it) and group_mac(2) in it["multicast-table"])

    assert set(seen["multicast-table"]) == {ALL_HOSTS, ALL_NODES, SOLICITED, *map(group_mac, range(3))}
    wire.send(to_group(2, b"one"))
    guest.wait_for("^heard one")
    wire.send(to_group(1, b"leave"))
    guest.wait_for("^left 3")
    rx_filter(guest, lambda it: set(it["multicast-table"]) == {ALL_HOSTS, ALL_NODES, SOLICITED})


@pytest.mark.parametrize("device, append", [("", ""), ("", "vnet.ctrl=off"), ("disable-modern=on", "")])
def test_more_groups_than_the_table_holds_are_all_heard(boot, wire, device, append):
    guest = boot("test/groups", wire, device=device, append=f"ip=10.99.0.2/24 {append} -- 100")
    guest.wait_for("^joined 100")
    if not append:
        rx_filter(guest, lambda it: it["multicast"] == "all" and not it["promiscuous"])
    for number in (0, 50, 99):
        wire.send(to_group(number, b"to %d" % number))
        guest.wait_for(f"^heard to {number}$")

    wire.send(to_group(0, b"leave"))

    guest.wait_for("^left 100")
    if not append:
        rx_filter(guest, lambda it: it["multicast"] == "normal" and narrow(it))


# ---- Several pairs


@pytest.mark.parametrize("option", ["", "vnet.mq=on"])
def test_a_device_with_many_queues_is_driven_with_one_pair(boot, net, option):
    guest = boot("iperf", net, append=f"ip=10.99.0.2/24 {option}", device="mq=on,vectors=10")
    guest.ready()

    rx_filter(guest, narrow)  # the control queue is found, wherever it is
    assert net.ping(count=3, size=1400) == 3
    assert ("mq" in guest.lines("net0: negotiated: ")[0].split()) == bool(option)
    assert net.metrics()['ringlet_vnet_ctrl_errors_total{nic="net0"}'] == 0


# ---- VLANs


def in_vlan(vid, packet, priority=0):
    return Ether(src=PEER_MAC, dst=GUEST_MAC) / Dot1Q(vlan=vid, prio=priority) / packet


def echo(seq):
    return IP(src=PEER, dst=GUEST) / ICMP(id=7, seq=seq) / b"in a vlan"


def learn_in_vlan(wire, vid):
    """Ask in the VLAN until the guest answers there."""
    for _ in range(200):
        wire.send(Ether(src=PEER_MAC, dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=vid) / ARP(hwsrc=PEER_MAC, psrc=PEER, pdst=GUEST))
        for packet in wire.frames(0.05):
            if Dot1Q in packet and packet[Dot1Q].vlan == vid and ARP in packet and packet[ARP].op == 2:
                return
    raise AssertionError("no ARP reply in the VLAN")


@pytest.mark.parametrize("refused", ["", "vnet.ctrl_vlan=off", "vnet.ctrl=off"])
def test_a_nic_in_a_vlan_speaks_and_hears_in_it_only(boot, wire, refused):
    guest = boot("iperf", wire, append=f"ip=10.99.0.2/24 net0.vlan=5 {refused}")
    guest.ready()
    wire.answers = False
    learn_in_vlan(wire, 5)

    wire.send(in_vlan(5, echo(1), priority=3))
    reply = wire.expect(lambda p: ICMP in p and p[ICMP].type == 0, what="echo reply")
    assert reply[Dot1Q].vlan == 5 and reply[ICMP].seq == 1 and bytes(reply[ICMP].payload) == b"in a vlan"
    for packet in (in_vlan(6, echo(2)), in_vlan(0, echo(3)), Ether(src=PEER_MAC, dst=GUEST_MAC) / echo(4)):
        wire.send(packet)
    wire.quiet(lambda p: ICMP in p, 0.5, "reply to another VLAN")
    for frame in wire.frames(0.5):
        assert Dot1Q in frame and frame[Dot1Q].vlan == 5
    if not refused:
        assert rx_filter(guest, narrow)["vlan-table"] == [5]


SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL = 263, 15, 3
NEEDS_CSUM = 1


def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[:len(data) & ~1])) + (data[-1] << 8 if len(data) % 2 else 0)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def send_unfinished(sock, packet, l4_bytes, csum_offset):
    """A frame as a host hands it to its tap: the checksum holds the pseudo header's sum only, and starts behind the tag."""
    frame = bytearray(bytes(packet))
    start = len(frame) - l4_bytes
    ip = frame[18:38]
    pseudo = sum16(bytes(ip[12:20]) + bytes((0, ip[9])) + struct.pack("!H", l4_bytes))
    struct.pack_into("!H", frame, start + csum_offset, pseudo)
    sock.send(struct.pack("<BBHHHH", NEEDS_CSUM, 0, 0, 0, start, csum_offset) + frame)


def finished(sock, matches, timeout=5):
    """The first frame of the guest that matches, its tag taken off by the kernel and its checksum finished as the header says."""
    deadline = time.monotonic() + timeout
    sock.settimeout(timeout)
    while time.monotonic() < deadline:
        data = bytearray(sock.recv(1 << 17))
        flags, _, _, _, start, offset = struct.unpack_from("<BBHHHH", data)
        frame = data[10:]
        if frame[6:12] != bytes.fromhex(GUEST_MAC.replace(":", "")):
            continue
        if flags & NEEDS_CSUM:
            struct.pack_into("!H", frame, start + offset, 0xffff ^ sum16(bytes(frame[start:])))
        packet = Ether(bytes(frame))
        if matches(packet):
            return packet, bool(flags & NEEDS_CSUM)
    raise AssertionError("no such frame")


def is_intact(packet, layer):
    """Made again from its fields, it has the same checksum."""
    again = packet.copy()
    del again[layer].chksum
    return type(packet)(bytes(again))[layer].chksum == packet[layer].chksum


@pytest.mark.parametrize("device", ["", "csum=off,guest_csum=off", "disable-modern=on", "mrg_rxbuf=off"])
def test_checksums_in_a_vlan_are_where_the_offloads_say(boot, net, device):
    net.sh("ip neigh replace 10.99.0.2 lladdr 52:54:00:12:34:56 dev t0")
    guest = boot("iperf", net, device=device, append="ip=10.99.0.2/24 vlan=5")
    guest.ready()
    with net.packet_socket() as sock:
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.bind((net.tap, ETH_P_ALL))
        sock.send(bytes(10) + bytes(Ether(src=PEER_MAC, dst="ff:ff:ff:ff:ff:ff") / Dot1Q(vlan=5) /
                                    ARP(hwsrc=PEER_MAC, psrc=PEER, pdst=GUEST)))
        finished(sock, lambda p: ARP in p and p[ARP].op == 2)

        send_unfinished(sock, in_vlan(5, IP(src=PEER, dst=GUEST) / UDP(sport=4000, dport=7) / b"data!"), 13, 6)
        reply, _ = finished(sock, lambda p: UDP in p and p[UDP].sport == 7)
        assert bytes(reply[UDP].payload)[:5] == b"data!" and is_intact(reply, UDP)

        send_unfinished(sock, in_vlan(5, IP(src=PEER, dst=GUEST) / TCP(sport=4001, dport=7, flags="S", seq=1)), 20, 16)
        reply, left_to_device = finished(sock, lambda p: TCP in p and p[TCP].sport == 7)
        assert reply[TCP].flags == "SA" and reply[TCP].ack == 2 and is_intact(reply, TCP)
        assert left_to_device == ("csum=off" not in device)


def test_a_nic_in_no_vlan_takes_no_tag_but_a_priority(boot, wire):
    guest = boot("iperf", wire)
    guest.ready()
    wire.arp()

    wire.send(in_vlan(0, echo(1), priority=5))
    reply = wire.expect(lambda p: ICMP in p and p[ICMP].type == 0, what="echo reply")
    assert Dot1Q not in reply
    wire.send(in_vlan(5, echo(2)))
    wire.quiet(lambda p: ICMP in p, 0.5, "reply into a VLAN")
    assert "ctrl_vlan" not in guest.lines("net0: negotiated: ")[0]


# ---- MTU


MTUS = [1280, 1400, 1500, 4000, 9000]


@pytest.mark.parametrize("mtu", MTUS)
@pytest.mark.parametrize("device", ["", "mrg_rxbuf=off"])
def test_a10_the_hosts_mtu_is_kept(boot, mtu, device):
    with Net(mtu=mtu) as net:
        guest = boot("iperf", net, device=f"host_mtu={mtu}{',' + device if device else ''}")
        assert f"mtu {mtu}" in guest.ready()

        with net.capture(f"ether src {GUEST_MAC}", snaplen=96) as capture:
            for size in (mtu - 28, mtu - 29):
                assert net.ping(count=3, size=size) == 3
            with net.connect(7) as sock:
                sock.sendall(bytes(range(256)) * 400)
                got = 0
                while got < 256 * 400:
                    got += len(sock.recv(65536))
            with net.connect(7, GUEST6) as sock:
                sock.sendall(bytes(5000))
                got = 0
                while got < 5000:
                    got += len(sock.recv(65536))
        syn = [data for _, _, data in capture.frames() if data[12:14] == b"\x08\x00" and data[23] == 6 and data[47] & 2]
        syn6 = [data for _, _, data in capture.frames() if data[12:14] == b"\x86\xdd" and data[20] == 6 and data[67] & 2]
        pings = [length for _, length, data in capture.frames() if data[12:14] == b"\x08\x00" and data[23] == 1]
    assert syn[0][54:58] == b"\2\4" + (mtu - 40).to_bytes(2, "big")
    assert syn6[0][74:78] == b"\2\4" + (mtu - 60).to_bytes(2, "big")
    assert max(pings) == mtu + 14


def test_a10_a_host_whose_mtu_is_refused_gets_the_usual_one(boot, net):
    guest = boot("iperf", net, append="ip=10.99.0.2/24 vnet.mtu=off", device="host_mtu=1400")

    assert "mtu 1500" in guest.ready()


def test_the_speed_is_shown(boot, net):
    guest = boot("iperf", net, device="speed=25000,duplex=full")
    guest.ready()

    assert guest.lines("net0: 25000 Mbit/s, full duplex")
    assert net.metrics()['ringlet_vnet_link_speed_mbps{nic="net0"}'] == 25000


# ---- Announcements


def announce(guest, rounds=1):
    guest.qmp("announce-self", initial=50, max=100, rounds=rounds, step=50)


def test_an_announcement_is_made_when_the_host_asks(boot, wire):
    guest = boot("iperf", wire)
    guest.ready()
    wire.arp()
    wire.solicit()
    rx_filter(guest, narrow)
    list(wire.frames(0.3))

    announce(guest)

    seen = list(wire.frames(1.5))
    assert any(ARP in p and p[ARP].psrc == p[ARP].pdst == GUEST and p[ARP].hwsrc == GUEST_MAC and
               p.dst == "ff:ff:ff:ff:ff:ff" for p in seen)
    advertised = [p for p in seen if ICMPv6ND_NA in p]
    assert any(p[ICMPv6ND_NA].tgt == GUEST6 and p[ICMPv6ND_NA].O == 1 and p[ICMPv6ND_NA].S == 0 and
               p.dst == ALL_NODES and p[IPv6].hlim == 255 for p in advertised)
    wire.ping()


def test_every_announcement_is_acknowledged(boot, net):
    """QEMU asks again only once the first word was acknowledged."""
    guest = boot("iperf", net)
    guest.ready()
    for round_ in range(1, 4):
        announce(guest)
        deadline = time.monotonic() + 5
        while net.metrics()['ringlet_vnet_announcements_total{nic="net0"}'] < round_:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(0.3)

    metrics = net.metrics()

    assert metrics['ringlet_vnet_ctrl_errors_total{nic="net0"}'] == 0


# ---- Several NICs


def second_nic(net, vlan=""):
    netdev, fds = net.netdev("n1", "t1")
    return ["-netdev", netdev, "-device", f"virtio-net-pci,netdev=n1,mac=52:54:00:12:34:57,romfile={vlan}"], fds


def test_each_nic_has_its_own_configuration_and_answers_by_itself(boot, net):
    net.add_tap("t1", mac="02:00:00:00:00:02")
    net.sh("ip addr add 10.98.0.1/24 dev t1; ip -6 addr add fd00:98::1/64 dev t1 nodad; "
           "ip addr add 192.0.2.1/32 dev lo; ip -6 addr add 2001:db8::1/128 dev lo nodad; "
           "ip route add 10.99.0.2/32 dev t0 src 192.0.2.1 metric 5; ip route add 10.98.0.2/32 dev t1 src 192.0.2.1 metric 5")
    words, fds = second_nic(net)
    guest = boot("iperf", net, qemu=words, fds=fds,
                 append="ip=10.99.0.2/24 gw=10.99.0.1 net1.ip=10.98.0.2/24 net1.gw=10.98.0.1 net1.ip6=fd00:98::2/64 net1.gw6=fd00:98::1")
    guest.ready()
    guest.wait_for(r"net1 10\.98\.0\.2/24")

    # From far away, by either NIC: the answer must come the way that the question went.
    for address, tap, other in (("10.99.0.2", "t0", "t1"), ("10.98.0.2", "t1", "t0")):
        with net.capture(f"ip and src host {address}", tap=other) as capture:
            assert net.ping(count=3, host=address) == 3
            with net.connect(7, address) as sock:
                sock.sendall(b"hello")
                assert sock.recv(5) == b"hello"
            with net.udp(7, address) as sock:
                sock.send(b"hello")
                assert sock.recv(5) == b"hello"
        assert not capture.frames(), f"{address} answered by {other}"
    net.sh("ip -6 route add fd00:98::2/128 dev t1 src 2001:db8::1 metric 5")
    with net.connect(7, "fd00:98::2") as sock:
        sock.sendall(b"hello")
        assert sock.recv(5) == b"hello"
