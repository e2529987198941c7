"""Rates of OFDM radios (IEEE 802.11-2020, clause 17), and what they lose by signal to noise.

Bits: the error rate of the modulation in Gaussian noise, and the union bound of the convolutional code of constraint
length 7 with hard decisions, as Pei and Henderson validated them (Validation of OFDM error rate model in ns-3, 2010).
The codes' distance spectra: Haccoun and Begin (1989), table of punctured codes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BANDWIDTH_HZ = 20e6
"""Of the rates as they are named; with another bandwidth they scale."""

_SPECTRA: dict[int, tuple[int, int, tuple[float, ...]]] = {
    1: (10, 2, (36, 211, 1404, 11633, 77433, 502690, 3322763, 21292910, 134365911)),
    2: (6, 1, (3, 70, 285, 1276, 6160, 27128, 117019, 498860, 2103891, 8784123)),
    3: (5, 1, (42, 201, 1492, 10469, 62935, 379644, 2253373, 13073811, 75152755, 428005675)),
}
"""By the code's k of k / (k + 1): the free distance, the step from term to term, the errors of information bits."""


@dataclass(frozen=True)
class Mode:
    """A rate: bits per second at 20 MHz, bits a symbol, the code's k of k / (k + 1)."""

    rate_bps: float
    bits: int
    code: int

    def loss(self, snr: Floats, frame_bytes: int) -> Floats:
        """Part of the frames of so many bytes that is lost, by signal to noise (a ratio, not dB)."""
        raw = _bit_errors(self.bits, np.asarray(snr, dtype=np.float64))
        distance, step, weights = _SPECTRA[self.code]
        root = np.sqrt(4 * raw * (1 - raw))
        terms = [weight * root ** (distance + step * number) for number, weight in enumerate(weights)]
        wrong = np.clip(np.sum(terms, axis=0) / (2 * self.code), 0, 0.5)
        lost: Floats = -np.expm1(8 * frame_bytes * np.log1p(-wrong))
        return lost


MODES = tuple(
    Mode(rate * 1e6, bits, code)
    for rate, bits, code in (
        (6, 1, 1), (9, 1, 3), (12, 2, 1), (18, 2, 3), (24, 4, 1), (36, 4, 3), (48, 6, 2), (54, 6, 3),
    )
)  # fmt: skip

_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _bit_errors(bits: int, snr: Floats) -> Floats:
    """Of BPSK, QPSK, 16- and 64-QAM with Gray codes, by signal to noise of a symbol."""
    factor, divisor = {1: (0.5, 1), 2: (0.5, 2), 4: (3 / 8, 10), 6: (7 / 24, 42)}[bits]
    found: Floats = factor * _erfc(np.sqrt(np.maximum(snr, 0) / divisor))
    return found


def choose(snr: Floats, modes: Sequence[Mode], frame_bytes: int, target: float) -> tuple[NDArray[np.int_], Floats]:
    """For each signal-to-noise ratio the fastest of ``modes`` (slowest first) that loses at most ``target``, else the
    slowest: its index, and what it loses."""
    losses = np.array([mode.loss(snr, frame_bytes) for mode in modes])
    good = losses <= target
    best = np.where(good.any(axis=0), len(modes) - 1 - np.argmax(good[::-1], axis=0), 0)
    return best, losses[best, np.arange(len(snr))]
