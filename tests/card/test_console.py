# SPDX-License-Identifier: Apache-2.0
"""A card's console, what it is connected to, and a core that sleeps until something comes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_card import COUNT, LOOP
from patience import HANG_S, sleeps, until

from headrace.card import Card, CardError

Open = Callable[..., Card]
CORE, DOORBELL = 0x30, 0x34
AWAKE = 1 << 16


def wakeful(card: Card, work: int = 1) -> Card:
    """The core takes notice of what comes, and works for so many cycles then."""
    card.write(CORE, AWAKE | work)
    return card


def say(card: Card, text: str, core: int = 0) -> None:
    for letter in text.encode():
        card.write(DOORBELL, letter | core << 8)
        card.run(until=None, cycles=10)


# Output


def test_memory_keeps_the_bytes_of_each_core_apart(loop: Open) -> None:
    card = wakeful(loop())
    say(card, "forgotten")
    card.console("memory")
    say(card, "zero")
    say(card, "two\xff"[:3], core=255)
    say(card, "\0!")
    assert card.console_read() == b"zero\0!" and card.console_read(255) == b"two" and card.console_read(1) == b""
    assert card.console_read() == b""


def test_more_than_a_buffer_is_read_at_once(loop: Open) -> None:
    card = wakeful(loop())
    card.console("memory")
    card.console_write(bytes(range(256)) * 40, core=3)
    assert card.run().idle
    assert card.console_read(3) == bytes(range(256)) * 40


def test_a_file_has_the_bytes_as_they_come(loop: Open, tmp_path: Path) -> None:
    card = wakeful(loop())
    card.console(f"file:{tmp_path / 'out'}")
    say(card, "a", core=1)
    say(card, "bc\n", core=2)
    card.run()
    assert (tmp_path / "out").read_text() == "abc\n"  # there when a run ends
    card.close_files()
    say(card, "forgotten")
    card.console(f"file:{tmp_path / 'next'}")
    say(card, "d")
    card.close()
    assert (tmp_path / "out").read_text() == "abc\n" and (tmp_path / "next").read_text() == "d"


def test_what_cores_say_before_a_run_and_after_the_last_one_is_kept(loop: Open, tmp_path: Path) -> None:
    """Accesses to registers let the card go on, too."""
    out = tmp_path / "out"
    card = wakeful(loop())
    card.console(f"file:{out}")
    for text in ("before", "after"):
        for letter in text.encode():
            card.write(DOORBELL, letter)
            for _ in range(5):
                card.read(COUNT)
        card.run(until=None, cycles=100 if text == "before" else 0)
    card.close()
    assert out.read_bytes() == b"beforeafter"


def test_lines_with_prefixes_go_out_whole(loop: Open, tmp_path: Path) -> None:
    card = wakeful(loop())
    card.console(f"file:{tmp_path / 'out'}", prefix=True)
    for letters in zip("one\ntail", "two\n\nend", strict=True):
        for core, letter in enumerate(letters):
            say(card, letter, core=core + 8)
    assert (tmp_path / "out").read_text() == "core 8: one\ncore 9: two\ncore 9: \n"
    card.close()
    assert (tmp_path / "out").read_text().endswith("core 8: tail\ncore 9: end\n")


def test_standard_output_and_input_are_a_console_too(tmp_path: Path) -> None:
    script = """
import sys
from headrace.card import Card
with Card.open(sys.argv[1], progress=False) as card:
    card.write(0x30, 1 << 16 | 1)
    card.console("-", input="-", core=4, prefix=True)
    print(card.run().reason, file=sys.stderr)
