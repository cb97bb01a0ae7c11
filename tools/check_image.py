"""Refuse an image that a loader would refuse: run on every image as it is built.

    check_image.py IMAGE…

A toolchain that puts a note in front of the multiboot header, or a linker script that loses the
agreement between the ELF headers and the header's address fields, is found here and not at boot.
Multiboot 0.6.96 §3.1; QEMU takes an ELF64 only by the address fields, and so does GRUB then.
"""

import struct
import sys

MAGIC = 0x1BADB002
HEADER_WITHIN = 8192
MAGIC2 = 0xE85250D6
HEADER2_WITHIN = 32768
ADDRESS_FIELDS = 1 << 16
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK = 1, 2, 3, 4, 0x6474E551
PF_X, PF_W = 1, 2
PVH_NOTE = 18


class Wrong(Exception):
    """The image breaks a rule; the text says which."""


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Segment:
    def __init__(self, raw):
        (self.type, self.flags, self.offset, self.vaddr, self.paddr, self.filesz, self.memsz,
         self.align) = struct.unpack("<IIQQQQQQ", raw)


def read_elf(data):
    """The entry address and the program headers."""
    need(data[:4] == b"\x7fELF" and data[4] == 2, "is not an ELF64 file")
    kind, machine = struct.unpack_from("<HH", data, 16)
    need(kind == 2 and machine == 62, "is not a static x86-64 executable")
    entry, phoff = struct.unpack_from("<QQ", data, 24)
    phentsize, phnum = struct.unpack_from("<HH", data, 54)
    rows = [data[phoff + i * phentsize:][:56] for i in range(phnum)]
    return entry, [Segment(row) for row in rows]


def find_header(data):
    """Offset of the multiboot header: the magic alone may occur by chance, the sum with it will not."""
    for offset in range(0, min(HEADER_WITHIN, len(data)) - 11, 4):
        magic, flags, check = struct.unpack_from("<III", data, offset)
        if magic == MAGIC and (magic + flags + check) & 0xFFFFFFFF == 0:
            return offset, flags
    raise Wrong(f"has no multiboot header, 4-aligned, in its first {HEADER_WITHIN} bytes")


def check_multiboot(data, entry, loads):
    offset, flags = find_header(data)
    need(flags & ADDRESS_FIELDS, "has a multiboot header without address fields (flag bit 16)")
    need(offset + 32 <= HEADER_WITHIN, "has a multiboot header that crosses 8192")
    header, start, load_end, bss_end, start_at = struct.unpack_from("<5I", data, offset + 12)
    need(start <= header, "header_addr lies before load_addr")
    need(start_at == entry, f"entry_addr {start_at:#x} is not the ELF entry {entry:#x}")

    shift = offset - header  # file offset = address + shift, for everything the loader copies
    need(start + shift >= 0, "load_addr lies before the file")
    need(load_end + shift <= len(data), "load_end_addr lies beyond the file")
    for seg in loads:
        if seg.filesz:
            need(seg.offset - seg.paddr == shift,
                 f"segment at {seg.paddr:#x} lies elsewhere in the file than load_addr says")
            need(start <= seg.paddr and seg.paddr + seg.filesz <= load_end,
                 f"segment at {seg.paddr:#x} is not inside load_addr … load_end_addr")
        need(seg.paddr + seg.memsz <= bss_end, f"segment at {seg.paddr:#x} ends after bss_end_addr")


def check_multiboot2(data, entry):
    """Multiboot 2.0 §3.1: the same facts once more, as tags."""
    first, _ = find_header(data)
    for at in range(0, min(HEADER2_WITHIN, len(data)) - 15, 8):
        magic, arch, length, check = struct.unpack_from("<4I", data, at)
        if magic == MAGIC2 and arch == 0 and (magic + length + check) & 0xFFFFFFFF == 0:
            break
    else:
        raise Wrong(f"has no multiboot 2 header, 8-aligned, in its first {HEADER2_WITHIN} bytes")
    tags, end, tag = {}, at + length, at + 16
    while tag + 8 <= end:
        kind, _, size = struct.unpack_from("<HHI", data, tag)
        need(size >= 8, "has a multiboot 2 tag of no size")
        tags[kind] = data[tag + 8:tag + size]
        tag += size + 7 & ~7
    need(0 in tags, "has multiboot 2 tags without an end")
    need(struct.unpack("<I", tags.get(3, bytes(4)))[0] == entry, "has a multiboot 2 entry that is not the ELF's")
    addresses = struct.unpack_from("<4I", data, first + 12)
    header, *rest = struct.unpack("<4I", tags.get(2, bytes(16)))
    need(rest == list(addresses[1:]) and header - at == addresses[0] - first,
         "has multiboot 2 addresses that are not multiboot 1's")


def notes(data, segments):
    for seg in segments:
        at, end = seg.offset, seg.offset + seg.filesz
        while seg.type == PT_NOTE and at + 12 <= end:
            name_len, desc_len, kind = struct.unpack_from("<III", data, at)
            name_at = at + 12
            desc_at = name_at + (name_len + 3 & ~3)
            yield data[name_at:name_at + name_len], kind, data[desc_at:desc_at + desc_len]
            at = desc_at + (desc_len + 3 & ~3)


def check_pvh(data, segments, loads):
    found = False
    for name, kind, desc in notes(data, segments):
        if name != b"Xen\0" or kind != PVH_NOTE:
            continue
        found = True
        need(len(desc) in (4, 8), "has a PVH note of an odd size")
        entry = int.from_bytes(desc, "little")
        need(any(s.paddr <= entry < s.paddr + s.filesz and s.flags & PF_X for s in loads),
             f"PVH entry {entry:#x} is not in code")
    need(found, "has no PVH note that a program header leads to")


def check_segments(segments, loads):
    need(loads, "has nothing to load")
    for seg in segments:
        need(seg.type not in (PT_DYNAMIC, PT_INTERP), "is dynamically linked")
        need(seg.type != PT_GNU_STACK or not seg.flags & PF_X, "asks for an executable stack")
    for seg in loads:
        need(seg.flags & (PF_W | PF_X) != PF_W | PF_X,
             f"segment at {seg.paddr:#x} can be written and executed")
        need(seg.paddr + seg.memsz < 1 << 32, f"segment at {seg.paddr:#x} ends above 4 GiB")


def check(path):
    with open(path, "rb") as f:
        data = f.read()
    entry, segments = read_elf(data)
    loads = [s for s in segments if s.type == PT_LOAD]
    check_segments(segments, loads)
    check_multiboot(data, entry, loads)
    check_multiboot2(data, entry)
    check_pvh(data, segments, loads)


def main():
    status = 0
    for path in sys.argv[1:]:
        try:
            check(path)
        except (Wrong, struct.error) as wrong:
            print(f"check_image: {path} {wrong}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
