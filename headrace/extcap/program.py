"""The cards as interfaces of Wireshark and tshark: its extcap protocol, and the program that they call.

Wireshark runs every program in its extcap folders to learn of interfaces, their options and link types, and to capture:
the packets then go through a FIFO. See ``man extcap`` and chapter 8.2 of the Wireshark Developer's Guide.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from headrace.errors import HeadraceError
from headrace.net.netlink import Interface, best_interface, interfaces

if TYPE_CHECKING:
    from headrace.net.bpf import Filter
    from headrace.net.source import Source

PREFIX = "headrace-"
CARDS = {
    "filter": "Headrace filter card",
    "capture": "Headrace capture card",
}
HELP = "https://www.wireshark.org/docs/man-pages/extcap.html"


@dataclass(frozen=True)
class Option:
    """An option of an interface, as Wireshark's dialogue shows it. ``choices`` are values with their descriptions."""

    call: str
    display: str
    kind: str
    default: str
    tooltip: str
    limits: str = ""
    choices: tuple[tuple[str, str], ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """What Wireshark calls: prints what it asks for, or captures. Errors are a line on stderr, which it shows."""
    fifo = None
    try:
        asked = _parse(sys.argv[1:] if arguments is None else arguments)
        fifo = asked.fifo
        return _answer(asked)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr, flush=True)
        if fifo:
            _end(fifo)
        return error.exit_code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise HeadraceError(message, 2)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="headrace extcap run", add_help=False, allow_abbrev=False)
    for flag in ("--extcap-interfaces", "--extcap-dlts", "--extcap-config", "--capture"):
        parser.add_argument(flag, action="store_true")
    for option in ("--extcap-interface", "--extcap-capture-filter", "--fifo"):
        parser.add_argument(option)
    parser.add_argument("--extcap-version", nargs="?")
    for setting in _options("capture", ()):
        parser.add_argument(setting.call, default=setting.default)
    known, _ = parser.parse_known_args(arguments)  # later versions of Wireshark ask for more
    return known


def _answer(asked: argparse.Namespace) -> int:
    if asked.extcap_interfaces:
        print("\n".join(_interface_lines()))
        return 0
    card = str(asked.extcap_interface or "").removeprefix(PREFIX)
    if card not in CARDS:
        raise HeadraceError(
            f"{asked.extcap_interface}: no interface: there are {', '.join(PREFIX + c for c in CARDS)}", 2
        )
    if asked.extcap_dlts:
        print("dlt {number=1}{name=EN10MB}{display=Ethernet}")
    elif asked.extcap_config:
        print("\n".join(_config_lines(_options(card, interfaces()))))
    elif asked.capture:
        if not asked.fifo:
            raise HeadraceError("--capture needs --fifo", 2)
        _capture(card, asked)
    elif asked.extcap_capture_filter is not None:
        _check_filter(asked.extcap_capture_filter)
    return 0


def _interface_lines() -> list[str]:
    from importlib import metadata

    lines = [f"extcap {{version={metadata.version('headrace')}}}{{help={HELP}}}{{display=Headrace}}"]
    return lines + [f"interface {{value={PREFIX}{card}}}{{display={text}}}" for card, text in CARDS.items()]


def _options(card: str, found: Sequence[Interface]) -> list[Option]:
    best = best_interface(found)
    live = tuple((f"iface:{one.name}", f"{one.name}, live{'' if one.up else ' (down)'}") for one in found)
    options = [
        Option(
            "--source",
            "Source",
            "selector",
            "" if best is None else f"iface:{best.name}",
            "The interface that the card's port is connected to",
            choices=live,
        ),
        Option("--link", "Or another link", "string", "", "Instead: a link such as xdp:eth0 or gen:size=imix,rate=10M"),
        Option("--file", "Or replay this capture", "fileselect", "", "A pcap or pcapng file instead of the source"),
        Option(
            "--rate",
            "Rate",
            "string",
            "lossless",
            "Of a file or generator: lossless, line, recorded, or a rate such as 10G",
        ),
        Option("--cores", "Filter cores", "unsigned", "4", "That run the capture filter", limits="1,64"),
        Option("--snaplen", "Snapshot length", "unsigned", "0", "Bytes of a packet to keep; 0: all", limits="0,262144"),
    ]
    if card == "filter":
        return options
    precision = (("nano", "nanoseconds"), ("micro", "microseconds"))
    return [*options, Option("--precision", "Time stamps", "selector", "nano", "Unit of times", choices=precision)]


