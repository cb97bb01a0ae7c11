"""Holds a network namespace open, and makes sockets and taps in it for a process outside.

Run by netns.py as `unshare -rn python3 nsagent.py`, with one end of a SOCK_SEQPACKET pair as standard input. A
request is a JSON object; the answer is "ok" with one descriptor, or the errno as a number. A socket stays
in the namespace where it was made, so the tests use plain Python sockets without entering it themselves. Ends when the
other end is closed: the namespace goes with it.
"""

import fcntl
import json
import os
import socket
import struct

TUNSETIFF, TUNSETSNDBUF = 0x400454CA, 0x400454D4
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
QEMU_SNDBUF = 1 << 20  # what QEMU sets on a tap that it opens itself


def open_tap(name, vnet_hdr):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = IFF_TAP | IFF_NO_PI | (IFF_VNET_HDR if vnet_hdr else 0)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(fd, TUNSETSNDBUF, struct.pack("i", QEMU_SNDBUF))
    return fd


def make(request):
    if "tap" in request:
        return open_tap(request["tap"], request["vnet_hdr"])
    return socket.socket(request["family"], request["kind"], request["proto"]).detach()


def main():
    control = socket.socket(fileno=0)
    control.send(b"ready")
    while request := control.recv(4096):
        try:
            fd = make(json.loads(request))
        except OSError as error:
            control.send(str(error.errno).encode())
            continue
        socket.send_fds(control, [b"ok"], [fd])
        os.close(fd)


if __name__ == "__main__":
    main()
