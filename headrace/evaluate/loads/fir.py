"""A FIR filter of 4 taps on this machine's processor: samples of 32 bits, the sums rounded and saturated.

Wall-clock times of one core; packets of samples come one after the other and are in its cache.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headrace.build import toolchain
from headrace.errors import HeadraceError

TAPS = (1 << 28, -(1 << 27), 3 << 26, 1 << 25)
"""Coefficients, with 30 bits behind the point."""

Samples = npt.NDArray[np.int32]

_POINT = 30
_BYTES = 1 << 18  # of packets, in turn
_LEAST_S = 0.2
_SOURCE = """
#include <algorithm>
#include <cstdint>
static int32_t rounded(int64_t sum) {
  return int32_t(std::clamp<int64_t>((sum + (int64_t{1} << 29)) >> 30, INT32_MIN, INT32_MAX));
}
static void fir(const int32_t* __restrict x, int32_t* __restrict y, const int32_t* h, int count) {
  const int64_t h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3];
  for (int n = 0; n < 3 && n < count; n++) {
    int64_t sum = 0;
    for (int k = 0; k <= n; k++) sum += int64_t{h[k]} * x[n - k];
    y[n] = rounded(sum);
  }
  for (int n = 3; n < count; n++) y[n] = rounded(h0 * x[n] + h1 * x[n - 1] + h2 * x[n - 2] + h3 * x[n - 3]);
}
extern "C" void fir_packets(const int32_t* x, int32_t* y, const int32_t* h, int count, int number) {
  for (int i = 0; i < number; i++) fir(x + i * count, y + i * count, h, count);
}
"""


@dataclass(frozen=True)
class Filtering:
    """Samples of packets of so many, in Gb/s of samples. ``way``: "NumPy" or "C++"."""

    way: str
    samples: int
    gbit_s: float


def measure(samples: int) -> list[Filtering]:
    """Both ways. Raises HeadraceError where there is no compiler."""
    rng = np.random.default_rng(1)
    number = max(1, _BYTES // (4 * samples))
    packets = rng.integers(-(1 << 31), 1 << 31, (number, samples), np.int64).astype(np.int32)
    with Compiled() as compiled:
        ways = {"NumPy": lambda: by_numpy(packets), "C++": lambda: compiled(packets)}
        return [Filtering(way, samples, 32 * samples * number / _seconds(run) / 1e9) for way, run in ways.items()]


def by_numpy(packets: Samples) -> Samples:
    """Packets of as many samples each, filtered with ``TAPS``; samples before the first one are 0."""
    wide = packets.astype(np.int64)
    sums = np.full_like(wide, 1 << _POINT - 1)
    for delay, tap in enumerate(TAPS):
        sums[:, delay:] += tap * wide[:, : wide.shape[1] - delay]
    filtered: Samples = np.clip(sums >> _POINT, -(1 << 31), (1 << 31) - 1).astype(np.int32)
    return filtered


class Compiled:
    """The same by compiled code. Raises HeadraceError where there is no
    compiler."""

    def __init__(self) -> None:
        words = [toolchain.find_compiler(), "-std=c++20", "-O3", "-march=native", "-shared", "-fPIC", "-x", "c++", "-"]
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name) / "fir.so"
        done = subprocess.run([*words, "-o", str(library)], input=_SOURCE, text=True, capture_output=True, check=False)
        if done.returncode:
            raise HeadraceError(f"{words[0]}: {done.stderr.strip()}")
        self._run = ctypes.CDLL(str(library)).fir_packets
        self._taps = np.array(TAPS, np.int32)
        self._after: Samples = np.empty((0, 0), np.int32)

    def __enter__(self) -> Compiled:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def __call__(self, packets: Samples) -> Samples:
        if self._after.shape != packets.shape:
            self._after = np.empty_like(packets)
        places = (ctypes.c_void_p(each.ctypes.data) for each in (packets, self._after, self._taps))
        number, count = packets.shape
        self._run(*places, count, number)
        return self._after


def _seconds(run: Callable[[], object]) -> float:
    """Of one run, the shortest of those that fit into a while."""
    found: list[float] = []
    while sum(found) < _LEAST_S or len(found) < 3:
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)
