"""The programs at both ends of the wire; run inside the namespaces by `headrace.traffic.live`, never by hand.

``python -P -m headrace.traffic.node server FILE PACKETS SEED`` is the first end: it opens the second, joins them with a
veth pair, starts its servers and records until tcpdump has enough. The second, ``... client SEED``, runs the clients.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import logging
import logging.handlers
import os
import random
import shutil
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.net import netlink

CONTENTS = (
    "web pages over IPv4 and IPv6",
    "bulk TCP transfers",
    "terminal sessions on port 22",
    "DNS",
    "syslog",
    "ping and ping6",
    "ARP and neighbour discovery",
    "a call in VLAN 10",
    "fragmented datagrams",
    "multicast",
    "connections refused",
)
TYPICAL_RECORD = 850  # bytes of one packet in the file, to estimate progress

SERVER4, CLIENT4 = "10.0.0.1", "10.0.0.2"
SERVER6, CLIENT6 = "2001:db8::1", "2001:db8::2"
SERVER_PORT, CLIENT_PORT = "server0", "client0"
DNS_PORT, SYSLOG_PORT, ECHO_PORT, TERMINAL_PORT, BULK_PORT, WEB_PORT = 53, 514, 2049, 22, 5201, 80
PAGES = {"index.html": 800, "style.css": 6_000, "photo.jpg": 90_000, "data.json": 2_500, "archive.tar.gz": 400_000}

_PYTHON = (sys.executable, "-P", "-m", "headrace.traffic.node")  # -P: no module comes from the current folder


def command(*words: object) -> list[str]:
    """What runs this file. It finds Headrace as this process does, and nothing in the current folder."""
    return [*_PYTHON, *map(str, words)]


def server(file: str, packets: int, seed: int) -> int:
    """Record ``packets`` packets to ``file``; ends early when the standard input closes. Returns the exit code."""
    client = subprocess.Popen(["unshare", "--net", *command("client", seed)], stdin=subprocess.PIPE)
    assert client.stdin is not None
    _await_namespace(client.pid)
    netlink.add_pair(SERVER_PORT, CLIENT_PORT, client.pid)
    _configure(SERVER_PORT, SERVER4, SERVER6)
    record = ["tcpdump", "-i", SERVER_PORT, "-w", file, "-c", str(packets), "-s", "0", "-B", "65536", "-Z", "root"]
    recorder = subprocess.Popen(record, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert recorder.stderr is not None
    banner = recorder.stderr.readline()
    if "listening" not in banner:
        print(banner.strip() or "tcpdump did not start", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as pages:
        _serve(Path(pages), random.Random(seed))
        client.stdin.write(b"go\n")
        client.stdin.flush()
        threading.Thread(target=_end_with_input, args=(recorder,), daemon=True).start()
        return recorder.wait()


def client(seed: int) -> int:
    """Wait for the word on the standard input, then run every client program until killed."""
    sys.stdin.readline()
    _configure(CLIENT_PORT, CLIENT4, CLIENT6)
    rng = random.Random(seed)
    programs: list[tuple[Callable[[random.Random], None], float]] = [  # with the mean pause between visits in s
        (_browse, 0.004),
        (_browse, 0.02),
        (_resolve, 0.002),
        (_resolve, 0.01),
        (_type, 0.01),
        (_bulk, 0.15),
        (_log, 0.01),
        (_ping, 0.01),
        (_large_datagram, 0.03),
        (_announce, 0.1),
        (_knock, 0.02),
        (_call, 0.004),
    ]
    for program, pause in programs:
        threading.Thread(target=_forever, args=(program, pause, random.Random(rng.random())), daemon=True).start()
    threading.Event().wait()
    return 0


def _forever(program: Callable[[random.Random], None], pause: float, rng: random.Random) -> None:
    while True:
        with contextlib.suppress(OSError):
            program(rng)
        time.sleep(rng.expovariate(1 / pause))


# The network


def _await_namespace(pid: int) -> None:
    """Wait until a child has left this network namespace."""
    own = os.readlink("/proc/self/ns/net")
    for _ in range(500):
        if os.readlink(f"/proc/{pid}/ns/net") != own:
            return
        time.sleep(0.01)
    raise TimeoutError("the second network namespace did not open")


def _configure(port: str, ipv4: str, ipv6: str) -> None:
    """Bring a port up so that it carries frames as a wire does."""
    netlink.bring_up("lo")
    netlink.bring_up(port, f"{ipv4}/24", f"{ipv6}/64")
    netlink.no_offloads(port)


# The server's programs


def _serve(pages: Path, rng: random.Random) -> None:
    for name, size in PAGES.items():
        (pages / name).write_bytes(rng.randbytes(size))
    web = functools.partial(_Pages, directory=str(pages))
    servers: list[socketserver.BaseServer] = [
        _Web((SERVER4, WEB_PORT), web),
        _Web6((SERVER6, WEB_PORT), web),
        socketserver.ThreadingUDPServer((SERVER4, DNS_PORT), _Resolver),
        socketserver.ThreadingUDPServer((SERVER4, SYSLOG_PORT), socketserver.BaseRequestHandler),
        socketserver.ThreadingUDPServer((SERVER4, ECHO_PORT), _Echo),
        _Tcp((SERVER4, TERMINAL_PORT), _Terminal),
        _Tcp((SERVER4, BULK_PORT), _Sink),
    ]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()


class _Web(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


class _Web6(_Web):
    address_family = socket.AF_INET6


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class _Pages(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep no log."""


