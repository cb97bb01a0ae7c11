#!/bin/bash
# Install what is needed to make images elsewhere. Called by `make install` and `make uninstall`.
#
#   sdk/install.sh install|uninstall PREFIX BUILD NEWLIB LWIP
#
#   PREFIX  where to; DESTDIR is put in front. Nothing outside is touched, and the folder may be moved afterwards
#   BUILD   has kernel.o; NEWLIB has include/ and lib/; LWIP is its source tree
set -euo pipefail

action=$1 prefix=$2 build=$3 newlib=$4 lwip=$5
root=${DESTDIR:-}$prefix
home=$root/lib/ringlet
version=$(sed -nE 's/.*RINGLET_VERSION "(.*)".*/\1/p' lib/version.h)

files=(
    bin/ringlet-cc bin/ringlet-run bin/ringlet-boot-ping
    lib/pkgconfig/ringlet.pc share/cmake/ringlet-toolchain.cmake
    share/man/man1/ringlet-cc.1 share/man/man1/ringlet-run.1 share/man/man1/ringlet-boot-ping.1 share/man/man7/ringlet.7
)

put() { # MODE FROM TO
    install -D -m "$1" "$2" "$root/$3"
}

copy_headers() { # FROM TO: *.h of a tree, as it is
    (cd "$1" && find . -name '*.h' -print0 | tar --null -cf - -T -) | (mkdir -p "$2" && tar -xf - -C "$2" --no-same-owner)
}

install_library() {
    local name
    rm -rf "$home"
    mkdir -p "$home"
    for name in "$build/kernel.o" "$newlib/lib/libc.a" "$newlib/lib/libm.a" linker.ld; do
        install -m 644 "$name" "$home/"
    done
    for name in tools/mksyms.py tools/check_image.py tools/run_qemu.py; do
        install -m 644 "$name" "$home/"
    done
    copy_headers include "$home/include"
    copy_headers "$newlib/include" "$home/libc"
    # For programs that go below sockets: lwIP's raw API and the headers it brings along.
    copy_headers "$lwip/src/include" "$home/raw/lwip"
    copy_headers net "$home/raw/net"
    copy_headers lib "$home/raw/lib"
    copy_headers arch/x86_64/include/port "$home/raw/port"
    mkdir -p "$home/raw/drivers"
    install -m 644 drivers/netdev.h "$home/raw/drivers/"
    rm -rf "$home/raw/lib/newlib"
}

fill() { # FROM TO: a file that names the version
    mkdir -p "$(dirname "$root/$2")"
    sed "s|@VERSION@|$version|g" "$1" >"$root/$2"
}

case $action in
install)
    install_library
    put 755 sdk/ringlet-cc bin/ringlet-cc
    put 755 sdk/ringlet-run bin/ringlet-run
    put 755 tools/boot-ping bin/ringlet-boot-ping
    fill sdk/ringlet.pc lib/pkgconfig/ringlet.pc
    fill sdk/ringlet-toolchain.cmake share/cmake/ringlet-toolchain.cmake
    for page in ringlet-cc ringlet-run ringlet-boot-ping; do
        fill sdk/man/$page.1 share/man/man1/$page.1
    done
    mkdir -p "$root/share/man/man7"
    python3 sdk/man/options_page.py docs/options.md "$version" >"$root/share/man/man7/ringlet.7"
    echo "installed: $root/bin/ringlet-cc, ringlet-run, ringlet-boot-ping"
    ;;
uninstall)
    for name in "${files[@]}"; do
        rm -f "$root/$name"
    done
    rm -rf "$home"
    rmdir --ignore-fail-on-non-empty -p "$root"/{bin,lib/pkgconfig,share/cmake,share/man/man1,share/man/man7} 2>/dev/null || true
    ;;
esac
