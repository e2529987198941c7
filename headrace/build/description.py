"""Card descriptions: what a card's .toml file says, and the list of RTL sources that follows from it.

A built-in card is known by its name (``filter``), a user's own by its folder, which holds ``card.toml``, or by the path
of a .toml file. The keys of the file:

=================  ===================================================================================================
``description``    one line for ``headrace cards``
``top``            the top module, with the common ports of every card
``sources``        files, relative to the .toml; patterns such as ``*.sv`` and ``**/*.sv`` are allowed
``third_party``    files of others, which ``headrace lint`` does not ask for the project's looks; patterns (optional)
``processor``      ``"vexriscv"``: the module of that name, of ``headrace.build.processor`` (optional)
``waivers``        Verilator's configuration files (``.vlt``), for warnings about such files; patterns (optional)
``uses``           platform layers: folders of Headrace's ``rtl``, of which all ``*.sv`` files are taken
``registers``      SystemRDL file (optional)
``ports``          number of Ethernet ports, or the name of the parameter that says it
``clock_hz``       nominal clock
``data_w``         width of the Ethernet ports in bits, unless there is a parameter ``DATA_W``; 512 if absent
``mem_w``          width of the host memory port in bits, or the name of the parameter that says it, unless there is a
                   parameter ``MEM_W``; 64 if absent
``address_w``      width of the register bus's addresses in bits; 16 if absent, which is 64 KB of registers
``parameters``     a table ``[parameters.NAME]`` for each: ``default``, ``help``, and ``min``, ``max`` or ``choices``;
                   ``on_board`` is the default in synthesis and exports where that is another one
``constraints``    a table ``[[constraints]]`` for each: ``any``, a list of comparisons such as ``"A * 2 <= B"``
                   (products of parameters and numbers) of which one must hold, and a ``message`` for when none does
``black_boxes``    files of modules that are filled later, for lint and synthesis; patterns (optional)
``modelled``       files that stand for them in the model; patterns (optional)
``firmware``       a table ``[firmware]`` of the card's processors; its keys are in ``headrace.build.firmware_table``
=================  ===================================================================================================
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from headrace import paths
from headrace.build.constraints import Comparison, Constraint
from headrace.build.firmware_table import Firmware, parse_firmware
from headrace.build.processor import PROCESSOR, vexriscv
from headrace.errors import HeadraceError

Value = int | str
USER_FILE = "card.toml"

_DATA_FILES = ("*.svh", "*.vh", "*.mem", "*.hex")

_KEYS: dict[str, type | tuple[type, ...]] = {
    "description": str,
    "top": str,
    "sources": list,
    "third_party": list,
    "processor": str,
    "waivers": list,
    "black_boxes": list,
    "modelled": list,
    "uses": list,
    "registers": str,
    "ports": (int, str),
    "clock_hz": int,
    "data_w": int,
    "mem_w": (int, str),
    "address_w": int,
    "parameters": dict,
    "constraints": list,
    "firmware": dict,
}
_REQUIRED = ("top", "sources", "ports", "clock_hz")
_PARAMETER_KEYS = {"default", "on_board", "help", "min", "max", "choices"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of the top module that a user may set."""

    name: str
    default: Value
    help: str = ""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[Value, ...] = ()
    on_board: Value | None = None

    @property
    def allowed(self) -> str:
        """The allowed values, for a message."""
        if self.choices:
            return "one of " + ", ".join(str(c) for c in self.choices)
        if self.minimum is not None and self.maximum is not None:
            return f"{self.minimum} to {self.maximum}"
        if self.minimum is not None:
            return f"at least {self.minimum}"
        if self.maximum is not None:
            return f"at most {self.maximum}"
        return "a string" if isinstance(self.default, str) else "an integer"

    def check(self, value: Value | bool) -> Value:
        """The value in the parameter's own type. Raises HeadraceError with the allowed values if it is none of them."""
        wrong = HeadraceError(f"parameter {self.name} = {value}: must be {self.allowed}", 2)
        if isinstance(self.default, str):
            checked: Value = str(value)
        else:
            try:
                checked = int(value, 0) if isinstance(value, str) else int(value)
            except ValueError:
                raise wrong from None
            if (self.minimum is not None and checked < self.minimum) or (
                self.maximum is not None and checked > self.maximum
            ):
                raise wrong
        if self.choices and checked not in self.choices:
            raise wrong
        return checked


