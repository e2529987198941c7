"""The packages of headrace are layers: each uses only those before it, and no card knows another."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import headrace
from headrace import paths

ROOT = Path(headrace.__file__).parent
ORDER = (
    "errors", "paths", "cache", "registers", "build", "card", "net", "traffic", "engines", "cards", "emulator", "synth",
    "testing", "new", "evaluate", "export", "extcap", "cli",
)  # fmt: skip
FILES = sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The modules of headrace that a file imports anywhere in it, dotted, without the leading ``headrace``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.removeprefix("headrace.") for name in names if name.startswith("headrace.")}
    return found


def test_every_package_has_its_place() -> None:
    there = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()} - {"__init__"}
    assert there == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_uses_only_those_before_it(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room == "__init__":
        assert not imported(path)
        return
    allowed = ORDER[: ORDER.index(room) + 1]
    strangers = {name for name in imported(path) if name.split(".")[0] not in allowed}
    assert not strangers


@pytest.mark.parametrize("card", sorted(p.name for p in (ROOT / "cards").iterdir() if (p / "__init__.py").is_file()))
def test_no_card_knows_another(card: str) -> None:
    for path in (ROOT / "cards" / card).rglob("*.py"):
        others = {name for name in imported(path) if name.startswith("cards.") and name.split(".")[1] != card}
        assert not others, path


def test_no_module_uses_itself_by_way_of_others() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in FILES
    }

    def module(name: str) -> str:
        return name if name in modules else module(name.rpartition(".")[0])

    uses = {name: {module(used) for used in imported(path)} - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail("a circle, each imports the next: " + ", ".join(reversed(error.args[1])))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_head_of_a_file_says_what_is_in_it(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


EVALUATE = ("points", "reads", "measured", "figures", "statements", "loads", "sweep", "conformance", "report", "demo")
EVALUATE += ("study", "bench", "committed")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "evaluate").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_benchmarks_may_use_studies_and_both_use_loads_but_never_the_other_way(path: Path) -> None:
    room = path.relative_to(ROOT / "evaluate").parts[0].removesuffix(".py")
    if room == "__init__":
        return
    after = EVALUATE[EVALUATE.index(room) + 1 :]
    assert not {name for name in imported(path) for later in after if f"{name}.".startswith(f"evaluate.{later}.")}


# RTL: each layer uses only those before its own; those of one line nothing of each other.
LAYERS = (
    ("pkg",),
    ("memory", "stream"),
    ("filter", "capture", "bridge", "rpu", "switch"),
    ("host", "rings"),
    ("nic", "link", "pcie", "shell"),
    ("card",),
)
PARTS = {path.stem: path for path in sorted((paths.share() / "rtl").rglob("*.sv"))}


def test_a_layer_of_rtl_uses_only_those_before_it() -> None:
    place = {folder: number for number, line in enumerate(LAYERS) for folder in line}
    used = set()
    for path in PARTS.values():
        text = re.sub(r"//.*", "", path.read_text())
        names = re.findall(r"^\s*(\w+)\s+(?:#\s*\(|\w+\s*\()", text, re.MULTILINE) + re.findall(r"\b(\w+_pkg)::", text)
        used |= {(folder(path), folder(PARTS[name])) for name in names if name in PARTS}
    assert {one for one, _ in used} == set(place) - {"pkg"}
    together = {("memory", "stream"), ("stream", "memory")}
    assert all(place[other] < place[one] for one, other in used - together if one != other)


def folder(path: Path) -> str:
    """The layer of a file."""
    return path.relative_to(paths.share() / "rtl").parts[0]
