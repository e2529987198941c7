# SPDX-License-Identifier: Apache-2.0
"""A page in Markdown for each block of rtl/: what it does, parameters, ports, size, proofs, tests, where it is used."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from headrace import paths
from headrace.errors import HeadraceError
from headrace.export.about import described, head_of, refusals, summary
from headrace.export.evidence import Evidence, evidence
from headrace.export.expressions import high
from headrace.export.interface import Interface, Port
from headrace.export.reading import read_interfaces
from headrace.export.readme import parameter_table, table
from headrace.registers.compile import generate_rtl
from headrace.synth.sources import module_design


def write_block_pages(folder: Path, manual: str | None = None) -> list[Path]:
    """Writes ``index.md`` and a page for each block into ``folder``, and returns them, the index first. They link to
    docs/export.md where ``manual`` says how it is reached from there.

    Raises HeadraceError.
    """
    blocks = {path.stem: path for path in sorted(paths.rtl().rglob("*.sv")) if not path.stem.endswith("_pkg")}
    packages = sorted(paths.rtl().rglob("*_pkg.sv"))
    with tempfile.TemporaryDirectory(prefix="headrace-pages-") as work:
        generated = _register_packages(blocks, Path(work))
        interfaces = read_interfaces(set(blocks), [*generated, *packages, *blocks.values()])
    known = evidence(blocks)
    export = f"[Export]({manual})" if manual else "The page *Export* of the manual"
    pages = {"index": _index(blocks, export)}
    for name, path in blocks.items():
        pages[name] = _page(path, described(interfaces[name], path), known, export)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / f"{name}.md").write_text(text)
    except OSError as error:
        raise HeadraceError(f"{error.filename}: {error.strerror}") from None
    return [folder / f"{name}.md" for name in pages]


def _register_packages(blocks: Mapping[str, Path], work: Path) -> list[Path]:
    """Of registers whose structures are at ports of blocks."""
    heads = {name: path.read_text().partition(");")[0] for name, path in blocks.items()}
    with_registers = [name for name, head in heads.items() if "_regs_pkg" in head]
    sources = {rdl for name in with_registers for rdl in module_design(name, paths.share()).registers}
    return [
        path for rdl in sorted(sources) for path in generate_rtl(rdl, work / rdl.stem) if path.stem.endswith("_pkg")
    ]


def _index(blocks: Mapping[str, Path], export: str) -> str:
    layers: dict[str, list[tuple[str, str]]] = {}
    for name, path in blocks.items():
        layer = path.parent.relative_to(paths.rtl()).as_posix()
        layers.setdefault(layer, []).append((_link(name), summary(head_of(path))))
    sections = [f"## {layer}\n\n{table([('block', 'what it does'), *rows])}" for layer, rows in sorted(layers.items())]
    intro = (
        f"Every module of `rtl/`, by its layer. {export} tells how to take one into a project of your own.\n\n"
        "These pages are made from the RTL, the tests and the figures by `headrace docs`."
    )
    return "\n\n".join(["# Blocks", intro, *sections]) + "\n"


def _page(source: Path, interface: Interface, evidence_of: Mapping[str, Evidence], export: str) -> str:
    name = source.stem
    known = evidence_of.get(name, Evidence())
    proved = [part for part in known.parts if evidence_of[part].proofs]
    tested = [part for part in known.parts if evidence_of[part].benches]
    sections = [
        f"# {name}",
        f"```text\n{head_of(source)}\n```",
        f"Source: `rtl/{source.relative_to(paths.rtl()).as_posix()}`. [All blocks](index.md).",
        "## Parameters",
        parameter_table(interface),
        _refused(source),
        "## Ports",
        table([("port", "direction", "type", "what it is"), *map(_port_row, interface.ports)]),
        "## Size and speed",
        table([("what", "is", "how it is known"), *known.figures])
        if known.figures
        else f"Not among the committed figures: `headrace synth {name}` measures it.",
        "## Proofs",
        *(f"`{file}`\n\n```text\n{said}\n```" for file, said in known.proofs.items()),
        _of_parts("Proved", known.proofs, proved),
        "## Tests",
        *(f"`{file}`\n\n" + "\n".join(f"- {each}" for each in told) for file, told in known.benches.items()),
        _of_parts("Tested by themselves", known.benches, tested),
        "## Where it is used",
        _use(known),
        "## Take it home",
        f"    headrace export {name} --to {name}\n\n{export} tells what is in the folder then, for FuseSoC, Bender, "
        "Vivado and Quartus too. There, each field of a structure is a port of its own.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _link(name: str) -> str:
    return f"[`{name}`]({name}.md)"


def _refused(source: Path) -> str:
    """What it says of parameters that don't go together."""
    more = [text.replace("%0d", "N") for text in refusals(source) if " must be " not in text]
    return "It refuses more:\n\n" + "\n".join(f"- {text}" for text in more) if more else ""


def _of_parts(what: str, own: Mapping[str, object], parts: list[str]) -> str:
    if parts:
        return f"{what} of its parts: {', '.join(map(_link, parts))}."
    return "" if own else "None of its own."


def _port_row(port: Port) -> tuple[str, str, str, str]:
    size = port.parts[0].size
    plain = "1 bit" if size == "1" else f"`[{high(size)}:0]`"
    kind = f"`{' '.join(filter(None, [port.type, port.array]))}`" if port.type else plain
    return f"`{port.name}`", port.direction, kind, port.comment


def _use(known: Evidence) -> str:
    cards = "Cards: " + (", ".join(known.cards) or "none") + "."
    return f"{cards} Blocks: {', '.join(map(_link, known.users))}." if known.users else cards
