"""The plots: how we stand against the best rival at every point, and curves over the size."""

from figures import bar_of, meets, more_is_better
from words import size_text

# What a panel shows: name in the table, ranks.
PANELS = [
    ("latency", 2), ("latency-fresh", 2), ("bandwidth", 2),
    ("allreduce", 2), ("bcast", 2), ("alltoall", 2),
    ("allreduce", 8), ("bcast", 8), ("pingpong-two", 8),
]
COLOURS = {"serried": "#2a7f62", "mpich": "#4a6fa5", "openmpi": "#c9882b", "impi": "#8e5aa0"}


def draw(figures, folder):
    """Draws what there is data for; gives the names of the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = []
    for name, drawing in (("latest", draw_ratios), ("curves", draw_curves)):
        figure = drawing(figures, plt)
        if figure is None:
            continue
        for kind in ("svg", "png"):
            figure.savefig(folder / f"{name}.{kind}", dpi=110)
            names.append(f"{name}.{kind}")
        plt.close(figure)
    return names


def draw_ratios(figures, plt):
    """A bar for each point: how many times better than the best rival; a tick where the bar to reach is."""
    points = [(point, figures.ratio(point)) for point in figures.points() if figures.ratio(point)]
    if not points:
        return None
    figure, axes = plt.subplots(figsize=(8, 1 + 0.2 * len(points)), layout="constrained")
    for row, (point, ratio) in enumerate(points):
        better = ratio if more_is_better(point) else 1 / ratio
        bar = bar_of(point)
        well = better >= 1 if bar is None else meets(point, ratio, bar)
        axes.barh(row, better - 1, left=1, color="#2a7f62" if well else "#c05a3a")
        if bar is not None:
            axes.plot(bar if more_is_better(point) else 1 / bar, row, "|", color="black", markersize=6)
    axes.set_yticks(range(len(points)), [label_of(point) for point, _ in points], fontsize=6)
    axes.margins(y=0.005)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times better than the best of the others (log scale); | is what we want to reach")
    return figure


def label_of(point):
    program, ranks, name, size, _ = point
    shown = "IMB " + name if program == "imb" else name
    return f"{shown} {size_text(size) if size else ''} · {ranks} ranks"


def draw_curves(figures, plt):
    """Value over size, all libraries, a panel for each of PANELS that was measured."""
    found = {panel: [p for p in figures.points() if p[0] != "imb" and (p[2], p[1]) == panel and p[3] > 0]
             for panel in PANELS}
    panels = [(panel, points) for panel, points in found.items() if len(points) > 2]
    if not panels:
        return None
    rows = (len(panels) + 2) // 3
    figure, grid = plt.subplots(rows, 3, figsize=(13, 3.6 * rows), layout="constrained", squeeze=False)
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    for axes, ((name, ranks), points) in zip(grid.flat, panels):
        for library, title in figures.titles.items():
            known = [(p[3], figures.median(library, p)) for p in points if figures.median(library, p)]
            axes.plot(*zip(*known) if known else ([], []), marker=".", label=title, color=COLOURS[library],
                      linewidth=2 if library == "serried" else 1)
        axes.set(xscale="log", yscale="log", title=f"{name}, {ranks} ranks", ylabel=points[0][4], xlabel="bytes")
        axes.grid(alpha=0.3)
    grid.flat[0].legend()
    return figure
