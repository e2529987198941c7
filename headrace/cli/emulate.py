"""``headrace emulate``: mobile networks of real programs."""

from __future__ import annotations

import json as json_format
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import common
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.emulator.client import Elsewhere
    from headrace.emulator.scenario import Scenario

_RUN_EPILOG = """Examples:

headrace emulate run scenario.toml

headrace emulate run scenario.toml --fabric rtl --record links.jsonl

headrace emulate run scenario.toml --cluster tcp://head:8786

It needs no root where the machine has user namespaces.
"""

_SWEEP_EPILOG = """Examples:

headrace emulate sweep scenario.toml

headrace emulate sweep scenario.toml --phys 2,3 --endpoint 700,500 --jam ""

headrace emulate sweep scenario.toml --seeds 100 --cluster tcp://head:8786 --json
"""

_PLAN_EPILOG = """Examples:

headrace emulate plan scenario.toml

headrace emulate plan scenario.toml --steps 60 --plot plan.png

headrace emulate plan scenario.toml --record links.jsonl
"""

_DASHBOARD_EPILOG = """Examples:

headrace emulate dashboard scenario.toml

headrace emulate dashboard --name other --host 0.0.0.0 --port 8081

It needs NiceGUI: pip install 'headrace\\[dashboard]'.
"""

_TRAFFIC_EPILOG = """Examples:

headrace emulate traffic n1 n5 --kind image --duration 30

headrace emulate traffic n1 n5 --kind telemetry --size 500 --rate 1e6 --count 1000 --json

Images and commands are sent again until they are acknowledged, telemetry is sent once.
"""

_EXAMPLES = {
    "new": ("new scenario.toml",),
    "check": ("check scenario.toml", "check scenario.toml --fabric rtl"),
    "status": ("status", "status --node n1", "status --json"),
    "step": ("step", "step --json"),
    "hold": ("hold", "hold --off"),
    "exec": ("exec n1 ping -c 3 n2", "exec n1 ip route", "exec n1 cat /run/headrace/links.json"),
    "shell": ("shell n3",),
    "capture": ("capture n1:phy0 -w n1.pcap", "capture n1:n2 -w link.pcap", "capture n1 -w n1.pcap udp port 4850"),
    "jam": ("jam n1", "jam n1:n2 --loss 0.5", "jam n3:phy1 n7:phy0", "jam n1 --off"),
    "stop": ("stop", "stop --name other"),
}


def _examples(command: str) -> str:
    return "\n\n".join(["Examples:", *(f"headrace emulate {words}" for words in _EXAMPLES[command])])


Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the emulation.")]
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="The node's name.")]
Fabric = Annotated[
    str | None,
    typer.Option(
        metavar="software|rtl|ovs", help="What carries frames between the nodes.", show_default="the scenario's"
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Refuse movement files with a part that can't be used, or with a name that is given twice."
    ),
]
_PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}

