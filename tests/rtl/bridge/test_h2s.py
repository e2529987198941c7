"""H2S: at every width it is made for, with and without an express lane, with room for one packet and for many."""

from pathlib import Path

import pytest
from bridge.building import simulate
from soak import soak

from headrace import synth

NEEDS = ("noc_unpack", "word_buffer", "h2s_lane", "h2s_mailbox", "h2s_writer")
SMALLEST = {"DATA_W": 32, "BUFFER_KB": 2, "EXPRESS_KB": 2, "BURST": 4, "HOST_BUFFERS": 2}
USUAL = {"DATA_W": 64, "BUFFER_KB": 16}
PLAIN = {"DATA_W": 128, "BUFFER_KB": 8, "EXPRESS_KB": 0, "BURST": 256, "HOST_BUFFERS": 4}
NARROW = {"DATA_W": 32, "BUFFER_KB": 16, "EXPRESS_KB": 0}
WIDEST = {"DATA_W": 512, "BUFFER_KB": 16, "BURST": 64}
EMBEDNET = {"DATA_W": 32, "BUFFER_KB": 64, "EXPRESS_KB": 0}


@pytest.mark.parametrize("parameters", [SMALLEST, soak(USUAL), PLAIN, WIDEST], ids=str)
def test_h2s(parameters: dict[str, int]) -> None:
    simulate("h2s", *NEEDS, **parameters)


@pytest.mark.parametrize("parameters", [soak(NARROW), USUAL], ids=str)
def test_h2s_speed(parameters: dict[str, int]) -> None:
    simulate("h2s", *NEEDS, bench="bench_h2s_speed", **parameters)


def test_it_is_smaller_than_embednets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thesis counts 782 LUTs and 523 flip-flops for 64 KB at 32 bits; the packets lie in block RAM here, too."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    report = synth.run("h2s", "xcup", EMBEDNET, pnr=False, hierarchy=False)
    assert report.total.luts < 782 and report.total.ffs < 523
    assert report.total.rams == 16
