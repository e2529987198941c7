# SPDX-License-Identifier: Apache-2.0
"""Promises of the manual: each stands on its page as docs/promises.toml has it, and its test is there."""

from __future__ import annotations

import ast
import tomllib
from functools import cache

import pytest

from headrace import paths

ROOT = paths.share()
PROMISES = tomllib.loads((ROOT / "docs" / "promises.toml").read_text())["promise"]


@pytest.mark.parametrize(
    "promise", PROMISES, ids=lambda promise: f"{promise['page']}-{promise['test'].rsplit('::', 1)[-1]}"
)
def test_a_promise_stands_on_its_page_and_has_a_test(promise: dict[str, str]) -> None:
    assert promise["text"] in words_of(promise["page"])
    file, name = promise["test"].split("::")
    assert name in functions_of(file)


@cache
def words_of(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text().split())


@cache
def functions_of(file: str) -> set[str]:
    """Of a bench, its behaviours too."""
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
