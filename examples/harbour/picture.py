#!/usr/bin/env python3
"""Draws the harbour: the water at the end, and the highest water that each place has seen."""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.colors import LightSource  # noqa: E402
from place import EDGE, LENGTH, WIDTH, depth_of_the_sea  # noqa: E402

LAND = "#d9c8a0"


def shaded(water, limit):
    """Colours of the water's height, lit from the north-west so that the waves stand out."""
    light = LightSource(azdeg=315, altdeg=35)
    return light.shade(water, plt.cm.GnBu_r, vmin=-limit, vmax=limit,
                       vert_exag=25, blend_mode="soft")


def draw_land(axes, land, extent):
    picture = np.zeros((*land.shape, 4))
    picture[land] = matplotlib.colors.to_rgba(LAND)
    axes.imshow(picture, origin="lower", extent=extent, interpolation="nearest")
    axes.contour(land, [0.5], colors="#5b4a2a", linewidths=0.8, extent=extent)
    axes.set_xlim(EDGE, LENGTH)
    axes.set_ylim(EDGE / 2, WIDTH - EDGE / 2)
    axes.set_xlabel("west to east, m")


def draw(folder):
    """Reads harbour.npy in `folder` and writes harbour.png beside it; returns its path."""
    water, highest = np.load(folder / "harbour.npy")
    land = depth_of_the_sea(*water.shape) == 0
    extent = (0, LENGTH, 0, WIDTH)
    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 5.8), sharey=True, layout="constrained")
    left.imshow(shaded(water, 0.9), origin="lower", extent=extent, interpolation="bilinear")
    left.set_title("The water at the end: swell from the west meets the shoal and the breakwaters")
    left.set_ylabel("south to north, m")
    image = right.imshow(np.ma.masked_where(land, highest), origin="lower", extent=extent, cmap="magma",
                         vmin=0, vmax=1.4, interpolation="bilinear")
    right.set_title("The highest water at each place")
    figure.colorbar(image, ax=right, label="m above rest", fraction=0.04, pad=0.02)
    for axes in (left, right):
        draw_land(axes, land, extent)
    path = folder / "harbour.png"
    figure.savefig(path, dpi=110)
    return path


if __name__ == "__main__":
    print(draw(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo")))
