"""descriptor_fetch: words of a quarter slot to four slots, with the fewest slots that it can hold and with more."""

import pytest
from capture.building import simulate
from soak import soak


@pytest.mark.parametrize(("mem_w", "slots"), [(32, 4), soak(32, 32), (128, 8), soak(256, 4), soak(512, 8), (512, 64)])
def test_descriptor_fetch(mem_w: int, slots: int) -> None:
    simulate("descriptor_fetch", "bench_descriptor_fetch", MEM_W=mem_w, SLOTS=slots)
