# SPDX-License-Identifier: Apache-2.0
"""Files about the project itself: what they name is there."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from headrace import paths
from headrace.cli.commands import Commands

ROOT = paths.share()
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
STATEMENTS = sorted((ROOT / "headrace/evaluate/statements").glob("*.toml"))


def test_the_citation_has_each_work_that_a_study_repeats() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["license"] == project["license"]
    sources = [tomllib.loads(file.read_text())["source"] for file in STATEMENTS]
    assert len(sources) == len(citation["references"]) == 5
    for work in citation["references"]:
        (source,) = (each for each in sources if work["title"] in each)
        assert all(author["family-names"] in source for author in work["authors"]) and str(work["year"]) in source


def test_the_changelog_has_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^## \[{version}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    for command in re.findall(r"`headrace ([a-z]+)", text):
        assert command in Commands()


@pytest.mark.parametrize("page", PAGES)
def test_links_and_targets_of_a_page_are_there(page: str) -> None:
    text = (ROOT / page).read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z-]+)", text):
        assert f"\n{target}:" in makefile
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)", text):
        linked = (ROOT / path).read_text()
        heads = [
            re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)", linked, re.M)
        ]
        assert not anchor or anchor in heads


def test_the_container_does_what_set_up_and_make_do() -> None:
    lines = [line for line in (ROOT / "Containerfile").read_text().splitlines() if line[:1] not in ("#", "")]
    assert [line.split()[0] for line in lines] == ["FROM", "RUN", "WORKDIR", "COPY", "RUN", "CMD"]
    setup = lines[4].split()
    assert setup[1:] == ["scripts/setup.sh", "demo"] and os.access(ROOT / setup[1], os.X_OK)
    assert lines[5] == 'CMD ["make", "demo"]' and "\ndemo:" in (ROOT / "Makefile").read_text()
    left_out = (ROOT / ".dockerignore").read_text().split()
    assert not {"headrace", "rtl", "sim", "scripts", "examples", "pyproject.toml", "README.md"} & set(left_out)


def test_the_workflow_runs_what_ci_runs() -> None:
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "run" in step)
    assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md")), ids=lambda form: form.stem)
def test_a_form_of_an_issue_says_what_it_is_for(form: Path) -> None:
    head = yaml.safe_load(form.read_text().split("---")[1])
    assert set(head) == {"name", "about", "labels"}
