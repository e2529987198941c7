"""Lints the RTL of a card as Verilator sees it, with nearly every warning on."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from headrace.build.description import CardDescription, black_box_files, data_files, rtl_sources, waiver_files
from headrace.build.toolchain import verilator_root
from headrace.cache import note_reads
from headrace.registers.compile import generate_rtl

OPTIONS = ("--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-PINCONNECTEMPTY", "--timescale", "1ns/1ps")


def lint(card: CardDescription, parameters: Mapping[str, int] | None = None) -> str:
    """What ``verilator --lint-only -Wall`` says of a card, generated registers included; empty when it is clean.

    ``parameters`` differ from the card's defaults: parts that only some settings have are looked at with those.
    Unused signals are no fault here: every card has all the common ports, and structures travel whole through stages
    that need a part of them. Nor are pins that are left open in so many words, nor what the card's waivers name.
    """
    sources = [*rtl_sources(card), *black_box_files(card)]
    note_reads([*sources, *data_files(sources), *waiver_files(card)])
    folders = [f"-I{place}" for place in sorted({source.parent for source in sources})]  # of what they include
    with tempfile.TemporaryDirectory() as folder:
        registers = generate_rtl(card.registers, Path(folder)) if card.registers else []
        root = verilator_root()
        command = [str(root / "bin" / "verilator_bin"), *OPTIONS, "--top-module", card.top]
        values = [f"-G{name}={value}" for name, value in (parameters or {}).items()]
        run = subprocess.run(
            [*command, *values, *folders, *map(str, [*waiver_files(card), *registers, *sources])],
            env=os.environ | {"VERILATOR_ROOT": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
    return run.stderr if run.returncode else ""
