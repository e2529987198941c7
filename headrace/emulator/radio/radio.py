"""The radios of a scenario: from positions to links."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.emulator.movement.earth import occluded
from headrace.emulator.radio import modes, obstacles, propagation
from headrace.emulator.radio.jammers import Jammer
from headrace.emulator.radio.modes import Mode
from headrace.emulator.radio.obstacles import Obstacle
from headrace.emulator.radio.propagation import LIGHT_MPS, Floats, PathLoss, Shadowing
from headrace.emulator.radio.scene import Scene
from headrace.emulator.radio.state import LinkState, Pair, Way
from headrace.emulator.tables import MOST_DB, Values

MOST_CHANNELS = 1000
MODELS = ("range", "free-space", "log-distance", "two-ray")


@dataclass(frozen=True)
class Possible:
    """Links that there could be, PHYs aside: ``pairs`` (links, 2), metres, what the better ones have less of
    (``costs``), and how each end receives: signal to noise (links, 2), infinite where there is no model of it."""

    pairs: NDArray[np.int_]
    distances: Floats
    costs: Floats
    snr: Floats

    def of(self, chosen: NDArray[np.bool_]) -> Possible:
        """Some of them."""
        return Possible(self.pairs[chosen], self.distances[chosen], self.costs[chosen], self.snr[chosen])


class Radio:
    """What joins nodes: which links there could be at a moment, and how those are that there are."""

    def __init__(
        self, reach_m: float, barriers: Sequence[Obstacle] = (), jammers: Sequence[Jammer] = (), channels: int = 1
    ) -> None:
        self.reach_m, self.obstacles, self.jammers, self.channels = reach_m, tuple(barriers), tuple(jammers), channels

    def possible(self, scene: Scene) -> Possible:
        """The links that there could be, without those of others beside them."""
        raise NotImplementedError

    def states(self, scene: Scene, taken: Possible) -> dict[Pair, LinkState]:
        """How links are that are there together."""
        raise NotImplementedError

    def _weakened(self, scene: Scene, here: Floats, there: Floats) -> Floats:
        """dB that obstacles take; none where a file says who sees whom."""
        if scene.visible is not None or not self.obstacles:
            return np.zeros(len(here))
        return obstacles.loss(self.obstacles, here, there)

    def _channel(self, pairs: NDArray[np.int_]) -> NDArray[np.int_]:
        channel: NDArray[np.int_] = pairs.sum(axis=1) % self.channels
        return channel

    def _jammers(self, scene: Scene) -> list[tuple[Jammer, Floats]]:
        """Those that are on, and where."""
        return [(jammer, jammer.movement.at(scene.time_s)[0]) for jammer in self.jammers if jammer.on(scene.time_s)]


def _state(pair: Sequence[int], distance: float, ways: tuple[Way, Way], snr: Floats) -> tuple[Pair, LinkState]:
    """``ways``: what arrives at the first node and at the second; ``snr`` likewise, as ratios."""
    back, there = ways
    signal = None if np.isinf(snr).any() else (float(propagation.decibels(snr[1])), float(propagation.decibels(snr[0])))
    delay_ns = round(distance / LIGHT_MPS * 1e9)
    state = LinkState(distance, delay_ns, there.rate_bps, there.loss, None if back == there else back, signal)
    return (int(pair[0]), int(pair[1])), state


class RangeRadio(Radio):
    """Links as far as a range, whose rate and loss are numbers or change with distance: ``rates``, ``losses`` (points,
    2) of metres and values; the rate is that of the last point that is not beyond the distance, the loss is between
    two points in a straight line. dB of obstacles make distances longer, as if space were free."""

    def __init__(self, reach_m: float, rates: Floats, losses: Floats, **more: Any) -> None:
        super().__init__(reach_m, **more)
        self._rates, self._losses = rates, losses

    def _longer(self, scene: Scene, distances: Floats, here: Floats, there: Floats) -> Floats:
        longer: Floats = distances * np.sqrt(propagation.power(self._weakened(scene, here, there)))
        return longer

    def possible(self, scene: Scene) -> Possible:
        """As far as the range, but those that jammers leave nothing, both ways."""
        pairs, distances = scene.within(self.reach_m)
        ends = scene.positions[pairs]
        far = self._longer(scene, distances, ends[:, 0], ends[:, 1])
        found = Possible(pairs, distances, far, np.full((len(pairs), 2), math.inf))
        jammed = self._jammed(scene)[pairs, self._channel(pairs)[:, None]].min(axis=1)
        return found.of((far <= self.reach_m) & (jammed < 1))

    def states(self, scene: Scene, taken: Possible) -> dict[Pair, LinkState]:
        """By distance, and by the jammers that reach the node that receives."""
        lost = self._jammed(scene)
        channel = self._channel(taken.pairs)
        found = []
        for number, (pair, far) in enumerate(zip(taken.pairs.tolist(), taken.costs.tolist(), strict=True)):
            rate = self._rates[max(int(np.searchsorted(self._rates[:, 0], far, side="right")) - 1, 0), 1]
            loss = float(np.interp(far, *self._losses.T))
            ways = [Way(float(rate), 1 - (1 - loss) * (1 - float(lost[node, channel[number]]))) for node in pair]
            found.append(_state(pair, float(taken.distances[number]), (ways[0], ways[1]), taken.snr[number]))
        return dict(found)

    def _jammed(self, scene: Scene) -> Floats:
        """The part that jammers take from what each node receives (nodes, channels)."""
        passes = np.ones((len(scene.positions), self.channels))
        for jammer, place in self._jammers(scene):
            assert jammer.range_m is not None
            there = np.broadcast_to(place, scene.positions.shape)
            apart = np.linalg.norm(scene.positions - place, axis=1)
            near = self._longer(scene, apart, there, scene.positions) <= jammer.range_m
            chosen = slice(None) if jammer.channel is None else slice(jammer.channel, jammer.channel + 1)
            passes[near, chosen] *= 1 - jammer.loss
        return 1 - passes


@dataclass(frozen=True)
class Gear:
    """A node's radio: dBm that it sends, dBi of its antenna, dB of its receiver's own noise."""

    power_dbm: float = 20.0
    gain_dbi: float = 0.0
    noise_figure_db: float = 7.0


@dataclass(frozen=True)
class Signal:
    """What all radios share. ``gear``: of nodes, but those of ``other`` (by their index); ``modes``: slowest first;
    ``target``: what the chosen rate loses at most; ``max_loss``: a link that loses more at the slowest rate is none;
    ``activity``: the part of the time that each end of a link sends."""

    gear: Gear = Gear()
    other: Mapping[int, Gear] = field(default_factory=dict)
    bandwidth_hz: float = modes.BANDWIDTH_HZ
    modes: tuple[Mode, ...] = modes.MODES
    frame_bytes: int = 1500
    target: float = 0.1
    max_loss: float = 0.9
    activity: float = 0.0

    def gears(self, nodes: int) -> tuple[Floats, Floats, Floats]:
        """Of each node: dBm that it radiates, antenna and all, dBi of its antenna, and dBm of its noise: thermal noise
        at 290 K, and the receiver's own."""
        every = [self.other.get(node, self.gear) for node in range(nodes)]
        thermal = -173.975 + 10 * math.log10(self.bandwidth_hz)
        rows = [(each.power_dbm + each.gain_dbi, each.gain_dbi, thermal + each.noise_figure_db) for each in every]
        radiated, gain, noise = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return radiated, gain, noise


