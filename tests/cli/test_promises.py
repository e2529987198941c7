# SPDX-License-Identifier: Apache-2.0
"""Promises of the manual: each stands on its page as docs/promises.toml has it, and its test is there."""

from __future__ import annotations

import ast
import tomllib

import pytest

from headrace import paths

ROOT = paths.share()
PROMISES = tomllib.loads((ROOT / "docs" / "promises.toml").read_text())["promise"]


@pytest.mark.parametrize(
    "promise", PROMISES, ids=lambda promise: f"{promise['page']}-{promise['test'].rsplit('::', 1)[-1]}"
)
def test_a_promise_stands_on_its_page_and_has_a_test(promise: dict[str, str]) -> None:
    page = " ".join((ROOT / "docs" / promise["page"]).read_text().split())
    assert promise["text"] in page
    file, name = promise["test"].split("::")
    tree = ast.parse((ROOT / file).read_text())
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
