"""The figures of the switch card's study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    TWO,
    Drawn,
    bars,
    bytes_axis,
    digits,
    from_to,
    line,
    log_axis,
    panels,
    plain,
    save,
    spread,
)
from headrace.evaluate.study.switch_published import FIR_GBIT_S, SMALL_GBIT_S
from headrace.evaluate.study.switch_rows import ConnectionRow, SwitchStudy

_BRAM36_BITS = 36_864
_LUT_BITS = 64


def draw(study: SwitchStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "sizes": partial(_sizes, study),
        "connections": partial(_connections, study),
        "small": partial(_small, study),
        "fir": partial(_fir, study),
    }
    return save(figures, folder)


def _sizes(study: SwitchStudy) -> Drawn:
    if not study.sizes:
        return "", None
    figure, (luts, rams) = panels(TWO, 2)
    for part, colour, marker in zip(("exact", "ternary"), COLOURS, MARKERS, strict=False):
        rows = [row for row in study.sizes if row.part == part]
        style = {**OURS, "color": colour, "marker": marker, "label": part}
        line(luts, rows, lambda row: (row.entries, row.luts), **style)
        line(rams, rows, lambda row: (row.entries, row.bram36 * _BRAM36_BITS + row.lutram * _LUT_BITS), **style)
    style = {**THEIRS, "color": "#777777", "marker": "D", "label": "published formula: the thesis' CAM"}
    line(rams, sorted(study.sizes, key=lambda row: row.entries), lambda row: (row.entries, row.cam_bits), **style)
    for axes, label in ((luts, "LUTs of UltraScale+"), (rams, "bits of RAM: block RAMs and LUTs")):
        bytes_axis(axes, (row.entries for row in study.sizes), "entries of 264 bits")
        axes.set_ylabel(label)
        axes.legend()
    luts.set_ylim(bottom=0)
    luts.yaxis.set_major_formatter(plain)
    rams.set_yscale("log")
    parts = []
    for part in dict.fromkeys(row.part for row in study.sizes):
        row = max((row for row in study.sizes if row.part == part), key=lambda row: row.entries)
        share = (row.bram36 * _BRAM36_BITS + row.lutram * _LUT_BITS) / row.cam_bits
        parts.append(f"{row.entries:,} {part} entries take {row.luts:,} LUTs and {share:.2g} times the RAM")
    return f"{', '.join(parts)} of the thesis' CAM (published formula)", figure


def _connections(study: SwitchStudy) -> Drawn:
    if not study.connections:
        return "", None
    figure, both = panels(TWO, 2, sharey=True)
    for axes, data in zip(both, dict.fromkeys(row.data for row in study.connections), strict=False):
        rows = [row for row in study.connections if row.data == data]
        names = [f"{row.payload:,}" for row in rows]
        bars(
            axes,
            names,
            [
                ("card (modelled)", COLOURS[0], [row.card_kpps for row in rows]),
                (
                    "Open vSwitch, a core (measured here, best of 3 runs)",
                    COLOURS[1],
                    [row.ovs_core_kpps for row in rows],
                ),
                ("published: FPGA", "#777777", [row.published_kpps for row in rows]),
                ("published: Open vSwitch", "#bbbbbb", [row.published_ovs_kpps for row in rows]),
            ],
            lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.1f}",
        )
        spread(axes, [(at, row) for at, row in enumerate(rows) if row.ovs_core_kpps is not None], _core, color="black")
        axes.set_title(f"{data} packet{'s' * (data > 1)} of data a connection", loc="left")
        axes.set_xlabel("payload in bytes")
    both[0].set_ylabel("thousands of packets a second")
    figure.legend(*both[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4)
    core = [row.ovs_core_kpps for row in study.connections if row.ovs_core_kpps is not None]
    beside = f", a core of Open vSwitch {from_to(core)} (measured here)" if core else ""
    ours, theirs = (
        from_to(values)
        for values in ([r.card_kpps for r in study.connections], [r.published_kpps for r in study.connections])
    )
    caption = f"Short connections: the card passes {ours} thousand packets/s (modelled){beside}"
    return f"{caption}; published FPGA {theirs} with Linux sockets (table 6.1)", figure


def _core(place: tuple[int, ConnectionRow]) -> tuple[float, float, float, float]:
    """Of the second of four bars: the worst run beside the best."""
    at, row = place
    best = row.ovs_core_kpps or 0.0
    return at - 0.1, row.ovs_core_least_kpps or best, best, best


def _small(study: SwitchStudy) -> Drawn:
    if not study.small:
        return "", None
    figure, [axes] = panels(ONE)
    rows = study.small
    style = {**OURS, "color": COLOURS[0], "marker": MARKERS[0]}
    line(axes, rows, lambda row: (row.size, row.card_gbit_s), **style, label="card, two ports (modelled)")
    line(axes, rows, lambda row: (row.size, row.lines_gbit_s), color="#bbbbbb", label="room in two lines of 100 Gb/s")
    beside = [row for row in rows if row.ovs_core_gbit_s is not None]
    style = {**OURS, "color": COLOURS[1], "marker": MARKERS[1]}
    label = "Open vSwitch, a core, one flow (measured here, best of 3 runs, bars to the worst)"
    line(axes, beside, lambda row: (row.size, row.ovs_core_gbit_s), **style, label=label)
    spread(
        axes,
        beside,
        lambda row: (row.size, row.ovs_core_least_gbit_s, row.ovs_core_gbit_s, row.ovs_core_gbit_s),
        color=COLOURS[1],
    )
    for at, (label, marker) in enumerate((("published: Open vSwitch", "s"), ("published: FPGA", "D"))):
        points = [(size, values[at]) for size, values in SMALL_GBIT_S.items()]
        line(axes, points, lambda point: point, **THEIRS, color="#777777", marker=marker, label=label)
    bytes_axis(axes, (row.size for row in rows), "packet in bytes, with FCS")
    log_axis(axes, "Gb/s of frames")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.13))
    row = next((row for row in rows if row.size in SMALL_GBIT_S), rows[0])
    parts = [f"the card {digits(row.card_gbit_s)} Gb/s through two ports (modelled)"]
    if row.ovs_core_gbit_s is not None:
        parts.append(f"a core of Open vSwitch {digits(row.ovs_core_gbit_s)} (measured here)")
    if row.size in SMALL_GBIT_S:
        parts.append(f"published FPGA {SMALL_GBIT_S[row.size][1]} between sockets")
    return f"Packets of {row.size:,} bytes: {', '.join(parts)} (figure 6.3)", figure


def _fir(study: SwitchStudy) -> Drawn:
    if not study.fir:
        return "", None
    figure, [axes] = panels(ONE)
    series = (
        ("card, a line of 100 Gb/s (modelled)", lambda row: (row.samples, row.card_gbit_s)),
        ("C++ on a core (measured here)", lambda row: (row.samples, row.cpp_gbit_s)),
        ("NumPy on a core (measured here)", lambda row: (row.samples, row.numpy_gbit_s)),
    )
    for (label, point), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        line(axes, study.fir, point, **OURS, color=colour, marker=marker, label=label)
    axes.axhline(FIR_GBIT_S, color="#777777", linestyle=":", label="published: the FPGA's filter")
    bytes_axis(axes, (row.samples for row in study.fir), "samples of a packet")
    log_axis(axes, "Gb/s of samples")
    axes.legend(fontsize=8)
    card, cpp = (
        from_to(values)
        for values in ([r.card_gbit_s for r in study.fir], [r.card_gbit_s / r.cpp_gbit_s for r in study.fir])
    )
    caption = f"A FIR filter of 4 taps: the card takes {card} Gb/s (modelled), {cpp} times C++ on a core here"
    return f"{caption}; published {FIR_GBIT_S:.0f} Gb/s (figure 6.6)", figure