app = typer.Typer(
    name="emulate",
    help="Mobile networks of real programs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Add the group of commands."""
    parent.add_typer(app)


@app.callback()
def _group() -> None:
    """Mobile networks of real programs."""


@app.command("new", epilog=_examples("new"))
def new_command(file: Annotated[Path, typer.Argument(metavar="FILE", help="The new scenario's file.")]) -> None:
    """Write an example scenario."""
    from headrace.emulator.scenario import EXAMPLE

    try:
        with file.open("x") as new:
            new.write(EXAMPLE)
    except OSError as error:
        raise HeadraceError(f"{file}: {error.strerror}") from None
    print(f"{file}: now headrace emulate run {file}")


@app.command("check", epilog=_examples("check"))
def check_command(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario's file.")],
    fabric: Fabric = None,
    strict: Strict = False,
) -> None:
    """Check a scenario: show its errors, or a summary. Nothing is started."""
    from headrace.emulator import keeper, scenario

    found = scenario.read(file, fabric, strict)
    _tell_notes(found)
    keeper.check(found)
    print(
        f"{file}: {len(found.nodes)} nodes with {found.phys} PHYs, {found.duration_s:g} s in steps of "
        f"{found.step_s:g} s, fabric {found.fabric}, {sum(len(program.nodes) for program in found.programs)} programs"
    )


def _tell_notes(scenario: Scenario) -> None:
    for line in scenario.notes:
        common.tell(line)


@app.command("plan", epilog=_PLAN_EPILOG)
def plan_command(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario's file.")],
    steps: Annotated[
        int | None, typer.Option(min=1, help="How many steps to compute.", show_default="until its end")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw links, coverage and a map: PNG, SVG or PDF.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the links of each step, for run --replay.")
    ] = None,
    strict: Strict = False,
    json: common.Json = False,
) -> None:
    """Compute links, changes and coverage of each step of a scenario. No node is started."""
    from headrace.emulator import plan, scenario

    read = scenario.read(file, strict=strict)
    _tell_notes(read)
    with common.long_progress() as progress:
        found = plan.plan(read, steps, record, lambda done: progress("steps", done))
    if plot is not None:
        plan.draw(found, read, plot)
    if json:
        print(json_format.dumps(found.to_json(), indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("time (s)", "links", "found", "lost", "coverage", "hops", "rate (Mb/s)", "loss"):
        table.add_column(heading, justify="right")
    for step in found.steps:
        numbers = (f"{step.time_s:g}", f"{step.links}", f"{step.found}", f"{step.lost}", f"{step.coverage:.1%}")
        table.add_row(*numbers, f"{step.hops:.1f}", f"{step.rate_bps / 1e6:.3g}", f"{step.loss:.3g}")
    Console().print(table)
    print(f"{len(found.steps):,} steps; {found.changes:,} links changed; coverage {found.coverage:.1%} in the mean")


@app.command("sweep", epilog=_SWEEP_EPILOG)
def sweep_command(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario's file.")],
    phys: Annotated[str, typer.Option(metavar="N,...", help="Numbers of PHYs of a node.")] = "1,2,3,4",
    jam: Annotated[
        str, typer.Option(metavar="N,...", help="Numbers of links to jam, with the scenario's number of PHYs.")
    ] = "4,8,16,24",
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of seeds; each has its own movement, shadowing and jamming.")
    ] = 20,
    steps: Annotated[int, typer.Option(min=1, help="Time steps of each seed.")] = 11,
    coordinator: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y[,Z]", help="Place of the coordinator, in metres.", show_default="the middle of the nodes"
        ),
    ] = None,
    coordinator_phys: Annotated[int, typer.Option(min=0, help="Its PHYs for links to nodes.")] = 1,
    endpoint: Annotated[
        list[str] | None, typer.Option(metavar="X,Y[,Z]", help="Place of a routing endpoint; may be given again.")
    ] = None,
    endpoint_phys: Annotated[int, typer.Option(min=0, help="Its PHYs for links to nodes.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the points on this Dask cluster instead of here.")
    ] = None,
    strict: Strict = False,
    json: common.Json = False,
) -> None:
    """Count the nodes that a coordinator reaches, by numbers of PHYs and of jammed links. No node is started."""
    from headrace.evaluate import sweep

    with common.long_progress() as progress:
        found = sweep.sweep(
            file,
            sweep.counts(phys),
            sweep.counts(jam),
            seeds=seeds,
            steps=steps,
            coordinator=None if coordinator is None else sweep.place(coordinator),
            coordinator_phys=coordinator_phys,
            endpoints=[sweep.place(each) for each in endpoint or []],
            endpoint_phys=endpoint_phys,
            address=cluster,
            progress=lambda done: progress("points", done),
            strict=strict,
            tell=common.tell,
        )
    if json:
        print(json_format.dumps(found.to_json(), indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    covered = Table("PHYs", "nodes reached", "the least", "moments with all", "that could", box=None, pad_edge=False)
    for count, each in found.coverage.items():
        covered.add_row(
            f"{count}", f"{each.mean:.1%}", f"{each.least:.1%}", f"{each.full} of {each.scenes}", f"{each.possible}"
        )
    left = Table(
        "links jammed", "nodes reached", "the least", "by what is left", "links found", box=None, pad_edge=False
    )
    for count, after in found.resiliency.items():
        left.add_row(f"{count}", f"{after.after:.1%}", f"{after.least:.1%}", f"{after.left:.1%}", f"{after.found:.1f}")
    for table in (covered, left):
        if table.row_count:
            Console().print(table)


@app.command("run", epilog=_RUN_EPILOG)
def run_command(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario's file.")],
    fabric: Fabric = None,
    name: Name = "default",
    hold: Annotated[bool, typer.Option("--hold", help="Wait at each time step for headrace emulate step.")] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the links of each step, for --replay.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the links from a record, not from movement and radio.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run over several hosts: the workers of this Dask cluster, one a host. Needs root on them.",
        ),
    ] = None,
    strict: Strict = False,
    background: common.Background = False,
    json: common.Json = False,
) -> None:
    """Run a scenario until its end, Ctrl-C or headrace emulate stop. It leaves nothing behind."""
    from headrace.emulator.keeper import EmulationJob, run

    job = EmulationJob(file, name, fabric, hold, record, replay, strict=strict)
    say = common.background(background)

    def tell(line: str) -> None:
        say(f"ready: {line}" if line.startswith(f"the emulation {name} is up") else line)

    with common.progress_line():  # fabrics of cards may be built
        if cluster is None:
            report = run(job, tell)
        else:
            from headrace.emulator import cluster as hosts

            report = hosts.run(job, cluster, tell)
    if json:
        print(json_format.dumps(report, indent=2))
    else:
        _show_report(report)


