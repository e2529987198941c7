"""The kernel as the fabric: what a port receives is sent by the other end's, at once and by the same processor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from headrace.emulator.fabric import Ends, port_name, redirect
from headrace.emulator.fabric.held import HeldByKernel
from headrace.emulator.kernel import batch


class SoftwareFabric(HeldByKernel):
    """Without a process, but for the delay line."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """Changes the filters at the ports' ingress. Raises HeadraceError."""
        lines = [f"filter del dev {port_name(port)} ingress pref 1" for ends in lost for port in ends]
        for ends in found:
            lines += [redirect(port_name(here), port_name(there)) for here, there in (ends, ends[::-1])]
        batch("tc", lines)

    def files(self) -> Iterable[int]:
        """None."""
        return ()

    def attend(self) -> None:
        """Nothing is ever due."""
