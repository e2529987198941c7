# SPDX-License-Identifier: Apache-2.0
"""What a figure's digests cover of the Python package: the definitions that its function uses, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import paths
from headrace.errors import HeadraceError
from headrace.evaluate.committed import MEASUREMENTS
from headrace.evaluate.reads import Code

FILES = {
    "bench.py": """
from typing import TYPE_CHECKING
from headrace import errors, loads as traffic
from headrace.room import Driver as Card
if TYPE_CHECKING:
    from headrace.room import unused
SIZE = 64
OTHER = 65

def run():
    with Card() as card:
        card.start(traffic.rate(SIZE))

def report(): pass
""",
    "loads.py": """
FACTOR = 2
SLOWER = 3
def rate(size): return _twice(size)
def _twice(size):
    from headrace.room.node import LIMIT
    return min(LIMIT, FACTOR * size)
def slow(size): return SLOWER * size
""",
    "room/__init__.py": """
from headrace.room.driver import Driver
def unused(): pass
""",
    "room/driver.py": """
import http.server
REGISTERS = {}
REGISTERS["start"] = 4

class Driver:
    DEPTH = 3
    def __enter__(self): return self
    def start(self, rate): self._write(REGISTERS, rate)
    def _write(self, registers, rate): return Handler, "headrace.room.node"
    def stop(self): pass

class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self): pass
""",
    "room/node.py": """
LIMIT = 7
class Node:
    def begin(self): pass
""",
    "errors.py": "def fail(): pass\n",
}


@pytest.fixture
def used(tmp_path: Path) -> dict[str, str]:
    for name, text in FILES.items():
        path = tmp_path / "headrace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {path: "".join(pieces) for path, pieces in Code(tmp_path).used(["headrace.bench.run"]).items()}


def test_functions_and_constants_that_are_used_count_in_whichever_file(used: dict[str, str]) -> None:
    assert set(used) == {f"headrace/{name}" for name in ("bench.py", "loads.py", "room/driver.py", "room/node.py")}
    assert "SIZE = 64" in used["headrace/bench.py"]
    assert not any(word in used["headrace/bench.py"] for word in ("OTHER", "report", "import"))
    assert "def rate" in used["headrace/loads.py"] and "def _twice" in used["headrace/loads.py"]
    assert "slow" not in used["headrace/loads.py"] and "SLOWER" not in used["headrace/loads.py"]


def test_of_a_class_the_methods_that_are_named_count(used: dict[str, str]) -> None:
    driver = used["headrace/room/driver.py"]
    assert all(word in driver for word in ("DEPTH", "__enter__", "def start", "def _write")) and "stop" not in driver


def test_methods_that_others_call_count_all(used: dict[str, str]) -> None:
    assert "do_GET" in used["headrace/room/driver.py"]


def test_statements_that_define_nothing_count_with_their_module(used: dict[str, str]) -> None:
    assert 'REGISTERS["start"] = 4' in used["headrace/room/driver.py"]


def test_a_module_that_is_run_counts_in_whole(used: dict[str, str]) -> None:
    assert "class Node" in used["headrace/room/node.py"]


def test_a_function_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=r"headrace\.bench\.walk"):
        Code(tmp_path).used(["headrace.bench.walk"])


@pytest.mark.parametrize("command", MEASUREMENTS)
def test_what_is_measured_reads_loads_and_no_report(command: str) -> None:
    code = Code(paths.share())
    files = set(code.used(MEASUREMENTS[command].functions))
    assert not any(path.endswith(("_report.py", "_figures.py", "_page.py", "/page.py")) for path in files)
    if command not in ("bench cost", "bench size", "bench sim", "bench stream", "bench switch-fit", "bench host-fit"):
        assert any("/loads/" in path or "/bench/" in path or "/conformance/" in path for path in files)