def _show_report(report: dict[str, Any]) -> None:
    print(
        f"{report['steps']:,} steps, {report['time_s']:g} s; {report['links_changed']:,} links changed; "
        f"coverage {report['coverage']:.1%}"
    )
    _show_machine(report["fidelity"])
    for host in report.get("hosts", ()):
        if host["fidelity"] is not None:
            _show_machine(host["fidelity"], f"host {host['host']}: ")
    _show_streams(report["traffic"])
    for line in (*report["not_applied"], *report["fidelity"]["doubtful"]):
        print(line)


def _show_machine(fidelity: dict[str, Any], where: str = "") -> None:
    """How it kept up."""
    print(
        f"{where}steps late by {fidelity['late_s']['mean'] * 1e3:.1f} ms in the mean, "
        f"{fidelity['late_s']['max'] * 1e3:.1f} ms at most; "
        f"processors busy {fidelity['processor_load']['mean']:.0%} in the mean, "
        f"{fidelity['processor_load']['max']:.0%} at most; "
        f"packets dropped by full queues of the machine: {fidelity['queueing']['packets_dropped']:,}"
    )
    if (line := fidelity["delay_line"]) is not None:
        late_ms = {part: late_s * 1e3 for part, late_s in line["late_s"].items()}
        print(
            f"{where}frames that were delayed: {line['frames']:,}; late by {late_ms['median']:.2f} ms (median), "
            f"{late_ms['p99']:.2f} ms (p99), {late_ms['max']:.2f} ms at most"
        )


@app.command("status", epilog=_examples("status"))
def status_command(
    node: Annotated[
        str | None, typer.Option(metavar="NODE", help="Show one node: its processes, connections, routes and counts.")
    ] = None,
    name: Name = "default",
    json: common.Json = False,
) -> None:
    """Show the running emulation: its time, nodes, programs, links and traffic."""
    from headrace.emulator import control

    if node is None:
        _show_status(control.ask(name, command="status"), json)
        return
    found = control.ask(name, command="processes", node=node)["processes"]
    if json:
        print(json_format.dumps(found, indent=2))
    else:
        _show_processes(found)


def _show_processes(found: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    processes = Table("process", "connected to node", "counts", box=None, pad_edge=False)
    for each in found:
        counts = ", ".join(f"{key} {count:,}" for key, count in each.get("counts", {}).items() if count)
        peers = " ".join(map(str, each.get("peers", [])))
        processes.add_row(each["role"], peers, each.get("error", counts))
    console.print(processes)
    routes = Table("to node", "via", "PHY", "hops", box=None, pad_edge=False)
    for route in next((each["routes"] for each in found if "routes" in each), []):
        routes.add_row(*(str(route[key]) for key in ("to", "via", "phy", "hops")))
    console.print(routes)


def _show_streams(streams: list[dict[str, Any]]) -> None:
    if not streams:
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "stream", "kind", "bytes", "sent", "received", "lost", "flying", "hops", "p50/p99 ms", "Mb/s",
        box=None, pad_edge=False, collapse_padding=True,
    )  # fmt: skip
    for each in streams:
        latency = each["latency_s"]
        table.add_row(
            each["name"],
            each["kind"],
            f"{each['size']:,}",
            *(f"{each[key]:,}" for key in ("sent", "received", "lost", "in_flight", "hops")),
            f"{latency['p50'] * 1e3:.3g}/{latency['p99'] * 1e3:.3g}" if latency else "",
            f"{each['throughput_bps'] / 1e6:.3g}",
        )
    Console().print(table)


