# SPDX-License-Identifier: Apache-2.0
"""Blocks of README and manual run as printed: in order, with what they start; outputs are compared where they are the
same on every machine. Each block has its test, or a reason why it has none."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from patience import until
from printed import Terminals, block, blocks
from soak import soak

from headrace import paths
from headrace.traffic import realistic_capture

pytestmark = pytest.mark.live

_WALL = re.compile(r".*wall clock.*\n|^╭.*\n|^╰.*\n| +(?=│)| *[\d.]+ million (?:cycle|packet)s/s", re.MULTILINE)
"""What depends on the machine in what a card and a bench report, and how wide that makes a card's frame."""


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traffic") / "in.pcap"
    realistic_capture(path, 5_000, method="made")
    return path


@pytest.fixture
def terminals(tmp_path: Path, traffic: Path) -> Iterator[Terminals]:
    """In a folder with what pages take for granted: captures, the demo's, programs, lists."""
    shutil.copy(traffic, tmp_path)
    (tmp_path / "build/demo").mkdir(parents=True)
    shutil.copy(traffic, tmp_path / "build/demo/traffic.pcap")
    shutil.copy(traffic, tmp_path / "commands.pcap")
    (tmp_path / "drop.txt").write_text("10.0.3.0/24\n10.0.5.7\n")
    for page, begins, name in (("filter", "; packets by", "source.bpf"), ("rpu", "#include", "mine.c")):
        program = next(each for each in blocks(f"docs/{page}-card.md") if each.startswith(begins))
        (tmp_path / name).write_text(program)
    (tmp_path / "commands").write_text("help\n")
    (tmp_path / "tests").symlink_to(paths.share() / "tests")
    with Terminals(tmp_path) as found:
        yield found


ALL = slice(None)
README, FILTER, CAPTURE, LINK, NIC = (
    "README.md",
    *(f"docs/{name}-card.md" for name in ("filter", "capture", "link", "nic")),
)
BRIDGE, RPU, SWITCH = (f"docs/{name}-card.md" for name in ("bridge", "rpu", "switch"))
EMULATOR, HARNESS, HOST = "docs/emulator.md", "docs/harness.md", "docs/host-interface.md"
COMMANDS, EXPORT, REGISTERS, SYNTHESIS = (
    f"docs/{name}.md" for name in ("command-line", "export", "registers", "synthesis")
)

