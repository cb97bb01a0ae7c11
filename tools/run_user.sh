#!/bin/bash
# Boot an image under QEMU with user networking, its services forwarded from 127.0.0.1. Needs no rights.
#
#   tools/run_user.sh IMAGE [WORD…]     the words become the image's command line
#
#   MEM=64       guest memory, MiB
#   ACCEL=tcg    or kvm
#   QEMU_ARGS=   more arguments for QEMU
#
# The console is this terminal; Ctrl-C ends QEMU at once. Returns the image's own exit status; 0 when it was
# ended by Ctrl-C.
set -uo pipefail

image=$1
shift

# A port of this machine that nobody has: the wanted one or the next free above it.
free_port() {
    /usr/bin/python3 - "$1" "$2" <<'END'
import socket, sys
kind = socket.SOCK_STREAM if sys.argv[1] == "tcp" else socket.SOCK_DGRAM
for port in range(int(sys.argv[2]), 65536):
    try:
        with socket.socket(socket.AF_INET, kind) as s:
            s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break
END
}

netdev=user,id=n0
declare -A at
forward() {
    local kind=$1 guest=$2 wanted=$3
    at[$kind$guest]=$(free_port "$kind" "$wanted")
    [ "${at[$kind$guest]}" = "$wanted" ] ||
        echo "run: port $wanted/$kind of this machine is taken; using ${at[$kind$guest]} instead"
    netdev+=,hostfwd=$kind:127.0.0.1:${at[$kind$guest]}-:$guest
}
forward tcp 5001 5001
forward udp 5001 5001
forward tcp 5201 5201
forward udp 5201 5201
forward tcp 80 8080
forward tcp 7 7007
forward udp 7 7007
forward tcp 9 7009
forward udp 9 7009
forward tcp 19 7019

option() { # $1 unless it is the program's default
    [ "$2" = "$3" ] || printf ' %s %s' "$1" "$2"
}
cat <<END
run: $image, ${MEM:-64} MiB; Ctrl-C ends it. From another terminal:
       iperf -c 127.0.0.1$(option -p "${at[tcp5001]}" 5001)            TCP to the guest;  -R from it
       iperf -u -c 127.0.0.1$(option -p "${at[udp5001]}" 5001) -b 50M  UDP
       curl http://127.0.0.1:${at[tcp80]}/       counters: /metrics
       echo ${at[tcp7]}, discard ${at[tcp9]}, chargen ${at[tcp19]}
END

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
read -ra more <<<"${QEMU_ARGS:-}"
interrupted=0
trap 'interrupted=1' INT
qemu-system-x86_64 -accel "${ACCEL:-tcg}" -m "${MEM:-64}" -display none -vga none -serial stdio \
    -no-reboot -device isa-debug-exit,iobase=0xf4,iosize=4 \
    -netdev "$netdev" -device virtio-net-pci,netdev=n0,romfile= \
    -kernel "$image" -append "$*" "${more[@]}" 2> >(tee "$errors" >&2)
status=$?
[ $interrupted = 0 ] || exit 0
# isa-debug-exit turns n into 2n + 1. QEMU's own failure is 1 too, but it says why.
grep -q '^qemu-system' "$errors" && exit 1
[ $((status % 2)) = 1 ] && exit $((status / 2))
exit $status
