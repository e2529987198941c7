"""Software's tables of the switch's words and codes are those of ``switch_pkg``."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from pyslang.ast import Compilation, PackageSymbol
from pyslang.syntax import SyntaxTree

from headrace import paths
from headrace.cache import note_reads
from headrace.cards.switch import layout
from headrace.cards.switch.layout import Struct
from headrace.cards.switch.openflow.oxm import F

CODES = {
    "oxm_t": ("OXM_", F),
    "effect_op_t": ("EFFECT_", layout.EffectOp),
    "flow_op_t": ("FLOW_", layout.FlowOp),
    "action_op_t": ("ACT_", layout.Act),
    "band_kind_t": ("BAND_", layout.BandKind),
}
WORDS = {
    "match_t": layout.MATCH,
    "layers_t": layout.LAYERS,
    "lookup_t": layout.LOOKUP,
    "entry_t": layout.ENTRY,
    "effect_t": layout.EFFECT,
    "flow_command_t": layout.FLOW_COMMAND,
    "flow_count_t": layout.FLOW_COUNT,
    "expiry_t": layout.EXPIRY,
    "action_t": layout.ACTION,
    "edited_t": layout.EDITED,
    "edit_t": layout.EDIT,
    "copy_t": layout.COPY,
    "sent_t": layout.SENT,
    "band_t": layout.BAND,
    "meter_t": layout.METER,
}


@cache
def _package() -> tuple[Compilation, PackageSymbol]:
    """And what keeps it."""
    path = paths.share() / "rtl" / "switch" / "switch_pkg.sv"
    note_reads([path])
    compilation = Compilation()
    compilation.addSyntaxTree(SyntaxTree.fromFile(str(path)))
    package = compilation.getPackage("switch_pkg")
    assert package
    return compilation, package


def _members(name: str) -> Iterable[Any]:
    alias: Any = _package()[1].find(name)
    members: Iterable[Any] = alias.canonicalType
    return members


@pytest.mark.parametrize("name", CODES)
def test_codes_are_the_same(name: str) -> None:
    prefix, codes = CODES[name]
    rtl = {code.name: int(code.value.value) for code in _members(name)}
    assert rtl == {prefix + code.name: code.value for code in codes}


@pytest.mark.parametrize("name", WORDS)
def test_words_are_the_same(name: str) -> None:
    rtl = [(member.name, member.type.bitWidth) for member in _members(name)]
    word: Struct = WORDS[name]
    assert rtl == [(member.removesuffix("_"), word.width_of(member)) for member in word.members]
