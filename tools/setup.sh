#!/bin/bash
# Install the Debian packages that a target needs and the machine lacks.
#
#   tools/setup.sh GROUP…        groups: build, iso, test, bench, lint
#   tools/setup.sh --list GROUP…  print the package names and do nothing
#
# As root, or with a sudo that asks no password, the missing ones are installed; otherwise one line names
# them and the status is 1. When nothing is missing nothing is run, so it costs a moment and needs no rights.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive # tshark would ask who may capture

# What `make` and `make run` need.
build="gcc binutils libc6-dev xz-utils python3 qemu-system-x86 iperf"

# What `make iso` needs besides.
iso="grub-pc-bin grub-efi-amd64-bin grub-common xorriso mtools"

# What `make test` needs besides: a second compiler, the test libraries, and real clients for the boot tests.
test="clang libclang-rt-dev libcmocka-dev python3-pytest python3-pytest-xdist python3-pytest-timeout python3-scapy tcpdump tshark iproute2
    iputils-ping netcat-openbsd ncat dnsmasq-base iperf3 curl apache2-utils wrk hping3 ndisc6 util-linux procps cmake autoconf automake pkg-config
    ovmf $iso"

# What `make bench` needs besides: the Linux guest is packed with it.
bench="$test cpio"

lint="clang-format clang-tidy cppcheck shellcheck"

packages_of() {
    local group
    for group in "$@"; do
        case $group in
        build) echo "$build" ;;
        iso) echo "$iso" ;;
        test) echo "$test" ;;
        bench) echo "$bench" ;;
        lint) echo "$lint" ;;
        *)
            echo "setup: no such group: $group" >&2
            return 2
            ;;
        esac
    done | tr -s ' \n' '\n'
}

missing_of() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

install_missing() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "setup: missing packages; install them with: apt-get install $*" >&2
            return 1
        fi
        as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    fi
    echo "setup: installing $# Debian packages: $*"
    local log
    log=$(mktemp)
    # Recommended packages stay out: qemu's alone would bring a desktop.
    if ! { "${as_root[@]}" apt-get -q update &&
        "${as_root[@]}" apt-get -qy -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"; } </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "setup: could not install: $*" >&2
        return 1
    fi
    rm -f "$log"
}

if [ "${1:-}" = --list ]; then
    shift
    packages_of "$@"
    exit 0
fi
names=$(packages_of "$@")
mapfile -t wanted <<<"$names"
if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; taken for granted are the equivalents of: ${wanted[*]}"
    exit 0
fi
# Groups may be set up side by side; apt may not. The lock is this very file.
exec 9<"$0"
flock 9
mapfile -t missing < <(missing_of "${wanted[@]}")
[ ${#missing[@]} = 0 ] || install_missing "${missing[@]}"
