"""word_buffer: one bank, two, four and sixteen, both read latencies, and a memory of two rows."""

import pytest
from bridge.building import simulate


@pytest.mark.parametrize(
    ("data_w", "words", "read_latency"),
    [(32, 64, 1), (64, 256, 2), (128, 8, 1), (512, 64, 2)],
)
def test_word_buffer(data_w: int, words: int, read_latency: int) -> None:
    simulate("word_buffer", DATA_W=data_w, WORDS=words, READ_LATENCY=read_latency)
