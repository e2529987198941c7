"""A scenario: a TOML file that says which nodes there are, how they move, what joins them and what runs in them."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from headrace.emulator import daemons
from headrace.emulator.daemons import DAEMONS
from headrace.emulator.movement import Movement, read_movement
from headrace.emulator.movement.base import Frame, Joined
from headrace.emulator.movement.choose import callable_name
from headrace.emulator.radio import Radio, read_radio
from headrace.emulator.radio.jammers import read_jammer
from headrace.emulator.radio.obstacles import read_obstacle
from headrace.emulator.systems import System
from headrace.emulator.tables import OUT_OF_SIZE, out_of_size
from headrace.emulator.traffic import Demand, read_demand
from headrace.errors import HeadraceError

FABRICS = ("software", "rtl", "ovs")
PROCESSES = ("none", "manet")
ROUTINGS = ("none", "shortest", *DAEMONS)
MAX_NODES = 4000
MAX_PHYS = 16
MAX_CARDS = 32
"""With which most PHYs have room, each card with a cable to each other one."""

EXAMPLE = """\
# 32 nodes that wander over a square kilometre around a wood, and a jammer that goes by: headrace emulate run FILE
nodes = 32             # n1 to n32; or a list of names
phys = 4               # radios of a node: links that it can have at once
step_s = 1.0           # so often positions and links are new
duration_s = 600       # of the run; left out: as long as the movement
fabric = "software"    # or "rtl": the switch card, whose links have delay; or "ovs": Open vSwitch in user space
routing = "shortest"   # the controller sets routes; or babeld, bird, frr, batmand; "none": what runs in the nodes does

[movement]             # or from a file: GPX, KML, CZML, CSV, ns-2, BonnMotion, SUMO ...
kind = "random-waypoint"
area_m = [1000.0, 1000.0]
speed_mps = [5.0, 20.0]
pause_s = [0.0, 10.0]
seed = 1

[radio]                # rates and losses come from the signal; model = "range": as far as range_m
model = "log-distance"
exponent = 2.7
shadowing_db = 4.0
power_dbm = 20.0

[obstacles.wood]
polygon = [[420, 380], [560, 400], [620, 520], [540, 640], [400, 560]]
height_m = 20.0
loss_db_per_m = 0.1

[jammers.truck]
power_dbm = 10.0
on_s = [[60, 180], [300, 420]]

[jammers.truck.movement]
kind = "gauss-markov"
area_m = [1000.0, 1000.0]
mean_speed_mps = 15.0
seed = 2

# Messages between nodes: kind, size, interval_s or rate_bps, count, start_s, duration_s.
[traffic.readings]
from = "n1"
to = "n5"
kind = "telemetry"     # or "command", "image", which are sent again until they have come

# What runs in the nodes: any command. Nodes that aren't named here: all.
[programs.hello]
command = "sh -c 'echo this is $HEADRACE_NODE at $HEADRACE_ADDRESS'"
nodes = ["n1", "n2"]
"""

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,30}")
_NODE = re.compile(r"(?!\d+\.[\d.]*$)[A-Za-z0-9][A-Za-z0-9._-]{0,30}")  # no address
_OWN = re.compile(r"control|messenger|m?phy\d*|load")
_KEYS = {
    "nodes", "phys", "step_s", "duration_s", "fabric", "fabric_cards", "fabric_parameters", "routing", "hello_s",
    "movement", "radio", "jammers", "obstacles", "programs", "image", "rootfs", "systems", "hardware",
    "processes", "coordinator", "endpoints", "traffic",
}  # fmt: skip
_LOCATED = "movement|radio|jammers|obstacles|fabric|fabric_parameters|fabric_cards|rootfs|systems|hardware"
_TOO_DEEP = "tables or lists in too many others"
_DEEPEST = 16  # of them in each other
_SYSTEM_KEYS = {"image", "rootfs"}
_PROGRAM_KEYS = {"command", "nodes", "may_fail"}


@dataclass(frozen=True)
class Program:
    """A command that runs in nodes (their indices). ``may_fail``: its end, however it ends, doesn't end the run."""

    name: str
    words: tuple[str, ...]
    nodes: tuple[int, ...]
    may_fail: bool


@dataclass(frozen=True)
class Hardware:
    """An interface of the machine, or of one of several ``host``s. ``node``: by its index; ``phy``: which of its PHYs
    it is; None: the device behind it is the node."""

    name: str
    interface: str
    node: int
    phy: int | None = None
    host: str | None = None


