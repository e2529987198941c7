"""The constraint files beside the RTL name only what is in it: a name that is gone would constrain nothing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from simulation import RTL, rtl

from headrace.synth.yosys import run_script, write_read_options

FILES = sorted(path for kind in ("*.xdc", "*.sdc") for path in RTL.rglob(kind))
REGISTER = re.compile(r"(?:^|[/|])(\w+?_q|mem)(?:_reg)?\b")
INSTANCE = re.compile(r"\b(?:(\w+):)?(u_\w+)\b")


def modules(top: str, folder: Path) -> dict[str, Any]:
    """The modules of a part as Yosys elaborates them, with `top` as it is written."""
    write_read_options(folder / "sources.f", top, rtl("pkg", "memory", "stream"), {})
    run_script(["read_slang --keep-hierarchy -f sources.f", "write_json design.json"], folder, "read")
    found: dict[str, Any] = json.loads((folder / "design.json").read_text())["modules"]
    return {name.split("$")[0].strip("\\"): module for name, module in found.items()}


def test_there_are_some() -> None:
    assert {path.name for path in FILES} >= {"stream_cdc_fifo.xdc", "stream_cdc_fifo.sdc"}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_their_names_are_those_of_the_rtl(file: Path, tmp_path: Path) -> None:
    parts = modules(file.stem, tmp_path)
    top = parts[file.stem]
    text = re.sub(r"^#.*", "", file.read_text(), flags=re.MULTILINE)
    paths = [path for path in re.findall(r"[*\w/|:\[\]]*(?:_q|/mem|\|mem)\w*(?:\[[*0-9]\])*", text) if path.strip("*")]
    assert len(paths) >= 4
    for path in paths:
        within = top
        for kind, instance in INSTANCE.findall(path):
            assert instance in top["cells"], f"{path}: no instance {instance}"
            of = top["cells"][instance]["type"].split("$")[0].strip("\\")
            assert kind in ("", of), f"{path}: {instance} is a {of}"
            within = parts[of]
        name = REGISTER.search(path)
        assert name, path
        here = {wire.split("[")[0] for wire in within["netnames"]} | set(within.get("memories", {}))
        assert name[1] in here, f"{path}: no register {name[1]}"
    for port in re.findall(r"get_ports (\w+)", text):
        assert port in top["ports"]


def test_a_name_that_is_gone_is_found(tmp_path: Path) -> None:
    parts = modules("stream_cdc_fifo", tmp_path)
    assert "wr_gray_q" in parts["stream_cdc_fifo"]["netnames"]
    assert "wr_grey_q" not in parts["stream_cdc_fifo"]["netnames"]