class _Resolver(socketserver.BaseRequestHandler):
    """Answers every DNS question with one A record (RFC 1035, section 4)."""

    def handle(self) -> None:
        query, channel = self.request
        answer = b"\xc0\x0c" + struct.pack("!HHIH4s", 1, 1, 300, 4, socket.inet_aton(SERVER4))
        channel.sendto(
            query[:2] + b"\x81\x80" + query[4:6] + b"\0\1\0\0\0\0" + query[12:] + answer, self.client_address
        )


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        data, channel = self.request
        channel.sendto(data, self.client_address)


class _Terminal(socketserver.BaseRequestHandler):
    """Echoes what is typed, and prints a screenful after a line."""

    def handle(self) -> None:
        while data := self.request.recv(1000):
            self.request.sendall(data + (bytes(700) if data == b"\r" else b""))


class _Sink(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while self.request.recv(1 << 20):
            pass


def _end_with_input(recorder: subprocess.Popen[str]) -> None:
    sys.stdin.read()
    recorder.send_signal(signal.SIGINT)


# The client's programs: each is one visit, and is run again after a pause


def _browse(rng: random.Random) -> None:
    host = rng.choice((SERVER4, SERVER4, f"[{SERVER6}]"))
    names = [rng.choices(list(PAGES), (8, 6, 2, 8, 0.3))[0] for _ in range(rng.randint(1, 4))]
    urls = [f"http://{host}:{WEB_PORT}/{name}" for name in names]
    if shutil.which("curl") and rng.random() < 0.1:
        subprocess.run(["curl", "-s", "-o", os.devnull, *urls], stdout=subprocess.DEVNULL, check=False, timeout=10)
        return
    for url in urls:
        with urllib.request.urlopen(url, timeout=5) as page:
            page.read()


def _resolve(rng: random.Random) -> None:
    labels = (
        rng.choice(("www", "mail", "cdn", "api")),
        rng.choice(("example", "headrace")),
        rng.choice(("org", "test")),
    )
    name = b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"
    query = struct.pack("!HHHHHH", rng.randrange(1 << 16), 0x0100, 1, 0, 0, 0) + name + struct.pack("!HH", 1, 1)
    _ask(query, DNS_PORT)


def _large_datagram(rng: random.Random) -> None:
    _ask(rng.randbytes(rng.randint(1600, 8000)), ECHO_PORT)


def _ask(data: bytes, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.settimeout(1)
        channel.sendto(data, (SERVER4, port))
        channel.recv(65535)


def _log(rng: random.Random) -> None:
    handler = logging.handlers.SysLogHandler((SERVER4, SYSLOG_PORT))
    handler.emit(logging.makeLogRecord({"msg": f"job {rng.randrange(1000)} done", "levelno": logging.INFO}))
    handler.close()


def _type(rng: random.Random) -> None:
    with socket.create_connection((SERVER4, TERMINAL_PORT), 5) as session:
        session.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for key in b"ls -l\rtail log\rexit\r":
            session.sendall(bytes([key]))
            session.recv(4096)
            time.sleep(rng.uniform(0.001, 0.01))


def _bulk(rng: random.Random) -> None:
    with socket.create_connection((SERVER4, BULK_PORT), 5) as session:
        session.sendall(bytes(rng.randint(50_000, 1_500_000)))


def _knock(rng: random.Random) -> None:
    socket.create_connection((SERVER4, rng.choice((21, 23, 139, 445, 3389))), 1).close()


def _announce(rng: random.Random) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(CLIENT4))
        channel.sendto(rng.randbytes(120), ("224.0.0.251", 5353))


def _ping(rng: random.Random) -> None:
    """An echo request (RFC 792, RFC 4443); the other end's kernel answers."""
    body = struct.pack("!HH", os.getpid() & 0xFFFF, rng.randrange(1 << 16)) + bytes(range(48))
    if rng.random() < 0.5:
        total = sum(struct.unpack("!26H", body)) + 0x0800
        total = (total & 0xFFFF) + (total >> 16)
        request = struct.pack("!BBH", 8, 0, ~(total + (total >> 16)) & 0xFFFF) + body
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
            raw.sendto(request, (SERVER4, 0))
    else:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as raw:
            raw.sendto(struct.pack("!BBH", 128, 0, 0) + body, (SERVER6, 0))  # the kernel fills the checksum in


def _call(rng: random.Random) -> None:
    """One packet of speech as a telephone sends it: RTP (RFC 3550) over UDP in VLAN 10, priority 5."""
    speech = struct.pack("!BBHII", 0x80, 0, rng.randrange(1 << 16), rng.getrandbits(32), 42) + rng.randbytes(160)
    udp = struct.pack("!HHHH", 16384, 16386, 8 + len(speech), 0) + speech
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0xB8, 20 + len(udp), 1, 0, 64, 17, 0, b"\xc0\xa8\x0a\x02", b"\xc0\xa8\x0a\x01"
    )
    total = sum(struct.unpack("!10H", header))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    header = header[:10] + struct.pack("!H", checksum) + header[12:]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
        port.bind((CLIENT_PORT, 0))
        source = port.getsockname()[4]
        port.send(
            bytes.fromhex("020000000001") + source + struct.pack("!HHH", 0x8100, 5 << 13 | 10, 0x0800) + header + udp
        )


if __name__ == "__main__":
    if sys.argv[1] == "server":
        sys.exit(server(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(client(int(sys.argv[2])))