@app.command("traffic", epilog=_TRAFFIC_EPILOG)
def traffic_command(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The node that sends.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="The node that receives.")],
    kind: Annotated[
        str, typer.Option(metavar="telemetry|command|image", help="The kind of the messages.")
    ] = "telemetry",
    size: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", help="Size of a message, at most 65,000 bytes.", show_default="depends on the kind"
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="BPS", help="Rate of the messages in bits per second.")] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="Seconds between messages; 0: one after the other.", show_default="depends on the kind"
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(metavar="N", help="How many messages to send.", show_default="no end")
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(metavar="S", help="How long to send, in seconds.", show_default="10, where there is no --count"),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Don't wait: see headrace emulate status.")] = False,
    name: Name = "default",
    json: common.Json = False,
) -> None:
    """Send messages from one node to another, and report how they arrived. Ctrl-C ends the stream."""
    from headrace.emulator.client import interrupt_held, traffic, wait_for_stream

    duration = 10.0 if duration is None and count is None else duration
    given = {"kind": kind, "size": size, "rate_bps": rate, "interval_s": interval, "count": count}
    with interrupt_held() as let_in:
        stream = traffic(name, source, to, duration_s=duration, **given)
        if detach:
            print(json_format.dumps({"stream": stream}) if json else f"{stream}: see headrace emulate status")
            return
        with common.progress_line() as progress:
            show = None if progress is None else lambda now: progress(_so_far(now), None)
            found = wait_for_stream(name, stream, show, let_in=let_in)
    if json:
        print(json_format.dumps(found, indent=2))
    else:
        _show_streams([found])


