"""Programs made outside the tree by ringlet-cc: built as on Linux, and behaving as there."""

import shutil
import socket
import struct
import subprocess
import threading

import pytest

from netns import GUEST
from sdk import EXAMPLES, Sdk

PORT = 7000


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return Sdk(tmp_path_factory.mktemp("sdk"))


def program(folder, text, name="main.c"):
    (folder / name).write_text(text)
    return folder / name


# ---- The compiler's words --------------------------------------------------------------------------


def test_one_command_makes_an_image_whose_status_comes_back(sdk, tmp_path):
    program(tmp_path, '#include <stdio.h>\nint main(int c, char **v) { printf("%d %s\\n", c, v[2]); return c; }')

    sdk.cc("-O2", "-Wall", "-Werror", "main.c", "-o", "main.elf", cwd=tmp_path)
    done = sdk.boot("main.elf", "--", "one", "two words", cwd=tmp_path)

    assert done.returncode == 3
    assert "3 two words" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.c", "main.elf"]


def test_main_may_end_without_return(sdk, tmp_path):
    program(tmp_path, "#include <stdio.h>\nint main(void) { puts(\"over\"); }")

    sdk.cc("main.c", cwd=tmp_path)

    assert sdk.boot("a.out", cwd=tmp_path).returncode == 0


def test_steps_libraries_and_flags_as_a_makefile_has_them(sdk, tmp_path):
    program(tmp_path, "int twice(int n) { return 2 * n; }", "twice.c")
    program(tmp_path, "#include <math.h>\n#include <pthread.h>\nint twice(int);\nstatic void *run(void *p) { return p; }\n"
            "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); return twice((int)sqrt(VALUE)); }")
    (tmp_path / "flags").write_text("-DVALUE=441.0 -Wl,-z,relro,-z,now\n")

    sdk.cc("-c", "-fPIC", "-fstack-protector-strong", "-MMD", "-MF", "deps", "twice.c", cwd=tmp_path)
    sdk.run("ar", "rcs", "libtwice.a", "twice.o", cwd=tmp_path)
    sdk.cc("-std=c11", "-pedantic", "-pthread", "@flags", "main.c", "-L.", "-ltwice", "-lm", "-lpthread", "-lrt", "-ldl", "-o", "main",
           cwd=tmp_path)

    assert sdk.boot("main", cwd=tmp_path).returncode == 42
    assert "twice.c" in (tmp_path / "deps").read_text()


def test_debug_information_is_kept_beside_the_image(sdk, tmp_path):
    program(tmp_path, "int deep(int *p) { return *p; }\nint main(void) { return deep((int *)0xdead000000000); }")

    sdk.cc("-g", "-O0", "main.c", "-o", "main.elf", cwd=tmp_path)
    done = sdk.boot("main.elf", cwd=tmp_path)

    assert done.returncode == 70
    assert "deep+" in done.stdout and "main+" in done.stdout
    assert ".debug_info" in sdk.run("readelf", "-S", "main.elf.debug", cwd=tmp_path).stdout
    assert ".debug_info" not in sdk.run("readelf", "-S", "main.elf", cwd=tmp_path).stdout


@pytest.mark.parametrize("words, said", [
    (["-shared", "main.c"], "no shared libraries"), (["-m32", "main.c"], "64-bit"), (["-fsanitize=address", "main.c"], "sanitizers"),
    (["x.cpp"], "C++"), (["-lstdc++", "main.c"], "C++"), (["missing.c"], "missing.c"), (["main.c", "-o"], "argument to '-o' is missing"),
    ([], "ringlet-cc"), (["-O2"], "no input files"), (["main.c", "-lnosuch"], "nosuch"), (["main.c", "libx.so"], "shared"),
    (["bad.c"], "bad.c:1")])
