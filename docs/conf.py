# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the site that `make docs` builds, from sources that scripts/build_docs.py lays out. Nothing
of it is from elsewhere when it is read."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Headrace"
project_copyright = "the authors of Headrace. Apache-2.0"
version = release = metadata.version("headrace")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = ["README.md", "docs/**.md", "registers/*.md", "api/*.rst"]
myst_heading_anchors = 4  # named as GitHub does
suppress_warnings = ["myst.header", "ref.python"]  # a page's tables may have headings; names of types may be others'
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_mock_imports = ["headrace.testing.handles"]  # it lives inside a simulator

html_theme = "furo"
html_title = "Headrace"
html_copy_source = html_show_search_summary = False  # the search can't read pages from the disk


def chapters(contents: str) -> dict[str, list[str]]:
    """Pages beside docs/index.md (``contents``) that it names, by the heading that they stand under."""
    parts = re.split(r"^\*\*(.+)\*\*$", contents, flags=re.MULTILINE)[1:]
    return {
        title: re.findall(r"^- \[.*?\]\(([\w/-]+)\.md\)", pages, re.MULTILINE)
        for title, pages in zip(parts[::2], parts[1::2], strict=True)
    }


def finish(app: Sphinx, name: str, source: list[str]) -> None:
    """Puts the table of contents, which is shown in the sidebar, on the front page. Folders, which a site can't show,
    are named on all pages, and not linked to."""
    source[0] = re.sub(r"\[([^]\n]+)\]\((?:\.\./)+[\w/]+\)", r"\1", source[0])
    if name != root_doc:
        return
    source_dir = Path(app.srcdir)

    def pages_of(folder: str) -> list[str]:
        return [f"{folder}/{path.stem}" for path in sorted((source_dir / folder).glob("*.md"))]

    named = chapters((source_dir / "docs/index.md").read_text())
    contents = {
        "": ["docs/index"],
        **{title: [f"docs/{page}" for page in pages] for title, pages in named.items()},
        "Blocks": [page for page in pages_of("docs/blocks") if page.endswith("/index")],
        "Registers": pages_of("registers"),
        "Python": ["api/index"],
    }
    for title, pages in contents.items():
        if pages:
            caption = f":caption: {title}" if title else ""
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", caption, "", *pages, "```", ""])


def keep_tables(_app: Sphinx, _what: str, _name: str, _of: object, _options: object, lines: list[str]) -> None:
    """Arguments that a docstring explains in columns stay in columns."""
    paragraphs = re.split(r"\n{2,}", "\n".join(lines))
    for place, text in enumerate(paragraphs):
        if re.match(r"[\w`*.]+ {2,}\S", text):
            paragraphs[place] = "::\n\n" + "\n".join(f"    {line}" for line in text.splitlines())
    lines[:] = [*"\n\n".join(paragraphs).splitlines(), ""]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", finish)
    app.connect("autodoc-process-docstring", keep_tables)
