"""Movement from files of maps: GPX, KML, CZML, and SUMO's floating-car data."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.emulator.movement import xml
from headrace.emulator.movement.notes import Notes, wrong
from headrace.emulator.movement.samples import Place, Samples, seconds, text, utc

_SLOWEST = 0.005
"""No vehicle is slower than so many metres a second all the time, and none faster than so many degrees."""


def read_gpx(notes: Notes) -> Samples:
    """Each waypoint is a node that stands, by its name or ``waypoint1`` ...; each track one that moves, by its name or
    ``track1`` ... Points without a time are left out. Raises HeadraceError."""
    import gpxpy
    import gpxpy.gpx

    try:
        found = gpxpy.parse(text(notes.path))
    except (gpxpy.gpx.GPXException, ValueError) as error:
        raise wrong(notes.path, "", " ".join(str(error).split())) from None
    samples = Samples(notes)
    for number, mark in enumerate(found.waypoints, 1):
        name = samples.new(mark.name or f"waypoint{number}", f" waypoint {number}:")
        samples.add(name, None, (mark.latitude, mark.longitude, mark.elevation or 0.0), f" waypoint {number}:")
    for number, track in enumerate(found.tracks, 1):
        name = samples.new(track.name or f"track{number}", f" track {number}:")
        for count, point in enumerate((point for part in track.segments for point in part.points), 1):
            if point.time is None:
                notes.left_out(f" track {name}:", f"point {count} has no time")
                continue
            place = (point.latitude, point.longitude, point.elevation or 0.0)
            samples.add(name, utc(point.time, notes), place, f" track {name}, point {count}:")
    for number, route in enumerate(found.routes, 1):
        notes.left_out(f" route {number}:", f"{route.name or 'it'} has no times")
    notes.need(samples.names)
    return samples


def read_kml(notes: Notes) -> Samples:
    """Each placemark with a gx:Track is a node, by its name; each with a Point one that stands, or is there at its
    TimeStamp. Others, and those that are wrong, are left out. Raises HeadraceError with the line."""
    samples = Samples(notes)
    count = 0

    def take(mark: xml.Element) -> None:
        nonlocal count
        count += 1
        label = mark.first("name")
        name = (label and label.text.strip()) or f"placemark{count}"
        try:
            points = _kml_points(notes, mark)
        except _WrongError as error:
            notes.left_out(error.line, f"placemark {name}: {error}")
            return
        name = samples.new(name, mark.line)
        for when, place, line in points:
            samples.add(name, when, place, line)

    xml.each(notes.path, "Placemark", take)
    notes.need(samples.names)
    return samples


class _WrongError(Exception):
    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


def _kml_points(notes: Notes, mark: xml.Element) -> list[tuple[float | None, Place, int]]:
    """A placemark's places with their times and lines. Raises _WrongError."""
    found: list[tuple[float | None, Place, int]] = []
    tracks, point = mark.all("Track"), mark.first("Point")
    for track in tracks:
        whens, coords = track.all("when"), track.all("coord")
        if len(whens) != len(coords):
            raise _WrongError(track.line, f"{len(whens)} times and {len(coords)} places")
        for when, coord in zip(whens, coords, strict=True):
            found.append((_time(notes, when), _place(coord, coord.text.split()), coord.line))
    if not tracks and point:
        coord, stamp = point.first("coordinates") or point, mark.first("when")
        place = _place(coord, coord.text.strip().split(","))
        found.append((None if stamp is None else _time(notes, stamp), place, coord.line))
    if not found:
        raise _WrongError(mark.line, "neither a gx:Track nor a Point")
    return found


def _time(notes: Notes, element: xml.Element) -> float:
    try:
        return seconds(element.text, notes)
    except ValueError:
        raise _WrongError(element.line, f"{element.text.strip()!r} is not a date and time") from None


def _place(element: xml.Element, words: Sequence[str]) -> Place:
    try:
        longitude, latitude, height = [float(word) for word in words] + [0.0] * (len(words) == 2)
    except ValueError:
        raise _WrongError(element.line, "not a longitude, a latitude (and a height)") from None
    return latitude, longitude, height


def read_sumo(notes: Notes, geographic: bool | None) -> tuple[Samples, bool]:
    """SUMO's ``--fcd-output``: x and y are metres, or longitude and latitude where it was written with
    ``--fcd-output.geo``; None: as what moves there tells. Whether it is the latter. Raises HeadraceError."""
    samples = Samples(notes)

    def take(step: xml.Element) -> None:
        for vehicle in step.inside:
            if vehicle.name not in ("vehicle", "person", "container"):
                continue
            try:
                time_s = float(step.attributes["time"])
                x, y = float(vehicle.attributes["x"]), float(vehicle.attributes["y"])
                z = float(vehicle.attributes.get("z", 0.0))
                name = vehicle.attributes["id"]
            except KeyError as error:
                notes.left_out(vehicle.line, f"{_called(vehicle)}: no attribute {error.args[0]}")
            except ValueError as error:
                notes.left_out(vehicle.line, f"{_called(vehicle)}: {error}")
            else:
                samples.add(name, time_s, (x, y, z), vehicle.line)

    xml.each(notes.path, "timestep", take)
    notes.need(samples.names)
    if geographic is None:
        fastest, (east, north) = samples.fastest(), samples.farthest()
        could_be = east <= 180 and north <= 90
        geographic = could_be and 0 < fastest < _SLOWEST
        if geographic:
            notes.say("x and y are taken for degrees, since nothing moves as metres would; geographic says otherwise")
        elif could_be and not fastest:
            notes.say("x and y are taken for metres, though nothing moves that would tell: geographic = true: degrees")
    if geographic:
        samples.turned()
    return samples, geographic


def _called(vehicle: xml.Element) -> str:
    return f"{vehicle.name} {vehicle.attributes.get('id', 'without id')}"