def test_what_cannot_be_is_refused_with_a_line(sdk, tmp_path, words, said):
    program(tmp_path, "int main(void) { return 0; }")
    program(tmp_path, "int main(void) { return zero; }", "bad.c")

    done = sdk.cc(*words, cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert said in done.stdout
    assert not (tmp_path / "a.out").exists()


def test_it_says_what_it_compiles_for(sdk, tmp_path):
    program(tmp_path, "#if defined __linux__ || !defined __ringlet__ || !defined __unix__ && 0\n#error wrong\n#endif\n")

    sdk.cc("-fsyntax-only", "main.c", cwd=tmp_path)

    assert sdk.cc("-dumpmachine", cwd=tmp_path).stdout == "x86_64-ringlet-elf\n"
    assert "gcc" in sdk.cc("--version", cwd=tmp_path).stdout.lower()


def test_the_smallest_image_has_no_network(sdk, tmp_path):
    program(tmp_path, '#include <stdio.h>\nint main(void) { puts("small"); return 0; }')

    sdk.cc("-O2", "--no-network", "main.c", "-o", "small", cwd=tmp_path)
    sdk.cc("-O2", "main.c", "-o", "large", cwd=tmp_path)

    assert (tmp_path / "small").stat().st_size < 0.7 * (tmp_path / "large").stat().st_size
    assert sdk.boot("small", cwd=tmp_path).returncode == 0


def test_the_raw_api_can_be_used(sdk, tmp_path):
    program(tmp_path, '#include "lwip/tcp.h"\n#include "net/net.h"\n#include <stdio.h>\n'
            'int main(void) { net_lock(); struct tcp_pcb *p = tcp_new(); tcp_abort(p); net_unlock(); puts(p ? "pcb" : "none"); return 0; }')

    sdk.cc("--raw-api", "main.c", cwd=tmp_path)

    assert "pcb" in sdk.boot("a.out", cwd=tmp_path).stdout


def test_nothing_is_left_by_uninstall(tmp_path):
    sdk = Sdk(tmp_path)
    sdk.run(EXAMPLES.parent / "install.sh", "uninstall", sdk.prefix, "-", "-", "-", cwd=EXAMPLES.parents[1])

    assert not sdk.prefix.exists()


# ---- Build systems ---------------------------------------------------------------------------------


def test_cmake(sdk, tmp_path):
    sdk.run("cmake", f"-DCMAKE_TOOLCHAIN_FILE={sdk.prefix}/share/cmake/ringlet-toolchain.cmake", EXAMPLES / "cmake", cwd=tmp_path)
    sdk.run("make", cwd=tmp_path)

    assert "sum 3.500 root 1.871" in sdk.boot("sum.elf", "--", "1", "2.5", cwd=tmp_path).stdout


def test_autoconf(sdk, tmp_path):
    shutil.copytree(EXAMPLES / "autoconf", tmp_path / "words")
    sdk.run("autoreconf", "-i", cwd=tmp_path / "words")
    sdk.run("./configure", "--host=x86_64-ringlet", "CC=ringlet-cc", cwd=tmp_path / "words")
    sdk.run("make", cwd=tmp_path / "words")
    done = sdk.boot("words", "--", "a b", "c", cwd=tmp_path / "words")

    assert done.returncode == 3
    assert "words 3 long 8 getaddrinfo\n" in done.stdout


def test_pkg_config_names_the_compiler(sdk, tmp_path):
    sdk.env["PKG_CONFIG_PATH"] = f"{sdk.prefix}/lib/pkgconfig"
    done = sdk.run("pkg-config", "--variable=cc", "ringlet", cwd=tmp_path)

    assert done.stdout.strip().replace("\\", "").endswith("/bin/ringlet-cc")


def test_a_frame_larger_than_the_stack_is_a_named_crash(sdk, tmp_path):
    (tmp_path / "big.c").write_text("#include <stdio.h>\nint main(int argc, char **argv) {\n"
                                    "volatile char a[argc * 300000]; a[0] = 1; (void)argv; printf(\"%d\\n\", a[0]); }\n")
    sdk.cc("-O2", "big.c", "-o", "big.elf", cwd=tmp_path)
    done = sdk.boot("big.elf", cwd=tmp_path)

    assert done.returncode == 70
    assert "stack overflow: the main stack is used up" in done.stdout


# ---- Programs never seen before, on Linux and here --------------------------------------------------


def native(sdk, tmp_path, name):
    path = tmp_path / name
    subprocess.run(["gcc", "-O1", "-o", path, EXAMPLES / f"{name}.c", "-lpthread"], check=True)
    return path


def image(sdk, tmp_path, name):
    sdk.cc("-O2", "-Wall", "-Wextra", "-Werror", EXAMPLES / f"{name}.c", "-o", f"{name}.elf", cwd=tmp_path)
    return tmp_path / f"{name}.elf"


def talk_of_lines(connect):
    """Twenty connections at once, each with lines of its own; what came back."""
    socks = [connect() for _ in range(20)]
    said = []
    for turn in range(5):
        for number, sock in enumerate(socks):
            sock.sendall(b"x" * (number * 10 + turn) + b"\n")
    for sock in socks:
        sock.sendall(b"last without an end")
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        said.append(answer)
        sock.close()
    with connect() as sock:
        sock.sendall(b"total\n")
        answer = b""
        while not answer.endswith(b"121\n"):
            answer += sock.recv(100)
    return said + [answer]


def talk_of_bytes(connect):
    """Large echoes side by side, one of them slow to read, one that resets."""
    blocks = [bytes((i * number) % 251 for i in range(300_000)) for number in range(1, 9)]
    said = [None] * len(blocks)

    def one(number):
        with connect() as sock:
            sender = threading.Thread(target=lambda: (sock.sendall(blocks[number]), sock.shutdown(socket.SHUT_WR)))
            sender.start()
            answer = b""
            while piece := sock.recv(65536):
                answer += piece
            sender.join()
            said[number] = answer

    rude = connect()
    rude.sendall(b"gone" * 1000)
    rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    rude.close()
    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


@pytest.mark.parametrize("name, talk", [("poll_server", talk_of_bytes), ("thread_server", talk_of_lines), ("epoll_server", talk_of_bytes)])
def test_a_server_behaves_as_on_linux(boot, net, sdk, tmp_path, name, talk):
    reference = net.start(native(sdk, tmp_path, name), PORT)
    assert reference.stdout.readline() == f"listening on {PORT}\n"
    expected = talk(lambda: net.connect(PORT, host="127.0.0.1"))

    guest = boot(image(sdk, tmp_path, name), net, mem=128)
    guest.wait_for(f"^listening on {PORT}")

    assert talk(lambda: net.connect(PORT, host=GUEST)) == expected
    assert all(expected)


def test_a_dns_client(boot, net, sdk, tmp_path):
    net.start("dnsmasq", "-k", "-C", "/dev/null", "-R", "-h", "-u", "root", "--listen-address=10.99.0.1", "--bind-interfaces", "--local=/test/",
              "--address=/www.test/192.0.2.7", "--address=/both.test/192.0.2.8", "--address=/both.test/2001:db8::8",
              "--cname=alias.test,www.test", "--host-record=www.test,192.0.2.7")

    guest = boot(image(sdk, tmp_path, "dns_client"), net, mem=128,
                 append="ip=10.99.0.2/24 gw=10.99.0.1 dns=10.99.0.1 -- www.test alias.test 192.0.2.1 ::1 localhost no.such.test")

    assert guest.exit_status(timeout=40) == 1
    said = [line for line in guest.console().splitlines() if ": " in line and "] " not in line and "ready" not in line]
    assert "www.test: 192.0.2.7 port 80" in said
    assert "alias.test: 192.0.2.7 port 80" in said
    assert "192.0.2.1: 192.0.2.1 port 80" in said and "::1: ::1 port 80" in said
    assert "localhost: 127.0.0.1 port 80" in said
    assert any(line.startswith("no.such.test: ") and "port" not in line for line in said)
