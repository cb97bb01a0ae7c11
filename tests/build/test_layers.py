"""tools/check_layers.py finds what points the wrong way."""

import pytest

from conftest import ROOT, run


def check(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return run("/usr/bin/python3", ROOT / "tools/check_layers.py", folder)


@pytest.mark.parametrize("name, text", [
    ("lib/a.c", '#include "drivers/netdev.h"\n'),
    ("lib/a.c", '#include <lwip/pbuf.h>\n'),
    ("lib/a.h", '#include "net/vif.h"\n'),
    ("drivers/x/a.c", '#include "lwip/pbuf.h"\n'),
    ("drivers/x/a.c", '#include "net/vif.h"\n'),
    ("drivers/x/a.c", '#include "arch/x86_64/irq.h"\n'),
    ("net/a.c", '#include "drivers/virtio/virtqueue.h"\n'),
    ("net/a.c", '#include "drivers/virtio_net/vnet.h"\n'),
    ("apps/x/a.c", '#include "drivers/netdev.h"\n'),
    ("apps/x/a.c", '#include "port/mmio.h"\n'),
    ("arch/x86_64/a.c", '#include "drivers/pci/pci.h"\n'),
    ("lib/a.c", 'void f(void)\n{\n    __asm__ volatile("hlt");\n}\n'),
    ("net/a.c", 'void f(void)\n{\n    asm("hlt");\n}\n'),
    ("drivers/x/a.c", "static struct pbuf *p;\n"),
    ("drivers/x/a.h", "err_t f(void);\n"),
    ("net/a.c", "int x = virtio_open();\n"),
    ("lib/a.S", "nop\n"),
])
def test_it_is_refused(tmp_path, name, text):
    done = check(tmp_path, name, text)

    assert done.returncode == 1
    assert name in done.stdout


@pytest.mark.parametrize("name, text", [
    ("lib/a.c", '#include <string.h>\n#include "lib/log.h"\n#include "port/clock.h"\n'),
    ("drivers/x/a.c", '#include "drivers/netdev.h"\n#include "lib/types.h"\n/* no struct pbuf here */\n'),
    ("net/a.c", '#include "drivers/netdev.h"\n#include "lwip/pbuf.h"\n#include <lwip/tcp.h>\n'),
    ("apps/x/a.c", '#include <stdio.h>\n#include "lwip/tcp.h"\n#include "net/net.h"\n#include "lib/log.h"\n'),
    ("arch/x86_64/a.c", 'void f(void)\n{\n    __asm__ volatile("hlt");\n}\n'),
    ("boot/init.c", '#include "drivers/virtio_net/vnet.h"\n#include "net/net.h"\n'),
])
def test_it_is_taken(tmp_path, name, text):
    done = check(tmp_path, name, text)

    assert done.returncode == 0, done.stdout
