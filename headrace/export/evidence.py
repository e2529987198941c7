# SPDX-License-Identifier: Apache-2.0
"""What there is of each block in the tree: proofs, behaviours that benches test, figures of its size, cards."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace import paths
from headrace.build.description import list_cards
from headrace.evaluate import figures
from headrace.export.about import head_of
from headrace.export.sources import named_in

_SYNTH = re.compile(r"headrace synth (\w+)")


@dataclass
class Evidence:
    """Of one block. Paths are relative to the tree."""

    proofs: dict[str, str] = field(default_factory=dict)
    """What each file of a proof says of it."""
    benches: dict[str, list[str]] = field(default_factory=dict)
    """The behaviours that each bench tests."""
    figures: list[tuple[str, str, str]] = field(default_factory=list)
    """What was measured, the value, and the command."""
    cards: list[str] = field(default_factory=list)
    """Cards that it is in."""
    users: list[str] = field(default_factory=list)
    """Blocks that it is in, next to it."""
    parts: list[str] = field(default_factory=list)
    """Blocks that are in it, at any depth."""


def evidence(blocks: Mapping[str, Path]) -> Mapping[str, Evidence]:
    """Of the blocks with these files. An installed package has no tests and no figures."""
    found: dict[str, Evidence] = defaultdict(Evidence)
    root = paths.share()
    parts = {name: named_in(path) & blocks.keys() - {name} for name, path in blocks.items()}
    for name, used in parts.items():
        for part in used:
            found[part].users.append(name)
        found[name].parts = sorted(_within(name, parts) - {name})
    for card in list_cards():
        for name in _within(card.top, parts):
            found[name].cards.append(card.name)
    for proof in sorted((root / "tests" / "formal").rglob("*_proof.sv")):
        for name in named_in(proof) & blocks.keys():
            found[name].proofs[str(proof.relative_to(root))] = head_of(proof)
    for bench in sorted((root / "tests" / "rtl").rglob("bench_*.py")):
        for name in _tested(bench, blocks):
            found[name].benches[str(bench.relative_to(root))] = list(_behaviours(bench))
    for name, row in _rows(root):
        found[name].figures.append(row)
    return found


def _within(top: str, parts: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += parts[name]
    return seen


def _tested(bench: Path, blocks: Mapping[str, Path]) -> set[str]:
    """The block that a bench is named after, maybe with more words behind, and those that it is run on by name."""
    name = bench.stem.removeprefix("bench_")
    while name and name not in blocks:
        name = name.rpartition("_")[0]
    run = {
        call.args[0].value
        for test in bench.parent.glob("test_*.py")
        for call in ast.walk(ast.parse(test.read_text()))
        if isinstance(call, ast.Call)
        and len(call.args) > 1
        and all(isinstance(arg, ast.Constant) for arg in call.args[:2])
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[1], ast.Constant)
        and call.args[1].value == bench.stem
        and isinstance(call.args[0].value, str)
    }
    return ({name} | run) & blocks.keys()


def _behaviours(bench: Path) -> Iterator[str]:
    """Names of a bench's tests, as words."""
    for node in ast.parse(bench.read_text()).body:
        if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list:
            yield node.name.replace("_", " ")


def _rows(root: Path) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Rows of figures that ``headrace synth`` of a block gives, by the block."""
    if not (root / figures.FILE).exists():
        return
    for entry in figures.read(root).values():
        for line in "\n".join(entry.values.values()).splitlines():
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            if len(cells) == 4 and (match := _SYNTH.search(cells[3])):
                yield match[1], (cells[0], cells[2], f"{cells[3]} ({entry.date})")