@dataclass(frozen=True)
class Scenario:
    """What a ``file`` says. ``nodes``: names; ``phys``: of each node; ``step_s``, ``duration_s``: seconds; ``folder``:
    what paths in it are relative to, and where programs start; ``hello_s``: seconds between hellos of routing daemons,
    which are among ``programs``; ``fabric_cards``: None: as few as have room; ``notes``: lines to tell the user of what
    is left out of files, or taken otherwise than it stands there."""

    file: Path
    folder: Path
    nodes: tuple[str, ...]
    phys: int
    step_s: float
    duration_s: float
    movement: Movement
    radio: Radio
    fabric: str = "software"
    fabric_parameters: Mapping[str, Any] = field(default_factory=dict)
    fabric_cards: int | None = None
    routing: str = "none"
    hello_s: float = 1.0
    programs: tuple[Program, ...] = ()
    processes: str = "none"
    coordinator: int | None = None
    endpoints: tuple[int, ...] = ()
    traffic: tuple[Demand, ...] = ()
    systems: tuple[System, ...] = ()
    hardware: tuple[Hardware, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def surroundings(self) -> dict[str, Any]:
        """What positions are relative to, and what stands there, as plain data."""
        frame = self.movement.frame
        return {
            "frame": {"earth": frame.earth, "origin_deg": frame.origin_deg},
            "obstacles": [each.described() for each in self.radio.obstacles],
        }

    @property
    def devices(self) -> frozenset[int]:
        """Nodes that are hardware: nothing runs there."""
        return frozenset(each.node for each in self.hardware if each.phy is None)

    @property
    def ports(self) -> int:
        """Of the fabric: one for each PHY."""
        return len(self.nodes) * self.phys


def address(node: int) -> str:
    """The IPv4 address of a node, by its index from 0."""
    return f"10.0.{node + 1 >> 8}.{node + 1 & 255}"


def address6(node: int) -> str:
    """Its IPv6 address."""
    return f"fd00:6872::{node + 1:x}"


def mac(node: int, phy: int) -> str:
    """The address of a PHY."""
    return f"02:00:{node + 1 >> 8:02x}:{node + 1 & 255:02x}:00:{phy:02x}"


def read(path: Path, fabric: str | None = None, strict: bool = False) -> Scenario:
    """The scenario of a file; ``fabric`` instead of its own; ``strict``: what would be left out of files of movement is
    an error. Raises HeadraceError with the line and the key of what is wrong."""
    try:
        text = path.read_text()
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise HeadraceError(f"{path}: not text in UTF-8", 2) from None
    return parse(path, text, fabric, strict=strict)


def parse(path: Path, text: str, fabric: str | None = None, seed: int | None = None, strict: bool = False) -> Scenario:
    """The scenario of a text, of which ``path`` is the name; ``seed`` for all that is drawn, instead of its own. Raises
    HeadraceError as ``read`` does."""
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and what Python says of integers of thousands of digits
        raise HeadraceError(f"{path}: {error}", 2) from None
    except RecursionError:
        raise HeadraceError(f"{path}: {_TOO_DEEP}", 2) from None
    if fabric is not None:
        table["fabric"] = fabric
    if seed is not None:
        _reseed(table, seed)
    return _Reader(path, text, table, strict).scenario()


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Errors in what a scenario's file asks for, which begin with a key, get the file and the line."""
    try:
        yield
    except HeadraceError as error:
        raise _Reader(path, path.read_text(), {}, strict=False).located(error) from None


def _reseed(table: dict[str, Any], seed: int) -> None:
    moves = table.get("movement")
    jammers = table.get("jammers")
    drawn = list(moves) if isinstance(moves, list) else [moves]
    drawn += [each.get("movement") for each in jammers.values() if isinstance(each, dict)] if jammers else []
    for number, each in enumerate(drawn):
        if isinstance(each, dict) and each.get("kind") in ("random-waypoint", "gauss-markov"):
            each["seed"] = seed + number * 1_000_003  # two movements don't draw the same
    radio = table.get("radio")
    if isinstance(radio, dict) and radio.get("model", "range") != "range":
        radio["seed"] = seed


def _renamed(value: Any, called: Mapping[str, str]) -> Any:
    """A value of TOML, in which names are others."""
    if isinstance(value, dict):
        return {called.get(key, key): _renamed(each, called) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, called) for each in value]
    return called.get(value, value) if isinstance(value, str) else value