class SignalRadio(Radio):
    """Links as far as the signal is strong enough: path loss, shadowing, obstacles, noise, jammers, other links."""

    def __init__(
        self, signal: Signal, path_loss: PathLoss, shadowing: Shadowing | None, reach_m: float, **more: Any
    ) -> None:
        super().__init__(reach_m, **more)
        self.signal, self._path_loss, self._shadowing = signal, path_loss, shadowing

    def lost_db(self, scene: Scene, here: Floats, there: Floats, distances: Floats) -> Floats:
        """dB between places (links, 3)."""
        lost = self._path_loss(here, there, distances) + self._weakened(scene, here, there)
        return lost if self._shadowing is None else lost + self._shadowing(here, there)

    def _received(self, scene: Scene, pairs: NDArray[np.int_], distances: Floats) -> Floats:
        """mW that each end of pairs receives of the other: (pairs, 2)."""
        ends = scene.positions[pairs]
        lost = self.lost_db(scene, ends[:, 0], ends[:, 1], distances)
        radiated, gain, _ = self.signal.gears(len(scene.positions))
        return propagation.power(radiated[pairs[:, ::-1]] + gain[pairs] - lost[:, None])

    def possible(self, scene: Scene) -> Possible:
        """Those that both ends receive in spite of noise and jammers."""
        pairs, distances = scene.within(self.reach_m)
        noise = self._noise(scene)[pairs, self._channel(pairs)[:, None]]
        snr = self._received(scene, pairs, distances) / noise
        weaker = snr.min(axis=1)
        good = self.signal.modes[0].loss(weaker, self.signal.frame_bytes) <= self.signal.max_loss
        return Possible(pairs, distances, -weaker, snr).of(good)

    def _noise(self, scene: Scene) -> Floats:
        """mW of noise and jammers at each node on each channel: (nodes, channels)."""
        _, gain, own = self.signal.gears(len(scene.positions))
        noise = np.repeat(propagation.power(own)[:, None], self.channels, axis=1)
        for jammer, place in self._jammers(scene):
            assert jammer.power_dbm is not None
            apart = np.linalg.norm(scene.positions - place, axis=1)
            there = np.broadcast_to(place, scene.positions.shape)
            heard = jammer.power_dbm + gain - self.lost_db(scene, there, scene.positions, apart)
            if scene.earth:
                heard = np.where(occluded(there, scene.positions), -math.inf, heard)
            chosen = slice(None) if jammer.channel is None else slice(jammer.channel, jammer.channel + 1)
            noise[:, chosen] += propagation.power(heard)[:, None]
        return noise

    def states(self, scene: Scene, taken: Possible) -> dict[Pair, LinkState]:
        """The rate that each end's signal allows, and what is lost at it. Links that are there together make each
        other worse, but none goes away because of others."""
        signal = self.signal
        snr = taken.snr
        if signal.activity > 0 and len(taken.pairs) > 1:
            noise = self._noise(scene)[taken.pairs, self._channel(taken.pairs)[:, None]]
            snr = snr * noise / (noise + self._others(scene, taken))
        best, losses = modes.choose(snr.ravel(), signal.modes, signal.frame_bytes, signal.target)
        scale = signal.bandwidth_hz / modes.BANDWIDTH_HZ
        ways = [
            Way(signal.modes[mode].rate_bps * scale, min(float(loss), 1 - 1e-9))
            for mode, loss in zip(best, losses, strict=True)
        ]
        return dict(
            _state(pair, float(taken.distances[number]), (ways[2 * number], ways[2 * number + 1]), snr[number])
            for number, pair in enumerate(taken.pairs.tolist())
        )

    def _others(self, scene: Scene, taken: Possible) -> Floats:
        """mW that the ends of each link receive of other links' ends on the same channel: (links, 2)."""
        channel, count = self._channel(taken.pairs), len(scene.positions)
        sends = np.zeros((count, self.channels))
        np.add.at(sends, (taken.pairs, channel[:, None]), self.signal.activity)
        nodes = np.unique(taken.pairs)
        here, there = (axis.ravel() for axis in np.meshgrid(nodes, nodes, indexing="ij"))
        apart = np.linalg.norm(scene.positions[here] - scene.positions[there], axis=1)
        heard = np.zeros((count, count))
        each = here != there
        here, there, apart = here[each], there[each], apart[each]
        heard[here, there] = self._received(scene, np.column_stack([here, there]), apart)[:, 0]
        if scene.earth:
            heard[here, there] *= ~occluded(scene.positions[here], scene.positions[there])
        whole = heard @ np.minimum(sends, 1)  # at each node, on each channel
        found = np.empty((len(taken.pairs), 2))
        for end in (0, 1):
            at, other = taken.pairs[:, end], taken.pairs[:, 1 - end]
            own = heard[at, other] * np.minimum(sends[other, channel], 1)
            found[:, end] = np.maximum(whole[at, channel] - own, 0)
        return found


