#!/usr/bin/env python3
"""Draws the harbour from above, north at the top: on the left the water at the end, lit from the north-west; on the right
the highest water that each place has seen, from dark (none) to bright (1.4 m), as the bar shows."""

import pathlib
import sys

import numpy as np
import png
from place import EDGE, LENGTH, WIDTH, depth_of_the_sea

SCALE = 2  # pixels for a cell, each way
GAP, BAR = 12, 16  # pixels
LAND, SHORE = (217, 200, 160), (91, 74, 42)
# Colours from the least to the most, evenly spaced.
WATER = [(10, 60, 120), (45, 135, 190), (120, 200, 195), (205, 235, 205), (250, 252, 242)]
HEIGHT = [(5, 5, 15), (75, 25, 120), (180, 60, 115), (245, 140, 90), (255, 250, 200)]


def coloured(values, least, most, colours):
    """The colour of each value, as three numbers from 0 to 255."""
    share = (values - least) / (most - least) * (len(colours) - 1)
    steps = np.arange(len(colours))
    return np.stack([np.interp(share, steps, part) for part in zip(*colours)], axis=-1)


def enlarged(values):
    """SCALE times as many rows and columns, with the values in between."""
    for axis in (0, 1):
        count = values.shape[axis]
        at = np.clip((np.arange(count * SCALE) + 0.5) / SCALE - 0.5, 0, count - 1)
        low = np.minimum(at.astype(int), count - 2)
        share = (at - low).reshape((-1, 1) if axis == 0 else (1, -1))
        values = np.take(values, low, axis) * (1 - share) + np.take(values, low + 1, axis) * share
    return values


def lit(colours, water, cell):
    """Brightens what faces the sun and darkens what turns away, so that the waves stand out."""
    south_north, west_east = np.gradient(water * 25, cell)  # steeper than it is
    west, north, up = 0.58, 0.58, 0.57  # where the sun is
    light = (west * west_east - north * south_north + up) / np.sqrt(west_east**2 + south_north**2 + 1)
    light = ((light - light.min()) / (light.max() - light.min()))[..., None]
    return (2 * light + (1 - 2 * light) * colours / 255) * colours


def with_land(colours, land):
    shore = np.zeros_like(land)
    shore[1:] |= land[1:] ^ land[:-1]
    shore[:, 1:] |= land[:, 1:] ^ land[:, :-1]
    colours[land], colours[shore] = LAND, SHORE
    return colours


def draw(folder):
    """Reads harbour.npy in `folder` and writes harbour.png beside it; returns its path."""
    water, highest = np.load(folder / "harbour.npy")
    cell = LENGTH / water.shape[1]
    land = depth_of_the_sea(*water.shape) == 0
    # The open edges, where the swell is made, are left out.
    edge = slice(int(EDGE / 2 / cell), int((WIDTH - EDGE / 2) / cell)), slice(int(EDGE / cell), None)
    water, highest = enlarged(water[edge]), enlarged(np.where(land, 0, highest)[edge])
    land = np.kron(land[edge], np.ones((SCALE, SCALE), bool))
    left = lit(coloured(water, -0.9, 0.9, WATER), water, cell / SCALE)
    right = coloured(highest, 0, 1.4, HEIGHT)
    bar = np.repeat(coloured(np.linspace(0, 1, len(land)), 0, 1, HEIGHT)[:, None], BAR, axis=1)
    gap = np.full((len(land), GAP, 3), 255)
    whole = np.concatenate([with_land(left, land), gap, with_land(right, land), gap, bar], axis=1)
    path = folder / "harbour.png"
    png.write(path, np.round(whole[::-1]).clip(0, 255).astype("uint8"))
    return path


if __name__ == "__main__":
    print(draw(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo")))