@dataclass(frozen=True)
class CardDescription:
    """A card as its .toml file describes it."""

    name: str
    path: Path
    description: str
    top: str
    sources: tuple[str, ...]
    uses: tuple[str, ...]
    registers: Path | None
    ports: int | str
    clock_hz: int
    data_w: int
    mem_w: int | str
    address_w: int = 16
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    third_party: tuple[str, ...] = ()
    processor: str | None = None
    waivers: tuple[str, ...] = ()
    black_boxes: tuple[str, ...] = ()
    modelled: tuple[str, ...] = ()
    firmware: Firmware | None = None

    def resolve(self, chosen: Mapping[str, Value] | None = None, on_board: bool = False) -> dict[str, Value]:
        """All parameters with their values: the chosen ones, and defaults for the others, of virtual cards or of those
        on boards.

        Raises HeadraceError for a name that the card doesn't have, a value that it doesn't allow or values that don't
        go together.
        """
        values: dict[str, Value] = {
            name: p.on_board if on_board and p.on_board is not None else p.default
            for name, p in self.parameters.items()
        }
        for name, value in (chosen or {}).items():
            parameter = self.parameters.get(name)
            if parameter is None:
                known = ", ".join(self.parameters) or "none"
                raise HeadraceError(f"card {self.name} has no parameter {name}; its parameters are: {known}", 2)
            values[name] = parameter.check(value)
        for constraint in self.constraints:
            if not constraint.holds(values):
                raise HeadraceError(constraint.refusal(values), 2)
        return values

    def port_count(self, values: Mapping[str, Value]) -> int:
        """Ethernet ports, with the given parameters."""
        return self.ports if isinstance(self.ports, int) else int(values[self.ports])

    def data_width(self, values: Mapping[str, Value]) -> int:
        """Width of the Ethernet ports in bits, with the given parameters."""
        return int(values.get("DATA_W", self.data_w))

    def memory_width(self, values: Mapping[str, Value]) -> int:
        """Width of the host memory port in bits, with the given parameters."""
        width = self.mem_w if isinstance(self.mem_w, int) else values[self.mem_w]
        return int(values.get("MEM_W", width))


def load_card(card: str | Path) -> CardDescription:
    """Reads the description of a built-in card (its name) or of a user's card (a folder or a .toml file).

    Raises HeadraceError when there is no such card or its description is wrong.
    """
    path = _find(card)
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise HeadraceError(f"{path}: {error}", 2) from None
    name = path.parent.resolve().name if path.name == USER_FILE else path.stem
    return _parse(name, path.resolve(), table)


def list_cards() -> list[CardDescription]:
    """The built-in cards, by name."""
    return [load_card(path) for path in sorted(paths.cards().glob("*.toml"))]


def rtl_sources(description: CardDescription) -> list[Path]:
    """The card's RTL files: packages first, each after those it needs, then the layers, then the card.

    The register block is not among them: ``headrace.registers.compile.generate_rtl`` makes it from
    ``description.registers``, and its package belongs before all others. Raises HeadraceError when a layer or a source
    doesn't exist.
    """
    files: dict[Path, None] = {}
    for layer in description.uses:
        folder = paths.rtl() / layer
        found = sorted(folder.glob("*.sv"))
        if not folder.is_dir():
            layers = ", ".join(sorted(p.name for p in paths.rtl().iterdir() if p.is_dir()))
            raise HeadraceError(f"{description.path}: no layer '{layer}'; the layers are: {layers}", 2)
        files.update(dict.fromkeys(found))
    files.update(dict.fromkeys(third_party_files(description)))
    files.update(dict.fromkeys(_matching(description, description.sources, "source file")))
    packages = [f for f in files if f.stem.endswith("_pkg")]
    return _in_order_of_use(packages) + [f for f in files if f not in packages]


