"""A pytest plugin for tests that simulate: which mutants are in the models of each, and how a run ended.

Models are compiled when they are first run. In a survey (environment variable MUTATION_SURVEY) they are only translated
to C++, and nothing is run. At the end the file of MUTATION_REPORT gets

in a survey   {node ID: {"mutants": their numbers in its models, "size": bytes of C++, 0 if it can't be translated}}
else          {"test": node ID of one that failed, "why": what it said, "seconds": of processor time}
"""

import json
import os
import re
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cocotb_tools.runner import Verilator
from filelock import FileLock

SURVEY = bool(os.environ.get("MUTATION_SURVEY"))
COMPARED = re.compile(r"\b(0x[0-9a-f]+|\d+)U\s*[!=]=\s*[\w>.-]*mutant_pkg\W+\w*active")

outcome: dict[str, Any] = {}
build_command, run = Verilator._build_command, Verilator.test


def entry() -> dict[str, Any]:
    """What is known of the test that runs."""
    return outcome.setdefault(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0], {"mutants": [], "size": 0})


def translate(self: Verilator) -> Any:
    if SURVEY:
        entry()
    return build_command(self)[:1]


def test(self: Verilator, *args: Any, **options: Any) -> Any:
    folder = Path(options["build_dir"])
    if SURVEY:
        sources = [path.read_text() for path in folder.glob("Vtop*.cpp")]
        entry()["mutants"] += sorted({int(number, 0) for text in sources for number in COMPARED.findall(text)})
        entry()["size"] += sum(map(len, sources))
        return None
    with FileLock(folder / "run.lock"):  # what runs beside it has its results at the same place
        if not (folder / options["hdl_toplevel"]).exists():
            subprocess.run(["make", "-C", folder, "-f", "Vtop.mk", "VM_TRACE=0"], check=True, stdout=subprocess.DEVNULL)
        return run(self, *args, **options)


Verilator._build_command = translate
Verilator.test = test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SURVEY:
        items[:] = [item for item in items if "simulate(" in item.path.read_text()]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed and not SURVEY:
        crash = getattr(report.longrepr, "reprcrash", None)
        outcome.update(test=report.nodeid, why=(crash.message if crash else str(report.longrepr)).splitlines()[:3])


def pytest_sessionfinish() -> None:
    if not SURVEY:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        outcome["seconds"] = round(sum(usage.ru_utime + usage.ru_stime for usage in usages), 1)
    Path(os.environ["MUTATION_REPORT"]).write_text(json.dumps(outcome))
