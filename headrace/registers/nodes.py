"""What an address map consists of, as plain data free of the SystemRDL compiler, so that it loads in a millisecond."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a register.

    ``idle`` is what a write of *another* field of the same register must carry here so that this one stays as it is:
    ``"keep"`` the value read, ``"zeros"`` (write-one-to-clear, pulses) or ``"ones"`` (write-zero-to-clear).
    ``choices`` are the names of values, from the description's enumeration; they may be given instead of numbers.
    """

    name: str
    low: int
    width: int
    readable: bool
    writable: bool
    idle: str = "keep"
    reset: int | None = None
    choices: dict[str, int] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        """The highest value, which is also the mask at bit 0."""
        return (1 << self.width) - 1


@dataclass(frozen=True)
class Register:
    """``width`` bits at ``offset`` bytes from its parent, read and written in words of 32 bits, low word first."""

    name: str
    offset: int
    width: int
    fields: dict[str, Field]
    dims: tuple[int, ...] = ()
    stride: int = 0

    @property
    def readable(self) -> bool:
        return any(f.readable for f in self.fields.values())

    @property
    def writable(self) -> bool:
        return any(f.writable for f in self.fields.values())


@dataclass(frozen=True)
class Memory:
    """``entries`` words of ``width`` bits from ``offset`` bytes of its parent on, ``size`` bytes in all."""

    name: str
    offset: int
    width: int
    entries: int
    size: int
    readable: bool
    writable: bool
    dims: tuple[int, ...] = ()
    stride: int = 0


@dataclass(frozen=True)
class Group:
    """A register file or an address map: children by name."""

    name: str
    offset: int
    size: int
    children: dict[str, Node] = field(default_factory=dict)
    dims: tuple[int, ...] = ()
    stride: int = 0


Node = Register | Memory | Group


def walk(group: Group, prefix: str, base: int) -> Iterator[tuple[str, int, Register | Memory]]:
    """Registers and memories below ``group`` at address ``base``: (path that starts with ``prefix``, address, node)."""
    for node in group.children.values():
        for suffix, address in _elements(node, base + node.offset):
            path = f"{prefix}{node.name}{suffix}"
            if isinstance(node, Group):
                yield from walk(node, path + ".", address)
            else:
                yield path, address, node


def _elements(node: Node, address: int) -> Iterator[tuple[str, int]]:
    """Index suffix and address of each element of an array, or of the one node."""
    elements = [("", address)]
    for position in range(len(node.dims)):
        step = element_step(node, position)
        elements = [(f"{s}[{i}]", a + i * step) for s, a in elements for i in range(node.dims[position])]
    return iter(elements)


def element_step(node: Node, dimension: int) -> int:
    """Bytes between neighbours in a dimension of an array; the stride is that of the last one."""
    step = node.stride
    for length in node.dims[dimension + 1 :]:
        step *= length
    return step


def to_json(node: Node) -> dict[str, Any]:
    """Plain lists, dictionaries and numbers, from which ``from_json`` makes the same tree."""
    data: dict[str, Any] = {k: v for k, v in vars(node).items() if k not in ("children", "fields")}
    data["kind"] = type(node).__name__
    if isinstance(node, Group):
        data["children"] = [to_json(child) for child in node.children.values()]
    elif isinstance(node, Register):
        data["fields"] = [vars(f) for f in node.fields.values()]
    return data


def from_json(data: Mapping[str, Any]) -> Node:
    common = {k: v for k, v in data.items() if k not in ("kind", "children", "fields")}
    common["dims"] = tuple(common["dims"])
    if data["kind"] == "Group":
        return Group(**common, children={c["name"]: from_json(c) for c in data["children"]})
    if data["kind"] == "Register":
        return Register(**common, fields={f["name"]: Field(**f) for f in data["fields"]})
    return Memory(**common)
