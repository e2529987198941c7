"""Where packets come from: the links of a command line, such as ``pcap:in.pcap`` or ``iface:eth0``."""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from headrace.errors import HeadraceError
from headrace.net import bpf

Path = Literal["wire", "memory"]
KINDS = ("pcap", "gen", "iface", "xdp", "tap")
_LIVE = ("iface", "xdp", "tap")


@dataclass(frozen=True)
class Source:
    """A link to capture from, such as ``pcap:in.pcap`` or ``iface:eth0``."""

    kind: str
    argument: str

    @property
    def link(self) -> str:
        """As the harness takes it."""
        return f"{self.kind}:{self.argument}"

    @property
    def live(self) -> bool:
        """Whether packets come as they happen."""
        return self.kind in _LIVE

    @property
    def has_times(self) -> bool:
        """Whether packets come with times."""
        return self.kind != "gen"

    @property
    def name(self) -> str:
        """What pcapng calls the interface."""
        return self.argument.partition(",")[0] if self.live else self.link

    def setting(self, key: str) -> str | None:
        """What a live link says after ``key=``; None: nothing."""
        pairs = (item.partition("=") for item in self.argument.split(",")[1:])
        return next((value for name, _, value in pairs if name == key), None) if self.live else None

    @property
    def usual_path(self) -> Path:
        """The way into the card that suits the source."""
        return "memory" if self.kind in ("pcap", "xdp") else "wire"

    def format(self) -> bpf.LinkFormat | None:
        """What filters for its packets are compiled for; None where only who opens it learns that: it is a pipe, or an
        interface that can't be captured from.

        Raises HeadraceError when a file is missing, or no capture.
        """
        if self.kind == "pcap":
            if self.argument == "-" or _is_pipe(self.argument):
                return None
            return bpf.capture_format(self.argument)
        if self.kind == "iface":
            wanted = re.search(r",linktype=([^,]*)", self.argument)
            return bpf.interface_format(self.name, wanted and bpf.link_number(wanted[1]))
        return bpf.LinkFormat(live=True)

    def compiled(self, wanted: bpf.Filter) -> bpf.Filter:
        """The program of a filter for its packets, or the filter itself where only who opens the source can compile it.

        Raises FilterError as `bpf.for_link` does, HeadraceError as `format` does.
        """
        link = self.format()
        return wanted if link is None else bpf.for_link(wanted, link, self.argument)

    def of_type(self, name: str | None) -> Source:
        """The same source, packets of a link type that its interface has; other sources have the one that they have.

        Raises HeadraceError where there is no such link type.
        """
        if name is None or bpf.link_number(name) < 0 or self.kind != "iface":
            return self
        return Source(self.kind, f"{self.argument},linktype={name}")

    def only(self, direction: str) -> Source:
        """The same source, packets of one direction only. Raises HeadraceError where directions can't be told apart."""
        if direction == "inout" or (direction == "in" and self.kind in ("xdp", "tap")):
            return self
        if self.kind != "iface":
            raise HeadraceError(f"-Q {direction}: {self.link} does not know directions", 2)
        return Source(self.kind, f"{self.argument},direction={direction}")

    def at_once(self) -> Source:
        """The same source, packets of an interface within 10 ms: for cards that send them on."""
        if self.kind != "iface" or self.setting("timeout") is not None:
            return self
        return Source(self.kind, f"{self.argument},timeout=10")


def parse_source(text: str) -> Source:
    """The source of a command line: a link, or the name of a file (``-``: standard input).

    Raises HeadraceError for links of an unknown kind, and for an interface's name instead of a link.
    """
    kind, colon, argument = text.partition(":")
    if os.path.exists(text):
        return Source("pcap", text)
    if _is_interface(text):
        raise HeadraceError(f"{text}: no such file; did you mean iface:{text}?", 2)
    if not colon or "/" in kind:
        return Source("pcap", text)
    if kind not in KINDS:
        raise HeadraceError(f"{text}: no source: use a file, or one of {', '.join(f'{k}:' for k in KINDS)}", 2)
    return Source(kind, argument)


def _is_interface(name: str) -> bool:
    """Whether the network namespace has an interface of that name."""
    try:
        return socket.if_nametoindex(name) > 0
    except OSError:
        return False


def _is_pipe(path: str) -> bool:
    """Whether what is read from a path is gone."""
    return os.path.exists(path) and not os.path.isfile(path)


