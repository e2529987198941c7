"""Lints the RTL of a card as Verilator sees it, with every warning on."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from headrace.build import verilator_root
from headrace.description import CardDescription, rtl_sources
from headrace.registers import generate_rtl


def lint(card: CardDescription) -> str:
    """What ``verilator --lint-only -Wall`` says of a card, generated registers included; empty when it is clean.

    Unused signals are no fault here: every card has all the common ports, and structures travel whole through stages
    that need a part of them.
    """
    with tempfile.TemporaryDirectory() as folder:
        registers = generate_rtl(card.registers, Path(folder)) if card.registers else []
        root = verilator_root()
        arguments = ["--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "--timescale", "1ns/1ps", "--top-module", card.top]
        run = subprocess.run(
            [root / "bin" / "verilator_bin", *arguments, *map(str, registers), *map(str, rtl_sources(card))],
            env=os.environ | {"VERILATOR_ROOT": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
    return run.stderr if run.returncode else ""
