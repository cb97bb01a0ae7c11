#!/bin/bash
# Make an ISO of an image that BIOS and UEFI boot: GRUB loads it by multiboot 2, which tells where ACPI is under UEFI.
#
#   tools/mkiso.sh IMAGE OUT.iso [WORD…]     the words become the image's command line
set -euo pipefail

image=$1 out=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

mkdir -p "$root/boot/grub"
cp "$image" "$root/boot/"
cat >"$root/boot/grub/grub.cfg" <<END
set timeout=0
menuentry ringlet {
    multiboot2 /boot/$(basename "$image") $*
}
END
if ! grub-mkrescue -o "$out.new" "$root" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
fi
mv "$out.new" "$out"
echo "  ISO   $out"
