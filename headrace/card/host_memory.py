"""The host's memory, as the card's DMA and Python both see it."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.card import interface as harness
from headrace.errors import CardError

_ALLOCATED = 1 << 46  # where ranges go that may be anywhere
_PAGE = 4096


class _Card(Protocol):
    """What of a card its memory uses."""

    _ffi: Any
    _lib: Any

    @property
    def _open(self) -> Any: ...

    def _check(self, code: int) -> int: ...

    def _option(self, name: str, value: int) -> None: ...


@harness.in_range
class HostMemory:
    """A 64-bit address space for each function (0 to 65,535), in which nothing is there until it is mapped.

    The card reaches it through its AXI4 port, where a number beside each burst says the function; outside of that
    function's mapped ranges its bursts are answered with DECERR. Addresses, sizes and offsets are in bytes.
    """

    def __init__(self, card: _Card) -> None:
        self._card = card
        self._free = _ALLOCATED

    def map(
        self,
        address: int,
        size: int,
        *,
        fd: int | None = None,
        offset: int = 0,
        read_only: bool = False,
        trusted: bool = False,
        function: int = 0,
    ) -> None:
        """Maps ``size`` bytes of zeros, or those of a file from ``offset`` on. ``read_only``: the card's writes are
        answered with SLVERR. Large ranges cost nothing until they are used.

        ``fd`` is a memfd, or another file of memory that other processes have mapped as well; it may be closed
        afterwards. Where it is ``read_only``, this process doesn't write it either. It must have the seal
        F_SEAL_SHRINK: an access beyond the end of a file that has become shorter would kill this process. Files that
        have no seals (hugetlbfs, /dev/shm, a disk's) are taken only if ``trusted``: nobody will shorten them.

        Raises CardError when the range overlaps another one of the function, the file has too few bytes or not that
        seal, or ``offset`` is no multiple of its pages' size.
        """
        lib, card = self._card._lib, self._card._open
        if fd is not None:
            code = lib.hr_memory_map_file(card, function, address, size, read_only, fd, offset, trusted)
        elif offset or trusted:
            raise CardError("host memory: offset and trusted are of a file: fd is missing", 2)
        else:
            code = lib.hr_memory_map(card, function, address, size, read_only)
        self._card._check(code)

    def reserve(self, size: int) -> int:
        """Where a range of ``size`` bytes, and the rest of their last page, can be mapped that may be anywhere.

        The address is a multiple of 4096, and of the smallest power of two that isn't less than ``size``.
        """
        unit = max(_PAGE, 1 << (size - 1).bit_length())
        address = -(-self._free // unit) * unit
        self._free = address + _pages(size)
        return address

    def allocate(self, size: int, *, function: int = 0) -> int:
        """Maps ``size`` bytes of zeros, and the rest of their last page, where nothing is; gives their address, as
        ``reserve`` does. Raises CardError when there is no room."""
        address = self.reserve(size)
        self.map(address, _pages(size), function=function)
        return address

    def unmap(self, address: int, *, function: int = 0) -> None:
        """Removes the range that begins at ``address``. Views of it keep their bytes, which the card sees no more."""
        self._card._check(self._card._lib.hr_memory_unmap(self._card._open, function, address))

    def read(self, address: int, size: int, *, function: int = 0) -> bytes:
        """A copy of ``size`` bytes. Raises IndexError when they aren't within one mapped range."""
        return bytes(self._card._ffi.buffer(self._at(address, size, function), size))

    def write(self, address: int, data: bytes, *, function: int = 0) -> None:
        """Raises IndexError when the bytes don't go into one mapped range."""
        self._card._ffi.memmove(self._at(address, len(data), function, write=True), data, len(data))

    def view(self, address: int, size: int, *, function: int = 0) -> memoryview:
        """The bytes themselves, without a copy (``numpy.frombuffer`` takes it). It shares them with the card as long as
        that is open and the range mapped; afterwards they stay as they are. Read-only where the host can't write them.
        Raises IndexError when they aren't within one mapped range."""
        if size == 0:
            return memoryview(bytearray())
        lib, ffi = self._card._lib, self._card._ffi
        pointer = self._at(address, size, function)
        writable = lib.hr_memory_at(self._card._open, function, address, size, True) != ffi.NULL
        kept = lib.hr_memory_keep(self._card._open, function, address)
        view = memoryview(ffi.buffer(ffi.gc(pointer, lambda _: lib.hr_memory_drop(kept)), size))
        return view if writable else view.toreadonly()

    def load_acquire(self, address: int, size: int, *, function: int = 0) -> int:
        """A little-endian word of 1, 2, 4 or 8 bytes that another thread or process writes, such as a ring's index:
        what they wrote before it is seen by what this thread reads next.

        Raises CardError when the word isn't aligned to its size, IndexError when it isn't within a mapped range.
        """
        return int(self._card._lib.hr_load_acquire(self._word(address, size, function), size))

    def store_release(self, address: int, value: int, size: int, *, function: int = 0) -> None:
        """Writes such a word: who sees it sees all that this thread wrote before. Raises what ``load_acquire`` does,
        and CardError when the value has more bytes."""
        pointer = self._word(address, size, function, write=True)
        if not 0 <= value < 1 << 8 * size:
            raise CardError(f"host memory: {value:#x} doesn't go into {size} bytes", 2)
        self._card._lib.hr_store_release(pointer, value, size)

    def _word(self, address: int, size: int, function: int, *, write: bool = False) -> Any:
        """A pointer to a word. Raises CardError when it has another size, or is not aligned to it."""
        if size not in (1, 2, 4, 8):
            raise CardError(f"host memory: a word has 1, 2, 4 or 8 bytes, not {size}", 2)
        pointer = self._at(address, size, function, write=write)
        if address % size or int(self._card._ffi.cast("uintptr_t", pointer)) % size:
            raise CardError(f"host memory: the {size} bytes at {address:#x} are not aligned to their size", 2)
        return pointer

    def _at(self, address: int, size: int, function: int, *, write: bool = False) -> Any:
        """A pointer to bytes. Raises IndexError when they aren't within one mapped range."""
        pointer = self._card._lib.hr_memory_at(self._card._open, function, address, size, write)
        if pointer == self._card._ffi.NULL and size:
            kind = "writable" if write else "mapped"
            of = f" of function {function}" if function else ""
            raise IndexError(f"host memory: {size} bytes at {address:#x} are not within one {kind} range{of}")
        return pointer

    def configure(
        self,
        *,
        read_latency_ns: int | None = None,
        write_latency_ns: int | None = None,
        read_bits_per_s: float | None = None,
        write_bits_per_s: float | None = None,
        reads: int | None = None,
        writes: int | None = None,
        out_of_order: int | None = None,
        stalls: int | None = None,
        write_waits: int | None = None,
    ) -> None:
        """Sets how the memory answers; what isn't given stays as it is.

        Latency: from a read's address to its first data, and from a write's last data to its response (0 at first).
        Bits per second: 0 is a beat each cycle (at first). ``reads``, ``writes``: outstanding bursts (64).
        ``out_of_order``: a seed; bursts then take up to twice the latency and finish in any order between IDs (0, in
        order, at first). ``stalls``: a seed; each channel then stalls at random in half of the cycles (0, none, at
        first). ``write_waits``: cycles for which the first data of each write burst wait (0).
        """
        options = {
            "HR_MEMORY_READ_LATENCY_NS": read_latency_ns,
            "HR_MEMORY_WRITE_LATENCY_NS": write_latency_ns,
            "HR_MEMORY_READ_BITS_PER_S": read_bits_per_s,
            "HR_MEMORY_WRITE_BITS_PER_S": write_bits_per_s,
            "HR_MEMORY_READS": reads,
            "HR_MEMORY_WRITES": writes,
            "HR_MEMORY_OUT_OF_ORDER": out_of_order,
            "HR_MEMORY_STALLS": stalls,
            "HR_MEMORY_WRITE_WAITS": write_waits,
        }
        for name, value in options.items():
            if value is not None:
                self._card._option(name, harness.whole(value))


def _pages(size: int) -> int:
    """Bytes of the pages that ``size`` bytes take."""
    return -(-size // _PAGE) * _PAGE
