"""A card's address map, and attribute access through it to the registers of a running card::

    regs = load_map(path).bind(card.read, card.write)
    regs.control.flow_control = 1     # read-modify-write of one field
    regs.control.mode = "fast"        # by a name of its enumeration
    regs.budget.write(5000)           # a whole register
    regs.packets.read()               # a 64-bit counter, one int
    regs.slot[2].program.base         # arrays
    regs.imem.write([0x15, 0x60])     # a memory, words one after the other
    with regs.batch():                # these writes go out together
        regs.budget.write(1)
        regs.control.set(flow_control=0, mode=2)

A child whose name is also a method (``read``, ``address``...) is reached as ``regs["read"]``.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.registers.nodes import Field, Group, Memory, Node, Register, element_step, from_json, to_json, walk

WORD_BYTES = 4
WORD_MASK = 0xFFFF_FFFF

ReadWord = Callable[[int], int]
WriteWord = Callable[[int, int], None]
WriteMany = Callable[[list[tuple[int, int]]], None]


@dataclass(frozen=True)
class RegisterMap:
    """The address map of a card. ``top.name`` is the name of the generated RTL module."""

    top: Group

    def bind(self, read: ReadWord, write: WriteWord, write_many: WriteMany | None = None) -> GroupView:
        """Attribute access to the registers of one running card.

        ``read(address)`` returns the 32-bit word at a byte address, ``write(address, word)`` writes one, and
        ``write_many([(address, word), ...])`` writes several in order (by default with ``write``).
        """
        return GroupView(_Bus(read, write, write_many), self.top, self.top.offset, "")

    def walk(self) -> Iterator[tuple[str, int, Register | Memory]]:
        """Every register and memory, array elements one by one: (path such as ``slot[2].base``, byte address, node)."""
        yield from walk(self.top, "", self.top.offset)

    def to_json(self) -> dict[str, Any]:
        return to_json(self.top)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RegisterMap:
        top = from_json(data)
        assert isinstance(top, Group)
        return RegisterMap(top)


class _Bus:
    """32-bit accesses, and the writes that a batch holds back."""

    def __init__(self, read: ReadWord, write: WriteWord, write_many: WriteMany | None) -> None:
        self._read = read
        self._write = write
        self._write_many = write_many
        self._pending: list[tuple[int, int]] | None = None

    def read(self, address: int, width: int) -> int:
        self.flush()
        words = max(1, -(-width // 32))
        return sum(self._read(address + WORD_BYTES * i) << (32 * i) for i in range(words))

    def write(self, address: int, width: int, value: int) -> None:
        words = max(1, -(-width // 32))
        self.write_words([(address + WORD_BYTES * i, value >> (32 * i) & WORD_MASK) for i in range(words)])

    def write_words(self, pairs: list[tuple[int, int]]) -> None:
        if self._pending is not None:
            self._pending += pairs
        elif self._write_many is not None and len(pairs) > 1:
            self._write_many(pairs)
        else:
            for address, word in pairs:
                self._write(address, word)

    def flush(self) -> None:
        if self._pending:
            pairs, self._pending = self._pending, None
            self.write_words(pairs)
            self._pending = []

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        if self._pending is not None:  # an inner batch belongs to the outer one
            yield
            return
        self._pending = []
        try:
            yield
            self.flush()
        finally:
            self._pending = None


class _View:
    """What every view has: the address in bytes, and a path for messages."""

    __slots__ = ("_bus", "_node", "_path", "address")

    def __init__(self, bus: _Bus, node: Any, address: int, path: str) -> None:
        for name, value in (("_bus", bus), ("_node", node), ("address", address), ("_path", path)):
            object.__setattr__(self, name, value)

    _bus: _Bus
    _node: Any
    _path: str
    address: int

    def __repr__(self) -> str:
        return f"<{type(self._node).__name__.lower()} {self._path or self._node.name} at {self.address:#06x}>"


def _unknown(view: _View, name: str, known: Iterable[str]) -> AttributeError:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(known)}"
    return AttributeError(f"{view._path or view._node.name} has no {name}{hint}")


def _view(bus: _Bus, node: Node, address: int, path: str, dimension: int = 0) -> Any:
    if dimension < len(node.dims):
        return ArrayView(bus, node, address, path, dimension)
    kind = {Register: RegisterView, Memory: MemoryView, Group: GroupView}[type(node)]
    return kind(bus, node, address, path)


class GroupView(_View):
    """Children by attribute or by ``view["name"]``."""

    __slots__ = ()
    _node: Group

    def __getitem__(self, name: str) -> Any:
        node = self._node.children.get(name)
        if node is None:
            raise _unknown(self, name, self._node.children)
        path = f"{self._path}.{name}" if self._path else name
        return _view(self._bus, node, self.address + node.offset, path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._node.children:
            raise _unknown(self, name, self._node.children)
        raise AttributeError(f"{name} is a whole register or group: use {name}.write(value), or set one of its fields")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._node.children]

    def batch(self) -> contextlib.AbstractContextManager[None]:
        """Holds writes back and sends them in order, in one go, at the end of the ``with`` block.

        A read inside the block sends what came before it. If the block raises, what it still held is not written.
        """
        return self._bus.batch()

    def read_all(self) -> dict[str, int]:
        """The value of every readable register below this group, by path; memories are left out."""
        prefix = f"{self._path}." if self._path else ""
        return {
            path: self._bus.read(address, node.width)
            for path, address, node in walk(self._node, prefix, self.address)
            if isinstance(node, Register) and node.readable
        }


class ArrayView(_View):
    """Elements by index; negative indices count from the end."""

    __slots__ = ("_dimension",)
    _node: Node
    _dimension: int

    def __init__(self, bus: _Bus, node: Node, address: int, path: str, dimension: int) -> None:
        super().__init__(bus, node, address, path)
        self._dimension = dimension

    def __len__(self) -> int:
        return self._node.dims[self._dimension]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self._path} has {len(self)} elements, no [{index}]")
        index %= len(self)
        address = self.address + index * element_step(self._node, self._dimension)
        return _view(self._bus, self._node, address, f"{self._path}[{index}]", self._dimension + 1)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


class RegisterView(_View):
    """One register: as a whole with ``read`` and ``write``, its fields by attribute or by ``view["name"]``."""

    __slots__ = ()
    _node: Register

    def read(self) -> int:
        """The register as one int, whatever its width."""
        if not self._node.readable:
            raise AttributeError(f"{self._path} is write-only")
        return self._bus.read(self.address, self._node.width)

    def write(self, value: int) -> None:
        """Writes all bits. Raises ValueError when ``value`` does not fit."""
        if not self._node.writable:
            raise AttributeError(f"{self._path} is read-only")
        _check_range(self._path, int(value), self._node.width)
        self._bus.write(self.address, self._node.width, int(value))

    def set(self, **values: int | str) -> None:
        """Writes several fields at once, by number or by a name of their enumeration, and keeps the others.

        Reads the register first only if some other writable field has to be kept. Raises ValueError when a value does
        not fit its field, AttributeError for a field that is unknown or read-only.
        """
        word = 0
        keep = 0
        for name, value in values.items():
            entry = self._field(name)
            if not entry.writable:
                raise AttributeError(f"{self._path}.{name} is read-only")
            word |= _number(f"{self._path}.{name}", entry, value) << entry.low
        for name, entry in self._node.fields.items():
            if name in values or not entry.writable:
                continue
            if entry.idle == "keep" and entry.readable:
                keep |= entry.limit << entry.low
            elif entry.idle == "ones":
                word |= entry.limit << entry.low
        if keep:
            word |= self._bus.read(self.address, self._node.width) & keep
        self._bus.write(self.address, self._node.width, word)

    def fields(self) -> dict[str, int]:
        """Reads the register once and takes it apart: value of each readable field by name."""
        word = self.read()
        return {f.name: word >> f.low & f.limit for f in self._node.fields.values() if f.readable}

    def _field(self, name: str) -> Field:
        entry = self._node.fields.get(name)
        if entry is None:
            raise _unknown(self, name, self._node.fields)
        return entry

    def __getitem__(self, name: str) -> int:
        entry = self._field(name)
        if not entry.readable:
            raise AttributeError(f"{self._path}.{name} is write-only")
        return self.read() >> entry.low & entry.limit

    def __setitem__(self, name: str, value: int | str) -> None:
        self.set(**{name: value})

    def __getattr__(self, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: int | str) -> None:
        self.set(**{name: value})

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._node.fields]


class MemoryView(_View):
    """A memory of ``len(view)`` entries from ``address`` on, ``size`` bytes long."""

    __slots__ = ()
    _node: Memory

    @property
    def size(self) -> int:
        return self._node.size

    def __len__(self) -> int:
        return self._node.entries

    def __getitem__(self, index: int) -> int:
        return self.read(index, 1)[0]

    def __setitem__(self, index: int, value: int) -> None:
        self.write([value], index)

    def __iter__(self) -> Iterator[int]:
        return iter(self.read())

    def read(self, start: int = 0, count: int | None = None) -> list[int]:
        """``count`` entries from ``start`` on (to the end by default)."""
        if not self._node.readable:
            raise AttributeError(f"{self._path} is write-only")
        count = len(self) - start if count is None else count
        self._check(start, count)
        return [self._bus.read(self._entry_address(i), self._node.width) for i in range(start, start + count)]

    def write(self, values: Iterable[int], start: int = 0) -> None:
        """Writes entries one after the other from ``start`` on, in one go. Raises ValueError for a wrong value."""
        if not self._node.writable:
            raise AttributeError(f"{self._path} is read-only")
        entries = [int(value) for value in values]
        self._check(start, len(entries))
        pairs: list[tuple[int, int]] = []
        for index, value in enumerate(entries, start):
            _check_range(f"{self._path}[{index}]", value, self._node.width)
            address = self._entry_address(index)
            pairs += [(address + i, value >> (8 * i) & WORD_MASK) for i in range(0, self._entry_bytes, WORD_BYTES)]
        self._bus.write_words(pairs)

    @property
    def _entry_bytes(self) -> int:
        return self._node.size // self._node.entries

    def _entry_address(self, index: int) -> int:
        return self.address + index * self._entry_bytes

    def _check(self, start: int, count: int) -> None:
        if start < 0 or count < 0 or start + count > len(self):
            raise IndexError(f"{self._path} has {len(self)} entries, no [{start}:{start + count}]")


def _number(path: str, entry: Field, value: int | str) -> int:
    if not isinstance(value, str):
        _check_range(path, int(value), entry.width)
        return int(value)
    if value not in entry.choices:
        raise ValueError(f"{path}: no value is called {value}; there are: {', '.join(entry.choices) or 'no names'}")
    return entry.choices[value]


def _check_range(path: str, value: int, width: int) -> None:
    if not 0 <= value < 1 << width:
        raise ValueError(f"{path}: {value} does not fit in {width} bit{'s' if width > 1 else ''}")