END_WELL: list[Any] = [
    (README, ".venv/bin/headrace filter 'tcp port 80'", ALL),
    (README, "$ .venv/bin/headrace measure", ALL),
    (FILTER, "$ headrace measure", ALL),
    (FILTER, "headrace measure @source", ALL),
    soak(README, "make dashboard", slice(1, None)),
    soak(COMMANDS, "headrace --help", ALL),
    soak(COMMANDS, "headrace docs --man", ALL),
    soak(COMMANDS, "headrace completion", ALL),
    soak(EMULATOR, tuple(f"headrace emulate {name}" for name in ("new", "status", "plan", "sweep", "dashboard")), ALL),
    soak(EMULATOR, ("headrace emulate new", "from headrace.emulator"), slice(1)),
    soak(EXPORT, "headrace export", ALL),
    soak(RPU, ("echo 10.0.3.0/24", "headrace rpu stats", "$ headrace rpu swap"), ALL),
    soak(RPU, "headrace rpu profile", ALL),
    soak(RPU, "headrace rpu run mine", ALL),
    soak(README, ".venv/bin/headrace new block", ALL),
    soak(README, ".venv/bin/headrace rpu run", ALL),
    soak(README, ".venv/bin/headrace switch run --controller", ALL),
    soak(README, ".venv/bin/headrace filter tcp gen:", ALL),
    soak(LINK, ("headrace switch run --background", "from headrace.card.control"), ALL),
    soak(SWITCH, ("headrace switch run --learn", "ovs-ofctl"), ALL),
    soak(SWITCH, ("headrace switch run --background", "headrace switch add-flow"), ALL),
    soak(NIC, "headrace nic run --port vf:0=vhost", ALL),
    soak(HOST, "headrace switch run --background", ALL),
]
ON_CABLES: list[Any] = [
    soak(README, ".venv/bin/headrace capture -i iface:eth0", ALL),
    soak(CAPTURE, "$ headrace capture -i iface:eth0", ALL),
    soak(CAPTURE, "capture=$(", ALL),
    soak(CAPTURE, ("headrace extcap install", "tshark"), ALL),
    soak(FILTER, "headrace filter 'udp port 53'", ALL),
    soak(LINK, "headrace link --port 0=in.pcap", ALL),
    soak(NIC, "headrace nic run --port 0=iface:eth1", ALL),
]
SHOWN: list[Any] = [
    (FILTER, "$ headrace filter 'tcp src port 101'"),
    soak(README, "$ .venv/bin/headrace bridge"),
    soak(BRIDGE, "$ headrace bridge recv"),
    soak(CAPTURE, "$ headrace capture -i gen:"),
    soak(FILTER, "$ headrace filter '' gen:"),
    soak(HARNESS, "$ .venv/bin/python tests/card/bench_harness.py"),
]
PINGED: list[Any] = [
    soak(README, "switch=$("),
    soak(LINK, "link=$("),
    soak(NIC, "nic=$("),
    soak(HOST, "switch=$("),
    soak(HOST, "headrace switch run --learn --port vf:0=vhost:/tmp/vf0,trusted"),
    soak(RPU, "rpu=$("),
    soak(RPU, "headrace rpu run nic --units 2 --port 0=tap:wire --port vf:0=vhost"),
]
PRINTS: list[Any] = [
    (FILTER, ("from headrace.net import bpf", "91397")),
    soak(BRIDGE, ("headrace traffic triangle", "from headrace", "MoveReport")),
    soak(SYNTHESIS, ("headrace synth", " " * 17 + "stream_fifo")),
]
"""Blocks, the last of which shows what the others print."""
_NUMBER = re.compile(r"[\d.,]+")
RPU_CARD = """from headrace.cards.rpu import card as opened, elf, program
card, unit = opened.open_rpu_card(4), 0
driver = opened.driver_of(card)
driver.load(elf.read(program.build(["forwarder"])))
driver.boot()
driver.ready()
"""
CARD = "from headrace.card import Card\ncard = Card.open('filter', {'CORES': 4})\n"
PROGRAMS: list[Any] = [
    soak(CAPTURE, "from headrace.net import bpf", ""),
    soak(CAPTURE, "from headrace.cards.capture.run import driver_of", ""),
    soak(HARNESS, "from headrace.card import Card", ""),
    soak(HARNESS, "card.send(", CARD),
    soak(HARNESS, "import numpy", CARD),
    soak(HARNESS, "from headrace.card.packet_memory", CARD),
    soak(HARNESS, "import os", f"{CARD}function, vector, address, value = 0, 0, card.regs.control.address, 1\n"),
    soak(HARNESS, "path = card.console", CARD.replace("'filter', {'CORES': 4}", "'tests/card/cards/loop'")),
    soak(LINK, "from headrace.cards.link.card", ""),
    soak(NIC, "from headrace.card.functions", ""),
    soak(REGISTERS, "card.regs.control", CARD),
    soak(RPU, "base = card", RPU_CARD),
    soak(RPU, "from headrace.cards.rpu import elf, program\nfrom headrace.cards.rpu.swap", RPU_CARD),
    soak(RPU, "from headrace.cards.rpu import elf, program\nfrom headrace.cards.rpu.card", ""),
]
ELSEWHERE = {
    (README, "make demo"): ("tests/cli/test_demo.py::test_the_command_shows_the_parts_that_are_named", "demo"),
    (FILTER, "; packets by"): ("tests/cli/test_printed.py::terminals", "; packets by"),
    (RPU, "headrace rpu build"): (
        "tests/cli/test_printed.py::test_gdb_reaches_a_unit_of_the_rpu_card",
        "headrace rpu build",
    ),
    (RPU, "from headrace.cards.rpu.bench"): (
        "tests/cli/test_printed.py::test_the_rpu_cards_test_of_firmware_passes",
        "from headrace.cards.rpu.bench",
    ),
    (HARNESS, "hr_card"): (
        "tests/card/test_harness_capture.py::test_the_c_program_of_the_manual_copies_a_capture",
        "/path/of/the/model.so",
    ),
    (BRIDGE, "# bridge=$("): (
        "tests/cli/test_printed.py::test_the_bridge_between_interfaces_prints_what_the_page_shows_but_for_numbers",
        "# bridge=$(",
    ),
    (EMULATOR, "dask scheduler"): (
        "tests/cli/test_printed.py::test_a_scenario_of_moving_nodes_runs_over_hosts",
        "dask scheduler",
    ),
}
"""Functions that follow a block in their own way, each with words that it shares with the block."""

