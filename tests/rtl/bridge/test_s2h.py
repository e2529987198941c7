"""S2H: at every width it is made for, with room for little more than a packet and for many buffers."""

import pytest
from bridge.building import simulate
from bridge.test_noc_elaboration import lint
from soak import soak

NEEDS = ("word_buffer", "s2h_fetch", "s2h_send")
SMALLEST = {"DATA_W": 32, "BUFFER_KB": 2, "BURST": 4, "HOST_BUFFERS": 2}
USUAL = {"DATA_W": 64, "BUFFER_KB": 16}
SHORT = {"DATA_W": 128, "BUFFER_KB": 16, "MAX_PACKET": 300, "BURST": 256, "HOST_BUFFERS": 4}
SEED = {"DATA_W": 32, "BUFFER_KB": 64}  # as EmbedNet's
WIDEST = {"DATA_W": 512, "BUFFER_KB": 64, "BURST": 64}


@pytest.mark.parametrize("parameters", [SMALLEST, USUAL, soak(SHORT), soak(SEED), WIDEST], ids=str)
def test_s2h(parameters: dict[str, int]) -> None:
    simulate("s2h", *NEEDS, **parameters)


@pytest.mark.parametrize("parameters", [SMALLEST, SHORT, WIDEST], ids=str)
def test_lint_is_clean(parameters: dict[str, int]) -> None:
    assert not lint("s2h", **parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"DATA_W": 96},
        {"DATA_W": 1024},
        {"BURST": 24},
        {"BURST": 1},
        {"BURST": 128, "DATA_W": 512},
        {"HOST_BUFFERS": 1},
        {"MAX_PACKET": 63},
        {"MAX_PACKET": 65536},
        {"BUFFER_KB": 48},
        {"BUFFER_KB": 1},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_reason(parameters: dict[str, int]) -> None:
    message = lint("s2h", **parameters)
    assert "USERFATAL" in message and next(iter(parameters)) in message, message
