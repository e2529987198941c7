# SPDX-License-Identifier: Apache-2.0
"""YAML of plain data, for the manifests of other tools."""

from __future__ import annotations

import json
from typing import Any


def yaml_text(table: dict[str, Any]) -> str:
    """Mappings, lists and scalars, each scalar as JSON has it; none of the mappings and lists may be empty."""
    return "\n".join(_lines(table)) + "\n"


def _lines(value: Any, indent: str = "") -> list[str]:
    lines = []
    pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in pairs:
        head = f"{indent}-" if key is None else f"{indent}{key}:"
        if not isinstance(item, dict | list):
            lines.append(f"{head} {json.dumps(item, ensure_ascii=False)}")
        elif key is None and isinstance(item, dict):
            first, *rest = _lines(item, f"{indent}  ")
            lines += [f"{head} {first.strip()}", *rest]
        else:
            lines += [head, *_lines(item, f"{indent}  ")]
    return lines
