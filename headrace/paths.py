"""Where RTL, harness, firmware and register descriptions lie: in a checkout, or inside an installed package.
And how the command is started."""

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_share"


def share() -> Path:
    """The folder that holds ``rtl``, ``sim``, ``firmware`` and ``regs``."""
    return _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent


def rtl() -> Path:
    """The platform's layers, one folder each."""
    return share() / "rtl"


def sim() -> Path:
    """The harness."""
    return share() / "sim"


def firmware() -> Path:
    """What firmware of RPUs is built with, and programs."""
    return share() / "firmware"


def cards() -> Path:
    """The built-in cards, one .toml file each."""
    return rtl() / "card"


def command() -> list[str]:
    """What starts ``headrace`` in a process of its own, of this package whatever lies in the current folder."""
    return [sys.executable, "-P", "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
