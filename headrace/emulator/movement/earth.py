"""Geographic coordinates and the earth: WGS 84 (NIMA TR8350.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SEMI_MAJOR_M = 6_378_137.0
FLATTENING = 1 / 298.257223563
MU_M3_S2 = 3.986004418e14
ROTATION_RAD_S = 7.2921150e-5
_ECCENTRICITY_2 = FLATTENING * (2 - FLATTENING)
_GRAZING_M = 10.0
"""So far below the ellipsoid a line of sight may pass: a node on the ground sees from its ground."""


def earth_fixed(degrees: Floats) -> Floats:
    """Latitude and longitude in degrees and height in metres (..., 3) as earth-centred, earth-fixed metres."""
    latitude, longitude = np.radians(degrees[..., 0]), np.radians(degrees[..., 1])
    height = degrees[..., 2]
    normal = SEMI_MAJOR_M / np.sqrt(1 - _ECCENTRICITY_2 * np.sin(latitude) ** 2)
    across = (normal + height) * np.cos(latitude)
    up = (normal * (1 - _ECCENTRICITY_2) + height) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=-1)


def local(fixed: Floats, origin_deg: Sequence[float]) -> Floats:
    """Earth-fixed metres (..., 3) as metres to the east, the north and up in the plane that touches the earth at the
    origin."""
    latitude, longitude = math.radians(origin_deg[0]), math.radians(origin_deg[1])
    (sin_lat, cos_lat), (sin_lon, cos_lon) = ((math.sin(angle), math.cos(angle)) for angle in (latitude, longitude))
    axes = np.array(
        [
            [-sin_lon, cos_lon, 0],
            [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat],
            [cos_lat * cos_lon, cos_lat * sin_lon, sin_lat],
        ]
    )
    turned: Floats = (fixed - earth_fixed(np.array(origin_deg, dtype=np.float64))) @ axes.T
    return turned


def occluded(here: Floats, there: Floats) -> NDArray[np.bool_]:
    """Whether the earth is between places, earth-fixed metres (pairs, 3): whether the line between them comes into the
    ellipsoid."""
    scale = np.array([1, 1, 1 / (1 - FLATTENING)])  # the ellipsoid becomes a sphere
    start, way = here * scale, (there - here) * scale
    length = np.einsum("ij,ij->i", way, way)
    nearest = np.clip(-np.einsum("ij,ij->i", start, way) / np.where(length > 0, length, 1), 0, 1)
    low: NDArray[np.bool_] = np.linalg.norm(start + nearest[:, None] * way, axis=1) < SEMI_MAJOR_M - _GRAZING_M
    return low
