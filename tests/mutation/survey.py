"""A pytest plugin for tests that simulate: which mutants are in the models of each, and how a run ended.

In a survey (environment variable MUTATION_SURVEY) models are only translated to C++, and nothing is run. At the end the
file of MUTATION_REPORT gets

in a survey   {node ID: {"mutants": their numbers in its models, "size": bytes of C++, 0 if it can't be translated}}
else          {"test": node ID of one that failed, "why": what it said, "seconds": of processor time}
"""

import json
import os
import re
import resource
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from cocotb_tools.runner import Verilator
from filelock import FileLock

SURVEY = bool(os.environ.get("MUTATION_SURVEY"))
COMPARED = re.compile(r"\b(0x[0-9a-f]+|\d+)U\s*[!=]=\s*[\w>.-]*mutant_pkg\W+\w*active")

outcome: dict[str, Any] = {}
run = Verilator.test


def look(block: str, files: Sequence[Path], parameters: Mapping[str, int], arguments: Sequence[str]) -> NoReturn:
    """In the place of the builder: note what is in the model."""
    from headrace.build.toolchain import Workshop
    from headrace.testing import benches

    entry = outcome.setdefault(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0], {"mutants": [], "size": 0})
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "w") as log:
        workshop = Workshop(block, Path(folder), log, Path(log.name))
        sources = [path.read_text() for path in benches.translate(workshop, block, files, parameters, arguments)]
    entry["mutants"] += sorted({int(number, 0) for text in sources for number in COMPARED.findall(text)})
    entry["size"] += sum(map(len, sources))
    pytest.skip("only translated")


def test(self: Verilator, *args: Any, **options: Any) -> Any:
    with FileLock(Path(options["test_dir"]) / "run.lock"):  # what runs beside it has its results at the same place
        return run(self, *args, **options)


Verilator.test = test


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SURVEY:
        from headrace.testing import benches

        benches.program = look
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
