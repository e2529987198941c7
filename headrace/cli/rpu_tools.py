"""The commands of ``headrace rpu`` that look at a running card."""

from __future__ import annotations

import json as json_format
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import common
from headrace.cli.rpu_rules import First, Strict, rules_command
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from rich.table import Table

_DEBUG_EPILOG = """Examples:

headrace rpu debug 3

headrace rpu debug 3 --memory 0x804000:256

headrace rpu debug 3 --memory 0x01000000:1M --out packets.bin
"""
_PROFILE_EPILOG = """Examples:

headrace rpu profile forwarder --port 0=gen:size=64,count=20000

headrace rpu profile firewall.c --accel blacklist --blocklist drop.txt --port 0=in.pcap --lines
"""
_SWAP_EPILOG = """Examples:

headrace rpu swap 4-7 blacklist --program firewall --blocklist drop.txt

headrace rpu swap 3 path/to/mine.sv --program mine.c

headrace rpu swap 3 none
"""
_LINE = 16  # bytes, of a dump
_GDB_PORT = 3333
_WIDE = 160  # columns, where there is no terminal

Control = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Socket of the card.", show_default="$XDG_RUNTIME_DIR/headrace/rpu.sock"),
]
Unit = Annotated[int, typer.Argument(metavar="UNIT", min=0)]


