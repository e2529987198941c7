"""The wheel carries all that a card is built from, a user's own too, which takes none of the extras."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

SCRIPT = """
import sys
from headrace.cli.extras import EXTRAS
missing = set().union(*EXTRAS.values()) - {"pythondata_cpu_vexriscv"}
sys.modules.update(dict.fromkeys(missing))
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
new_card("mine")
with Card.open("mine", progress=False) as card:
    card.source(0, "gen:count=10")
    card.expect_passthrough(0, 1)
    stats = card.run().stats
print([d.name for d in list_cards()], stats.ports[1].tx_frames, stats.passthrough_mismatches)
"""


def test_a_card_is_built_from_the_wheel_alone(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path]
    subprocess.run([*pip, REPOSITORY], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("headrace-*.whl")
    unpacked = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(unpacked)
    environment = os.environ | {"PYTHONPATH": str(unpacked), "HEADRACE_CACHE": str(tmp_path / "cache")}
    environment["HEADRACE_CXXFLAGS"] = "-O0"  # ten packets
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, unpacked],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    assert "'filter'" in result.stdout and result.stdout.endswith("] 10 0\n")