def read_radio(
    table: Mapping[str, Any],
    barriers: Sequence[Obstacle] = (),
    jammers: Sequence[Jammer] = (),
    names: Sequence[str] = (),
) -> Radio:
    """From a scenario's table, with obstacles and jammers that have been read; ``names``: the nodes'. Raises
    HeadraceError with the key."""
    values = Values(table, "radio")
    model = values.word("model", MODELS, "range")
    channels = values.whole("channels", 1, 1, MOST_CHANNELS)
    more = {"barriers": barriers, "jammers": jammers, "channels": channels}
    for jammer in jammers:
        wanted = "range_m" if model == "range" else "power_dbm"
        if getattr(jammer, wanted) is None:
            raise Values({}, f"jammers.{jammer.name}").wrong(wanted, f"radios of model {model} need it")
    if model == "range":
        values.only("model", "channels", "range_m", "rate_bps", "loss")
        reach_m = values.number("range_m", above=0, endless=True)
        rates, losses = _curve(values, "rate_bps", 54e6), _curve(values, "loss", 0.0)
        if (rates[:, 1] <= 0).any():
            raise values.wrong("rate_bps", "not above 0")
        if (losses[:, 1] < 0).any() or (losses[:, 1] >= 1).any():
            raise values.wrong("loss", "not from 0 to below 1")
        return RangeRadio(reach_m, rates, losses, **more)
    return _signal_radio(values, model, names, more)


