#!/bin/bash
# Build newlib for the bare target with the host's gcc: no cross compiler is needed.
#
#   tools/build_newlib.sh SRC OUT [JOBS]
#
#   SRC  the unpacked source tree (not written to)
#   OUT  gets include/ and lib/; OUT/stamp tells the recipe that made them
#
# OUT is rebuilt when this script, the source, or the compiler changed. Its bytes depend on those three alone, not on
# where SRC and OUT are.
#
# The whole of newlib, not its nano variants: those break %f, %lld and %zu. No LTO here: the compiler
# would find memcpy's own loop in memcpy and call it for it.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=0

src=$1 out=$2 jobs=${3:-$(nproc)}
CC=${CC:-gcc}

# Frame pointers let a crash block's backtrace pass through a qsort() to the one who called it.
cflags=(-O2 -ffreestanding -mno-red-zone -fno-pic -fno-pie -mcmodel=small -fno-stack-protector
    -fcf-protection=none -ffunction-sections -fdata-sections -fno-omit-frame-pointer -fno-lto -w)
options=(--host=x86_64-elf --disable-multilib --disable-newlib-supplied-syscalls
    --enable-newlib-io-c99-formats --enable-newlib-io-long-long --enable-newlib-io-long-double
    --enable-newlib-retargetable-locking --disable-newlib-wide-orient --disable-newlib-iconv
    --disable-dependency-tracking)

source_id=$(cat "$src.stamp" 2>/dev/null || echo "$src")
recipe=$( (cat "$0"; "$CC" --version | head -1; echo "$source_id") | sha256sum | cut -d' ' -f1)
if [ "$(cat "$out/stamp" 2>/dev/null)" = "$recipe" ]; then
    exit 0
fi

rm -rf "$out"
mkdir -p "$out/obj"
log=$PWD/$out/build.log
src_abs=$(cd "$src" && pwd -P)
out_abs=$(cd "$out" && pwd -P)

step() {
    local what=$1
    shift
    echo "newlib: $what"
    if ! "$@" >>"$log" 2>&1; then
        tail -n 25 "$log" >&2
        echo "newlib: failed; the whole log is $log" >&2
        exit 1
    fi
}

# Paths would otherwise reach the objects through assert()'s __FILE__.
cflags+=("-ffile-prefix-map=$src_abs/newlib=newlib" "-ffile-prefix-map=$out_abs/obj=newlib")

cd "$out/obj"
step "configuring ..." "$src_abs/newlib/configure" "${options[@]}" --prefix=/ \
    CC="$CC" AR=ar RANLIB=ranlib AS=as MAKEINFO=true ARFLAGS=crD \
    CFLAGS="${cflags[*]}" CCASFLAGS="${cflags[*]}"
# MAKEFLAGS of the outer make would bring its job server and its variables along.
step "building (about a minute) ..." env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
    make -j"$jobs" all
step "installing ..." env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make install DESTDIR="$out_abs/root"
cd "$OLDPWD"

mv "$out/root/x86_64-elf/include" "$out/root/x86_64-elf/lib" "$out/"
rm -rf "$out/root" "$out/obj"
echo "$recipe" >"$out/stamp"
echo "newlib: ready in $out"
