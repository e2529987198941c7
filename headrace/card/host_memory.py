"""The host's memory, as the card's DMA and Python both see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.card import interface as harness

if TYPE_CHECKING:
    from headrace.card.card import Card


_ALLOCATED = 1 << 46  # where ranges go that may be anywhere
_PAGE = 4096


@harness.in_range
class HostMemory:
    """A 64-bit address space in which nothing is there until it is mapped.

    The card reaches it through its AXI4 port; outside of the mapped ranges its bursts are answered with DECERR.
    """

    def __init__(self, card: Card) -> None:
        self._card = card
        self._free = _ALLOCATED

    def map(self, address: int, size: int, *, read_only: bool = False) -> None:
        """Maps ``size`` bytes of zeros. ``read_only``: the card's writes are answered with SLVERR. Large ranges cost
        nothing until they are used. Raises CardError when the range overlaps another one."""
        self._card._check(self._card._lib.hr_memory_map(self._card._open, address, size, read_only))

    def reserve(self, size: int) -> int:
        """Where a range of ``size`` bytes, and the rest of their last page, can be mapped that may be anywhere.

        The address is a multiple of 4096, and of the smallest power of two that isn't less than ``size``.
        """
        unit = max(_PAGE, 1 << (size - 1).bit_length())
        address = -(-self._free // unit) * unit
        self._free = address + _pages(size)
        return address

    def allocate(self, size: int) -> int:
        """Maps ``size`` bytes of zeros, and the rest of their last page, where nothing is; gives their address, as
        ``reserve`` does. Raises CardError when there is no room."""
        address = self.reserve(size)
        self.map(address, _pages(size))
        return address

    def unmap(self, address: int) -> None:
        """Removes the range that begins at ``address``. Views of it keep their bytes, which the card sees no more."""
        self._card._check(self._card._lib.hr_memory_unmap(self._card._open, address))

    def read(self, address: int, size: int) -> bytes:
        """A copy of ``size`` bytes. Raises IndexError when they aren't within one mapped range."""
        return bytes(self._card._ffi.buffer(self._at(address, size), size))

    def write(self, address: int, data: bytes) -> None:
        """Raises IndexError when the bytes don't go into one mapped range."""
        self._card._ffi.memmove(self._at(address, len(data)), data, len(data))

    def view(self, address: int, size: int) -> memoryview:
        """The bytes themselves, without a copy (``numpy.frombuffer`` takes it). It shares them with the card as long as
        that is open and the range mapped; afterwards they stay as they are. Raises IndexError when they aren't within
        one mapped range."""
        if size == 0:
            return memoryview(bytearray())
        lib, ffi = self._card._lib, self._card._ffi
        pointer = self._at(address, size)
        kept = lib.hr_memory_keep(self._card._open, address)
        return memoryview(ffi.buffer(ffi.gc(pointer, lambda _: lib.hr_memory_drop(kept)), size))

    def _at(self, address: int, size: int) -> Any:
        """A pointer to bytes. Raises IndexError when they aren't within one mapped range."""
        pointer = self._card._lib.hr_memory_at(self._card._open, address, size)
        if pointer == self._card._ffi.NULL and size:
            raise IndexError(f"host memory: {size} bytes at {address:#x} are not within one mapped range")
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
