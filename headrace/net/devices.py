# SPDX-License-Identifier: Apache-2.0
"""The interfaces that libpcap can capture from, and whether links of this machine can be opened."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from headrace.build.declarations import declared
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.source import Source

STATISTICS = Path("/sys/class/net")
_NET_ADMIN, _NET_RAW, _BPF = 12, 13, 39  # capabilities
_LIBRARIES = ("libpcap.so.0.8", "libpcap.so.1", "libpcap.dylib")
_DECLARATIONS = """
typedef struct pcap pcap_t;
typedef struct pcap_if {
  struct pcap_if *next; char *name; char *description; void *addresses; unsigned int flags;
} pcap_if_t;
int pcap_findalldevs(pcap_if_t **, char *);
void pcap_freealldevs(pcap_if_t *);
pcap_t *pcap_create(const char *, char *);
int pcap_set_promisc(pcap_t *, int);
int pcap_activate(pcap_t *);
int pcap_list_datalinks(pcap_t *, int **);
void pcap_free_datalinks(int *);
char *pcap_geterr(pcap_t *);
const char *pcap_statustostr(int);
void pcap_close(pcap_t *);
"""
_LOOPBACK, _UP, _RUNNING, _WIRELESS = 1, 2, 4, 8
_CONNECTION = {0x00: "", 0x10: "Connected", 0x20: "Disconnected", 0x30: ""}
_ASSOCIATION = {0x10: "Associated", 0x20: "Not associated"}
_STATUSES = {
    -5: "no such interface",
    -9: "the interface is down",
}
"""What the harness says of libpcap's PCAP_ERROR_NO_SUCH_DEVICE and so on."""
_FORBIDDEN = (-8, -11)  # PCAP_ERROR_PERM_DENIED, PCAP_ERROR_PROMISC_PERM_DENIED


class Device(NamedTuple):
    """What ``tcpdump -D`` lists: a name, and what libpcap knows of it, in tcpdump's words."""

    name: str
    description: str
    states: tuple[str, ...]

    def __str__(self) -> str:
        described = f" ({self.description})" if self.description else ""
        return f"{self.name}{described} [{', '.join(self.states) or 'none'}]"


def devices() -> list[Device]:
    """In the order of ``tcpdump -D``, which numbers them from 1. Raises HeadraceError where libpcap can't tell."""
    ffi, lib = _libpcap()
    first, message = ffi.new("pcap_if_t **"), ffi.new("char[256]")
    if lib.pcap_findalldevs(first, message) != 0:
        raise HeadraceError(_text(message))
    try:
        found, at = [], first[0]
        while at != ffi.NULL:
            found.append(Device(_text(at.name), _text(at.description), tuple(_states(at.flags))))
            at = at.next
        return found
    finally:
        lib.pcap_freealldevs(first[0])


def _states(flags: int) -> Iterator[str]:
    for bit, word in ((_UP, "Up"), (_RUNNING, "Running"), (_LOOPBACK, "Loopback"), (_WIRELESS, "Wireless")):
        if flags & bit:
            yield word
    if not flags & _LOOPBACK and (word := (_ASSOCIATION if flags & _WIRELESS else _CONNECTION).get(flags & 0x30, "")):
        yield word


def find(text: str) -> str | None:
    """The interface that a user means by its name, by ``any``, or by its number in ``tcpdump -D``; None: none."""
    if text == bpf.ANY or _is_interface(text):
        return text
    if text.isascii() and text.isdecimal() and 0 < int(text) <= len(listed := devices()):
        return listed[int(text) - 1].name
    return None


def link_types(name: str) -> list[str]:
    """What ``tcpdump -L`` lists of an interface: its link types, such as ``EN10MB (Ethernet)``. Raises HeadraceError
    where it can't be captured from."""
    ffi, lib = _libpcap()
    with _activated(name) as handle:
        types = ffi.new("int **")
        count = lib.pcap_list_datalinks(handle, types)
        if count < 0:
            raise HeadraceError(f"{name}: {_text(lib.pcap_geterr(handle))}")
        try:
            numbers = list(types[0][0:count])
        finally:
            lib.pcap_free_datalinks(types[0])
    return [f"{bpf.link_name(number)} ({bpf.link_description(number)})" for number in numbers]


