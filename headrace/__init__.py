"""Headrace: packet processing cards in RTL, run as virtual cards.

``headrace.card.Card`` is where to start in Python; ``headrace --help`` on the command line.
"""

from importlib import metadata

try:
    __version__ = metadata.version("headrace")
except metadata.PackageNotFoundError:  # run from a checkout that isn't installed
    __version__ = "0"

__all__ = ["__version__"]
