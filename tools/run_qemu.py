#!/usr/bin/python3
"""Start QEMU on an image and return the program's own exit status.

    tools/run_qemu.py build/hello.elf -- 3                          returns 3
    tools/run_qemu.py build/iperf.elf --forward tcp:5001:5001       user networking, port 5001 of 127.0.0.1
    tools/run_qemu.py build/iperf.elf --net tap:t0 --append ip=10.99.0.2/24 --device mrg_rxbuf=off

The console is standard input and output; Ctrl-C ends QEMU. What follows -- becomes the program's argv[1…].

exit status
    n    the program's own: what main returned, 2 for a bad option, 70 for a crash. 0 when it powered off without a
         status (--no-debug-exit)
    124  it ran longer than --timeout
    125  QEMU refused to start, or failed
    127  there is no QEMU
    128+s  QEMU was ended by signal s
"""

import argparse
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import threading

STATUS_TIMEOUT, STATUS_QEMU_FAILED, STATUS_NO_QEMU, STATUS_SIGNAL = 124, 125, 127, 128


def our_name():
    """As the user called us: ringlet-run calls main() under its own name."""
    return os.path.basename(sys.argv[0]).removesuffix(".py")


def quote(word):
    """As the image's command line wants it: quotes keep blanks inside a word."""
    if word and not any(c in word for c in " \t\"'"):
        return word
    if '"' not in word:
        return f'"{word}"'
    if "'" not in word:
        return f"'{word}'"
    raise SystemExit(f"{our_name()}: no way to pass both kinds of quotes in one word: {word}")


def cmdline(args):
    words = " ".join(args.append)
    program = " ".join(quote(word) for word in args.program)
    return f"{words} -- {program}".strip() if args.program else words


def netdev(args):
    """QEMU's words for the network; [] for none."""
    kind, _, rest = args.net.partition(":")
    if kind == "none":
        return ["-nic", "none"]
    if kind == "user":
        forwards = "".join(f",hostfwd={p}:127.0.0.1:{host}-:{guest}" for p, host, guest in args.forward)
        backend = f"user,id=n0{forwards}"
    elif kind == "tap":
        backend = f"tap,id=n0,ifname={rest or 't0'},script=no,downscript=no"
    else:  # dgram: a folder with the sockets of both ends
        backend = (f"dgram,id=n0,local.type=unix,local.path={rest}/qemu,"
                   f"remote.type=unix,remote.path={rest}/peer")
    on_pci = not args.machine.startswith("microvm") or "pcie=on" in args.machine
    model = ["virtio-net-pci", "romfile="] if on_pci else ["virtio-net-device"]
    device = ",".join([*model, "netdev=n0", *args.device])
    return ["-netdev", backend, "-device", device]


def command(args):
    accels = [word for name in args.accel.split(":") for word in ("-accel", name)]  # the first that works is used
    words = [args.qemu, *accels, "-M", args.machine, "-m", args.memory, "-display", "none",
             "-vga", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot"]
    if args.image.endswith(".iso"):
        words += ["-cdrom", args.image, "-boot", "d"]
    else:
        words += ["-kernel", args.image, "-append", cmdline(args)]
    if not args.no_debug_exit:
        words += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
    return words + netdev(args) + args.qemu_arg


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def copy_errors(stream, seen):
    """Pass QEMU's messages on, and remember whether it complained: its own failure and an image's exit(0) are both 1."""
    for line in stream:
        sys.stderr.buffer.write(line)
        sys.stderr.flush()
        # "qemu: could not open kernel file" comes from another place than "qemu-system-x86_64: …".
        if line.startswith((b"qemu-system", b"qemu:")) and b"warning:" not in line and b"terminating on signal" not in line:
            seen.append(line)


def program_status(status, complained):
    if status < 0:
        return STATUS_SIGNAL - status
    if status % 2 and not (status == 1 and complained):
        return status // 2
    return 0 if status == 0 else STATUS_QEMU_FAILED


def run(args):
    words = command(args)
    if args.verbose:
        print("+ " + shlex.join(words), file=sys.stderr)
    try:
        qemu = subprocess.Popen(words, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
    except OSError as error:
        print(f"{our_name()}: {args.qemu}: {error.strerror}", file=sys.stderr)
        return STATUS_NO_QEMU
    signal.signal(signal.SIGTERM, lambda *_: qemu.terminate())
    signal.signal(signal.SIGINT, lambda *_: qemu.terminate())
    complaints = []
    reader = threading.Thread(target=copy_errors, args=(qemu.stderr, complaints))
    reader.start()
    try:
        status = program_status(qemu.wait(args.timeout), complaints)
    except subprocess.TimeoutExpired:
        qemu.kill()
        qemu.wait()
        print(f"{our_name()}: ended after {args.timeout:g} s", file=sys.stderr)
        status = STATUS_TIMEOUT
    reader.join()
    if complaints and status == 0:
        status = STATUS_QEMU_FAILED
    return status


def forward(text):
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in ("tcp", "udp") or not all(p.isdigit() for p in parts[1:]):
        raise argparse.ArgumentTypeError(f"{text}: want tcp:HOSTPORT:GUESTPORT or udp:…")
    return parts


def network(text):
    if text.partition(":")[0] not in ("none", "user", "tap", "dgram"):
        raise argparse.ArgumentTypeError(f"{text}: want none, user, tap:NAME or dgram:FOLDER")
    return text


def main():
    argv = sys.argv[1:]
    program = argv[argv.index("--") + 1:] if "--" in argv else []
    argv = argv[:argv.index("--")] if "--" in argv else argv
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", metavar="IMAGE", help="an .elf or .iso file")
    parser.add_argument("--accel", default="tcg", help="tcg, kvm, or kvm:tcg for what there is (tcg)")
    parser.add_argument("--machine", "-M", default="pc", help="(pc)")
    parser.add_argument("--memory", "-m", default="64", metavar="MiB", help="(64)")
    parser.add_argument("--append", action="append", default=[], metavar="WORDS", help="options for the image")
    parser.add_argument("--net", type=network, default="user", help="none, user, tap:NAME or dgram:FOLDER (user)")
    parser.add_argument("--forward", type=forward, action="append", default=[], metavar="tcp:HOST:GUEST",
                        help="with user: a port of 127.0.0.1 for one of the guest")
    parser.add_argument("--device", action="append", default=[], metavar="OPTIONS",
                        help="options of virtio-net-pci, such as disable-legacy=on")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--no-debug-exit", action="store_true", help="without isa-debug-exit: the image powers off")
    parser.add_argument("--qemu", default="qemu-system-x86_64", metavar="PROGRAM", help="(qemu-system-x86_64)")
    parser.add_argument("--qemu-arg", action="append", default=[], metavar="ARG", help="one more argument for QEMU")
    parser.add_argument("--verbose", "-v", action="store_true", help="print QEMU's command line")
    args = parser.parse_args(argv)
    args.program = program
    return run(args)


if __name__ == "__main__":
    sys.exit(main())
