"""Where Headrace keeps what it can make again: built models, parsed register maps, synthesis reports."""

import os
from pathlib import Path


def cache_root() -> Path:
    """$HEADRACE_CACHE, or ``headrace`` in the user's cache folder. It may not exist yet."""
    chosen = os.environ.get("HEADRACE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def write_atomically(path: Path, text: str) -> None:
    """Writes a file so that another process sees all of it or nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_text(text)
    partial.replace(path)
