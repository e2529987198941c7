# SPDX-License-Identifier: Apache-2.0
"""The manual as a site: its contents name every page, and every link leads somewhere. `make docs` builds it."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path

import pytest

from headrace import paths

ROOT = paths.share()
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def test_the_contents_name_every_page_once() -> None:
    chapters = runpy.run_path(str(DOCS / "conf.py"))["chapters"]((DOCS / "index.md").read_text())
    named = [page for pages in chapters.values() for page in pages]
    assert sorted(named) == [path.stem for path in sorted(DOCS.glob("*.md")) if path.stem != "index"]


@cache
def words_of(page: Path) -> str:
    """Without blocks of code and without code in lines, where nothing is a link or a heading."""
    text = re.sub(r"^```.*?^```|^    .*?$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?!`)[^\n]*?\1", lambda code: code[0].replace("](", "] ("), text)


@cache
def anchors_of(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", words_of(page), re.MULTILINE):
        plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", words_of(page)):
        name, _, anchor = target.partition("#")
        if name.startswith(("http://", "https://")):
            continue
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors_of(there), target
