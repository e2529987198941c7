# SPDX-License-Identifier: Apache-2.0
"""Changes accelerators of a card's units while the others run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.card import Card
from headrace.card.process import Tell
from headrace.cards.rpu import accelerators, rules, tables
from headrace.cards.rpu import blocklist as blocklists
from headrace.cards.rpu.alerts import unread
from headrace.cards.rpu.card import load_accelerator
from headrace.cards.rpu.driver import RpuDriver, SwapReport
from headrace.cards.rpu.elf import Program
from headrace.errors import HeadraceError

Word = tuple[int, int]


def table_of(
    accelerator: str,
    blocklist: str | None = None,
    rule_file: str | None = None,
    strict: bool = False,
    first: int | None = None,
    tell: Tell = lambda _: None,
) -> Sequence[Word]:
    """What an accelerator loads: a blacklist a file of addresses and prefixes, a matcher one of rules; ``tell`` is told
    what of it isn't looked at. Raises HeadraceError for a file that it has no use for, that can't be read, or with
    ``strict`` has a line that can't be used. ``first``: so many rules are loaded at most."""
    for path, name in ((blocklist, "blacklist"), (rule_file, "matcher")):
        if path is not None and accelerator != name:
            raise HeadraceError(f"{path}: the accelerator is {accelerator}, and the file is for {name}", 2)
    if blocklist is not None:
        addresses = blocklists.read_blocklist(blocklist, strict)
        if left_out := blocklists.blocklist_left_out(addresses):
            tell(left_out)
        return blocklists.blocklist_words(addresses)
    if rule_file is not None:
        found = rules.read_rules(rule_file, strict, first)
        if left_out := unread(rule_file, found):
            tell(left_out)
        return tables.matcher_words(found.patterns)
    return ()


def swap(
    card: Card,
    driver: RpuDriver,
    units: Iterable[int],
    accelerator: str,
    program: Program,
    table: Sequence[Word] = (),
    *,
    force: bool = False,
    progress: bool = False,
) -> list[SwapReport]:
    """Gives units, one after the other, another accelerator (``accelerators.library``) and the program that goes with
    it. The packets of the other units are neither delayed nor lost; those of the changed one go to them meanwhile.

    Raises HeadraceError as ``RpuDriver.swap`` and ``accelerators.library`` do; nothing is changed before the
    accelerator is built.
    """
    accelerators.library(accelerator, int(card.parameters["DATA_W"]), progress)
    return [
        driver.swap(
            unit,
            lambda unit=unit: load_accelerator(card, unit, accelerator, progress),  # type: ignore[misc]
            program,
            table,
            force=force,
        )
        for unit in units
    ]