def _show_status(found: dict[str, Any], json: bool) -> None:
    if json:
        print(json_format.dumps(found, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    print(f"{found['time_s']:g} s, step {found['step']}, fabric {found['fabric']}, coverage {found['coverage']:.1%}")
    nodes = Table("node", "address", "position (m)", "programs", box=None, pad_edge=False)
    for node in found["nodes"]:
        programs = ", ".join(f"{program} {state}" for program, state in node["programs"].items())
        if "host" in node:
            programs = f"on {node['host']}{', down' if node['down'] else ''} {programs}"
        nodes.add_row(node["name"], node["address"], " ".join(f"{x:.0f}" for x in node["position_m"]), programs)
    links = Table("link", "PHYs", "distance (m)", "rate (Mb/s)", "loss", "frames", box=None, pad_edge=False)
    for link in found["links"]:
        links.add_row(
            "-".join(link["nodes"]),
            "-".join(link["phys"]),
            f"{link['distance_m']:.0f}",
            f"{link['rate_bps'] / 1e6:g}",
            f"{link['loss']:.3g}",
            "/".join(f"{count:,}" for count in link["sent"]),
        )
    console.print(nodes)
    console.print(links)
    _show_streams(found["traffic"])
    if coordinator := found["coordinator"]:
        print(f"{len(coordinator['reached'])} of {coordinator['of']} nodes have a route to {coordinator['node']}")
    if found["jammed"]:
        print("jammed: " + ", ".join("-".join(pair) for pair in found["jammed"]))
    if found["lost_phys"]:
        print("PHYs lost: " + ", ".join(":".join(phy) for phy in found["lost_phys"]))


def _so_far(stream: dict[str, Any]) -> str:
    return f"{stream['received']:,} of {stream['sent']:,} messages have come, {stream['throughput_bps'] / 1e6:.3g} Mb/s"


@app.command("step", epilog=_examples("step"))
def step_command(name: Name = "default", json: common.Json = False) -> None:
    """Go to the next time step of an emulation that is on hold."""
    from headrace.emulator import control

    _show_status(control.ask(name, command="step"), json)


@app.command("hold", epilog=_examples("hold"))
def hold_command(
    off: Annotated[bool, typer.Option("--off", help="Let time go on.")] = False, name: Name = "default"
) -> None:
    """Let the running emulation wait at each time step for headrace emulate step."""
    from headrace.emulator import control

    control.ask(name, command="hold", on=not off)


@app.command("exec", epilog=_examples("exec"), context_settings=_PASS_ON)
def exec_command(
    node: NodeName,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command to run.")],
    name: Name = "default",
) -> None:
    """Run a command in a node. Its exit code is the command's."""
    _enter(name, node, command[1:] if command[0] == "--" else command)


def _enter(name: str, node: str, command: list[str], terminal: bool = False) -> None:
    """``terminal``: the command wants the one that there is, on whichever host it runs."""
    from headrace.emulator.client import Elsewhere, entering
    from headrace.emulator.terminal import own_session, run

    if terminal:
        command = own_session(command)
    try:
        words = [*entering(name, node), *command]
    except Elsewhere as there:
        from headrace.emulator import remote

        source = -1 if sys.stdin is None else 0
        raise typer.Exit(remote.run(there, command, _write_through, source=source, terminal=terminal)) from None
    try:
        if terminal:
            raise typer.Exit(run(words))
        os.execvp(words[0], words)
    except OSError as error:
        raise HeadraceError(f"{words[0]}: {error.strerror}: it is in Debian's util-linux") from None


def _write_through(file: int, data: bytes) -> None:
    out = sys.stdout.buffer if file == 1 else sys.stderr.buffer
    out.write(data)
    out.flush()


@app.command("shell", epilog=_examples("shell"))
def shell_command(node: NodeName, name: Name = "default") -> None:
    """Open a shell in a node."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    _enter(name, node, ["sh", "-c", 'exec "$(command -v "$SHELL" || echo sh)"'], terminal)


@app.command("capture", epilog=_examples("capture"))
def capture_command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NODE[:PHY|:NODE]", help="What to capture: a node (n1), a PHY (n1:phy0) or a link (n1:n2)."
        ),
    ],
    write: Annotated[Path, typer.Option("-w", metavar="FILE", help="The capture, as tcpdump writes it.")],
    expression: Annotated[list[str] | None, typer.Argument(metavar="[FILTER...]", help="In tcpdump's syntax.")] = None,
    name: Name = "default",
) -> None:
    """Capture what a node sends and receives, by tcpdump, until Ctrl-C."""
    from headrace.emulator.client import Elsewhere, entering, phy_of

    node, _, end = target.partition(":")
    phy = phy_of(name, node, end) if end else "any"

    def tcpdump(file: str) -> list[str]:
        return ["tcpdump", "-i", phy, "-U", "-w", file, "-Z", "root", *(expression or [])]

    try:
        words = [*entering(name, node, files=False), *tcpdump(str(write.absolute()))]
    except Elsewhere as there:
        raise typer.Exit(_capture_there(there, tcpdump("-"), write)) from None
    os.execvp(words[0], words)


def _capture_there(there: Elsewhere, words: list[str], write: Path) -> int:
    from headrace.emulator import remote

    try:
        with write.open("wb") as file:

            def take(number: int, data: bytes) -> None:
                if number == 1:
                    file.write(data)
                    file.flush()
                else:
                    _write_through(number, data)

            return remote.run(there, words, take, files=False)
    except OSError as error:
        raise HeadraceError(f"{write}: {error.strerror}") from None


@app.command("jam", epilog=_examples("jam"))
def jam_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="NODE|A:B|A:PHY...", help="What to jam: a node (n1), a link (n1:n2) or a PHY (n1:phy0)."
        ),
    ],
    loss: Annotated[
        float, typer.Option(min=0, max=1, help="Share of frames that are lost; 1: the link is down.")
    ] = 1.0,
    off: Annotated[bool, typer.Option("--off", help="End the jam.")] = False,
    name: Name = "default",
) -> None:
    """Jam links and PHYs of the running emulation. PHYs that this leaves free find the next best links at once."""
    from headrace.emulator import control

    control.ask(name, command="jam", targets=targets, loss=0.0 if off else loss)


@app.command("dashboard", epilog=_DASHBOARD_EPILOG)
def dashboard_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO", help="Scenario to run, until the dashboard ends; without it, show the one of --name."
        ),
    ] = None,
    name: Name = "default",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address that the dashboard listens at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0: any free one.")] = 8080,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN", help="Token that browsers must give.", show_default="none on loopback, otherwise random"
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run over the hosts of this Dask cluster: see run.")
    ] = None,
) -> None:
    """Show an emulation in the browser: a map, graphs of all links, jams, routes. Until Ctrl-C."""
    from headrace.emulator.dashboard import DashboardJob, serve

    serve(DashboardJob(name, file, host, port, token, cluster), common.tell)


@app.command("stop", epilog=_examples("stop"))
def stop_command(name: Name = "default") -> None:
    """End the running emulation; returns when nothing is left of it."""
    from headrace.emulator.client import stop

    stop(name)
