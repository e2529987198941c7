# SPDX-License-Identifier: Apache-2.0
"""Functions of a card: address spaces, memory and eventfds that other processes share, and runs that wait for them."""

from __future__ import annotations

import fcntl
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loop_card import (
    BASE,
    COUNT,
    DECERR,
    FAR,
    FIXED,
    FUNCTION,
    GO,
    INTERRUPT,
    OKAY,
    READ,
    SILENT,
    SLVERR,
    SUMS,
    WRITE,
    bursts,
    prepare,
)
from patience import HANG_S, sleeps, until

from headrace.card import BusError, Card, CardError

Open = Callable[..., Card]
PAGE = mmap.PAGESIZE
OWN = (3, 7)  # function and vector of the loop card's interrupts


@pytest.fixture
def memfd() -> Iterator[Callable[..., int]]:
    """Makes memfds, sealed against becoming shorter unless told otherwise."""
    made: list[int] = []

    def make(size: int, flags: int = os.MFD_ALLOW_SEALING, seals: int = fcntl.F_SEAL_SHRINK) -> int:
        made.append(os.memfd_create("ring", flags))
        os.truncate(made[-1], size)
        if flags:
            fcntl.fcntl(made[-1], fcntl.F_ADD_SEALS, seals)
        return made[-1]

    yield make
    for fd in made:
        os.close(fd)


@pytest.fixture
def event() -> Iterator[Callable[..., int]]:
    made: list[int] = []

    def make(count: int = 0) -> int:
        made.append(os.eventfd(count, os.EFD_NONBLOCK))
        return made[-1]

    yield make
    for fd in made:
        os.close(fd)


def signals(fd: int) -> int:
    try:
        return os.eventfd_read(fd)
    except BlockingIOError:
        return 0


@contextmanager
def beside(program: str, *fds: int) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program in another process, which gets the descriptors' numbers."""
    with subprocess.Popen([sys.executable, "-c", program, *map(str, fds)], pass_fds=fds) as process:
        try:
            yield process
        finally:
            process.kill()


# Address spaces