def third_party_files(description: CardDescription) -> list[Path]:
    """The card's RTL files that are others'. Raises HeadraceError when one doesn't exist."""
    files = _matching(description, description.third_party, "third-party file")
    return files if description.processor is None else [*files, vexriscv()]


def waiver_files(description: CardDescription) -> list[Path]:
    """Verilator's configuration files for the card. Raises HeadraceError when one doesn't exist."""
    return _matching(description, description.waivers, "waiver file")


def black_box_files(description: CardDescription) -> list[Path]:
    """What lint and synthesis take for modules that are filled later. Raises HeadraceError when one doesn't exist."""
    return _matching(description, description.black_boxes, "black box")


def modelled_files(description: CardDescription) -> list[Path]:
    """What stands for them in the model. Raises HeadraceError when one doesn't exist."""
    return _matching(description, description.modelled, "file of the model")


def _matching(description: CardDescription, patterns: Iterable[str], kind: str) -> list[Path]:
    files = []
    for pattern in patterns:
        found = sorted(p.resolve() for p in description.path.parent.glob(pattern) if p.is_file())
        if not found:
            raise HeadraceError(f"{description.path}: no {kind} '{pattern}'", 2)
        files += found
    return files


def data_files(sources: Iterable[Path]) -> list[Path]:
    """What RTL files may include or read: the headers and memory images beside them."""
    folders = sorted({source.parent for source in sources})
    return [path for folder in folders for pattern in _DATA_FILES for path in sorted(folder.glob(pattern))]


def _find(card: str | Path) -> Path:
    path = Path(card)
    if path.is_dir() and (path / USER_FILE).is_file():
        return path / USER_FILE
    if path.suffix == ".toml" and path.is_file():
        return path
    built_in = paths.cards() / f"{card}.toml"
    if path.name == str(card) and built_in.is_file():
        return built_in
    names = ", ".join(sorted(p.stem for p in paths.cards().glob("*.toml")))
    if path.is_dir():
        raise HeadraceError(f"{card}: the folder has no {USER_FILE}", 2)
    raise HeadraceError(f"no card '{card}': it is none of {names}, and no folder with {USER_FILE}", 2)