def add(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("stats")(stats_command)
    app.command("debug", epilog=_DEBUG_EPILOG)(debug_command)
    app.command("load")(load_command)
    app.command("swap", epilog=_SWAP_EPILOG)(swap_command)
    app.command("rules")(rules_command)
    app.command("gdb")(gdb_command)
    app.command("profile", epilog=_PROFILE_EPILOG)(profile_command)


def _ask(control: str | None, **request: Any) -> dict[str, Any]:
    from headrace.card.control import ask
    from headrace.cards.rpu.service import CONTROL

    return ask(CONTROL, control, request)


def stats_command(
    control: Control = None,
    once: Annotated[bool, typer.Option("--once", help="Show the units once.")] = False,
    interval: Annotated[float, typer.Option(metavar="S", min=0.05, help="Seconds between updates.")] = 1.0,
    json: common.Json = False,
) -> int:
    """Show the units of the running card as they work: packets, stalls, slots, errors. Ctrl-C ends it."""
    from rich.console import Console
    from rich.live import Live

    common.become(None)  # the socket is in the folder of who has called sudo
    found = _ask(control, command="stats")
    if json:
        print(json_format.dumps(found, indent=2))
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    if once or not console.is_terminal:
        console.print(_table(found))
        print("\n".join(_lines(found)))
        return 0
    from rich.console import Group

    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                live.update(Group(_table(found), *_lines(found)), refresh=True)
                time.sleep(interval)
                found = _ask(control, command="stats")
    except KeyboardInterrupt:
        return 0


def _state(unit: dict[str, Any]) -> str:
    if unit["in_reset"]:
        return "in reset"
    if unit["halted"]:
        return "halted"
    if unit["stopped"]:
        return "stopped"
    if unit["evict_ready"]:
        return "evicted"
    return "runs" if unit["enabled"] else "disabled"


def _table(found: dict[str, Any]) -> Table:
    from rich.table import Table

    heads = ("unit", "program", "state", "in", "bytes", "stalls", "out", "bytes", "stalls", "slots", "errors")
    table = Table(*heads, box=None, pad_edge=False)
    for column in table.columns[3:]:
        column.justify = "right"
    for unit in found["units"]:
        counts = (unit[f"{way}_{what}"] for way in ("rx", "tx") for what in ("packets", "bytes", "stalls"))
        slots = f"{unit['outstanding']}/{unit['slots']}"
        row = (unit["unit"], unit["program"], _state(unit), *(f"{count:,}" for count in counts), slots, unit["errors"])
        table.add_row(*map(str, row))
    return table


def _lines(found: dict[str, Any]) -> list[str]:
    """What is wrong, and what didn't get to a unit."""
    lines = []
    for unit in found["units"]:
        if unit["fault"]:
            lines.append(f"unit {unit['unit']} ({unit['program']}): {unit['fault']}")
        elif unit["halted"]:
            lines.append(f"unit {unit['unit']} ({unit['program']}): halted at {unit['where']}")
        lines += [f"unit {unit['unit']} ({unit['program']}): {note}" for note in unit["notes"]]
    for name, source in found["sources"].items():
        if source["dropped"] or source["refused"]:
            lines.append(f"{name}: {source['dropped']:,} packets dropped, {source['refused']:,} to no unit")
    if found["host_dropped"]:
        lines.append(f"{found['host_dropped']:,} packets to the host port dropped")
    return lines


def debug_command(
    unit: Unit,
    registers: Annotated[bool, typer.Option(help="Halt the core for a moment, and show its registers.")] = True,
    memory: Annotated[
        str | None, typer.Option(metavar="ADDR:LEN", help="Dump memory, as the unit's software sees it.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write the memory's bytes here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a core that a debugger has stopped.")] = False,
    poke: Annotated[bool, typer.Option("--poke", help="Send the poke interrupt.")] = False,
    control: Control = None,
    json: common.Json = False,
) -> int:
    """Show the state of a unit of the running card: registers, errors, its last exception with the source line."""
    if out is not None and memory is None:
        raise HeadraceError("--out needs --memory, which it writes", 2)
    if out != "-":
        common.check_outputs(out)
    common.become(None)
    chosen = _memory(memory) if memory is not None else None
    steps = [["detach"]] * resume + [["poke"]] * poke
    if steps:
        _ask(control, command="debug", unit=unit, do=steps)
    if chosen is not None:
        _dump(chosen[0], b"".join(_read(control, unit, *chosen)), out)
        return 0
    if steps:
        return 0
    looked = _ask(control, command="debug", unit=unit, do=[["look"]])["results"][0] if registers else None
    found = _ask(control, command="stats")["units"][unit]
    if json:
        print(json_format.dumps({**found, "registers": looked}, indent=2))
        return 0
    _show_unit(found)
    if looked is not None:
        _show_registers(looked["registers"], looked["csrs"])
    return 0


def _show_unit(unit: dict[str, Any]) -> None:
    print(f"unit {unit['unit']}: {unit['program'] or 'no program'}, {_state(unit)} at {unit['where']}")
    print(f"slots {unit['outstanding']} of {unit['slots']} taken; flags {' '.join(unit['flags']) or 'none'}")
    if unit["errors_seen"]:
        print(f"errors since its reset: {' '.join(unit['errors_seen'])}; the last at {unit['error_address']:#010x}")
    print(f"debug out {unit['debug_out']:#018x}")
    if unit["fault"]:
        print(unit["fault"])


def _show_registers(registers: list[int], csrs: dict[str, int]) -> None:
    names = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6 pc"
    pairs = [*zip(names.split(), registers, strict=True), *csrs.items()]
    for start in range(0, len(pairs), 4):
        print("  ".join(f"{name:>7} {value:08x}" for name, value in pairs[start : start + 4]))


def _memory(text: str) -> tuple[int, int]:
    address, colon, size = text.partition(":")
    factor = {"K": 1 << 10, "M": 1 << 20}.get(size[-1:].upper(), 1)
    try:
        return int(address, 0), int(size.rstrip("kKmM"), 0) * factor if colon else 64
    except ValueError:
        raise HeadraceError(f"--memory {text}: not ADDRESS:BYTES, such as 0x804000:128", 2) from None


def _read(control: str | None, unit: int, address: int, size: int) -> Iterator[bytes]:
    from headrace.cards.rpu.service import CHUNK

    for start in range(address, address + size, CHUNK):
        count = min(CHUNK, address + size - start)
        yield bytes.fromhex(_ask(control, command="debug", unit=unit, do=[["read", start, count]])["results"][0])


def _dump(address: int, data: bytes, out: str | None) -> None:
    if out == "-":
        sys.stdout.buffer.write(data)
        return
    if out is not None:
        Path(out).write_bytes(data)
        return
    for start in range(0, len(data), _LINE):
        part = data[start : start + _LINE]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        print(f"{address + start:08x}  {part.hex(' ', -4):<{2 * _LINE + 3}}  {text}")


def load_command(
    unit: Annotated[str, typer.Argument(metavar="UNITS", help="Units of the running card: 0-3,6.")],
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="An ELF file, a C file or a program's name.")],
    force: Annotated[
        bool, typer.Option("--force", help="Load even if the old program keeps packets, which are lost.")
    ] = (False),
    control: Control = None,
) -> int:
    """Load another program into units of the running card; their packets go to other units meanwhile."""
    from headrace.cards.rpu.run import load_program, parse_units

    common.become(None)
    loaded = load_program(program)
    count = len(_ask(control, command="stats")["units"])
    units = parse_units(unit, count)
    _ask(control, command="load", units=units, program=program, path=str(loaded.path), force=force)
    print(f"{program} runs on unit{'s' if len(units) > 1 else ''} {unit}")
    return 0


