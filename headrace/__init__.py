"""Headrace: packet processing cards in RTL, run as virtual cards.

``headrace.card.Card`` is where to start in Python; ``headrace --help`` on the command line.
"""


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import metadata

    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:  # run from a checkout that isn't installed
        return "0"
