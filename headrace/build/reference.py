"""Makes the reference that is generated: the HTML of every card's registers, and their C headers."""

from __future__ import annotations

from pathlib import Path

from headrace.build.description import list_cards
from headrace.errors import HeadraceError
from headrace.registers.compile import generate_header, generate_html


def make_reference(folder: Path) -> list[Path]:
    """Writes ``CARD/index.html`` and ``CARD.h`` for every card with registers; returns the files to start from."""
    made = []
    for card in list_cards():
        if card.registers is None:
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            generate_html(card.registers, folder / card.name)
            generate_header(card.registers, folder / f"{card.name}.h")
        except OSError as error:
            raise HeadraceError(f"{error.filename or folder}: {error.strerror}") from None
        made += [folder / card.name / "index.html", folder / f"{card.name}.h"]
    return made
