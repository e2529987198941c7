"""Programs of RPUs in the instruction model, and the card that tests share: others cost a compilation each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.card import Card
from headrace.cards.rpu import program
from headrace.cards.rpu.card import open_rpu_card

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def build(tmp_path: Path, session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Builds C text, or a program by its name; the compiler has nothing to say about it, unless `silent` is false."""
    monkeypatch.setenv("HEADRACE_CACHE", str(session_cache))

    def make(*texts: str, silent: bool = True, **options: object) -> Path:
        sources: list[Path | str] = []
        for number, text in enumerate(texts):
            if text in program.programs():
                sources.append(text)
                continue
            sources.append(tmp_path / f"part{number}.c")
            (tmp_path / f"part{number}.c").write_text(text)
        said: list[str] = []
        made = program.build(sources, said=said.append, **options)  # type: ignore[arg-type]
        assert not silent or said == []
        return made

    yield make


UNITS = 4
CRC, BLACKLIST = 1, 2
PARAMETERS = {"PMEM_KB": 512}


def open_shared() -> Card:
    """Four units, of which 1 and 2 have a CRC and a blacklist in their slots."""
    return open_rpu_card(UNITS, {CRC: "crc", BLACKLIST: "blacklist"}, parameters=PARAMETERS, progress=False)


@pytest.fixture
def card() -> Iterator[Card]:
    """See ``open_shared``."""
    with open_shared() as opened:
        yield opened


@pytest.fixture
def two_cards() -> Iterator[tuple[Card, Card]]:
    """Two of them, alike."""
    with open_shared() as first, open_shared() as second:
        yield first, second