_IN_FULL = (
    "measures for minutes, and --full for hours, then writes into the pages; tests/cli/test_study*.py measure less"
)
CANNOT = {
    (README, "make test"): "runs all tests, this one too",
    ("docs/stream.md", "pytest tests/rtl"): "runs other tests",
    ("docs/architecture.md", ".venv/bin/python tests/mutation"): "v1 and v2 stand for commits of the reader's",
    (COMMANDS, "pip install"): "changes the environment of the tests",
    (COMMANDS, "apt install"): "changes the machine",
    (CAPTURE, "headrace capture -i SOURCE"): "stands for all captures",
    (FILTER, "headrace filter EXPR"): "stands for all filters",
    (
        HOST,
        "headrace switch run --learn --port vf:0=vhost:/tmp/vf0 ",
    ): "... stands for the options of the reader's guest",
    (REGISTERS, "from headrace.registers"): "read_word and write_word stand for functions of the reader's",
    **{
        (f"docs/study-{name}.md", f"headrace study {name}"): _IN_FULL
        for name in ("bridge", "capture", "emulator", "filter", "host", "rpu", "switch")
    },
}
"""Why a block can't run as it is printed."""

FOLLOWED = {"docs/tutorial.md": "tests/cli/test_tutorial.py::test_each_block_of_the_page_is_a_step"}
"""Pages whose blocks a test of their own follows, all of them, and what asserts that."""

_IS_TYPED = re.compile(
    r"^(?:[$#] )?(?:\w+=\$\()?(?:\.venv/bin/|sudo )?"
    r"(?:headrace|python|pip|apt|make|dask|tshark|ovs-ofctl|pytest|from|import|with|def)\b"
    r"|^(?:\w+ = )?card\.|^\w+\(card\b",
    re.MULTILINE,
)


def session(begins: str | tuple[str, ...]) -> tuple[str, ...]:
    """The beginnings of the blocks of a page that are typed one after the other."""
    return (begins,) if isinstance(begins, str) else begins


def source_of(test: str) -> str:
    """What a function is, by its file and name."""
    file, name = test.split("::")
    text = (paths.share() / file).read_text()
    (found,) = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef) and each.name == name)
    return ast.get_source_segment(text, found) or ""


def test_each_block_is_run_or_says_why_not() -> None:
    entries = [getattr(each, "values", each)[:2] for each in END_WELL + ON_CABLES + SHOWN + PRINTS + PINGED + PROGRAMS]
    run = {(page, each) for page, begins in entries for each in session(begins)}
    known = [*run, *ELSEWHERE, *CANNOT]
    assert len(known) == len(set(known))
    root = paths.share()
    found = []
    for path in [root / README, *sorted((root / "docs").glob("*.md"))]:
        page = str(path.relative_to(root))
        for text in blocks(page) if page not in FOLLOWED else []:
            names = [name for name in known if name[0] == page and text.startswith(name[1])]
            assert len(names) == 1 or (not names and not _IS_TYPED.search(text)), f"{page}: {names}: {text}"
            found += names
            for test, words in [ELSEWHERE[name] for name in names if name in ELSEWHERE]:
                assert words in text and words in source_of(test), f"{test}: {words}"
    assert sorted(found) == sorted(known), "each name is that of one block"
    assert all(page in source_of(test) for page, test in FOLLOWED.items())


@pytest.mark.parametrize(("page", "begins", "lines"), END_WELL)
def test_a_block_ends_well(terminals: Terminals, page: str, begins: str | tuple[str, ...], lines: slice) -> None:
    for each in session(begins):
        for line, _ in block(page, each)[lines]:
            terminals.type(line)