def listening(source: Source, linktype: int, snaplen: int) -> str:
    """What tcpdump says when a live capture has begun."""
    link = f"{bpf.link_name(linktype)} ({bpf.link_description(linktype)})"
    return f"listening on {source.name}, link-type {link}, snapshot length {snaplen} bytes"


def parse_rate(text: str) -> str | float:
    """The word itself, or bits per second for 40G, 2.5G or 100M. Raises HeadraceError for anything else."""
    if text in ("lossless", "line", "recorded"):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([GM])", text, re.IGNORECASE)
    if match is None or not 0 < float(match[1]) < 1e6:
        raise HeadraceError(f"--rate {text}: neither lossless, line, recorded nor a rate such as 40G", 2)
    return float(match[1]) * (1e9 if match[2] in "Gg" else 1e6)


def check_link(link: str, output: bool = False) -> None:
    """Looks at a link of the harness before anything is built for it. Raises HeadraceError for what can't be.

    ``output``: packets leave by it. Whether an interface is there, and may be opened, shows when it is opened.
    """
    kind, _, argument = link.partition(":")
    kinds = ("pcap", "tap", "memory", "null") if output else (*KINDS, "port", "null")
    if kind not in kinds:
        direction = "sink" if output else "source"
        raise HeadraceError(f"'{link}' is not a {direction}: use {', '.join(kinds)}, as KIND:ARGUMENT", 2)
    if kind == "gen":
        _check_generator(argument)
    elif kind == "pcap":
        if output:
            check_output(argument)
        else:
            _check_input(argument)
    elif kind in _LIVE and not argument.partition(",")[0]:
        raise HeadraceError(f"{link}: an interface's name is missing", 2)


def check_output(path: str) -> None:
    """Raises HeadraceError for a file that can't be, because its folder isn't there or it is a folder itself."""
    if path == "-":
        return
    if os.path.isdir(path):
        raise HeadraceError(f"{path}: {os.strerror(errno.EISDIR)}")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise HeadraceError(f"{path}: {os.strerror(errno.ENOENT)}")


def _check_input(path: str) -> None:
    if path == "-" or _is_pipe(path):  # opening a pipe would wait for its writer
        return
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None


def _check_generator(specification: str) -> None:
    """As the harness will read it."""
    settings: dict[str, str] = {}
    for item in filter(None, specification.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise HeadraceError(f"gen: '{item}' is not KEY=VALUE", 2)
        if key not in _GENERATOR:
            raise HeadraceError(f"gen: unknown key '{key}'; keys are {', '.join(_GENERATOR)}", 2)
        wanted, fits = _GENERATOR[key]
        if not fits(value):
            raise HeadraceError(f"gen: {key}={value}: must be {wanted}", 2)
        settings[key] = value
    if settings.get("frame") == "raw" and (fields := {"src", "dst", "sport", "dport"} & settings.keys()):
        raise HeadraceError(f"gen: {min(fields)}: frame=raw has no such field", 2)


def _is_number(text: str, most: int) -> bool:
    return re.fullmatch(r"[0-9]{1,20}", text) is not None and int(text) <= most


def _is_size(text: str) -> bool:
    parts = text.split("-", 1)
    return text == "imix" or (all(_is_number(part, _LONGEST) for part in parts) and int(parts[0]) <= int(parts[-1]))


def _is_rate(text: str) -> bool:
    match = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([kKMGT]?)", text)
    return match is not None and 1 <= float(match[1]) * _SCALES[match[2]] <= 1e13


def _is_address(text: str) -> bool:
    return re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", text) is not None and all(int(p) <= 255 for p in text.split("."))


_LONGEST = 65535
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_ADDRESS = ("an IPv4 address such as 10.0.0.1", _is_address)
_PORT = ("a number from 0 to 65535", lambda text: _is_number(text, 65535))
_ANY = ("a number of 64 bits", lambda text: _is_number(text, (1 << 64) - 1))
_GENERATOR: dict[str, tuple[str, Callable[[str], bool]]] = {
    "size": (f"imix, a number from 0 to {_LONGEST} or a range such as 60-1514", _is_size),
    "count": _ANY,
    "rate": ("bits per second such as 100G, 2.5G or 10M", _is_rate),
    "seed": _ANY,
    "frame": ("udp, tcp or raw", lambda text: text in ("udp", "tcp", "raw")),
    "src": _ADDRESS,
    "dst": _ADDRESS,
    "sport": _PORT,
    "dport": _PORT,
}
"""What each key of a generator wants, and whether a text is such."""