"""
    command = [sys.executable, "-c", script, str(LOOP)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stdout and process.stderr
        for line in (b"first\n", b"second\n"):  # each is answered before the next
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == b"core 4: " + line
        process.stdin.close()
        assert process.stderr.read() == b"idle\n"


def test_a_full_disk_is_an_error_of_the_run(loop: Open) -> None:
    card = wakeful(loop())
    card.console("file:/dev/full")
    card.write(DOORBELL, ord("x"))
    with pytest.raises(CardError, match="/dev/full: No space left on device"):
        card.run()
    say(card, "more")
    assert card.run().idle


# Input


def test_a_file_is_read_to_its_end(loop: Open, tmp_path: Path) -> None:
    card = wakeful(loop(), work=7)
    text = os.urandom(10_000)
    (tmp_path / "in").write_bytes(text)
    card.console("memory", input=f"file:{tmp_path / 'in'}", core=9)
    card.console_write(b"before", core=1)
    assert card.run().idle
    assert card.console_read(9) == text and card.console_read(1) == b"before"


def test_input_that_no_core_takes_waits_and_keeps_the_card_from_nothing(loop: Open) -> None:
    card = loop()
    card.console("memory")
    card.console_write(b"early")
    card.hang_limit(20e-6)
    assert card.run().idle
    stats = card.run(until=None, seconds=0.1).stats
    assert stats.evaluated_cycles < 1000 and card.console_read() == b""
    wakeful(card)
    assert card.run().idle and card.console_read() == b"early"


# Pseudo-terminals


@pytest.fixture
def terminal(loop: Open) -> Callable[[], tuple[Card, int]]:
    """A card whose console is a pseudo-terminal, and a descriptor of it, as a terminal program has one."""

    def make() -> tuple[Card, int]:
        card = wakeful(loop())
        path = card.console("pty:", core=2)
        assert path is not None
        return card, os.open(path, os.O_RDWR | os.O_NOCTTY)

    return make


def test_what_is_typed_into_a_terminal_comes_back_byte_for_byte(terminal: Callable[[], tuple[Card, int]]) -> None:
    card, fd = terminal()
    typed = bytes(range(256))
    os.write(fd, typed)
    got = b""
    while len(got) < len(typed):
        card.run(wall_s=0.05)
        got += os.read(fd, 4096)
    assert got == typed
    card.stop_sources()
    assert card.run().idle
    os.close(fd)


@pytest.mark.always
def test_a_run_that_waits_for_a_terminal_needs_no_processor_and_goes_on(
    terminal: Callable[[], tuple[Card, int]],
) -> None:
    card, fd = terminal()
    used = time.process_time()
    assert card.run(wall_s=0.5).reason == "wall"
    assert time.process_time() - used < 0.25  # not of the wall
    os.close(fd)
    path = card.console("pty:")
    assert path is not None

    def types() -> None:
        until(lambda: sleeps(os.getpid()), "a run that waits")
        with open(path, "r+b", buffering=0) as keyboard:  # a program that comes later
            keyboard.write(b"x")
            assert keyboard.read(1) == b"x"
            done.set()

    done = threading.Event()
    thread = threading.Thread(target=types)
    thread.start()
    deadline = time.monotonic() + HANG_S
    while not done.is_set() and time.monotonic() < deadline:
        card.run(wall_s=0.05)
    thread.join()
    assert done.is_set()


def test_a_terminal_that_nobody_reads_holds_up_nothing(terminal: Callable[[], tuple[Card, int]]) -> None:
    card, fd = terminal()
    card.console_write(b"x" * 100_000)
    card.stop_sources()
    assert card.run().idle
    os.set_blocking(fd, False)
    got = 0
    try:
        while count := len(os.read(fd, 4096)):
            got += count
    except BlockingIOError:
        pass
    assert card.console_lost > 0 and got + card.console_lost == 100_000
    os.close(fd)


# What is refused


@pytest.mark.parametrize(
    ("link", "options", "message"),
    [
        ("tty", {}, "'tty' is no console: use file:NAME, - .standard output., pty: or memory"),
        ("memory", {"input": "pty:"}, "'pty:' is no input of a console: use file:NAME or - .standard input."),
        ("file:/absent/out", {}, "/absent/out: No such file or directory"),
        ("memory", {"input": "file:/absent/in"}, "/absent/in: No such file or directory"),
        ("memory", {"core": 256}, "no core 256 has a console: 0 to 255 may"),
        ("file:a\0b", {}, "there is a NUL in it"),
    ],
)
def test_a_wrong_console_is_refused_and_the_old_one_stays(
    loop: Open, link: str, options: dict[str, object], message: str
) -> None:
    card = wakeful(loop())
    card.console("memory")
    with pytest.raises(CardError, match=message):
        card.console(link, **options)  # type: ignore[arg-type]
    say(card, "still")
    assert card.console_read() == b"still"


def test_input_that_can_not_be_read_ends_the_run(loop: Open, tmp_path: Path) -> None:
    card = wakeful(loop())
    card.console("memory", input=f"file:{tmp_path}")
    with pytest.raises(CardError, match=f"{tmp_path}: Is a directory"):
        card.run()
    assert card.run().idle


def test_output_is_kept_by_memory_only(loop: Open, tmp_path: Path) -> None:
    card = loop()
    card.console(f"file:{tmp_path / 'out'}")
    with pytest.raises(CardError, match="its link is not memory"):
        card.console_read()


def test_a_card_without_console_ports_says_so(mycard: Card) -> None:
    for action in (lambda: mycard.console("memory"), lambda: mycard.console_write(b"x"), mycard.console_read):
        with pytest.raises(CardError, match="the card has no console"):
            action()


# Cores that sleep


@pytest.mark.parametrize("skip", [True, False])
def test_a_sleeping_core_is_idle_until_something_wakes_it(loop: Open, skip: bool) -> None:
    """By a packet, a doorbell, its register or the console; time in which it sleeps is skipped, its work is not."""
    card, doorbell = wakeful(loop(), work=500), os.eventfd(0)
    card.skip_idle(skip)
    card.console("memory")
    card.bind_doorbell(doorbell, DOORBELL, ord("d"))
    woken = {
        b"p": lambda: card.send(0, [bytes(60)]),
        b"d": lambda: os.eventfd_write(doorbell, 1),
        b"r": lambda: card.write(DOORBELL, ord("r")),
        b"c": lambda: card.console_write(b"c"),
    }
    for letter, wake in woken.items():
        card.run(until=None, cycles=100_000)
        assert card.console_read() == b""
        before = card.stats()
        wake()
        card.run(until=None, cycles=100_000)
        assert card.console_read() == letter
        after = card.stats()
        if skip:
            assert 500 < after.evaluated_cycles - before.evaluated_cycles < 700
        else:
            assert after.skipped_cycles == 0
    os.close(doorbell)
    assert card.read(COUNT) > 800_000 * (not skip)
