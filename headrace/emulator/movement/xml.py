"""XML as it comes, with the lines that elements begin in."""

from __future__ import annotations

import xml.sax
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.emulator.movement.notes import wrong
from headrace.errors import HeadraceError


class Element:
    """An element that has ended: its name without namespace, attributes, text, line, and the elements in it."""

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name, self.attributes, self.line = name, attributes, line
        self.text, self.inside = "", list[Element]()

    def all(self, name: str) -> list[Element]:
        """The elements of a name in it, at any depth."""
        found = []
        for each in self.inside:
            found += [each, *each.all(name)] if each.name == name else each.all(name)
        return found

    def first(self, name: str) -> Element | None:
        """The first one."""
        return next(iter(self.all(name)), None)


class _Handler(xml.sax.ContentHandler):
    def __init__(self, wanted: str, take: Callable[[Element], None]) -> None:
        super().__init__()
        self._wanted, self._take = wanted, take
        self._open: list[Element] = []

    def setDocumentLocator(self, locator: Any) -> None:
        self._locator = locator

    def startElement(self, name: str, attributes: Any) -> None:
        bare = name.rpartition(":")[2]
        if self._open or bare == self._wanted:
            found = Element(bare, dict(attributes), int(self._locator.getLineNumber()))
            if self._open:
                self._open[-1].inside.append(found)
            self._open.append(found)

    def characters(self, content: str) -> None:
        if self._open:
            self._open[-1].text += content

    def endElement(self, name: str) -> None:  # noqa: ARG002
        if self._open:
            ended = self._open.pop()
            if not self._open:
                self._take(ended)


def each(path: Path, name: str, take: Callable[[Element], None]) -> None:
    """Gives ``take`` the elements of a name, one after the other, whole; others aren't kept. Raises HeadraceError with
    the line."""
    try:
        xml.sax.parse(str(path), _Handler(name, take))
    except xml.sax.SAXParseException as error:
        raise wrong(path, int(error.getLineNumber() or 0), error.getMessage()) from None
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        if str(error).startswith("unknown url type"):
            raise HeadraceError(f"{path}: No such file or directory") from None
        raise
