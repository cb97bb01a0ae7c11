"""A8: datagrams of every length come back equal. And the counting service on port 9."""

import pytest

from clients import DISCARD, check_datagrams
from guest import ADDRESS
from netns import Net


@pytest.mark.parametrize("mtu, device", [(1500, ""), (9000, "host_mtu=9000"), (9000, "host_mtu=9000,mrg_rxbuf=off"),
                                         (1500, "disable-modern=on"), (1500, "mrg_rxbuf=off,disable-legacy=on")])
def test_a8_datagrams_of_every_length_up_to_9000_come_back(boot, mtu, device):
    with Net(mtu=mtu) as net:
        guest = boot("iperf", net, device=device)
        guest.ready()

        check_datagrams(net, range(1, 9001))


@pytest.mark.parametrize("rxbuf", ["auto", "page", "mtu", "split", "256", "2048", "65536"])
def test_a8_lengths_around_multiples_of_the_buffer_come_back(boot, rxbuf):
    lengths = sorted({k * size + d for size in (256, 1506, 1530, 1536, 2048, 4096) for k in range(1, 7)
                      for d in range(-60, 14) if 0 < k * size + d <= 8972})
    with Net(mtu=9000) as net:
        guest = boot("iperf", net, device="host_mtu=9000", append=f"{ADDRESS} vnet.rxbuf={rxbuf}")
        guest.ready()

        check_datagrams(net, lengths)


def test_the_largest_datagrams_come_back(iperf, net):
    check_datagrams(net, [65507, 65506, 65000, 60000, 40000, 32768, 20000], window=1)


def test_an_empty_datagram_comes_back(iperf, net):
    check_datagrams(net, [0], window=1)


def test_port_9_counts_and_forgets(iperf, net):
    with net.udp(DISCARD) as sock:
        for length in (0, 1, 100, 1472, 1473, 9000):
            sock.send(b"x" * length)
        sock.send(b"?")
        assert sock.recv(100) == b"6 12046"

        sock.send(b"?")
        assert sock.recv(100) == b"0 0"


def test_ipv6_datagrams_come_back(boot, net):
    guest = boot("iperf", net, append=f"{ADDRESS} ip6=fd00:99::2/64")
    guest.ready()

    check_datagrams(net, range(1, 9001, 7), host="fd00:99::2")
