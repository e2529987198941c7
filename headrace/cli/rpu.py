"""``headrace rpu``: programs of the RPU card."""

from __future__ import annotations

import json as json_format
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import common, rpu_rules, rpu_tools

if TYPE_CHECKING:
    from headrace.cards.rpu.elf import Program
    from headrace.cards.rpu.run import RpuReport

_BUILD_EPILOG = """Examples:

headrace rpu build firewall.c

headrace rpu build main.c flows.c -o flows.elf -D TABLE_SIZE=4096 -I include

headrace rpu build forwarder -o forwarder.elf

A name without .c is that of a program that comes with Headrace.
"""

_RUN_EPILOG = """Examples:

headrace rpu run forwarder --port 0=in.pcap -w 1=out.pcap

headrace rpu run firewall.c@0-5 flows.elf@6,7 --port 0=gen:size=64,count=100000 --policy flow_hash

headrace rpu run firewall --accel blacklist@0-7 --blocklist drop.txt --port 0=in.pcap -w 1=clean.pcap

headrace rpu run intrusion --accel matcher@0-7 --rules web.rules --port 0=in.pcap -w 1=clean.pcap

headrace rpu run forwarder --port 0=tap:west --port 1=tap:east

headrace rpu run nic --port 0=tap:west --port vf:0=vhost:/tmp/guest.sock

A program is an ELF file, a C file, or the name of one that comes with Headrace; @UNITS says where it runs.
"""

