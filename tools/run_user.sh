#!/bin/bash
# Boot an image under QEMU with user networking, its services forwarded from 127.0.0.1. Needs no rights.
#
#   tools/run_user.sh IMAGE [WORD…]     the words become the image's command line
#
#   MEM=64       guest memory, MiB
#   ACCEL=tcg    or kvm
#   QEMU_ARGS=   more arguments for QEMU
#
# The console is this terminal; Ctrl-C ends QEMU at once. Returns the image's own exit status.
set -euo pipefail

image=${1:?usage: tools/run_user.sh IMAGE [WORD…]}
shift
[ -r "$image" ] || { echo "run: $image: no such file, or not readable" >&2; exit 2; }

# A port of this machine that nobody has: the wanted one or the next free above it.
free_port() {
    /usr/bin/python3 - "$1" "$2" <<'END'
import socket, sys
tcp = sys.argv[1] == "tcp"
for port in range(int(sys.argv[2]), 65536):
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as s:
            if tcp: # as QEMU does: connections that linger from the last run do no harm
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", port))
            if tcp:
                s.listen()
    except OSError:
        continue
    print(port)
    break
END
}

forwards=()
declare -A at
forward() {
    local kind=$1 guest=$2 wanted=$3
    at[$kind$guest]=$(free_port "$kind" "$wanted")
    [ "${at[$kind$guest]}" = "$wanted" ] ||
        echo "run: port $wanted/$kind of this machine is taken; using ${at[$kind$guest]} instead"
    forwards+=(--forward "$kind:${at[$kind$guest]}:$guest")
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
echo "run: $image, ${MEM:-64} MiB; Ctrl-C ends it"
case $(basename "$image") in
iperf.*)
    cat <<END
     From another terminal:
       iperf -c 127.0.0.1$(option -p "${at[tcp5001]}" 5001)              TCP to the guest
       iperf -c 127.0.0.1$(option -p "${at[tcp5001]}" 5001) -R           TCP from the guest
       iperf -c 127.0.0.1$(option -p "${at[udp5001]}" 5001) -u -b 100m   UDP
       iperf3 -c 127.0.0.1$(option -p "${at[tcp5201]}" 5201)             the same by iperf3; -R, --bidir, -u, -P …
       curl http://127.0.0.1:${at[tcp80]}/     status page; /metrics has every counter
     Ports of 127.0.0.1: echo ${at[tcp7]} (TCP) ${at[udp7]} (UDP), discard ${at[tcp9]}, counter ${at[udp9]} (UDP), chargen ${at[tcp19]}
END
    ;;
*)
    cat <<END
     Ports of 127.0.0.1 that lead to the guest's, if its program listens there:
       TCP  ${at[tcp7]} to 7, ${at[tcp9]} to 9, ${at[tcp19]} to 19, ${at[tcp80]} to 80, ${at[tcp5001]} to 5001
       UDP  ${at[udp7]} to 7, ${at[udp9]} to 9, ${at[udp5001]} to 5001
     For others: tools/run_qemu.py $image --forward tcp:HOST:GUEST
END
    ;;
esac

more=()
for word in ${QEMU_ARGS:-}; do
    more+=("--qemu-arg=$word")
done
exec /usr/bin/python3 "$(dirname "$0")/run_qemu.py" "$image" --accel "${ACCEL:-tcg}" --memory "${MEM:-64}" \
    "${forwards[@]}" "${more[@]}" --append "$*"
