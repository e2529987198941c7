# SPDX-License-Identifier: Apache-2.0
"""An export while it is made: what every form of it says of the same files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from headrace.export.interface import Interface
from headrace.export.sources import Contents
from headrace.export.wrapper import wrapper_name

CONSTRAINTS = PurePosixPath("constraints")


@dataclass(frozen=True)
class Package:
    """A block or card on its way out. Places are relative to the export's folder."""

    name: str
    version: str
    summary: str
    contents: Contents
    interface: Interface
    mhz: float

    @property
    def block(self) -> str:
        """The module that is exported."""
        return self.contents.design.top

    @property
    def top(self) -> str:
        """Its wrapper."""
        return wrapper_name(self.block)

    @property
    def wrapper(self) -> PurePosixPath:
        """Where that is."""
        return PurePosixPath("wrapper") / f"{self.top}.sv"

    @property
    def sources(self) -> list[PurePosixPath]:
        """RTL in the order of compilation, the wrapper last."""
        return [*self.contents.sources, self.wrapper]

    @property
    def headers(self) -> list[PurePosixPath]:
        """What the RTL includes."""
        return sorted(self.contents.headers)

    @property
    def include_folders(self) -> list[PurePosixPath]:
        """Where that is."""
        return self.contents.include_folders

    @property
    def waivers(self) -> PurePosixPath | None:
        """Verilator's configuration file."""
        return PurePosixPath(f"{self.name}.vlt") if self.contents.waivers else None

    @property
    def crossings(self) -> list[str]:
        """Modules in which something crosses between clocks, each with its constraint files."""
        return sorted({path.stem for path in self.contents.crossings} | set(self.contents.synchronisers))

    def constraints(self, suffix: str) -> list[PurePosixPath]:
        """Constraint files of the crossings: "xdc" for Vivado, "sdc" for Quartus."""
        return [CONSTRAINTS / f"{module}.{suffix}" for module in self.crossings]

    def clocks(self, suffix: str) -> PurePosixPath:
        """The constraint file of the clocks: "xdc", "sdc" or "lpf"."""
        return CONSTRAINTS / f"{self.name}_clocks.{suffix}"