def _parse(name: str, path: Path, table: dict[str, Any]) -> CardDescription:
    def wrong(what: str) -> HeadraceError:
        return HeadraceError(f"{path}: {what}", 2)

    for key, value in table.items():
        if key not in _KEYS:
            raise wrong(f"unknown key '{key}'; the keys are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise wrong(f"'{key}' must be of type {_type_name(_KEYS[key])}")
    for key in _REQUIRED:
        if key not in table:
            raise wrong(f"'{key}' is missing")
    ports = table["ports"]
    if isinstance(ports, str) and ports not in table.get("parameters", {}):
        raise wrong(f"'ports' names a parameter {ports}, which the card doesn't have")
    if isinstance(ports, int) and not 1 <= ports <= 64:
        raise wrong("'ports' must be 1 to 64")
    if not 1 <= table["clock_hz"] <= 1_000_000_000:
        raise wrong("'clock_hz' must be 1 to 1000000000")
    address_w = table.get("address_w", 16)
    if not 2 <= address_w <= 32:
        raise wrong("'address_w' must be 2 to 32")
    if table.get("processor", PROCESSOR) != PROCESSOR:
        raise wrong(f"'processor' must be {PROCESSOR}")
    registers = table.get("registers")
    mem_w = table.get("mem_w", 64)
    if isinstance(mem_w, str) and mem_w not in table.get("parameters", {}):
        raise wrong(f"'mem_w' names a parameter {mem_w}, which the card doesn't have")
    parameters = {n: _parse_parameter(n, p, path) for n, p in table.get("parameters", {}).items()}
    card = CardDescription(
        name=name,
        path=path,
        description=table.get("description", ""),
        top=table["top"],
        sources=tuple(table["sources"]),
        uses=tuple(table.get("uses", ())),
        registers=(path.parent / registers).resolve() if registers else None,
        ports=ports,
        clock_hz=table["clock_hz"],
        data_w=table.get("data_w", 512),
        mem_w=mem_w,
        address_w=address_w,
        parameters=parameters,
        constraints=tuple(_parse_constraint(c, parameters, path) for c in table.get("constraints", ())),
        third_party=tuple(table.get("third_party", ())),
        processor=table.get("processor"),
        waivers=tuple(table.get("waivers", ())),
        black_boxes=tuple(table.get("black_boxes", ())),
        modelled=tuple(table.get("modelled", ())),
        firmware=parse_firmware(table["firmware"], path) if "firmware" in table else None,
    )
    try:
        card.resolve()
    except HeadraceError as error:
        raise wrong(f"the defaults of {error}") from None
    return card


def _type_name(kind: type | tuple[type, ...]) -> str:
    return kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)


def _parse_parameter(name: str, table: Any, path: Path) -> Parameter:
    if not isinstance(table, dict) or "default" not in table:
        raise HeadraceError(f"{path}: parameter {name} needs a table with at least 'default'", 2)
    unknown = set(table) - _PARAMETER_KEYS
    if unknown:
        raise HeadraceError(f"{path}: parameter {name}: unknown key '{min(unknown)}'", 2)
    values: list[Any] = [table["default"], table.get("on_board")]
    default, on_board = (int(value) if isinstance(value, bool) else value for value in values)
    parameter = Parameter(
        name=name,
        default=default,
        help=table.get("help", ""),
        minimum=table.get("min"),
        maximum=table.get("max"),
        choices=tuple(table.get("choices", ())),
        on_board=on_board,
    )
    try:
        parameter.check(parameter.default)
        if on_board is not None:
            parameter.check(on_board)
    except HeadraceError as error:
        raise HeadraceError(f"{path}: the default of {error}", 2) from None
    return parameter


def _parse_constraint(table: Any, parameters: Mapping[str, Parameter], path: Path) -> Constraint:
    if not isinstance(table, dict) or set(table) != {"any", "message"}:
        raise HeadraceError(f"{path}: a constraint needs a table with 'any' and 'message'", 2)
    if not isinstance(table["any"], list) or not table["any"]:
        raise HeadraceError(f"{path}: 'any' of a constraint must be a list of comparisons", 2)
    try:
        constraint = Constraint(tuple(Comparison.parse(str(text)) for text in table["any"]), str(table["message"]))
    except ValueError as error:
        raise HeadraceError(f"{path}: constraint {error}", 2) from None
    for name in constraint.names:
        if name not in parameters or isinstance(parameters[name].default, str):
            raise HeadraceError(f"{path}: constraint on {name}, which is no parameter with whole numbers", 2)
    return constraint


def _in_order_of_use(packages: list[Path]) -> list[Path]:
    """Packages so that each comes after those that it names with ``::``."""
    by_name = {p.stem: p for p in packages}
    order: TopologicalSorter[str] = TopologicalSorter()
    for name, path in by_name.items():
        used = set(re.findall(r"\b(\w+)::", path.read_text(errors="replace")))
        order.add(name, *sorted(u for u in used if u in by_name and u != name))
    try:
        return [by_name[name] for name in order.static_order()]
    except CycleError as error:
        raise HeadraceError(f"packages use each other in a circle: {' -> '.join(error.args[1])}", 2) from None
