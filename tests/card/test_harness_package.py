"""The wheel carries all that a card is built from, a user's own too, which takes none of the extras."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from headrace.build import libraries

REPOSITORY = Path(__file__).parents[2]

SCRIPT = """
import sys
from headrace.cli.extras import EXTRAS
missing = set().union(*EXTRAS.values()) - {"pythondata_cpu_vexriscv"}
sys.modules.update(dict.fromkeys(missing))
from compileall import compile_dir
from importlib import import_module
from pkgutil import walk_packages
import headrace
for layer in ("build", "card", "cards", "cli", "engines", "extcap", "net", "registers"):
    for module in walk_packages([f"{headrace.__path__[0]}/{layer}"], f"headrace.{layer}."):
        import_module(module.name)
from headrace import cache, paths
from headrace.card import Card
from headrace.build.description import list_cards, rtl_sources
from headrace.new import new_card

assert str(paths.share()).startswith(sys.argv[1]), paths.share()
assert (paths.share() / "LICENSE").is_file()  # goes out with what is exported
for description in list_cards():
    for source in rtl_sources(description):
        processor = source.parent == cache.cache_folder("processor")  # made from a package that the wheel wants
        assert processor or str(source).startswith(sys.argv[1]), source
compile_dir(f"{headrace.__path__[0]}/new", quiet=1)  # as pip does
new_card("mine")
with Card.open("mine", progress=False) as card:
    card.source(0, "gen:count=10")
    card.expect_passthrough(0, 1)
    stats = card.run().stats
print([d.name for d in list_cards()], stats.ports[1].tx_frames, stats.passthrough_mismatches)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(next(WheelBuilder(str(REPOSITORY)).build(directory=str(tmp_path_factory.mktemp("wheel")))))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed what the source distribution holds."""
    folder = tmp_path_factory.mktemp("installed")
    source = next(SdistBuilder(str(REPOSITORY)).build(directory=str(folder)))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--no-compile", "--target", folder / "site", source], check=True, capture_output=True)
    return folder / "site"


def test_the_wheel_and_the_source_distribution_bring_the_same(wheel: Path, installed: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
    assert files == {name: (installed / name).read_bytes() for name in files}
    here = {str(path.relative_to(installed)) for path in (installed / "headrace").rglob("*") if path.is_file()}
    assert here == {name for name in files if name.startswith("headrace/")}


def test_the_wheel_names_version_licence_and_extras(wheel: Path) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
        told = message_from_bytes(archive.read(name))
    assert (told["Version"], told["License-Expression"]) == (project["version"], project["license"])
    assert set(told.get_all("Provides-Extra", ())) == set(project["optional-dependencies"])
    core = [each for each in told.get_all("Requires-Dist", ()) if "extra ==" not in each]
    assert core == project["dependencies"]


def test_a_card_is_built_from_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    """Of the cache of all tests it takes what has the digest of its own files as its name: what all models share."""
    libraries.harness_library()
    libraries.runtime_archive(trace=False)
    shutil.copytree(libraries.folder(), tmp_path / "cache" / "harness")
    environment = os.environ | {"PYTHONPATH": str(installed), "HEADRACE_CACHE": str(tmp_path / "cache")}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, installed],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    assert "'filter'" in result.stdout and result.stdout.endswith("] 10 0\n")
