"""The committed figures that are stale, listed after all tests: pieces of work land before all is measured again."""

from __future__ import annotations

import pytest


class StaleFigures:
    """Says at the end which commands measure them again, and what has changed."""

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Nothing where all figures are as measured."""
        from headrace.evaluate.committed import MEASUREMENTS
        from headrace.evaluate.figures import stale
        from headrace.evaluate.measured import Sources, checkout

        if found := stale(MEASUREMENTS.values(), Sources(checkout())):
            terminalreporter.write_line("stale figures, which `make figures` and `make figures-fit` measure again:")
            for each in found:
                terminalreporter.write_line(f"  {each}")