def swap_command(
    unit: Annotated[str, typer.Argument(metavar="UNITS", help="Units of the running card: 0-3,6.")],
    accelerator: Annotated[
        str,
        typer.Argument(metavar="ACCELERATOR", help="crc, checksum, blacklist, matcher, none, or a file with one."),
    ],
    program: Annotated[
        str | None,
        typer.Option(
            metavar="PROGRAM", help="An ELF file, a C file or a program's name.", show_default="the one that runs"
        ),
    ] = None,
    blocklist: Annotated[
        str | None, typer.Option(metavar="FILE", help="Addresses and prefixes for a blacklist.")
    ] = None,
    rules: Annotated[str | None, typer.Option(metavar="FILE", help="Snort or Suricata rules for a matcher.")] = None,
    strict: Strict = False,
    first: First = None,
    force: Annotated[bool, typer.Option("--force", help="Swap even if a unit keeps packets, which are lost.")] = False,
    control: Control = None,
    json: common.Json = False,
) -> int:
    """Change the accelerators of units of the running card, one unit after the other.

    Meanwhile the unit's packets go to other units, whose own packets are neither lost nor delayed. Times are card time.
    """
    from headrace.cards.rpu import accelerators
    from headrace.cards.rpu.run import load_program, parse_units
    from headrace.cards.rpu.swap import table_of

    common.become(None)
    accelerators.check(accelerator)
    table_of(accelerator, blocklist, rules, strict, first, common.tell)
    request: dict[str, Any] = {"command": "swap", "force": force, "accelerator": accelerator, "first": first}
    if accelerator not in (accelerators.NONE, *accelerators.KINDS):
        request["accelerator"] = str(Path(accelerator).resolve())
    for name, path in (("blocklist", blocklist), ("rules", rules)):
        if path is not None:
            request[name] = str(Path(path).resolve())
    if program is not None:
        request |= {"program": program, "path": str(Path(load_program(program).path).resolve())}
    units = parse_units(unit, len(_ask(control, command="stats")["units"]))
    accelerators.library(accelerator, _ask(control, command="swap", units=[])["data_w"])
    reports = []
    for number in units:
        (report,) = _ask(control, units=[number], **request)["reports"]
        reports.append(report)
        if not json:
            times = ", ".join(f"{step} {report[f'{step}_ns'] / 1000:,.1f} us" for step in ("drain", "swap", "boot"))
            lost = f"; {report['dropped']} packets lost" if report["dropped"] else ""
            print(f"unit {number}: {report['accelerator'] or 'no accelerator'}; {times}{lost}")
    if json:
        print(json_format.dumps(reports, indent=2))
    return 0


def gdb_command(
    unit: Unit,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=0, max=65535, help="TCP port.", show_default="3333 + UNIT")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the first gdb leaves.")] = False,
    control: Control = None,
) -> int:
    """Serve gdb on one unit of the running card, while the others go on. Ctrl-C ends it."""
    from headrace.cards.rpu.gdb import GdbServer

    common.become(None)

    def do(steps: Any) -> list[Any]:
        found: list[Any] = _ask(control, command="debug", unit=unit, do=steps)["results"]
        return found

    program = do([["program"]])[0]
    server = GdbServer(do, _GDB_PORT + unit if port is None else port)
    print(f"gdb-multiarch {program or ''} -ex 'target remote :{server.port}'", flush=True)
    try:
        server.serve()
        while not once:
            server.serve()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0


def profile_command(
    program: Annotated[str, typer.Argument(metavar="PROGRAM", help="An ELF file, a C file or a program's name.")],
    port: Annotated[list[str], typer.Option("--port", metavar="N=LINK", help="What port 0 or 1 receives.")],
    accel: Annotated[str, typer.Option(metavar="NAME", help="The unit's accelerator.")] = "none",
    blocklist: Annotated[str | None, typer.Option(metavar="FILE", help="As for headrace rpu run.")] = None,
    rules: Annotated[str | None, typer.Option(metavar="FILE", help="As for headrace rpu run.")] = None,
    strict: Strict = False,
    first: First = None,
    samples: Annotated[int, typer.Option(min=1, help="How many samples to take at most.")] = 20_000,
    lines: Annotated[bool, typer.Option("--lines", help="Count by source line instead of function.")] = False,
    parameter: common.Parameters = None,
    json: common.Json = False,
) -> int:
    """Show how many cycles each function of a program takes.

    One unit runs the program, with packets as fast as it takes them; its program counter is read at random distances of
    some 100 cycles, until all packets are through. An instruction that waits is charged with these cycles.
    """
    from dataclasses import asdict

    from headrace.cards.rpu.bench import FirmwareBench
    from headrace.cards.rpu.run import load_program, parse_ports
    from headrace.cards.rpu.swap import table_of
    from headrace.net.source import parse_source

    links = {number: parse_source(text) for number, text in parse_ports(port, "--port").items()}
    if any(link.live for link in links.values()):
        raise HeadraceError("--port: a profile takes files and generated packets, no live links", 2)
    table = table_of(accel, blocklist, rules, strict, first, common.tell)
    loaded = load_program(program)
    parameters = common.parameters(parameter)
    with FirmwareBench(loaded.path, accelerator=accel, table=table, parameters=parameters) as bench:
        for number, link in links.items():
            bench.card.source(number, link.link)
        with common.progress_line() as progress:

            def go_on(count: int) -> bool:
                if progress is not None and count % 100 == 0:
                    progress("profile", count / samples)
                return True

            taken = bench.profile(samples, go_on)
    shares = taken.lines() if lines else taken.functions()
    total = taken.samples.total()
    if json:
        found = {"cycles": taken.cycles, "packets": taken.packets, "samples": total}
        print(json_format.dumps({**found, "shares": [asdict(share) for share in shares]}, indent=2))
        return 0
    for share in shares:
        each = "" if share.cycles_per_packet is None else f"{share.cycles_per_packet:10.2f}"
        print(f"{share.share:7.1%} \xb1 {share.error:5.1%}{each}  {share.name}")
    print(
        f"{taken.packets:,} packets in {taken.cycles:,} cycles, {total:,} samples. In each line: share of the cycles, "
        "its standard error, cycles a packet"
    )
    return 0
