# SPDX-License-Identifier: Apache-2.0
"""Promises of the manual: each stands on its page as docs/promises.toml has it, and its tests are there."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from typing import Any

import pytest

from headrace import paths

ROOT = paths.share()
PROMISES = tomllib.loads((ROOT / "docs" / "promises.toml").read_text())["promise"]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: f"{promise['page']}-{promise['text'][:40]}")
def test_a_promise_stands_on_its_page_and_has_tests(promise: dict[str, Any]) -> None:
    assert promise["text"] in words_of(promise["page"])
    assert promise["tests"]
    for test in promise["tests"]:
        file, name = test.split("::")
        assert name in functions_of(file)


@cache
def words_of(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text().split())


@cache
def functions_of(file: str) -> set[str]:
    """Of a bench, its behaviours too; of proofs, their classes."""
    tree = ast.parse((ROOT / file).read_text())
    named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in ast.walk(tree) if isinstance(node, named)}
