"""Runs an emulation from outside: the process that a user has started, and waits until nothing is left of it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.emulator import control, daemons, hardware, kernel, systems, timeline
from headrace.emulator.fabric import kinds as fabrics
from headrace.emulator.inside import roles
from headrace.emulator.scenario import Scenario, located, read
from headrace.emulator.share import Share, outside
from headrace.errors import HeadraceError

NODE_BYTES, PHY_BYTES, PROCESS_BYTES = 6 << 20, 128 << 10, 5 << 20
"""Memory that a node takes without its programs, each PHY of it, and each process of the emulator's own: more than was
measured."""

_LEFT_FILES = 64
_KILLED = "the emulation was killed"
_EVERYTHING = kernel.NEWNS | kernel.NEWNET | kernel.NEWPID | kernel.NEWUTS | kernel.NEWIPC


@dataclass(frozen=True)
class EmulationJob:
    """What to run: a scenario's file. ``fabric`` instead of its own; ``name`` by which it is reached; ``hold``: steps
    come when they are asked for; ``record`` the links into a file; ``replay`` those of a file; ``share``: only what is
    this host's, and steps are what ``step`` is told; ``strict``: see ``scenario.read``."""

    scenario: Path
    name: str = "default"
    fabric: str | None = None
    hold: bool = False
    record: Path | None = None
    replay: Path | None = None
    share: Share | None = None
    strict: bool = False


def check(scenario: Scenario) -> None:
    """Raises HeadraceError where this machine can't run a scenario."""
    with located(scenario.file):
        systems.check(scenario.systems)
        fabrics.check(scenario.fabric, scenario.ports, scenario.fabric_parameters, scenario.fabric_cards)
    daemons.check(scenario.routing)
    nodes = len(scenario.nodes)
    own = len(roles(scenario))
    needed = nodes * (NODE_BYTES + scenario.phys * PHY_BYTES + own * PROCESS_BYTES)
    free = _meminfo("MemAvailable")
    if needed > free:
        raise HeadraceError(
            f"too many nodes for this machine: {nodes} with {scenario.phys} PHYs take about {needed >> 20:,} MiB "
            f"without their programs, and {free >> 20:,} MiB are free"
        )
    for kind in ("net", "pid", "mnt", "uts", "ipc"):
        most = _number(f"/proc/sys/user/max_{kind}_namespaces")
        if nodes * (1 + own * (kind == "net")) + 1 > most:
            raise HeadraceError(
                f"too many nodes for this machine: {nodes} of them, and at most {most} {kind} namespaces "
                f"(user.max_{kind}_namespaces)"
            )
    processes = nodes * (1 + own) + sum(len(program.nodes) for program in scenario.programs) + 16
    most = _number("/proc/sys/kernel/pid_max")
    if os.geteuid() != 0 and (limit := resource.getrlimit(resource.RLIMIT_NPROC)[0]) != resource.RLIM_INFINITY:
        most = min(most, limit)
    if processes > most:
        raise HeadraceError(f"too many nodes for this machine: {processes} processes, and {most} are allowed")
    files, hard = nodes + _LEFT_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and files > hard:
        raise HeadraceError(f"too many nodes for this machine: {files} open files, and {hard} are allowed (ulimit -n)")


Progress = Callable[[str, int, int], None]
"""What is being built, how many of it are there, and of how many."""


def run(job: EmulationJob, tell: Callable[[str], None], progress: Progress | None = None) -> dict[str, Any]:
    """Runs it until its end, SIGINT, SIGTERM or ``headrace emulate stop``; then nothing is left of it. Gives the
    report: see ``World``. Raises HeadraceError."""
    scenario = read(job.scenario, job.fabric, job.strict)
    for line in scenario.notes:
        tell(line)
    fetching = tell if progress is None else _as_part(progress, len(scenario.nodes))
    progress = progress or (lambda *_: None)
    progress(f"fabric {scenario.fabric}", 0, len(scenario.nodes))
    share, network = job.share, -1
    with located(scenario.file):
        for each in scenario.hardware:
            if share is None and each.host is not None:
                what = f"{each.host}: that is for several hosts, by --cluster"
                raise HeadraceError(f"hardware.{each.name}.host: {what}", 2)
    hardware.check([each for each in scenario.hardware if share is None or each.node in share.nodes()])
    check(scenario if share is None else replace(scenario, nodes=tuple(scenario.nodes[node] for node in share.nodes())))
    if share is not None or scenario.hardware:
        network = outside()
    steps = _steps(job, scenario)
    roots = systems.folders(scenario.systems, fetching)
    fabrics.build(scenario.fabric, scenario.ports, scenario.fabric_parameters, scenario.fabric_cards)
    with control.listen(job.name) as listener, kernel.adopting():
        record = None if job.record is None else timeline.Record(job.record, scenario.nodes)
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for link in (here, there):
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(
                here,
                there,
                listener,
                lambda: _world(scenario, steps, there, listener, job.hold, record, share, network, roots),
            )
        there.close()
        listener.close()
        with here:
            return _attend(here, child, job, tell, progress)


