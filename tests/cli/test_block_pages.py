# SPDX-License-Identifier: Apache-2.0
"""The pages of blocks: each says what its RTL says, and what there is of it in tests, proofs, figures and cards."""

from __future__ import annotations

import re

import pytest

from headrace import paths
from headrace.export.pages import write_block_pages

ROOT = paths.share()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("site") / "blocks"
    written = write_block_pages(folder, "../export.md")
    assert written[0] == folder / "index.md" and set(written) == set(folder.iterdir())
    return {path.stem: path.read_text() for path in written}


def rows(page: str, heading: str) -> list[list[str]]:
    """Of the table below a heading, without its head."""
    part = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_each_module_has_one_that_the_index_names(pages: dict[str, str]) -> None:
    modules = {path.stem for path in (ROOT / "rtl").rglob("*.sv") if not path.stem.endswith("_pkg")}
    assert pages.keys() == {"index", *modules}
    assert sorted(re.findall(r"^\| \[`(\w+)`\]\(\1\.md\) \| \S", pages["index"], re.MULTILINE)) == sorted(modules)


def test_links_lead_to_pages(pages: dict[str, str]) -> None:
    links = {link for text in pages.values() for link in re.findall(r"\]\((\S+?)\)", text)}
    assert links - {f"{name}.md" for name in pages} == {"../export.md"}


def test_a_page_has_the_head_of_the_file_its_parameters_and_ports(pages: dict[str, str]) -> None:
    page = pages["stream_fifo"]
    assert "Latency: 2 cycles with distributed RAM, 3 with block RAM." in page
    assert rows(page, "Parameters") == [
        ["`WIDTH`", "`32`", "at least 1", ""],
        ["`DEPTH`", "`32`", "4 to 1048576 (for less use stream_reg)", ""],
        ["`BLOCK_RAM`", "`DEPTH > 64 && WIDTH * DEPTH > 4096`", "0 or 1", ""],
    ]
    assert rows(page, "Ports")[-3:] == [
        ["`m_data`", "output", "`[WIDTH - 1:0]`", ""],
        ["`count`", "output", "`[$clog2(DEPTH + 1) - 1:0]`", "words held"],
        ["`idle`", "output", "1 bit", "none"],
    ]
    assert ["`op_answer`", "output", "`table_pkg::table_answer_t`", "valid with op_done"] in rows(
        pages["exact_table"], "Ports"
    )


def test_no_port_is_left_out(pages: dict[str, str]) -> None:
    for path in (ROOT / "rtl").rglob("*.sv"):
        if path.stem.endswith("_pkg") or path.parent.name == "card":  # whose ports are in a header
            continue
        code = re.sub(r"//.*", "", path.read_text()).partition("\n);")[0] + "\n);"
        declared = re.findall(r"^\s+(?:input|output)\s[^;]*?(\w+)(?:\s*\[[^\]]*\])*\s*(?=,|\n\);)", code, re.MULTILINE)
        found = [row[0].strip("`") for row in rows(pages[path.stem], "Ports")]
        assert found == declared and found, path


def test_a_page_has_figures_proofs_benches_and_cards(pages: dict[str, str]) -> None:
    page = pages["exact_table"]
    assert "6,338 LUTs" in str(rows(page, "Size and speed")) and "headrace synth exact_table" in page
    assert "`tests/formal/switch/exact_table_proof.sv`" in page
    assert "Follows one key, whichever `mark` picks" in page
    assert "- an entry that moves is always found\n" in page and "- a table takes 95 percent of its entries\n" in page
    assert "Cards: nic, switch. Blocks: [`nic_lookup`](nic_lookup.md), [`switch_table`](switch_table.md)." in page
    assert "    headrace export exact_table --to exact_table\n" in page
    parts = re.search(r"^Proved of its parts: (.*)\.$", pages["filter_card"], re.MULTILINE)
    assert parts and {"[`stream_fifo`](stream_fifo.md)", "[`filter_dispatch`](filter_dispatch.md)"} <= set(
        parts[1].split(", ")
    )
    assert "Not among the committed figures: `headrace synth cdc_sync` measures it." in pages["cdc_sync"]