def _config_lines(options: Sequence[Option]) -> list[str]:
    lines = []
    for number, option in enumerate(options):
        details = {
            "number": str(number),
            "call": option.call,
            "display": option.display,
            "type": option.kind,
            "default": option.default,
            "range": option.limits,
            "tooltip": option.tooltip,
            "mustexist": "true" if option.kind == "fileselect" else "",
        }
        lines.append("arg " + "".join(f"{{{name}={value}}}" for name, value in details.items() if value))
        for value, display in option.choices:
            chosen = "{default=true}" if value == option.default else ""
            lines.append(f"value {{arg={number}}}{{value={value}}}{{display={display}}}{chosen}")
    return lines


def _check_filter(expression: str) -> None:
    """Prints what is wrong with a filter; nothing, where it is fine."""
    from headrace.net import bpf

    try:
        bpf.compile(expression)
    except HeadraceError as error:
        print(error)


def _capture(card: str, asked: argparse.Namespace) -> None:
    from headrace.build import models
    from headrace.net import bpf, devices, packed
    from headrace.net.source import parse_rate, parse_source

    source = parse_source(asked.file or asked.link or asked.source or _default_source())
    snaplen = _number("--snaplen", asked.snaplen)
    cores = _number("--cores", asked.cores)
    rate = parse_rate(asked.rate)
    expression = asked.extcap_capture_filter or ""
    source = packed.recognised(source)
    devices.check(source)
    program = source.compiled(bpf.Expression(expression, snaplen or None))
    if source.live:  # what came during a build would fill its buffers
        models.build_card(card, {"CORES": cores if card == "filter" or expression else 0}, progress=False)
    with packed.opened(source) as inside:
        if card == "filter":
            fault = _run_filter(program, inside.source, asked.fifo, rate, cores, snaplen)
        else:
            program_of_card = program if expression else None
            fault = _run_capture(program_of_card, inside.source, asked.fifo, rate, cores, snaplen, asked.precision)
        fault = inside.fault(fault)
    if fault is not None and not fault.endswith("Broken pipe"):  # Wireshark has seen enough
        raise HeadraceError(fault)


def _end(fifo: str) -> None:
    """Lets who reads a FIFO see its end: Wireshark would wait for a writer, whatever has happened to us."""
    with suppress(OSError):
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))


def _default_source() -> str:
    best = best_interface(interfaces())
    if best is None:
        raise HeadraceError("no interface to capture from: choose a source in the interface's options")
    return f"iface:{best.name}"


def _number(option: str, text: str) -> int:
    if not text.isdecimal():
        raise HeadraceError(f"{option} {text}: not a number", 2)
    return int(text)


def _run_capture(
    program: Filter | None, source: Source, fifo: str, rate: str | float, cores: int, snaplen: int, precision: str
) -> str | None:
    from headrace.cards.capture.run import CaptureJob, run_capture

    job = CaptureJob(
        source=source,
        program=program,
        output=fifo,
        rate=rate,
        cores=cores if program is not None else None,
        snaplen=snaplen or None,
        precision=precision,
        packet_buffered=True,
    )
    report = run_capture(job)
    for warning in report.warnings:
        print(f"headrace: warning: {warning}", file=sys.stderr)
    return report.fault


def _run_filter(program: Filter, source: Source, fifo: str, rate: str | float, cores: int, snaplen: int) -> str | None:
    from headrace.cards.filter.run import FilterJob, FilterOutput, run_filter

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # how Wireshark ends a capture
    job = FilterJob([FilterOutput(program, fifo, snaplen or None)], source.link, rate, cores)
    with suppress(KeyboardInterrupt):
        return run_filter(job).fault
    return None
