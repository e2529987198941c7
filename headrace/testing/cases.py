"""Proofs as tables: blocks with their parameters, and changes of the RTL that must be found."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headrace.testing.prove import failures, model, solve, sources


class Case(NamedTuple):
    """A block and the parameters of its proof. The depths are in cycles, for two clocks in clock edges.

    induction  0: from the start on only, for `bounded` cycles
    bounded    0: the base of the induction
    """

    block: str
    parameters: dict[str, int]
    induction: int = 4
    cover: int = 20
    clocks: int = 1
    bounded: int = 0

    def __str__(self) -> str:
        return "-".join([self.block, *(f"{key.lower()}{value}" for key, value in self.parameters.items())])


class Bug(NamedTuple):
    """One change of the RTL of a case's block or of a part in it, to be found within `depth` cycles or clock edges."""

    block: str
    parameters: dict[str, int]
    file: str
    right: str
    wrong: str
    depth: int = 12
    clocks: int = 1

    def __str__(self) -> str:
        return f"{self.block}-{self.wrong.split('=')[-1].strip()[:30]}"


class Proofs:
    """The tests of a file of proofs, beside which the wrappers lie, and whose class gives the tables."""

    folders: Sequence[Path] = ()  # of RTL that isn't Headrace's
    cases: Sequence[Any]
    bugs: Sequence[Any]
    covered: Sequence[Any] = ()  # cases whose covers are tried; none: all

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        covers = metafunc.function.__name__ == "test_the_proofs_are_about_something"
        tables = {"case": self.covered if covers and self.covered else self.cases, "bug": self.bugs}
        for name in tables.keys() & set(metafunc.fixturenames):
            metafunc.parametrize(name, tables[name], ids=str)

    @property
    def known(self) -> list[Path]:
        """The RTL that wrappers may use. A file beside a wrapper stands for another one of its name."""
        return sources(*self.folders, Path(inspect.getfile(type(self))).resolve().parent)

    def test_properties_hold_in_every_cycle(self, case: Case) -> None:
        """No assertion of the case's wrapper can fail: by induction, or up to its bound."""
        smt = model(case.block, case.parameters, self.known, clocks=case.clocks)
        verdicts = [solve(smt, "bounded", case.bounded or case.induction + 2)]
        if case.induction:
            verdicts.append(solve(smt, "induction", case.induction))
        assert all(verdict.holds for verdict in verdicts), failures(verdicts)

    def test_the_proofs_are_about_something(self, case: Case) -> None:
        """What the wrapper says is to be reached is: its assumptions leave something to prove."""
        verdict = solve(model(case.block, case.parameters, self.known, clocks=case.clocks), "cover", case.cover)
        assert verdict.holds, failures([verdict])

    def test_a_broken_part_is_found_out(self, bug: Bug, tmp_path: Path) -> None:
        """An assertion fails when a copy of the RTL has the bug."""
        files = {path.stem: path for path in self.known}
        assert bug.file in files, f"there is no {bug.file}.sv"
        source = files[bug.file]
        text = source.read_text()
        assert text.count(bug.right) == 1, "the RTL no longer has what this test breaks"
        broken = tmp_path / source.name
        broken.write_text(text.replace(bug.right, bug.wrong))
        smt = model(bug.block, bug.parameters, self.known, replaced=broken, clocks=bug.clocks)
        verdict = solve(smt, "bounded", bug.depth)
        assert not verdict.holds and any("Assert failed" in line for line in verdict.failed), verdict.log