class _Reader:
    def __init__(self, path: Path, text: str, table: dict[str, Any], strict: bool) -> None:
        self._path, self._text, self._table, self._strict = path, text, table, strict

    def scenario(self) -> Scenario:
        table = self._table
        self._check_values((), table)
        for key in table:
            if key not in _KEYS:
                raise self._wrong((), key, f"no such key: there are {', '.join(sorted(_KEYS))}")
        called = self._called()
        names = self._names()
        phys = self._number((), "phys", 4, 1, MAX_PHYS, whole=True)
        step_s = self._number((), "step_s", 1.0, 1e-3, 1e6)
        moves = self._movement(names)
        if "duration_s" not in table and moves.duration_s < step_s:
            what = f"it ends after {moves.duration_s:g} s, before a step of {step_s:g} s"
            raise self._wrong(("movement",), "duration_s", what)
        duration_s = self._number((), "duration_s", moves.duration_s, step_s, float("inf"))
        parameters = self._section("fabric_parameters", required=False)
        hello_s = self._number((), "hello_s", 1.0, 0.01, 600)
        routing = self._one_of("routing", ROUTINGS)
        hardware = self._hardware(names, int(phys))
        there = [name for name in names if name not in self._section("hardware", required=False)]
        radio = self._radio(moves.frame, names)
        notes = [f"{name} is called {other}" for name, other in called.items()]
        notes += [*moves.notes, *(line for jammer in radio.jammers for line in jammer.movement.notes)]
        return Scenario(
            file=self._path,
            folder=self._path.resolve().parent,
            nodes=names,
            phys=int(phys),
            step_s=step_s,
            duration_s=duration_s,
            movement=moves,
            radio=radio,
            fabric=self._one_of("fabric", FABRICS),
            fabric_parameters=parameters,
            fabric_cards=self._cards(),
            routing=routing,
            hello_s=hello_s,
            programs=(*self._daemons(routing, hello_s, names, there), *self._programs(names, there)),
            processes=self._one_of("processes", PROCESSES),
            coordinator=self._coordinator(names),
            endpoints=self._endpoints(names),
            traffic=self._traffic(names),
            systems=self._systems(names),
            hardware=hardware,
            notes=tuple(dict.fromkeys(notes)),
        )

    def _check_values(self, where: tuple[str, ...], table: Mapping[str, Any], depth: int = 0) -> None:
        """What no value may be: a string with a NUL, an integer beyond TOML's 64 bits, tables and lists in too many
        others. Raises HeadraceError."""
        for key, value in table.items():
            if "\0" in key:
                raise self._wrong(where, key.replace("\0", "\\0"), "a key with a NUL character")
            self._check_value(where, key, value, depth)

    def _check_value(self, where: tuple[str, ...], key: str, value: object, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._wrong(where, key, _TOO_DEEP)
        if isinstance(value, dict):
            self._check_values((*where, key), value, depth + 1)
        elif isinstance(value, list):
            for number, each in enumerate(value):
                if isinstance(each, dict):
                    self._check_values((*where, key, str(number)), each, depth + 1)
                else:
                    self._check_value(where, key, each, depth + 1)
        elif isinstance(value, str) and "\0" in value:
            raise self._wrong(where, key, "it holds a NUL character")
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise self._wrong(where, key, "an integer beyond 64 bits")

    def _called(self) -> dict[str, str]:
        """What nodes are called whose names names of hosts can't have; they are called so wherever the scenario names
        them."""
        given = self._table.get("nodes")
        found = {
            name: callable_name(name)
            for name in (given if isinstance(given, list) else [])
            if isinstance(name, str) and not _NODE.fullmatch(name) and _NODE.fullmatch(callable_name(name))
        }
        if found:
            self._table = _renamed(self._table, found)
        return found

    def _names(self) -> tuple[str, ...]:
        given = self._table.get("nodes")
        if given is None:
            raise HeadraceError(f"{self._path}: the key nodes is missing: a number of nodes, or their names", 2)
        if isinstance(given, int) and not isinstance(given, bool):
            if not 1 <= given <= MAX_NODES:
                raise self._wrong((), "nodes", f"{given} is not from 1 to {MAX_NODES}")
            return tuple(f"n{number}" for number in range(1, given + 1))
        if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
            raise self._wrong((), "nodes", "neither a number nor a list of names")
        for name in given:
            if not _NODE.fullmatch(name):
                raise self._wrong((), "nodes", f"{name!r} is no name: letters, digits, -, _ and ., at most 31")
        hosts = [name.lower() for name in given]  # names of hosts have no case
        if len(set(hosts)) < len(given):
            twice = next(name for name, host in zip(given, hosts, strict=True) if hosts.count(host) > 1)
            raise self._wrong((), "nodes", f"{twice} is given twice")
        if "localhost" in hosts:
            raise self._wrong((), "nodes", "localhost is each node's name for itself")
        if len(given) > MAX_NODES:
            raise self._wrong((), "nodes", f"{len(given)} nodes, {MAX_NODES} at most")
        return tuple(given)

    def _movement(self, names: tuple[str, ...]) -> Movement:
        """Of one table for all nodes, or of several for some each."""
        tables = self._table.get("movement")
        if not isinstance(tables, list):
            table = self._section("movement")
            return self._reading(partial(read_movement, table, self._folder, names, strict=self._strict))
        parts, left = [], list(names)
        for number, table in enumerate(tables):
            where = f"movement.{number}"
            if not isinstance(table, dict):
                raise self._wrong((), "movement", "neither a table nor tables")
            chosen = [left[index] for index in self._where(("movement", str(number)), table, left)]
            left = [name for name in left if name not in chosen]
            parts.append(self._reading(partial(read_movement, table, self._folder, chosen, where, self._strict)))
        if left or not parts:
            raise self._wrong((), "movement", f"nobody moves {left[0]}")
        if len(parts) > 1 and any(part.visible(0.0) is not None for part in parts):
            raise self._wrong((), "movement", "a file that says who sees whom is for all nodes")
        if len({part.frame for part in parts}) > 1:
            raise self._wrong((), "movement", "not all in the same frame, with the same origin")
        return parts[0] if len(parts) == 1 and parts[0].names == names else Joined(names, parts)

    def _radio(self, frame: Frame, names: Sequence[str]) -> Radio:
        obstacles = [self._reading(partial(read_obstacle, table, name)) for name, table in self._tables("obstacles")]
        table = self._section("radio")
        channels = table.get("channels", 1)
        channels = channels if isinstance(channels, int) else 1
        jammers = [
            self._reading(partial(read_jammer, table, name, self._folder, channels, frame, self._strict))
            for name, table in self._tables("jammers")
        ]
        if frame.earth and (obstacles or table.get("model") == "two-ray"):
            raise self._wrong((), "obstacles" if obstacles else "radio", "only in a local frame")
        return self._reading(partial(read_radio, table, obstacles, jammers, names))

    def _tables(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """The tables in a table, by name."""
        found = self._section(key, required=False)
        for name, table in found.items():
            if not isinstance(table, dict):
                raise self._wrong((key,), name, "not a table")
        return list(found.items())

    @property
    def _folder(self) -> Path:
        return self._path.resolve().parent

    def _reading(self, read: Callable[[], T]) -> T:
        """What a table's own reader gives; its errors begin with the table and the key, and get the line."""
        try:
            return read()
        except HeadraceError as error:
            raise self.located(error) from None

    def located(self, error: HeadraceError) -> HeadraceError:
        """One that begins with a key, with its line; another one, such as a file's, as it is."""
        found = re.match(rf"((?:{_LOCATED})(?:\.[^\s:]*)?): ", str(error))
        if found is None:
            return error
        *where, key = found[1].split(".")
        return HeadraceError(f"{self._path}:{self._at(tuple(where), key)} {error}", error.exit_code)

    def _hardware(self, names: Sequence[str], phys: int) -> tuple[Hardware, ...]:
        """Each is a node by its name, or a PHY beside the emulated ones of a node."""
        found: list[Hardware] = []
        for name, table in self._tables("hardware"):
            where = ("hardware", name)
            for key in table:
                if key not in ("host", "interface", "phy"):
                    raise self._wrong(where, key, "no such key: there are host, interface, phy")
            interface, phy, host = table.get("interface"), table.get("phy"), table.get("host")
            if host is not None and (not isinstance(host, str) or not host):
                raise self._wrong(where, "host", "not the address of a host")
            if not isinstance(interface, str) or not re.fullmatch(r"[^\s/]{1,15}", interface):
                raise self._wrong(where, "interface", "not the name of an interface")
            if (host, interface) in [(each.host, each.interface) for each in found]:
                raise self._wrong(where, "interface", f"{interface} is given twice")
            if phy is None:
                if name not in names:
                    raise self._wrong(("hardware",), name, 'no node of that name, and no phy = "NODE:NUMBER"')
                if self._table.get("processes", PROCESSES[0]) != PROCESSES[0]:
                    raise self._wrong(("hardware",), name, "the nodes' own processes don't run in devices")
                found.append(Hardware(name, interface, names.index(name), host=host))
                continue
            parts = re.fullmatch(r"(.+):(\d{1,2})", phy) if isinstance(phy, str) else None
            if parts is None or parts[1] not in names or int(parts[2]) < phys:
                raise self._wrong(
                    where, "phy", f'{phy!r} is no "NODE:NUMBER" with a number from {phys}: others are emulated'
                )
            if [each for each in found if each.node == names.index(parts[1]) and each.host != host]:
                raise self._wrong(where, "host", f"{parts[1]} can't be on two hosts")
            found.append(Hardware(name, interface, names.index(parts[1]), int(parts[2]), host))
        return tuple(found)

    def _daemons(self, routing: str, hello_s: float, names: Sequence[str], there: Sequence[str]) -> list[Program]:
        """The programs of a routing daemon."""
        if routing not in DAEMONS:
            return []
        try:
            found = daemons.programs(routing, hello_s)
        except HeadraceError as error:
            raise HeadraceError(f"{self._path}:{self._at((), 'hello_s')} {error}", error.exit_code) from None
        for name in found.keys() & self._section("programs", required=False).keys():
            raise self._wrong(("programs",), name, f"routing = {routing!r} runs a program of that name")
        return [Program(name, words, tuple(map(names.index, there)), may_fail=False) for name, words in found.items()]

    def _systems(self, names: Sequence[str]) -> tuple[System, ...]:
        """The scenario's own for all nodes, which those of tables go before."""
        found = [self._system((), self._table, names)] if self._table.keys() & _SYSTEM_KEYS else []
        taken: set[int] = set()
        for name, table in self._tables("systems"):
            where = ("systems", name)
            for key in table:
                if key not in {*_SYSTEM_KEYS, "nodes"}:
                    raise self._wrong(where, key, "no such key: there are image, nodes, rootfs")
            system = self._system(where, table, names)
            if twice := taken & set(system.nodes):
                raise self._wrong(where, "nodes", f"{names[min(twice)]} has a system already")
            taken |= set(system.nodes)
            found.append(system)
        return tuple(found)

    def _system(self, where: tuple[str, ...], table: Mapping[str, Any], names: Sequence[str]) -> System:
        given = [key for key in sorted(_SYSTEM_KEYS) if key in table]
        if len(given) != 1:
            raise self._wrong(where[:-1], where[-1] if where else "rootfs", "either a rootfs or an image")
        value = table[given[0]]
        if not isinstance(value, str) or not value:
            raise self._wrong(where, given[0], "not a name")
        nodes = self._where(where, table, names) if where else tuple(range(len(names)))
        if given[0] == "image":
            return System(nodes, image=value)
        return System(nodes, rootfs=self._folder / value, key=".".join((*where, "rootfs")))

    def _programs(self, names: Sequence[str], there: Sequence[str]) -> tuple[Program, ...]:
        found = []
        for name, table in self._section("programs", required=False).items():
            where = ("programs", name)
            if not _NAME.fullmatch(name):
                raise self._wrong(("programs",), name, "no name: letters, digits and -, at most 31")
            if _OWN.fullmatch(name):
                raise self._wrong(("programs",), name, "a name of the emulator's own processes")
            if not isinstance(table, dict):
                raise self._wrong(("programs",), name, "not a table with a command")
            for key in table:
                if key not in _PROGRAM_KEYS:
                    raise self._wrong(where, key, f"no such key: there are {', '.join(sorted(_PROGRAM_KEYS))}")
            may_fail = table.get("may_fail", False)
            if not isinstance(may_fail, bool):
                raise self._wrong(where, "may_fail", "neither true nor false")
            nodes = self._where(where, {"nodes": list(there), **table}, names)
            if devices := [names[node] for node in nodes if names[node] not in there]:
                raise self._wrong(where, "nodes", f"{devices[0]} is a device, where no programs run")
            found.append(Program(name, self._command(where, table), nodes, may_fail))
        return tuple(found)

    def _coordinator(self, names: Sequence[str]) -> int | None:
        given = self._table.get("coordinator")
        if given is None:
            return None
        if given not in names:
            raise self._wrong((), "coordinator", f"no node {given}")
        if self._table.get("processes", PROCESSES[0]) == PROCESSES[0]:
            raise self._wrong((), "coordinator", 'there is one only with processes = "manet"')
        return names.index(given)

    def _endpoints(self, names: Sequence[str]) -> tuple[int, ...]:
        found = self._where((), {"endpoints": [], **self._table}, names, "endpoints")
        coordinator = self._coordinator(names)
        if found and coordinator is None:
            raise self._wrong((), "endpoints", "of no master coordinator: no key coordinator")
        if coordinator in found:
            raise self._wrong((), "endpoints", f"{names[coordinator]} is the coordinator")
        return found

    def _traffic(self, names: Sequence[str]) -> tuple[Demand, ...]:
        found = []
        for name, table in self._section("traffic", required=False).items():
            if not isinstance(table, dict):
                raise self._wrong(("traffic",), name, "not a table")
            try:
                found.append(read_demand(name, table, names))
            except HeadraceError as error:
                key, _, what = str(error).partition(": ")
                if key not in table:
                    raise self._wrong(("traffic",), name, str(error)) from None
                raise self._wrong(("traffic", name), key, what) from None
        return tuple(found)

    def _command(self, where: tuple[str, ...], table: Mapping[str, Any]) -> tuple[str, ...]:
        command = table.get("command")
        if isinstance(command, str):
            try:
                words = shlex.split(command)
            except ValueError as error:
                raise self._wrong(where, "command", str(error)) from None
        elif isinstance(command, list) and all(isinstance(word, str) for word in command):
            words = command
        else:
            raise self._wrong(where, "command", "neither a string nor a list of words")
        if not words:
            raise self._wrong(where, "command", "it is empty")
        return tuple(words)

    def _where(
        self, where: tuple[str, ...], table: Mapping[str, Any], names: Sequence[str], key: str = "nodes"
    ) -> tuple[int, ...]:
        given = table.get(key, list(names))
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise self._wrong(where, key, "not a list of names")
        for name in given:
            if name not in names:
                raise self._wrong(where, key, f"no node {name}")
        return tuple(sorted({names.index(name) for name in given}))

    def _number(
        self, where: tuple[str, ...], key: str, default: float, low: float, high: float, whole: bool = False
    ) -> float:
        value = self._table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
            kind = "whole number" if whole else "number"
            bounds = f"from {low:g} to {high:g}" if high < float("inf") else f"of at least {low:g}"
            raise self._wrong(where, key, f"{value!r} is not a {kind} {bounds}")
        if out_of_size(value):
            raise self._wrong(where, key, OUT_OF_SIZE)
        return value

    def _cards(self) -> int | None:
        if "fabric_cards" not in self._table:
            return None
        return int(self._number((), "fabric_cards", 1, 1, MAX_CARDS, whole=True))

    def _one_of(self, key: str, choices: tuple[str, ...]) -> str:
        value = self._table.get(key, choices[0])
        if value not in choices:
            raise self._wrong((), key, f"{value!r} is none of {', '.join(choices)}")
        return str(value)

    def _section(self, key: str, required: bool = True) -> dict[str, Any]:
        value = self._table.get(key, None if required else {})
        if value is None:
            raise HeadraceError(f"{self._path}: no table [{key}]", 2)
        if not isinstance(value, dict):
            raise self._wrong((), key, "not a table")
        return value

    def _wrong(self, where: tuple[str, ...], key: str, what: str) -> HeadraceError:
        return HeadraceError(f"{self._path}:{self._at(where, key)} {'.'.join((*where, key))}: {what}", 2)

    def _at(self, where: tuple[str, ...], key: str) -> str:
        """The number of the line with a key, and a colon; of its table's where the key isn't there."""
        table: tuple[str, ...] = ()
        found = ""
        counts: dict[tuple[str, ...], int] = {}
        for number, line in enumerate(self._text.splitlines(), 1):
            if head := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                table = tuple(part.strip().strip("'\"") for part in head[1].split("."))
                if line.lstrip().startswith("[["):
                    found = found or (f"{number}:" if table == (*where, key) else "")
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, str(counts[table]))
                if table in (where, (*where, key)):
                    found = found or f"{number}:"
                if table == (*where, key):
                    return f"{number}:"
            elif (pair := re.match(r"\s*([^=#]+?)\s*=", line)) and table == where[: len(table)]:
                keys = tuple(part.strip().strip("'\"") for part in pair[1].split("."))
                if (*table, *keys) == (*where, key):
                    return f"{number}:"
                if (*table, *keys) == (*where, key)[: len(table) + len(keys)]:  # it is in a table in one line
                    found = found or f"{number}:"
        return found