@pytest.mark.parametrize(("page", "begins", "lines"), ON_CABLES)
def test_a_block_ends_well_on_live_interfaces(
    terminals: Terminals, page: str, begins: str | tuple[str, ...], lines: slice
) -> None:
    terminals.cables()
    for each in session(begins):
        for line, _ in block(page, each)[lines]:
            terminals.type(line)


@pytest.mark.parametrize(("page", "begins", "before"), PROGRAMS)
def test_a_program_ends_well(terminals: Terminals, page: str, begins: str, before: str) -> None:
    terminals.run(before + next(text for text in blocks(page) if text.startswith(begins)))


@pytest.mark.parametrize(("page", "begins"), PRINTS)
def test_blocks_print_what_the_next_one_shows(terminals: Terminals, page: str, begins: tuple[str, ...]) -> None:
    said = [terminals.type(line) for each in begins[:-1] for line, _ in block(page, each)]
    shown = next(text for text in blocks(page) if text.startswith(begins[-1]))
    assert " ".join(shown.split()) in " ".join("".join(said).split())  # however wide the terminal is


@pytest.mark.soak
def test_the_bridge_between_interfaces_prints_what_the_page_shows_but_for_numbers(terminals: Terminals) -> None:
    def prints(line: str, shown: str) -> bool:
        return set(_NUMBER.sub("N", shown).splitlines()) <= set(_NUMBER.sub("N", terminals.type(line)).splitlines())

    for line, shown in block(BRIDGE, "# bridge=$("):
        until(partial(prints, line, shown), f"{line}: {shown}")


@pytest.mark.soak
def test_a_scenario_of_moving_nodes_runs_over_hosts(terminals: Terminals) -> None:
    terminals.cables()
    terminals.type("cp /etc/hosts hosts; echo 10.0.0.254 head >> hosts; mount --bind hosts /etc/hosts")
    terminals.type("headrace emulate new scenario.toml")
    scheduler, worker, run = (line for line, _ in block(EMULATOR, "dask scheduler"))
    terminals.type(scheduler)
    for before in ("", "ip netns exec far "):
        terminals.type(f"{before}{worker}")
    assert "ready: the emulation default is up on 2 hosts after" in terminals.type(run)

    def steps() -> int:
        return int(re.findall(r", step (\d+),", terminals.type("headrace emulate status"))[0])

    until(lambda: steps() >= 10, "links that come, go and change hosts")
    for node in ("n1", "n31"):  # one on each
        assert terminals.type(f"headrace emulate exec {node} hostname").endswith(f"{node}\n")


@pytest.mark.soak
def test_gdb_reaches_a_unit_of_the_rpu_card(terminals: Terminals) -> None:
    said = [terminals.type(line) for line, _ in block(RPU, "headrace rpu build")]
    assert "\nRemote debugging using :3336\n" in "".join(said)


@pytest.mark.soak
def test_the_rpu_cards_test_of_firmware_passes(terminals: Terminals, tmp_path: Path) -> None:
    text = next(text for text in blocks(RPU) if text.startswith("from headrace.cards.rpu.bench"))
    (tmp_path / "test_mine.py").write_text(text)
    assert "1 passed" in terminals.type(f"{sys.executable} -m pytest test_mine.py")


@pytest.mark.parametrize(("page", "begins"), SHOWN)
def test_a_block_prints_what_the_page_shows(terminals: Terminals, page: str, begins: str) -> None:
    for line, shown in block(page, begins):
        said = _WALL.sub("", terminals.type(line, code=1 if shown.startswith("headrace: ") else 0))
        assert all(each in said.splitlines() for each in _WALL.sub("", shown).splitlines()), said


@pytest.mark.parametrize(("page", "begins"), PINGED)
def test_hosts_ping_each_other(terminals: Terminals, page: str, begins: str | tuple[str, ...]) -> None:
    said = [terminals.type(line) for each in session(begins) for line, _ in block(page, each)]
    received = [int(each) for text in said for each in re.findall(r"(\d+) received", text)]
    assert received and min(received) > 0