def _signal_radio(values: Values, model: str, names: Sequence[str], more: Mapping[str, Any]) -> SignalRadio:
    own = {"log-distance": ("exponent", "reference_m"), "two-ray": ("antenna_m",)}.get(model, ())
    values.only(
        "model", "channels", "range_m", "frequency_hz", "power_dbm", "gain_dbi", "bandwidth_hz", "noise_figure_db",
        "rates_bps", "frame_bytes", "loss_target", "max_loss", "activity", "shadowing_db", "shadowing_m", "seed",
        "nodes", *own,
    )  # fmt: skip
    frequency = values.number("frequency_hz", 2.4e9, above=0)
    path_loss: PathLoss
    if model == "free-space":
        path_loss = propagation.FreeSpace(frequency)
    elif model == "log-distance":
        exponent, reference_m = values.number("exponent", 3.0, above=0), values.number("reference_m", 1.0, above=0)
        path_loss = propagation.LogDistance(frequency, exponent, reference_m)
    else:
        path_loss = propagation.TwoRay(frequency, values.number("antenna_m", 1.5, above=0))
    sigma, decorrelation = (
        values.number("shadowing_db", 0.0, least=0, most=MOST_DB),
        values.number("shadowing_m", 50.0, above=0),
    )
    seed = values.whole("seed", 0)
    gear = _gear(values, Gear())
    signal = Signal(
        gear,
        _other(values, gear, names),
        bandwidth_hz=values.number("bandwidth_hz", modes.BANDWIDTH_HZ, above=0),
        modes=_modes(values),
        frame_bytes=values.whole("frame_bytes", 1500, 1),
        target=values.number("loss_target", 0.1, above=0, below=1),
        max_loss=values.number("max_loss", 0.9, above=0, below=1),
        activity=values.number("activity", 0.0, least=0, most=1),
    )
    reach_m = values.number("range_m", math.inf, above=0, endless=True)
    shadowing = Shadowing(sigma, decorrelation, seed) if sigma > 0 else None
    return SignalRadio(signal, path_loss, shadowing, reach_m, **more)


def _gear(values: Values, default: Gear) -> Gear:
    return Gear(
        values.number("power_dbm", default.power_dbm, least=-MOST_DB, most=MOST_DB),
        values.number("gain_dbi", default.gain_dbi, least=-MOST_DB, most=MOST_DB),
        values.number("noise_figure_db", default.noise_figure_db, least=0, most=MOST_DB),
    )


def _other(values: Values, gear: Gear, names: Sequence[str]) -> dict[int, Gear]:
    """Of the nodes in the table ``nodes``, by their index."""
    found = {}
    for name, table in (values.need("nodes", dict, "tables by node") if "nodes" in values.table else {}).items():
        if name not in names or not isinstance(table, dict):
            raise values.wrong(f"nodes.{name}", "no such node" if name not in names else "not a table")
        own = Values(table, f"{values.where}.nodes.{name}")
        own.only("power_dbm", "gain_dbi", "noise_figure_db")
        found[names.index(name)] = _gear(own, gear)
    return found


def _modes(values: Values) -> tuple[Mode, ...]:
    """Those of ``rates_bps``, as the rates are named at 20 MHz; all where it isn't there."""
    if "rates_bps" not in values.table:
        return modes.MODES
    there = {mode.rate_bps: mode for mode in modes.MODES}
    wanted = values.row("rates_bps", *range(1, len(there) + 1), what="a list of rates")
    if not set(wanted) <= set(there):
        raise values.wrong("rates_bps", f"there are {', '.join(f'{rate:g}' for rate in there)}, at 20 MHz")
    return tuple(there[rate] for rate in sorted(set(wanted.tolist())))


def _curve(values: Values, key: str, default: float) -> Floats:
    """A number, or pairs of metres and numbers: (points, 2)."""
    if not isinstance(values.table.get(key), list):
        return np.array([[0.0, values.number(key, default)]])
    found = values.rows(key, 2, what="a number, or pairs of a distance in metres and a number")
    if (np.diff(found[:, 0]) <= 0).any():
        raise values.wrong(key, "distances don't ascend")
    return found