def test_a_burst_sees_only_the_memory_of_its_function(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    card.memory.map(BASE, 4096, function=5)
    card.memory.map(BASE + 4096, 4096, function=0xFFFF)
    for function, answers in ((0, [OKAY, DECERR]), (5, [OKAY, DECERR]), (0xFFFF, [DECERR, OKAY]), (1, [DECERR] * 2)):
        card.write(FUNCTION, function)
        assert [answer for _, answer in bursts(card, WRITE, count=2, length=1)] == answers
        assert [answer for _, answer in bursts(card, READ, count=2, length=1)] == answers
    assert card.stats().memory.errors == 2 * 5


def test_functions_have_bytes_of_their_own_at_the_same_address(loop: Open) -> None:
    card = loop()
    for function in (0, 1, 2):
        card.memory.map(BASE, 4096, function=function)
        card.memory.write(BASE, bytes([function + 1]) * 64, function=function)
    card.write(FUNCTION, 1)
    assert bursts(card, WRITE) == [(0, OKAY)]
    assert card.memory.read(BASE, 64) == b"\x01" * 64
    assert bytes(card.memory.view(BASE, 64, function=2)) == b"\x03" * 64
    assert card.memory.read(BASE + 8, 8, function=1) == (1).to_bytes(8, "little")
    card.memory.unmap(BASE, function=1)
    assert bursts(card, WRITE) == [(0, DECERR)]
    assert card.memory.read(BASE, 1) == b"\x01"
    with pytest.raises(IndexError, match="are not within one mapped range of function 1"):
        card.memory.read(BASE, 1, function=1)


def test_ranges_overlap_only_within_a_function(loop: Open) -> None:
    card = loop()
    card.memory.map(0x1000, 0x1000, function=3)
    card.memory.map(0x1800, 0x1000, function=4)
    with pytest.raises(CardError, match="the range at 0x1fff overlaps the one at 0x1000"):
        card.memory.map(0x1FFF, 1, function=3)
    with pytest.raises(CardError, match="no range begins at 0x1000"):
        card.memory.unmap(0x1000, function=4)
    with pytest.raises(CardError, match="map: out of range"):
        card.memory.map(0, 1, function=0x10000)


# Memory from a file


def test_memory_of_a_file_is_shared_with_all_who_map_it(loop: Open, memfd: Callable[..., int]) -> None:
    card, fd = loop(), memfd(3 * PAGE)
    other = mmap.mmap(fd, 3 * PAGE)
    card.memory.map(BASE, PAGE, fd=os.dup(fd), offset=PAGE)
    card.memory.map(BASE, 2 * PAGE, fd=fd, function=1)  # the same bytes for another function
    assert bursts(card, WRITE) == [(0, OKAY)]
    words = b"".join(beat.to_bytes(8, "little") for beat in range(8))
    assert other[PAGE : PAGE + 64] == words == card.memory.read(BASE + PAGE, 64, function=1)
    other[PAGE : PAGE + 4] = b"host"
    assert card.memory.read(BASE, 4) == b"host"
    card.memory.write(BASE, b"card")
    assert other[PAGE : PAGE + 4] == b"card" and other[:PAGE] == bytes(PAGE)


def test_the_descriptor_may_be_closed_and_a_view_outlives_the_range(loop: Open) -> None:
    card, fd = loop(), os.memfd_create("ring", os.MFD_ALLOW_SEALING)
    os.truncate(fd, PAGE)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    card.memory.map(BASE, PAGE, fd=fd)
    os.close(fd)
    assert bursts(card, WRITE, length=2) == [(0, OKAY)]
    view = card.memory.view(BASE, 16)
    card.memory.unmap(BASE)
    card.close()
    assert view[8] == 1


def test_a_range_may_end_within_a_page(loop: Open, memfd: Callable[..., int]) -> None:
    card = loop()
    card.memory.map(BASE, 100, fd=memfd(100))
    assert bursts(card, WRITE, length=2) == [(0, OKAY)]
    with pytest.raises(IndexError):
        card.memory.read(BASE, 101)


def test_read_only_memory_of_a_file_is_written_by_neither_side(loop: Open, memfd: Callable[..., int]) -> None:
    card, fd = loop(), memfd(PAGE)
    os.pwrite(fd, b"given", 0)
    reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    with pytest.raises(CardError, match="Permission denied"):
        card.memory.map(BASE, PAGE, fd=reader)
    card.memory.map(BASE, PAGE, fd=reader, read_only=True)
    os.close(reader)
    assert bursts(card, WRITE) == [(0, SLVERR)] and bursts(card, READ) == [(0, OKAY)]
    with pytest.raises(IndexError, match="are not within one writable range"):
        card.memory.write(BASE, b"taken")
    with pytest.raises(IndexError, match="are not within one writable range"):
        card.memory.store_release(BASE, 0, 4)
    view = card.memory.view(BASE, 5)
    assert view.readonly and bytes(view) == b"given"


def test_files_that_could_become_too_short_are_refused(loop: Open, memfd: Callable[..., int], tmp_path: Path) -> None:
    card, sealed = loop(), memfd(2 * PAGE)
    for size, offset in ((2 * PAGE + 1, 0), (PAGE + 1, PAGE), (1, 2 * PAGE), (1, 1 << 63), ((1 << 64) - BASE, 0)):
        with pytest.raises(CardError, match=rf"has {2 * PAGE} bytes, too few for {size} from offset {offset} on"):
            card.memory.map(BASE, size, fd=sealed, offset=offset)
    with pytest.raises(CardError, match=f"offset 512 is no multiple of a page, {PAGE}"):
        card.memory.map(BASE, PAGE, fd=sealed, offset=512)
    for seals in (0, fcntl.F_SEAL_GROW):
        with pytest.raises(CardError, match="has no seal F_SEAL_SHRINK"):
            card.memory.map(BASE, PAGE, fd=memfd(PAGE, seals=seals))
    with pytest.raises(CardError, match="can't be sealed, .*F_SEAL_SHRINK"):
        card.memory.map(BASE, PAGE, fd=memfd(PAGE, flags=0))
    (tmp_path / "file").write_bytes(b"x" * PAGE)
    with (tmp_path / "file").open("r+b") as file:
        with pytest.raises(CardError, match="can't be sealed, .* or say that it is trusted"):
            card.memory.map(BASE, PAGE, fd=file.fileno())
        with pytest.raises(CardError, match="too few"):
            card.memory.map(BASE, PAGE + 1, fd=file.fileno(), trusted=True)
        card.memory.map(BASE, PAGE, fd=file.fileno(), trusted=True)
    assert card.memory.read(BASE, 1) == b"x"


def test_what_is_no_file_of_memory_is_refused(loop: Open, memfd: Callable[..., int]) -> None:
    card, (reader, writer) = loop(), os.pipe()
    for fd, message in ((reader, "has a size"), (-1, "Bad file descriptor"), (10**6, "Bad file descriptor")):
        with pytest.raises(CardError, match=rf"^host memory: file descriptor {fd}.*{message}"):
            card.memory.map(BASE, PAGE, fd=fd)
    os.close(reader)
    os.close(writer)
    with pytest.raises(CardError, match="fd is missing"):
        card.memory.map(BASE, PAGE, offset=PAGE)
    card.memory.map(BASE, PAGE)
    with pytest.raises(CardError, match="overlaps"):
        card.memory.map(BASE, PAGE, fd=memfd(PAGE))


# Words that are shared


def test_words_are_loaded_and_stored_by_their_size(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096, function=2)
    for size in (1, 2, 4, 8):
        value = int.from_bytes(bytes(range(0x81, 0x81 + size)), "little")
        card.memory.write(BASE, bytes(16), function=2)
        card.memory.store_release(BASE + size, value, size, function=2)
        assert card.memory.read(BASE, 2 * size, function=2) == bytes(size) + value.to_bytes(size, "little")
        assert card.memory.read(BASE + 2 * size, 8, function=2) == bytes(8)
        assert card.memory.load_acquire(BASE + size, size, function=2) == value


@pytest.mark.parametrize("size", [2, 4, 8])
def test_words_must_be_aligned_to_their_size(loop: Open, size: int) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    card.memory.map(BASE + 4097, 4096)  # whose bytes lie elsewhere in a page than their addresses say
    for address in (BASE + 1, BASE + size // 2, BASE + 4096 + size):
        with pytest.raises(CardError, match=f"the {size} bytes at {address:#x} are not aligned to their size"):
            card.memory.load_acquire(address, size)
        with pytest.raises(CardError, match="are not aligned to their size"):
            card.memory.store_release(address, 0, size)


def test_wrong_words_are_refused(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    for size in (0, 3, 16):
        with pytest.raises(CardError, match=f"a word has 1, 2, 4 or 8 bytes, not {size}"):
            card.memory.load_acquire(BASE, size)
    for value in (-1, 1 << 16):
        with pytest.raises(CardError, match="doesn't go into 2 bytes"):
            card.memory.store_release(BASE, value, 2)
    with pytest.raises(IndexError):
        card.memory.load_acquire(BASE + 4096, 4)
    with pytest.raises(IndexError):
        card.memory.load_acquire(BASE, 4, function=1)


SLOTS, ROUNDS = 64, 20_000

# Answers each entry of a ring in a memfd with its own in another: two indices each, then the slots.
ANSWERER = f"""
import ctypes, mmap, os, sys
ring = mmap.mmap(int(sys.argv[1]), {4 * PAGE})
word = lambda at: ctypes.c_uint32.from_buffer(ring, at)
asked, answered = word(0), word({PAGE})
for n in range({ROUNDS}):
    while asked.value == n:
        os.sched_yield()
    slot = n % {SLOTS} * 8
    ring[{3 * PAGE} + slot : {3 * PAGE} + slot + 8] = ring[{2 * PAGE} + slot : {2 * PAGE} + slot + 8][::-1]
    answered.value = n + 1
"""


def entry(n: int) -> int:
    return n * 0x9E3779B97F4A7C15 % 2**64


def test_two_processes_exchange_entries_of_a_ring(loop: Open, memfd: Callable[..., int]) -> None:
    memory, fd = loop().memory, memfd(4 * PAGE)
    memory.map(BASE, 4 * PAGE, fd=fd)
    questions, answers = BASE + 2 * PAGE, BASE + 3 * PAGE
    with beside(ANSWERER, fd) as answerer:
        asked = answered = 0
        while answered < ROUNDS:
            gone = answerer.poll() is not None
            while asked < min(answered + SLOTS, ROUNDS):
                memory.write(questions + asked % SLOTS * 8, entry(asked).to_bytes(8, "big"))
                asked += 1
            memory.store_release(BASE, asked, 4)
            reached = memory.load_acquire(BASE + PAGE, 4)
            for n in range(answered, reached):
                assert memory.read(answers + n % SLOTS * 8, 8) == entry(n).to_bytes(8, "little")
            answered = reached
            assert answered == ROUNDS or not gone
        assert answerer.wait(HANG_S) == 0


# The one looks at a word until it has changed often; the other writes one of two equal halves: also a sum of such has
# them.
WATCHER = f"""
import ctypes, mmap, sys
word = ctypes.c_uint64.from_buffer(mmap.mmap(int(sys.argv[1]), {PAGE}))
changes = last = 0
while changes < 100:
    value = word.value
    changes += value != last
    last = value
    assert len(set(value.to_bytes(8, "little"))) == 1, hex(value)
"""
WRITER = f"""
import ctypes, mmap, sys
word = ctypes.c_uint32.from_buffer(mmap.mmap(int(sys.argv[1]), {PAGE}))
while True:
    word.value = 0x00010001
    word.value = 0
"""


def test_a_burst_writes_words_whole(loop: Open, memfd: Callable[..., int]) -> None:
    card, fd = loop(), memfd(PAGE)
    card.memory.map(BASE, PAGE, fd=fd)
    with beside(WATCHER, fd) as watcher:
        prepare(card, count=255, stride=0, length=16, burst=FIXED, filled=True)
        while watcher.poll() is None:
            card.write(GO, WRITE)
            card.run()
        assert watcher.returncode == 0


def test_a_burst_reads_words_whole(loop: Open, memfd: Callable[..., int]) -> None:
    card, fd = loop(), memfd(PAGE)
    card.memory.map(BASE, PAGE, fd=fd)
    with beside(WRITER, fd):
        found = set()
        prepare(card, count=255, stride=0, length=16, burst=FIXED, id_mask=0)
        while len(found) < 20:
            card.write(GO, READ)
            card.run()
            found.add(card.read(SUMS))
        assert all(total >> 16 == total & 0xFFFF for total in found)


# Interrupts


def test_a_bound_interrupt_adds_to_its_eventfd_and_the_others_wait(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    card.memory.map(BASE, 4096)
    card.bind_interrupt(*OWN, os.dup(fd))
    card.bind_interrupt(4, 7, event(100))
    for _ in range(3):
        bursts(card, READ)
    assert signals(fd) == 3 and card.irqs() == [] and card.stats().interrupts == 3
    card.write(GO, READ)
    assert card.run(until="interrupt").idle and signals(fd) == 1
    card.write(INTERRUPT, 3 | 8 << 16)
    bursts(card, READ)
    assert signals(fd) == 0 and [(irq.function, irq.vector) for irq in card.irqs()] == [(3, 8)]
    card.write(INTERRUPT, 3 | 7 << 16)
    card.unbind_interrupt(*OWN)
    bursts(card, READ)
    assert signals(fd) == 0 and len(card.irqs()) == 1


def test_an_eventfd_that_is_full_holds_up_nothing(loop: Open) -> None:
    card, fd = loop(), os.eventfd(0)
    os.eventfd_write(fd, (1 << 64) - 2)
    card.memory.map(BASE, 4096)
    card.bind_interrupt(*OWN, fd)
    bursts(card, READ)
    assert os.eventfd_read(fd) == (1 << 64) - 2
    bursts(card, READ)
    assert os.eventfd_read(fd) == 1
    os.close(fd)


def test_wrong_bindings_are_refused(loop: Open, event: Callable[..., int], memfd: Callable[..., int]) -> None:
    card, fd = loop(), event()
    for wrong, message in ((memfd(1), "is no eventfd"), (-1, "Bad file descriptor"), (10**6, "Bad file descriptor")):
        with pytest.raises(CardError, match=rf"^file descriptor {wrong}:? {message}"):
            card.bind_interrupt(0, 0, wrong)
        with pytest.raises(CardError, match=rf"^file descriptor {wrong}:? {message}"):
            card.bind_doorbell(wrong, GO, 1)
    card.bind_interrupt(1, 2, fd)
    card.bind_doorbell(fd, GO, READ)
    with pytest.raises(CardError, match="interrupt 2 of function 1 is bound already"):
        card.bind_interrupt(1, 2, event())
    with pytest.raises(CardError, match="interrupt 1 of function 2 is not bound"):
        card.unbind_interrupt(2, 1)
    with pytest.raises(CardError, match=f"file descriptor {fd} is bound already"):
        card.bind_doorbell(fd, COUNT, 0)
    with pytest.raises(CardError, match="is not bound to a doorbell"):
        card.unbind_doorbell(fd + 1)
    with pytest.raises(CardError, match="bind_interrupt: out of range"):
        card.bind_interrupt(0, 1 << 16, fd)
    with pytest.raises(CardError, match="bind_doorbell: out of range"):
        card.bind_doorbell(event(), GO, 1 << 32)
    with pytest.raises(BusError, match="must be a multiple of 4"):
        card.bind_doorbell(event(), 2, 1)


# Doorbells


def ready(card: Card, fd: int) -> None:
    """A signal of the eventfd makes the card read memory, after which it raises an interrupt."""
    card.memory.map(BASE, 4096)
    prepare(card)
    card.bind_doorbell(fd, GO, READ)


def test_signals_that_are_seen_together_are_one_write(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    ready(card, fd)
    for count in (1, 2):
        for _ in range(3):
            os.eventfd_write(fd, 7)
        assert card.run(until="interrupt").reason == "interrupt"
        assert len(card.irqs()) == 1 and signals(fd) == 0
        assert card.stats().memory.read_bursts == count


def test_each_doorbell_writes_its_own_value(loop: Open, event: Callable[..., int]) -> None:
    card, doorbells = loop(), [event() for _ in range(100)]
    for n, fd in enumerate(doorbells):
        card.bind_doorbell(fd, FAR, n)
    for n in (17, 99, 0):
        os.eventfd_write(doorbells[n], 1)
        card.run(until=None, cycles=100)
        assert card.read(FAR) == n
    for fd in doorbells:
        os.eventfd_write(fd, 1)
    card.run(until=None, cycles=1000)
    assert not any(signals(fd) for fd in doorbells)


def test_a_doorbell_that_is_unbound_rings_no_more(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    ready(card, fd)
    card.unbind_doorbell(fd)
    os.eventfd_write(fd, 1)
    assert card.run().idle and signals(fd) == 1
    card.bind_doorbell(fd, GO, READ)
    os.eventfd_write(fd, 1)
    assert card.run(until="interrupt").reason == "interrupt"


def test_a_run_with_doorbells_has_as_many_cycles_as_it_should(loop: Open, event: Callable[..., int]) -> None:
    """Also where it ends while a doorbell's write is on the bus; the host's own access then comes after that."""
    card, fd = loop(), event()
    card.bind_doorbell(fd, FAR, 1)
    for cycles in range(1, 20):
        card.write(FAR, 0)
        before = card.stats().cycles
        os.eventfd_write(fd, 1)
        card.run(until=None, cycles=cycles)
        assert card.stats().cycles == before + cycles
        card.write(COUNT, cycles << 20)
        assert card.read(COUNT) >> 20 == cycles and card.read(FAR) == 1


def test_a_doorbell_rings_in_the_middle_of_traffic(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    ready(card, fd)
    card.source(0, "gen:size=60-1514")
    card.expect_passthrough(0, 1)

    def ring(stats: object) -> None:
        os.eventfd_write(fd, 1)

    assert card.run(until="interrupt", progress=ring).reason == "interrupt"
    card.end_source(0)
    card.unbind_doorbell(fd)
    stats = card.run().stats
    assert stats.ports[0].rx_frames > 0 and stats.ports[0].rx_overruns == 0 and stats.passthrough_mismatches == 0


def test_a_doorbell_that_the_card_refuses_ends_the_run_and_not_the_card(loop: Open, event: Callable[..., int]) -> None:
    card, wrong, silent = loop(), event(), event()
    card.bind_doorbell(wrong, 0x800, 1)
    card.bind_doorbell(silent, SILENT, 1)
    os.eventfd_write(wrong, 1)
    with pytest.raises(BusError, match="the card refuses the write of a doorbell to register 0x0800"):
        card.run()
    os.eventfd_write(silent, 1)
    with pytest.raises(BusError, match="the card does not answer the write of a doorbell to register 0x0f00"):
        card.run()
    card.unbind_doorbell(wrong)
    card.unbind_doorbell(silent)
    card.write(FAR, 5)
    assert card.read(FAR) == 5 and card.run().idle


# Runs that wait


@pytest.mark.always
def test_a_run_that_waits_for_doorbells_needs_no_processor(loop: Open, event: Callable[..., int]) -> None:
    card = loop()
    ready(card, event())
    for until_what in ("idle", "interrupt", None):
        used = time.process_time()
        assert card.run(until=until_what, wall_s=0.5).reason == "wall"
        assert time.process_time() - used < 0.25  # not of the wall


def test_a_waiting_run_goes_on_when_the_doorbell_rings(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    ready(card, fd)

    def ring() -> None:
        until(lambda: sleeps(os.getpid()), "a run that waits")
        os.eventfd_write(fd, 1)

    for _ in range(3):
        thread = threading.Thread(target=ring)
        thread.start()
        assert card.run(until="interrupt").reason == "interrupt"
        thread.join()
        assert len(card.irqs()) == 1


def test_a_waiting_run_ends_at_its_limits(loop: Open, event: Callable[..., int]) -> None:
    card = loop()
    ready(card, event())
    before = card.stats()
    assert card.run(seconds=0.05).reason == "cycles"
    assert card.stats().card_s - before.card_s == pytest.approx(0.05)
    assert card.run(until=None, seconds=3600).reason == "cycles"  # which nobody waits for


def test_ctrl_c_ends_a_waiting_run(loop: Open, event: Callable[..., int]) -> None:
    card, fd = loop(), event()
    ready(card, fd)

    def interrupt() -> None:
        until(lambda: sleeps(os.getpid()), "a run that waits")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        card.run()
    thread.join()
    os.eventfd_write(fd, 1)
    assert card.run(until="interrupt").reason == "interrupt"


# A driver in a process of its own: rings, waits for the interrupt, and looks at what the card has written.
DRIVER = f"""
import mmap, os, sys
memory, doorbell, interrupt = mmap.mmap(int(sys.argv[1]), {PAGE}), int(sys.argv[2]), int(sys.argv[3])
words = b"".join(beat.to_bytes(8, "little") for beat in range(256))
for _ in range(100):
    memory[:2048] = b"x" * 2048
    os.eventfd_write(doorbell, 1)
    assert os.eventfd_read(interrupt) == 1
    assert memory[:2048] == words
"""


def test_a_driver_in_another_process_rings_waits_and_finds_the_data(loop: Open, memfd: Callable[..., int]) -> None:
    card, fd = loop(), memfd(PAGE)
    doorbell, interrupt = os.eventfd(0), os.eventfd(0)
    card.write(FUNCTION, 9)
    card.memory.map(BASE, PAGE, fd=fd, function=9)
    prepare(card, length=256)
    card.bind_doorbell(doorbell, GO, WRITE)
    card.bind_interrupt(*OWN, interrupt)
    with beside(DRIVER, fd, doorbell, interrupt) as driver:
        deadline = time.monotonic() + HANG_S
        while driver.poll() is None and time.monotonic() < deadline:
            card.run(wall_s=0.05)
        assert driver.poll() == 0
    assert card.stats().interrupts == 100 and card.irqs() == []
    os.close(doorbell)
    os.close(interrupt)