def _as_part(progress: Progress, nodes: int) -> Callable[[str], None]:
    return lambda part: progress(part, 0, nodes)


def _steps(job: EmulationJob, scenario: Scenario) -> timeline.Timeline:
    if job.share is not None:
        return timeline.Pushed(len(scenario.nodes))
    return timeline.of(scenario, job.replay)


def _attend(
    link: socket.socket, child: int, job: EmulationJob, tell: Callable[[str], None], progress: Progress
) -> dict[str, Any]:
    """Until the emulation has ended: ``child``, and process 1, which is in its group."""
    last: dict[str, Any] = {"error": _KILLED}
    ends = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda: None)
    try:
        with kernel.Wakeup(ends) as wakeup, selectors.DefaultSelector() as selector:
            selector.register(link, selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if wakeup in ready:
                    wakeup.clear()
                    link.send(b"s")
                if link in ready:
                    data = link.recv(1 << 20)
                    if not data:
                        break
                    message = json.loads(data)
                    if message.get("tell") == "up":
                        tell(f"the emulation {job.name} is up after {message['built_s']:.1f} s")
                    elif message.get("tell") == "building":
                        progress(message["part"], message["done"], message["of"])
                    else:
                        last = message
    except OSError:
        pass
    finally:
        link.close()
        os.waitpid(child, 0)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-child, 0)
    if "error" in last:
        raise HeadraceError(last["error"], int(last.get("exit_code", 1)))
    return last


def _child(
    here: socket.socket, there: socket.socket, listener: socket.socket, first: Callable[[], dict[str, Any]]
) -> None:
    """The process between, outside of the namespaces; it does not return."""
    try:
        kernel.begin_child()
        here.close()
        os.setsid()
        if os.geteuid() != 0:
            kernel.map_to_root()
        try:
            kernel.unshare(_EVERYTHING)
        except HeadraceError as error:
            raise HeadraceError(f"no permission: {error}") from None
        pid = os.fork()
        if pid == 0:
            _first_process(there, first)
        listener.close()
        there.close()
        os.waitpid(pid, 0)
    except HeadraceError as error:
        _say(there, {"error": str(error), "exit_code": error.exit_code})
    finally:
        os._exit(0)


def _first_process(there: socket.socket, first: Callable[[], dict[str, Any]]) -> None:
    """Process 1, which does not return."""
    try:
        kernel.begin_child()
        _say(there, first())
    except HeadraceError as error:
        _say(there, {"error": str(error), "exit_code": error.exit_code})
    except BaseException as error:
        _say(there, {"error": f"the emulation broke off: {type(error).__name__}: {error}"})
        raise
    finally:
        os._exit(0)


def _world(
    scenario: Scenario,
    steps: timeline.Timeline,
    keeper: socket.socket,
    listener: socket.socket,
    hold: bool,
    record: timeline.Record | None,
    share: Share | None,
    network: int,
    roots: Mapping[int, Path],
) -> dict[str, Any]:
    from headrace.emulator import world

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(scenario.nodes) + _LEFT_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    world.begin(world.BASE)
    more: dict[str, Any] = {"share": share, "network": network, "roots": roots}
    return world.World(scenario, steps, keeper, listener, hold=hold, record=record, **more).run()


def _say(link: socket.socket, message: dict[str, Any]) -> None:
    try:
        link.send(json.dumps(message).encode())
    except OSError:
        pass


def _meminfo(key: str) -> int:
    """Bytes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


def _number(path: str) -> int:
    try:
        return int(Path(path).read_text())
    except OSError:
        return 1 << 30
