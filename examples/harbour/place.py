"""The place: a piece of sea, a coast, a harbour. Everything is on a grid of cells, south to north, west to east."""

import numpy as np

LENGTH, WIDTH = 1800.0, 1350.0  # m, west to east and south to north
EDGE = 220.0  # m, the open edges where the water is led to the swell
SWELL_HEIGHT, SWELL_PERIOD, SWELL_DEPTH = 1.0, 11.0, 14.0  # m, s, m


def coast_line(y):
    """How far east the coast is, in metres."""
    return 1610 + 50 * np.sin(y / 170) + 25 * np.sin(y / 61 + 1)


def depth_of_the_sea(rows, columns):
    """Depth in metres at each cell of the whole domain; 0 is land."""
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    x, y = x * LENGTH, y * WIDTH
    depth = np.clip(SWELL_DEPTH - (x - 700) * 0.008, 5.0, SWELL_DEPTH)
    depth -= 8.5 * np.exp(-((x - 480) ** 2 + (y - 640) ** 2) / 150**2)  # a shoal bends the waves
    depth[x > coast_line(y)] = 0
    for x0, y0, x1, y1 in ((880, 0, 910, 520), (880, 520, 1010, 550), (880, 760, 910, WIDTH), (1180, 690, 1390, 715)):
        depth[(x >= x0) & (x < x1) & (y >= y0) & (y < y1)] = 0  # two breakwaters and a pier
    depth[(x - 1180) ** 2 + (y - 1010) ** 2 < 75**2] = 0  # an island
    return depth


def absorbing_rates(rows, columns):
    """(rate towards the swell at the open edges, rate towards calm water at beach and stones), per second."""
    y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
    x, y = x * LENGTH, y * WIDTH
    inward = np.minimum(x, np.minimum(y, WIDTH - y))
    open_edge = 1.2 * np.clip(1 - inward / EDGE, 0, 1) ** 2 * (x < 880)
    beach = 0.8 * np.clip(1 - (coast_line(y) - x) / 110, 0, 1) ** 2
    stones = 0.6 * np.clip(1 - (880 - x) / 90, 0, 1) ** 2 * (x < 880) * ((y < 535) | (y > 770))
    return open_edge, beach + stones
