# SPDX-License-Identifier: Apache-2.0
"""What an RTL file says of itself: its head, and which parameters it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.build.description import CardDescription
from headrace.export.interface import Interface

_REFUSAL = re.compile(r'\$fatal\(\s*1,\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_MUST = re.compile(r"(\w+) must be (.*?)(?:, not %0d)?", re.DOTALL)


def head_of(source: Path) -> str:
    """The comment before the module, as its lines are, without the licence."""
    lines = []
    for line in source.read_text(errors="replace").splitlines():
        if not line.startswith("//"):
            break
        if "SPDX" not in line:
            lines.append(line.removeprefix("//").removeprefix(" ").rstrip())
    return "\n".join(lines).strip("\n")


def summary(head: str) -> str:
    """Its first sentence."""
    paragraph = " ".join(head.partition("\n\n")[0].split())
    end = paragraph.find(". ")
    return paragraph if end < 0 else paragraph[: end + 1]


def refusals(source: Path) -> list[str]:
    """What a block says of parameters that it refuses, without its name."""
    said = _REFUSAL.findall(source.read_text(errors="replace"))
    return [text.removeprefix(f"{source.stem}: ") for text in said]


def described(interface: Interface, source: Path, card: CardDescription | None = None) -> Interface:
    """With the allowed values of parameters, and what a card's description says of its own."""
    allowed = {p.name: "0 or 1" for p in interface.parameters if p.width == 1}
    allowed |= {match[1]: match[2] for text in refusals(source) if (match := _MUST.fullmatch(text))}
    own: Mapping[str, tuple[str, str]] = {p.name: (p.allowed, p.help) for p in card.parameters.values()} if card else {}
    known = [(p, *own.get(p.name, (allowed.get(p.name, ""), p.comment))) for p in interface.parameters]
    return replace(interface, parameters=tuple(replace(p, allowed=values, comment=said) for p, values, said in known))
