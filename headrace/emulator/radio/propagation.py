"""How much of a signal a distance takes: models of path loss in dB, and shadowing."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LIGHT_MPS = 299_792_458.0
_WAVES = 256


class PathLoss(Protocol):
    """Between places in metres (links, 3) and (links, 3) at distances in metres (links,): dB (links,)."""

    def __call__(self, here: Floats, there: Floats, distances: Floats) -> Floats: ...


class FreeSpace:
    """Friis (1946): 20 log10(4 pi d f / c)."""

    def __init__(self, frequency_hz: float) -> None:
        self._wave_m = LIGHT_MPS / frequency_hz

    def __call__(self, here: Floats, there: Floats, distances: Floats) -> Floats:  # noqa: ARG002
        """Nearer than a wave it is that of a wave's length."""
        loss: Floats = 20 * np.log10(4 * np.pi * np.maximum(distances, self._wave_m) / self._wave_m)
        return loss


class LogDistance:
    """Free space as far as ``reference_m``, and 10 ``exponent`` log10(d / reference) more from there on (Rappaport,
    Wireless Communications, section 4.9)."""

    def __init__(self, frequency_hz: float, exponent: float, reference_m: float) -> None:
        self._free, self._exponent, self._reference_m = FreeSpace(frequency_hz), exponent, reference_m

    def __call__(self, here: Floats, there: Floats, distances: Floats) -> Floats:
        """See the class."""
        near = self._free(here, there, np.minimum(distances, self._reference_m))
        beyond: Floats = 10 * self._exponent * np.log10(np.maximum(distances / self._reference_m, 1))
        return near + beyond


class TwoRay:
    """Over flat ground: free space as far as 4 pi h h' / wave, then 40 log10(d) - 20 log10(h h') (Rappaport, section
    4.6). Heights are those of the places and ``antenna_m`` more."""

    def __init__(self, frequency_hz: float, antenna_m: float) -> None:
        self._free, self._wave_m, self._antenna_m = FreeSpace(frequency_hz), LIGHT_MPS / frequency_hz, antenna_m

    def __call__(self, here: Floats, there: Floats, distances: Floats) -> Floats:
        """See the class."""
        heights = (np.maximum(here[:, 2], 0) + self._antenna_m) * (np.maximum(there[:, 2], 0) + self._antenna_m)
        crossover = 4 * np.pi * heights / self._wave_m
        ground = 40 * np.log10(np.maximum(distances, 1e-3)) - 20 * np.log10(heights)
        return np.where(distances < crossover, self._free(here, there, distances), ground)


class Shadowing:
    """Normal in dB with ``sigma_db``, whatever the link's length, the same both ways, and much the same for links whose
    ends are near each other.

    It is a field over both ends at once, so of six dimensions: a sum of waves (as Cai and Giannakis, 2003) whose
    correlation falls as exp(-d / ``decorrelation_m``) where one end moves (Gudmundson, 1991): their wave numbers are
    multivariate Cauchy, the spectrum of that correlation. Both orders of the ends are added, which are much the same
    value on links that are short, so the sum is divided by what its deviation is at the link's length.
    """

    def __init__(self, sigma_db: float, decorrelation_m: float, seed: int) -> None:
        rng = np.random.default_rng([seed, 0x5AD0])
        self._sigma_db = sigma_db
        normal, scale = rng.normal(size=(_WAVES, 6)), np.abs(rng.normal(size=(_WAVES, 1)))
        self._numbers = normal / np.maximum(scale, 1e-6) / decorrelation_m
        self._phases = rng.uniform(0, 2 * np.pi, _WAVES)
        self._turned_m = decorrelation_m / math.sqrt(2)  # a link's two orders lie its length times that root apart

    def _field(self, one: Floats, other: Floats) -> Floats:
        """Of variance 1 at pairs of places (n, 3): (n,)."""
        waves = np.hstack((one, other)) @ self._numbers.T + self._phases
        value: Floats = math.sqrt(2 / _WAVES) * np.cos(waves).sum(axis=1)
        return value

    def __call__(self, here: Floats, there: Floats) -> Floats:
        """dB more that links lose, (links,); it can be below 0."""
        alike = np.exp(-np.linalg.norm(here - there, axis=1) / self._turned_m)
        both = self._field(here, there) + self._field(there, here)
        value: Floats = self._sigma_db * both / np.sqrt(2 * (1 + alike))
        return value


def power(db: Floats) -> Floats:
    """dB or dBm as a ratio or mW."""
    found: Floats = 10.0 ** (np.asarray(db) / 10)
    return found


def decibels(ratio: Floats) -> Floats:
    """The other way; 0 is -infinity."""
    with np.errstate(divide="ignore"):
        found: Floats = 10 * np.log10(ratio)
    return found
