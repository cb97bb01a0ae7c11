"""Lua 5.4 from its unmodified source: the language as on Linux, and its sockets."""

import os
import pathlib
import subprocess
import tarfile

import pytest

DEPS = pathlib.Path(os.environ.get("RINGLET_DEPS", pathlib.Path(__file__).parents[2] / "build"))

LANGUAGE = r"""
print("lua: " .. _VERSION, math.type(3), 7 // 2, 7.5 // 2, 2^53, 1e100, -0.0, 10 / 3)
print("lua: " .. string.format("%5.2f|%-8s|%08x|%g|%a|%q", math.pi, "ab", 0xbeef, 1e-5, 0.5, "a\nb"))
print("lua: " .. 0x7fffffffffffffff + 1, math.maxinteger, 1/0, -1/0, tostring(0/0):gsub("-", ""))
print("lua: " .. ("x"):rep(3, ","), ("hello world"):gsub("o", "0"), ("k=v"):match("(%w+)=(%w+)"))
local t = {}
for i = 1, 1000 do t[i] = (i * 7919) % 1009 end
table.sort(t)
print("lua: " .. t[1], t[500], t[1000], #t, table.concat(t, ",", 1, 5), select("#", table.unpack(t, 1, 200)))
local co = coroutine.wrap(function(a) for i = 1, 3 do a = coroutine.yield(a * i) end return "done" end)
print("lua: " .. co(1), co(2), co(3), co(4))
print("lua: " .. tostring(pcall(error, {code = 1})), select(2, pcall(function() local x = nil; return x.y end)):match("attempt.*"))
print("lua: " .. tostring(tonumber("0x1p4")), tonumber("  12  "), tonumber("1e"), math.floor(-3.5), math.fmod(-7, 3), -7 % 3)
print("lua: " .. utf8.char(228, 8364, 128512), utf8.len("äöü"), #"äöü")
print("lua: " .. os.date("!%Y-%m-%d %H:%M:%S", 86400 * 365), os.time({year = 2000, month = 1, day = 1, hour = 12}))
local f = assert(io.open("/tmp/lua-test", "w"))
f:write("one\n", 2, "\n", 3.5, "\n")
f:close()
for line in io.lines("/tmp/lua-test") do print("lua: line " .. line) end
f = io.open("/tmp/lua-test")
print("lua: " .. f:read("l", "n", "n", "l"), f:seek("end"), io.open("/nonexistent/x"))
f:close()
os.remove("/tmp/lua-test")
collectgarbage()
local big = {}
for i = 1, 200000 do big[i] = {i} end
print("lua: " .. #big, string.pack("<i4>I2z", 100000, 513, "end"):byte(1, -1))
print("lua: " .. load("return 1 + 1")(), #arg, arg[1])
os.exit(7)
"""

TCP_SERVER = r"""
local server = assert(socket.bind("*", 4000))
print("lua: listening on " .. select(2, server:getsockname()))
while true do
    local client = server:accept()
    client:settimeout(5)
    local line = client:receive()
    local count = tonumber(line)
    local body = client:receive(count)
    client:send("got " .. #body .. "\n")
    client:send(body:reverse())
    client:shutdown("send")
    print("lua: rest", client:receive("*a"))
    client:close()
end
"""

UDP_SERVER = r"""
local udp = assert(socket.udp())
assert(udp:setsockname("*", 4001))
udp:settimeout(0.2)
print("lua: timeout", udp:receivefrom())
udp:settimeout(nil)
print("lua: ready for datagrams")
while true do
    local data, host, port = udp:receivefrom()
    udp:sendto(host .. " " .. data:upper(), host, port)
end
"""

CLIENT = r"""
print("lua: refused", socket.connect("10.99.0.1", 9, 5))
local c = assert(socket.connect("10.99.0.1", 4002, 5))
c:settimeout(0.2)
print("lua: early", c:receive())
c:send("question\n")
c:settimeout(5)
print("lua: answer", c:receive(), c:receive("*a"))
print("lua: closed", c:receive())
print("lua: gone", pcall(function() c:close() c:send("x") end))
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """The interpreter for the host, from the same source."""
    path = tmp_path_factory.mktemp("lua") / "lua"
    sources = [str(source) for source in (DEPS / "lua/src").glob("*.c") if source.name != "luac.c"]
    subprocess.run(["gcc", "-O1", "-w", "-DLUA_COMPAT_5_3", "-o", str(path), *sources, "-lm"], check=True)
    return path


def scripts(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.lua").write_text(text)
    with tarfile.open(folder / "scripts.tar", "w") as archive:
        for name in texts:
            archive.add(folder / f"{name}.lua", f"{name}.lua")
    return folder / "scripts.tar"


def lines(text):
    return [line for line in text.replace("\r", "").split("\n") if line.startswith("lua: ")]


def test_the_language_is_the_same_as_on_linux(boot, native, tmp_path):
    archive = scripts(tmp_path, language=LANGUAGE)
    expected = subprocess.run([native, tmp_path / "language.lua", "word"], capture_output=True, text=True, check=False)

    guest = boot("lua", qemu=["-initrd", archive], append="-- /language.lua word")

    assert guest.exit_status() == expected.returncode == 7
    assert lines(guest.console()) == lines(expected.stdout)
    assert len(lines(expected.stdout)) > 15


def test_a_tcp_server(boot, net, tmp_path):
    guest = boot("lua", net, mem=128, qemu=["-initrd", scripts(tmp_path, server=TCP_SERVER)], append="ip=10.99.0.2/24 -- /server.lua")
    guest.wait_for("lua: listening on 4000")

    for size in (1, 1000, 300_000):
        body = bytes(i % 251 for i in range(size))
        with net.connect(4000) as sock:
            sock.sendall(b"%d\r\n" % size + body)
            answer = b""
            while piece := sock.recv(65536):
                answer += piece
            sock.sendall(b"tail")
        assert answer == b"got %d\n" % size + body[::-1]
    guest.wait_for("(?s)(lua: rest\ttail\n.*){3}")


def test_a_udp_server(boot, net, tmp_path):
    guest = boot("lua", net, mem=128, qemu=["-initrd", scripts(tmp_path, server=UDP_SERVER)], append="ip=10.99.0.2/24 -- /server.lua")
    guest.wait_for("lua: ready for datagrams")
    assert guest.lines("lua: timeout\tnil\ttimeout")

    with net.udp(4001) as sock:
        for text in (b"abc", b"x" * 1400, b"y" * 9000):
            sock.send(text)
            assert sock.recv(65536) == b"10.99.0.1 " + text.upper()


def test_a_client(boot, net, tmp_path):
    listener = net.socket()
    listener.bind(("10.99.0.1", 4002))
    listener.listen()
    guest = boot("lua", net, mem=128, qemu=["-initrd", scripts(tmp_path, client=CLIENT)], append="ip=10.99.0.2/24 -- /client.lua")
    sock, _ = listener.accept()

    with sock:
        sock.settimeout(10)
        assert sock.recv(100) == b"question\n"
        sock.sendall(b"first\r\nthe rest")
    assert guest.exit_status() == 0
    said = lines(guest.console())
    assert said[0] == "lua: refused\tnil\tConnection refused"
    assert said[1] == "lua: early\tnil\ttimeout\t"
    assert said[2] == "lua: answer\tfirst\tthe rest"
    assert said[3] == "lua: closed\tnil\tclosed\t"
    assert said[4].startswith("lua: gone\tfalse\t")


def test_without_a_script_the_usage_is_printed(boot):
    guest = boot("lua")

    assert guest.exit_status() == 2
    assert guest.lines("usage: ringlet-run --initrd ")