class InterfaceDrops:
    """Packets that a source's interface has had no room for since this was made, so that the kernel never had them:
    what libpcap counts as such; 0 of other sources."""

    def __init__(self, source: Source) -> None:
        folder = STATISTICS / source.name / "statistics"
        names = ("rx_missed_errors", "rx_fifo_errors") if source.kind == "iface" else ()
        self._files = [file for name in names if (file := folder / name).is_file()]
        self._before = self._sum()

    def _sum(self) -> int:
        return sum(int(file.read_text()) for file in self._files if file.is_file())

    @property
    def count(self) -> int:
        """How many so far; none where the interface has gone."""
        return max(0, self._sum() - self._before)


class NotPermittedError(HeadraceError):
    """This process may not capture from an interface."""


def check(source: Source, ourselves: bool = False) -> None:
    """Looks whether a live link can be opened by this process or, if not by ``ourselves``, by dumpcap, before a card is
    built for it; others are left to ``check_link``. Raises HeadraceError with what the harness would say."""
    if source.kind == "iface":
        try:
            with _activated(source.name, f"iface:{source.name}"):
                pass
        except NotPermittedError:
            if ourselves or not _by_dumpcap(source):
                raise
    elif source.kind == "xdp":
        if not _is_interface(source.name):
            raise HeadraceError(f"xdp:{source.name}: no such interface")
        if not _has(_NET_ADMIN, _NET_RAW, _BPF):
            raise HeadraceError(
                f"xdp:{source.name}: not permitted: XDP takes root, or CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW"
            )
    elif source.kind == "tap" and not _has(_NET_ADMIN) and not _is_interface(source.name):
        raise HeadraceError(f"tap:{source.name}: not permitted: a TAP device takes root or CAP_NET_ADMIN")


def _by_dumpcap(source: Source) -> bool:
    """Whether Wireshark's dumpcap may capture from an interface that this process may not: in Debian, for users of the
    group ``wireshark``."""
    if (dumpcap := shutil.which("dumpcap")) is None:
        return False
    return subprocess.run([dumpcap, "-L", "-i", source.name], capture_output=True, check=False).returncode == 0


def _is_interface(name: str) -> bool:
    try:
        return socket.if_nametoindex(name) > 0
    except OSError:
        return False


def _has(*capabilities: int) -> bool:
    with open("/proc/self/status") as status:
        effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))
    return all(effective >> each & 1 for each in capabilities)


@contextmanager
def _activated(name: str, shown: str | None = None) -> Iterator[Any]:
    ffi, lib = _libpcap()
    message = ffi.new("char[256]")
    handle = lib.pcap_create(name.encode(errors="surrogateescape"), message)
    if handle == ffi.NULL:
        raise HeadraceError(f"{shown or name}: {_text(message)}")
    try:
        if (status := lib.pcap_activate(handle)) < 0:
            if status in _FORBIDDEN:
                raise NotPermittedError(f"{shown or name}: not permitted: to capture takes root or CAP_NET_RAW")
            why = _STATUSES.get(status) or _text(lib.pcap_geterr(handle)) or _text(lib.pcap_statustostr(status))
            raise HeadraceError(f"{shown or name}: {why}")
        yield handle
    finally:
        lib.pcap_close(handle)


def _text(words: Any) -> str:
    ffi, _ = _libpcap()
    return "" if words == ffi.NULL else str(ffi.string(words).decode(errors="replace"))


@cache
def _libpcap() -> tuple[Any, Any]:
    bpf.load()
    ffi = declared("libpcap-devices", _DECLARATIONS)
    for name in _LIBRARIES:
        with suppress(OSError):
            return ffi, ffi.dlopen(name)
    raise AssertionError("libpcap was there")
