"""What an emulated link does to packets, in the words of tc-netem(8): settings, and their text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from headrace.errors import HeadraceError

LIMIT = 1000
"""Packets that a link holds at most unless something else is said, as netem."""
MOST_DELAY_NS = (1 << 32) - 1
"""The longest delay, 4.29 s."""
MOST_JITTER_NS = (1 << 31) - 1
LEAST_BPS, MOST_BPS = 500, 1e12
ENTRIES = 4096
"""Of a distribution's table."""
SCALE = 8192
"""What an entry of a table is divided by: the jitter times entry / SCALE is added to the delay."""

_MOST_ENTRY = 32767
_TIMES = {"": 1e3, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}  # a bare number: us
_PLURALS = re.compile(r"^(s|ms|us|ns)(?:ecs?)?$")
_RATES = {"bit": 1.0, "bps": 8.0}
_PREFIXES = {
    "": 1.0,
    **{name: 1e3**n for n, name in enumerate("kmgt", 1)},
    **{f"{name}i": 1024.0**n for n, name in enumerate("kmgt", 1)},
}
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)([a-z%]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Loss:
    """Packets that are lost. ``model`` "random": each with probability ``p``, which may depend on the last one by
    ``correlation``. "gemodel" (Gilbert-Elliott): ``p`` and ``r`` are the probabilities to go from the good state to the
    bad one and back, ``bad`` (1-h) and ``good`` (1-k) those of a loss in either. All from 0 to 1."""

    p: float
    model: str = "random"
    correlation: float = 0.0
    r: float = 1.0
    bad: float = 1.0
    good: float = 0.0

    @property
    def mean(self) -> float:
        """The part of packets that is lost in the long run. With a correlation it is another one: netem mixes a number
        with the last one, which makes small and large ones rarer."""
        if self.model == "random":
            return self.p
        if self.p + self.r == 0:
            return self.good
        return (self.p * self.bad + self.r * self.good) / (self.p + self.r)


@dataclass(frozen=True)
class Netem:
    """A direction of a link. Times in ns, rates in bits per second, everything in per cent of netem's from 0 to 1.

    ``jitter_ns`` and its ``distribution``: uniform, normal, pareto, paretonormal. ``rate_bps`` 0: none; ``overhead``:
    bytes that a packet has more on the wire. ``gap``: every so many packets one is reordered with probability
    ``reorder``, that is sent at once; 0: none is. ``limit``: packets that are held at most."""

    delay_ns: int = 0
    jitter_ns: int = 0
    delay_correlation: float = 0.0
    distribution: str = "uniform"
    loss: Loss | None = None
    duplicate: float = 0.0
    duplicate_correlation: float = 0.0
    corrupt: float = 0.0
    corrupt_correlation: float = 0.0
    reorder: float = 0.0
    reorder_correlation: float = 0.0
    gap: int = 0
    rate_bps: float = 0.0
    overhead: int = 0
    limit: int = LIMIT


# ------------------------------------------------------------------------------------------------------------ text


def parse_netem(words: Sequence[str] | str) -> Netem:
    """Settings from netem's words, such as ``delay 20ms 5ms loss 1%``. Raises HeadraceError for anything that netem
    doesn't understand, and for what this emulator leaves out."""
    rest = list(words.split() if isinstance(words, str) else words)
    made = Netem()
    while rest:
        word = rest.pop(0)
        reader = _READERS.get(word)
        if reader is None:
            raise HeadraceError(f"{word}: none of {', '.join(_READERS)}", 2)
        made = reader(made, rest)
    if made.gap and not made.reorder:
        raise HeadraceError(f"gap {made.gap}: there is no gap without a reorder", 2)
    if made.reorder and not made.gap:
        made = replace(made, gap=1)
    if made.gap and not made.delay_ns:
        raise HeadraceError("reorder: there is no reordering without a delay", 2)
    if made.distribution != "uniform" and not made.jitter_ns:
        raise HeadraceError(f"distribution {made.distribution}: there is no distribution without a jitter", 2)
    return made


def netem_text(made: Netem) -> str:
    """Settings in netem's words: what ``parse_netem`` takes."""
    parts = [f"limit {made.limit}"] if made.limit != LIMIT else []
    if made.delay_ns or made.jitter_ns:
        parts.append(_joined("delay", _time_text(made.delay_ns), _time_text(made.jitter_ns), made.delay_correlation))
        if made.distribution != "uniform":
            parts.append(f"distribution {made.distribution}")
    if made.loss is not None and made.loss.model == "random":
        parts.append(_joined("loss", _percent_text(made.loss.p), None, made.loss.correlation))
    elif made.loss is not None:
        numbers = (made.loss.p, made.loss.r, made.loss.bad, made.loss.good)
        parts.append(f"loss gemodel {' '.join(map(_percent_text, numbers))}")
    for name in ("duplicate", "corrupt", "reorder"):
        if value := getattr(made, name):
            parts.append(_joined(name, _percent_text(value), None, getattr(made, f"{name}_correlation")))
    if made.gap > 1:
        parts.append(f"gap {made.gap}")
    if made.rate_bps:
        parts.append(f"rate {_rate_text(made.rate_bps)}{f' {made.overhead}' if made.overhead else ''}")
    return " ".join(parts)


def _joined(name: str, first: str, second: str | None, correlation: float) -> str:
    more = [second] if second is not None and (second != "0ns" or correlation) else []
    return " ".join([name, first, *more, *([_percent_text(correlation)] if correlation else [])])


def _percent_text(value: float) -> str:
    return f"{100 * value:.10g}%"


def _time_text(value: int) -> str:
    for unit in ("s", "ms", "us"):
        if value and value % _TIMES[unit] == 0:
            return f"{value / _TIMES[unit]:.0f}{unit}"
    return f"{value}ns"


def _rate_text(value: float) -> str:
    for prefix in "tgmk":
        if value >= _PREFIXES[prefix]:
            return f"{value / _PREFIXES[prefix]:.12g}{prefix}bit"
    return f"{value:.12g}bit"


def _number(word: str, what: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(word)
    if match is None:
        raise HeadraceError(f"{what} {word}: not a number", 2)
    return float(match[1]), match[2].lower()


def _time(word: str, what: str, most: int) -> int:
    value, unit = _number(word, what)
    if unit:
        plain = _PLURALS.match(unit)
        if plain is None:
            raise HeadraceError(f"{what} {word}: not a time, such as 20ms, 150us or 1s", 2)
        unit = plain[1]
    found = value * _TIMES[unit]
    if not 0 <= found < most + 0.5:  # an infinite one, too
        raise HeadraceError(f"{what} {word}: not from 0 to {most / 1e9:.2f}s", 2)
    return round(found)


def _percent(word: str, what: str) -> float:
    value, unit = _number(word, what)
    if unit not in ("", "%") or not 0 <= value <= 100:
        raise HeadraceError(f"{what} {word}: not a percentage, 0% to 100%", 2)
    return value / 100


def _rate(word: str, what: str) -> float:
    value, unit = _number(word, what)
    for name, factor in _RATES.items():
        prefix = unit.removesuffix(name) if unit.endswith(name) else unit
        if prefix in _PREFIXES and (unit.endswith(name) or (name == "bit" and not unit)):
            value *= factor * _PREFIXES[prefix]
            if not LEAST_BPS <= value <= MOST_BPS:
                raise HeadraceError(f"{what} {word}: not from {LEAST_BPS}bit to {MOST_BPS / 1e12:.0f}tbit", 2)
            return value
    raise HeadraceError(f"{what} {word}: not a rate, such as 10mbit or 512kbit", 2)


def _whole(word: str, what: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[+-]?\d{1,20}", word) or not least <= int(word) <= most:
        raise HeadraceError(f"{what} {word}: not a number from {least} to {most}", 2)
    return int(word)


def _next(rest: list[str], what: str) -> str:
    if not rest:
        raise HeadraceError(f"{what}: a value is missing", 2)
    return rest.pop(0)


def _starts_number(rest: list[str]) -> bool:
    return bool(rest) and _NUMBER.fullmatch(rest[0]) is not None


def _delay(made: Netem, rest: list[str]) -> Netem:
    made = replace(made, delay_ns=_time(_next(rest, "delay"), "delay", MOST_DELAY_NS))
    if _starts_number(rest):
        made = replace(made, jitter_ns=_time(rest.pop(0), "delay: jitter", MOST_JITTER_NS))
        if _starts_number(rest):
            made = replace(made, delay_correlation=_percent(rest.pop(0), "delay: correlation"))
    return made


def _distribution(made: Netem, rest: list[str]) -> Netem:
    name = _next(rest, "distribution")
    if name != "uniform" and name not in _QUANTILES:
        raise HeadraceError(f"distribution {name}: none of uniform, {', '.join(_QUANTILES)}", 2)
    return replace(made, distribution=name)


def _loss(made: Netem, rest: list[str]) -> Netem:
    word = _next(rest, "loss")
    if word == "state":
        raise HeadraceError("loss state: not emulated; use loss gemodel", 2)
    if word == "gemodel":
        numbers = [_percent(_next(rest, "loss gemodel"), "loss gemodel")]
        while len(numbers) < 4 and _starts_number(rest):
            numbers.append(_percent(rest.pop(0), "loss gemodel"))
        defaults = [1 - numbers[0], 1.0, 0.0]
        r, bad, good = (*numbers[1:], *defaults[len(numbers) - 1 :])
        return replace(made, loss=Loss(numbers[0], "gemodel", r=r, bad=bad, good=good))
    p = _percent(_next(rest, "loss random") if word == "random" else word, "loss")
    correlation = _percent(rest.pop(0), "loss: correlation") if _starts_number(rest) else 0.0
    return replace(made, loss=Loss(p, correlation=correlation))


def _chance(name: str) -> Callable[[Netem, list[str]], Netem]:
    def read(made: Netem, rest: list[str]) -> Netem:
        value = _percent(_next(rest, name), name)
        correlation = _percent(rest.pop(0), f"{name}: correlation") if _starts_number(rest) else 0.0
        members: dict[str, Any] = {name: value, f"{name}_correlation": correlation}
        return replace(made, **members)

    return read


def _gap(made: Netem, rest: list[str]) -> Netem:
    return replace(made, gap=_whole(_next(rest, "gap"), "gap", 1, 65535))


def _rate_words(made: Netem, rest: list[str]) -> Netem:
    made = replace(made, rate_bps=_rate(_next(rest, "rate"), "rate"))
    if _starts_number(rest):
        made = replace(made, overhead=_whole(rest.pop(0), "rate: packet overhead", -32768, 32767))
        if _starts_number(rest):
            raise HeadraceError(f"rate: cell size {rest[0]}: cells are not emulated", 2)
    return made


def _limit(made: Netem, rest: list[str]) -> Netem:
    return replace(made, limit=_whole(_next(rest, "limit"), "limit", 1, (1 << 32) - 1))


_READERS: dict[str, Callable[[Netem, list[str]], Netem]] = {
    "delay": _delay,
    "distribution": _distribution,
    "loss": _loss,
    "duplicate": _chance("duplicate"),
    "corrupt": _chance("corrupt"),
    "reorder": _chance("reorder"),
    "gap": _gap,
    "rate": _rate_words,
    "limit": _limit,
}


# --------------------------------------------------------------------------------------------------- distributions


def _normal(at: float) -> float:
    return NormalDist().inv_cdf(at)


def _pareto(at: float) -> float:
    """Pareto's with alpha = 3, less its mean of 1.5, in deviations of 3/4: as the table that comes with iproute2."""
    return (float((1 - at) ** (-1 / 3)) - 1.5) * 4 / 3


def _paretonormal(at: float) -> float:
    return 0.25 * _normal(at) + 0.75 * _pareto(at)


_QUANTILES: dict[str, Callable[[float], float]] = {
    "normal": _normal,
    "pareto": _pareto,
    "paretonormal": _paretonormal,
}


def jitter_step(correlation: float, distribution: str) -> int:
    """How jitters that follow each other are as near as a ``correlation`` wants, though all stay as likely as without:
    the next one lies in this width around the last one, in 2**-32 of a circle on which the jitter rises from its least
    to its most and falls again. 0, without correlation: anywhere. (B. Melamed, "TES: a class of methods for generating
    autocorrelated uniform variates", ORSA Journal on Computing 3, 1991.)"""
    if not correlation:
        return 0
    import numpy as np

    rising = range(ENTRIES) if distribution == "uniform" else table_of(distribution)
    power = np.abs(np.fft.rfft([*rising, *reversed(rising)]))[1:] ** 2
    harmonics = np.arange(1, len(power) + 1) / 2**32

    def far_enough(width: int) -> bool:
        return bool(power @ np.sinc(harmonics * width) <= correlation * power.sum())

    return max(1, bisect_left(range(1 << 32), True, key=far_enough))


def table_of(distribution: str) -> list[int]:
    """The table of a distribution: its quantiles at the middles of ENTRIES equal parts, rising, times SCALE."""
    quantile = _QUANTILES[distribution]
    middles = ((number + 0.5) / ENTRIES for number in range(ENTRIES))
    return [max(-_MOST_ENTRY - 1, min(_MOST_ENTRY, round(SCALE * quantile(at)))) for at in middles]
