"""Refuse an include that points the wrong way; part of `make lint`.

The layers are the table in ARCHITECTURE.md, kept here in a form that can be run. Also checked: assembly
only in arch/ and boot/, no lwIP type in drivers/, no virtio or PCI name in net/.
"""

import os
import re
import sys

LAYERS = ("apps", "net", "drivers", "lib", "arch", "boot", "include")

# What a layer may include: a prefix of the name between the quotes or brackets.
C_HEADERS = r"(assert|ctype|errno|inttypes|limits|math|reent|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|" \
            r"stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|time|unistd|fcntl|sys/(types|stat|time|times|" \
            r"reent|param|select|uio|ioctl|wait|lock|config|iosupport|sched|mman|statvfs|file|epoll|eventfd|sendfile|resource|" \
            r"utsname|cdefs|features|endian|termios|_[a-z]+)|poll|pthread|semaphore|sched|dirent|fnmatch|ftw|glob|utime|malloc|err|pwd)\.h$"
LWIP = r"(lwip/|netif/|arch/(cc|sys_arch|perf)\.h$|lwipopts\.h$|lwip_hooks\.h$)"
SOCKETS = r"(sys/(socket|un|poll|epoll|eventfd|sendfile)|netinet/(in|tcp|ip|udp|ip_icmp|icmp6)|arpa/inet|netdb|net/if|ifaddrs)\.h$"
PORTS = r"(lua|lauxlib|lualib|iperf|iperf_api|iperf_time|picohttpparser)\.h$"  # of the programs of other people that images are made of
ALLOWED = {
    "apps": [C_HEADERS, LWIP, SOCKETS, PORTS, r"apps/", r"net/[a-z0-9_]+\.h$", r"lib/", r"port/clock\.h$"],
    "net": [C_HEADERS, LWIP, SOCKETS, r"net/", r"drivers/netdev\.h$", r"lib/", r"port/"],
    "drivers": [C_HEADERS, r"drivers/", r"lib/", r"port/"],
    "lib": [C_HEADERS, r"lib/", r"port/"],
    "arch": [C_HEADERS, r"arch/", r"lib/", r"port/"],
    "boot": [r"."],
    "include": [C_HEADERS, SOCKETS, r"machine/"],
}

# A pattern that must not occur in a layer's code, and what to say.
ASSEMBLY = re.compile(r"\b(__asm__|__asm|asm)\b\s*(volatile|__volatile__|goto)?\s*\(")
FORBIDDEN = {
    "apps": [(ASSEMBLY, "inline assembly outside arch/ and boot/")],
    "net": [(ASSEMBLY, "inline assembly outside arch/ and boot/"),
            (re.compile(r"\b(virtio|virtqueue|vq_|vring|pci_)\w*"), "a virtio or PCI name in net/")],
    "drivers": [(ASSEMBLY, "inline assembly outside arch/ and boot/"),
                (re.compile(r"\b(struct\s+(pbuf|netif|tcp_pcb|udp_pcb)|err_t|ip_addr_t|lwip_\w+)\b"),
                 "an lwIP type in drivers/")],
    "lib": [(ASSEMBLY, "inline assembly outside arch/ and boot/")],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(\\.|[^\"\\\n])*\"", re.S)


def without_comments(text):
    """The code alone, with its line numbers kept; strings go too, unless they are an include's."""
    def blank(match):
        return "\n" * match.group(0).count("\n")
    return COMMENT.sub(blank, text)


def layer_of(path):
    top = path.split("/")[0]
    return "lib" if top == "lib" else top


def check_includes(path, layer, lines):
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found.group(2)
        beside = os.path.exists(os.path.join(os.path.dirname(path), name)) and found.group(1) == '"'
        own_layer = beside and "/" not in name
        if not own_layer and not any(re.match(rule, name) for rule in ALLOWED[layer]):
            yield f"{path}:{number}: {layer}/ may not include {name}"


def check_names(path, layer, text):
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        for pattern, why in FORBIDDEN.get(layer, []):
            found = pattern.search(line)
            if found:
                yield f"{path}:{number}: {why}: {found.group(0).strip()}"


def check_file(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    layer = layer_of(path)
    yield from check_includes(path, layer, text.split("\n"))
    if path.endswith((".c", ".h")):
        yield from check_names(path, layer, text)
    elif path.endswith(".S") and layer not in ("arch", "boot"):
        yield f"{path}: assembly outside arch/ and boot/"


def sources(root):
    for layer in LAYERS:
        for folder, _, names in sorted(os.walk(os.path.join(root, layer))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".S")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else ".")
    wrong = [line for path in sources(".") for line in check_file(path)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