app = typer.Typer(
    name="rpu",
    help="An array of packet processors that run C firmware, with accelerators.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    rpu_tools.add(app)
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """An array of packet processors that run C firmware, with accelerators."""


@app.command("build", epilog=_BUILD_EPILOG)
def build_command(
    sources: Annotated[list[str], typer.Argument(metavar="FILE.c...", help="C and assembler files.")],
    output: Annotated[
        str | None, typer.Option("-o", metavar="FILE", help="The program.", show_default="the first file's name, .elf")
    ] = None,
    define: Annotated[list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Define a macro.")] = None,
    include: Annotated[list[str] | None, typer.Option("-I", metavar="DIR", help="Look for headers here first.")] = None,
    optimisation: Annotated[
        str, typer.Option("-O", metavar="0|1|2|3|s|g|fast", help="How much the compiler optimises.")
    ] = "2",
    json: common.Json = False,
) -> None:
    """Compile firmware into a program for RPUs, and say how much of each memory it takes.

    Firmware of the Rosebud framework compiles unmodified. The compiler's messages are shown unchanged.
    """
    from headrace.cards.rpu import elf, program

    target = output if output is not None else f"{Path(sources[0]).stem}.elf"
    common.check_outputs(target)
    made = program.build(
        sources,
        defines=define or [],
        includes=include or [],
        optimisation=optimisation,
        said=lambda text: print(text.rstrip(), file=sys.stderr),
    )
    shutil.copyfile(made, target)
    _show(elf.read(target), target, json)


def _show(built: Program, path: str, json: bool) -> None:
    memories = {m.name: (built.used(m.name), m.size) for m in built.memories}
    if json:
        listed = {name: {"used": used, "size": size} for name, (used, size) in memories.items()}
        print(json_format.dumps({"path": path, "entry": built.entry, "memories": listed}, indent=2))
        return
    parts = [f"{name} {used:,} of {size:,} bytes" for name, (used, size) in memories.items() if used]
    print(f"{path}: {', '.join(parts)}")


@app.command("run", epilog=_RUN_EPILOG)
def run_command(
    programs: Annotated[list[str], typer.Argument(metavar="PROGRAM[@UNITS]...", help="Programs, and their units.")],
    port: Annotated[
        list[str],
        typer.Option(
            "--port",
            metavar="N=LINK",
            help="What port 0, 1 or host receives; a live link also gets what the port sends. "
            "vf:N=LINK: virtual function N of the host.",
        ),
    ],
    write: Annotated[
        list[str] | None, typer.Option("-w", metavar="N=FILE", help="Write what a port sends to a pcap file.")
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="UNITS", help="Units of a program without @: 0-3,6.")] = None,
    accel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@UNITS", help="Accelerators: crc, checksum, blacklist, matcher, or a SystemVerilog file."
        ),
    ] = None,
    blocklist: Annotated[
        str | None, typer.Option(metavar="FILE", help="Addresses and prefixes that the blacklists load.")
    ] = None,
    rules: Annotated[
        str | None, typer.Option(metavar="FILE", help="Snort or Suricata rules, whose contents the matchers load.")
    ] = None,
    strict: rpu_rules.Strict = False,
    first: rpu_rules.First = None,
    units: Annotated[int, typer.Option(min=1, max=16, help="Units of the card.")] = 8,
    policy: Annotated[
        str,
        typer.Option(
            metavar="round_robin|least_loaded|flow_hash", help="How the balancer chooses a unit for a packet."
        ),
    ] = "round_robin",
    rate: common.Rate = "lossless",
    seconds: common.Seconds = None,
    control: rpu_tools.Control = None,
    user: common.User = None,
    background: common.Background = False,
    parameter: common.Parameters = None,
    json: common.Json = False,
) -> int:
    """Run firmware on the RPU card, with packets from files or interfaces.

    The exit code is 1 if a program fails. `headrace rpu stats`, `debug`, `load` and `gdb`, and `headrace vf`
    for virtual functions, reach the card while it runs.
    """
    from headrace.cards.rpu.run import POLICIES, RpuJob, parse_ports, parse_units, run
    from headrace.net.source import parse_rate

    common.one_of("--policy", policy, POLICIES)

    def by_unit(texts: list[str], default: str | None) -> dict[int, str]:
        found: dict[int, str] = {}
        for text in texts:
            name, at, where = text.rpartition("@")
            chosen = where if at else default
            found |= dict.fromkeys(range(units) if chosen is None else parse_units(chosen, units), name if at else text)
        return found

    function_sinks, other_sinks = common.split_functions(write, "-w")
    sinks = parse_ports(other_sinks, "-w", host=True)
    common.check_outputs(*sinks.values(), *function_sinks.values(), ports=port or ())
    functions, others = common.split_functions(port)
    job = RpuJob(
        programs=by_unit(programs, unit),
        sources=parse_ports(others, "--port", host=True),
        sinks=sinks,
        functions=functions,
        function_sinks=function_sinks,
        accelerators=by_unit(accel or [], None),
        units=units,
        policy=policy,  # type: ignore[arg-type]
        rate=parse_rate(rate),
        blocklist=blocklist,
        rules=rules,
        strict=strict,
        first=first,
        seconds=seconds,
        control=control,
        parameters=common.parameters(parameter),
    )
    common.check_links([*job.sources.values(), *functions.values()])
    tell = common.background(background, *sinks.values(), *function_sinks.values())
    common.become(user)
    with common.progress_line() as progress, common.unpacked(job) as inside:
        report = run(inside, None if progress is None else lambda count: progress(f"{count:,} packets", None), tell)
    faults = [f"unit {found.unit} ({found.program}): {found.fault}" for found in report.units if found.fault]
    notes = [f"unit {found.unit} ({found.program}): {note}" for found in report.units for note in found.notes]
    with common.beside([*sinks.values(), *function_sinks.values()]):
        if json:
            print(json_format.dumps(asdict(report), indent=2))
        else:
            _show_run(report)
    for line in notes + faults:
        common.tell(line)
    return 1 if faults else 0


def _show_run(report: RpuReport) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("unit", "program", "in", "bytes", "out", "bytes", "kept", "errors", box=None, pad_edge=False)
    for column in table.columns[2:]:
        column.justify = "right"
    for unit in report.units:
        counts = (unit.rx_packets, unit.rx_bytes, unit.tx_packets, unit.tx_bytes, unit.outstanding, unit.errors)
        table.add_row(str(unit.unit), unit.program, *(f"{count:,}" for count in counts))
    Console().print(table)
    print(
        f"{report.received:,} packets received, {report.sent:,} sent, {report.dropped:,} dropped before a "
        f"unit's program, {report.host_dropped:,} at the host port, {report.kept:,} kept by units; "
        f"{report.cycles:,} cycles"
    )
    for rule in report.matches:
        print(f"sid {rule.sid}: {rule.count:,} matches{f', {rule.message}' if rule.message else ''}")
    if report.matches_unknown:
        print(f"{report.matches_unknown:,} matches came too fast to be told by rule")
