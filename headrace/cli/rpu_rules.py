"""``headrace rpu rules``: what of a file of rules the intrusion detector looks for."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import common

if TYPE_CHECKING:
    from headrace.cards.rpu.rules import Rule

First = Annotated[int | None, typer.Option(metavar="N", min=1, help="Load only the first N rules that can be loaded.")]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a blocklist or rules with a line that can't be used.")]


def rules_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Snort or Suricata rules.")],
    first: First = None,
    strict: Strict = False,
    json: common.Json = False,
) -> int:
    """List for each rule the pattern that a matcher loads and the options that it ignores, or why it isn't loaded.

    The exit code is 1 if the rules don't fit into the matcher.
    """
    from headrace.cards.rpu.rules import read_rules
    from headrace.cards.rpu.tables import MATCHER_ROWS, fitting, rows_of

    found = read_rules(file, strict, first)
    patterns = found.patterns
    rows, fit = sum(map(rows_of, patterns)), fitting(patterns)
    if json:
        listed = [_listed(rule) for rule in found.listed]
        skipped = [{"line": line, "reason": reason} for line, reason in found.skipped]
        counts = {"loaded": len(patterns), "fit": fit, "rows": rows, "rows_there_are": MATCHER_ROWS}
        print(json_format.dumps({"path": file, **counts, "rules": listed, "skipped": skipped}, indent=2))
    else:
        for rule in found.listed:
            print(_line(rule))
        for line, reason in found.skipped:
            print(f"line {line}: not loaded: {reason}")
        print(
            f"{len(patterns):,} of {len(found.listed) + len(found.skipped):,} rules are loaded, in {rows:,} of "
            f"{MATCHER_ROWS:,} rows"
        )
    if fit < len(patterns):
        common.tell(f"{file}: the matcher holds the first {fit:,} of {len(patterns):,} patterns: --first {fit}")
        return 1
    return 0


def _line(rule: Rule) -> str:
    from headrace.cards.rpu.rules import written

    what = written(rule.pattern) if rule.reason is None and rule.pattern else f"not loaded: {rule.reason}"
    unread = f"; ignored: {', '.join(rule.unread)}" if rule.unread and rule.reason is None else ""
    return f"line {rule.line}, sid {rule.sid}: {what}{unread}"


def _listed(rule: Rule) -> dict[str, Any]:
    pattern = rule.pattern if rule.reason is None else None
    return {
        "line": rule.line,
        "sid": rule.sid,
        "msg": rule.message,
        "pattern": None if pattern is None else {"hex": pattern.content.hex(), "nocase": pattern.nocase},
        "reason": rule.reason,
        "not_looked_at": rule.unread,
    }
