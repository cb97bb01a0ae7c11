"""The reference: a stock Debian kernel with busybox, iperf, iperf3 and a small epoll server, in an initramfs.

    linux_guest.py FOLDER

Kernel and busybox are downloaded as packages and unpacked, not installed; iperf and iperf3 are the host's own, with
the libraries they name. Nothing is tuned: the kernel's defaults are what people meet.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "boot"))

from guest import Guest  # noqa: E402

KERNEL_PACKAGE = "linux-image-cloud-amd64"
MODULES = ["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover",
           "net_failover", "virtio_net"]  # in the order of their needs; what a kernel has built in is not there
PROGRAMS = ["iperf", "iperf3"]

INIT = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
for module in {modules}; do
    [ -f /lib/modules/$module.ko ] && insmod /lib/modules/$module.ko
done
address=$(sed -nE 's/.*ringlet_ip=([^ ]*).*/\\1/p' /proc/cmdline)
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set lo up
ip link set eth0 up
ip addr add ${{address:-10.99.0.2/24}} dev eth0
ip -6 addr add fd00:99::2/64 dev eth0
iperf -s >/dev/null 2>&1 &
iperf -s -u >/dev/null 2>&1 &
iperf3 -s >/dev/null 2>&1 &
/bin/server &
while ! grep -q ':1389 ' /proc/net/tcp6 /proc/net/tcp; do sleep 0.1; done
echo "ready: linux $(uname -r)"
exec sh -c 'while :; do sleep 3600; done'
"""


def run(*command, **kwargs):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, **kwargs).stdout


def kernel_package():
    """The package that the meta-package stands for today."""
    for line in run("apt-cache", "depends", KERNEL_PACKAGE).splitlines():
        found = re.search(r"Depends: (linux-image-\S+)", line)
        if found:
            return found[1]
    sys.exit(f"apt knows no {KERNEL_PACKAGE}: is its list of packages there (apt-get update)?")


def unpack(package, folder):
    """A package's files below folder/root, downloaded once."""
    mark = folder / f"{package}.done"
    if mark.exists():
        return
    subprocess.run(["apt-get", "-q", "-o", f"APT::Sandbox::User={os.environ.get('USER', 'root')}", "download", package],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    archive = max(folder.glob(f"{package}_*.deb"), key=os.path.getmtime)
    run("dpkg", "-x", archive, folder / "root")
    mark.touch()


def put(tree, source, target):
    """One file, with its folders; also what a program's dynamic linker will ask for."""
    place = tree / target.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)
    place.chmod(0o755)


def put_program(tree, name):
    path = shutil.which(name)
    if not path:
        sys.exit(f"{name} is not installed")
    put(tree, path, f"/bin/{name}")
    for library in re.findall(r"(/\S+) \(0x", run("ldd", path)):
        put(tree, library, library)


def put_module(tree, root, name):
    found = list(root.glob(f"lib/modules/*/kernel/**/{name}.ko*"))
    if not found:
        return  # built in
    place = tree / "lib/modules" / f"{name}.ko"
    place.parent.mkdir(parents=True, exist_ok=True)
    if found[0].suffix == ".xz":
        place.write_bytes(subprocess.run(["xz", "-dc", found[0]], check=True, stdout=subprocess.PIPE).stdout)
    else:
        shutil.copyfile(found[0], place)


def initramfs(folder):
    tree, root = folder / "tree", folder / "root"
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("dev", "proc", "sys", "tmp", "bin"):
        (tree / name).mkdir(parents=True)
    put(tree, next(path for path in (root / "bin/busybox", root / "usr/bin/busybox") if path.exists()), "/bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    for name in PROGRAMS:
        put_program(tree, name)
    for name in MODULES:
        put_module(tree, root, name)
    run("gcc", "-O2", "-static", "-o", tree / "bin/server", HERE / "linux_server.c")
    (tree / "init").write_text(INIT.format(modules=" ".join(MODULES)))
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree, input=names.encode(), check=True,
                             stdout=subprocess.PIPE).stdout
    (folder / "initramfs.gz").write_bytes(gzip.compress(archive, 6, mtime=0))


def build(folder):
    """(kernel, initramfs, version), made in the folder once."""
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    version = folder / "version"
    if not version.exists():
        package = kernel_package()
        unpack(package, folder)
        unpack("busybox-static", folder)
        initramfs(folder)
        version.write_text(package.removeprefix("linux-image-"))
    name = version.read_text()
    return folder / "root/boot" / f"vmlinuz-{name}", folder / "initramfs.gz", name


def starter(folder, mem=256, device=""):
    """For count.Rig: boots the reference like an image of ours."""
    kernel, archive, _ = build(folder)

    def start(place, net, qemu):
        return Guest(place, kernel, net, append="console=ttyS0 quiet panic=-1 ringlet_ip=10.99.0.2/24", device=device, mem=mem,
                     qemu=["-initrd", archive, *qemu])

    return start


if __name__ == "__main__":
    print(*build(sys.argv[1]))
