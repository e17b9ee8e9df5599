"""Figures by library, point and round, and what is made of them: medians, quantiles, ratios, bars.

A point is (program, ranks, name, bytes, unit). A ratio compares like with like: in each round ours is divided by each
rival's figure of the same round, the median over the rounds is taken, and the rival against whom it looks worst for
us counts. Where less is better (times), a ratio below 1 is ahead; where more is better (rates), one above 1.
"""

import statistics

OURS = "serried"
# At the end of a point's name: ranks that were bound before they started, and free ones measured beside them.
BOUND, FREE = " bound", " free"
MORE_IS_BETTER = ("GB/s", "M/s")


class Figures:
    """All that was measured: library -> point -> round -> value."""

    def __init__(self, titles):
        self.titles = titles
        self.values = {name: {} for name in titles}
        self.notes = []

    def add(self, library, point, number, value):
        self.values[library].setdefault(point, {})[number] = value

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def points(self):
        """Every point that any library has, in the order of measuring."""
        return list(dict.fromkeys(point for rows in self.values.values() for point in rows))

    def median(self, library, point):
        values = self.values[library].get(point)
        return statistics.median(values.values()) if values else None

    def good(self, library, point):
        """What it reaches in the best fifth of the rounds: the 20th percentile of times, the 80th of rates."""
        values = sorted(self.values[library].get(point, {}).values(), reverse=more_is_better(point))
        return values[(len(values) - 1) // 5] if values else None

    def rivals(self):
        return [name for name in self.titles if name != OURS]

    def ratio(self, point):
        """Ours to the best rival, round by round; None if unknown."""
        ours = self.values.get(OURS, {}).get(point, {})
        ratios = []
        for rival in self.rivals():
            theirs = self.values[rival].get(point, {})
            pairs = [ours[number] / theirs[number] for number in ours if theirs.get(number)]
            ratios += [statistics.median(pairs)] if pairs else []
        return worst(ratios, point)

    def ratio_of_good(self, point):
        """The same of the best fifths."""
        ours = self.good(OURS, point) if OURS in self.values else None
        theirs = [self.good(rival, point) for rival in self.rivals()]
        return worst([ours / value for value in theirs if value] if ours else [], point)

    def costs_of_binding(self):
        """Point of bound ranks -> how many times longer ours take than free ones, median over the rounds."""
        costs = {}
        for point, bound in self.values.get(OURS, {}).items():
            free = self.values[OURS].get((*point[:2], point[2].removesuffix(BOUND) + FREE, *point[3:]), {})
            pairs = [bound[number] / free[number] for number in bound if free.get(number)]
            if point[2].endswith(BOUND) and pairs:
                cost = statistics.median(pairs)
                costs[point] = 1 / cost if more_is_better(point) else cost
        return costs


def more_is_better(point):
    return point[4] in MORE_IS_BETTER


def worst(ratios, point):
    if not ratios:
        return None
    return min(ratios) if more_is_better(point) else max(ratios)


# What Serried wants to reach: name, ranks, smallest and largest size, ratio. All that fit a point hold.
KIB, MIB = 1 << 10, 1 << 20
BARS = [
    ("latency", (2,), 8, 4 * MIB, 0.9),
    ("latency-fresh", (2,), 64 * KIB, 4 * MIB, 0.75),
    ("rate", (2,), 8, 8, 1.2),
    ("start to end", (64,), 0, 0, 0.2),
    ("bcast", (2,), 8 * KIB, 4 * MIB, 0.75),
    ("allreduce", (2,), 8, 512, 0.8),
    ("reduce", (2,), 8, 512, 1.0),
    ("allreduce", (2,), 4 * KIB, 4 * MIB, 0.6),
    ("reduce", (2,), 4 * KIB, 4 * MIB, 0.6),
    ("allgather", (2,), 4 * KIB, MIB, 0.7),
    ("alltoall", (2,), 4 * KIB, MIB, 0.7),
    ("barrier", (8,), 0, 0, 0.7),
    ("allreduce", (8,), 8, 4 * MIB, 0.7),
    ("pingpong-two", (8,), 0, 4 * MIB, 0.7),
    ("pingpong-pairs", (8,), 0, 4 * MIB, 0.7),
    ("bcast", (4, 8), 8 * KIB, 4 * MIB, 0.8),
    ("reduce", (4, 8), 8, 4 * MIB, 0.8),
    ("allreduce", (4, 8), 8, 4 * MIB, 0.8),
    ("allgather", (4, 8), 4 * KIB, MIB, 0.8),
    ("alltoall", (4, 8), 4 * KIB, MIB, 0.8),
    ("pingpong-two", (4,), 64 * KIB, 4 * MIB, 0.8),
]


def bar_of(point):
    """The bar of a point, or None."""
    program, ranks, name, size, _ = point
    name = name.removesuffix(BOUND)
    bars = [bar for what, where, least, most, bar in BARS if what == name and ranks in where and least <= size <= most]
    if program == "imb" or not bars:
        return None
    return max(bars) if more_is_better(point) else min(bars)


def meets(point, ratio, bar):
    return ratio >= bar if more_is_better(point) else ratio <= bar
