"""From figures to a table: medians, ratios to the best rival, and the files in bench/results/."""

import json
import os
import platform
import statistics
import time

OURS = "serried"
MORE_IS_BETTER = ("GB/s", "M/s")


class Figures:
    """All that was measured: library -> (program, ranks, name, bytes, unit) -> values."""

    def __init__(self, titles):
        self.titles = titles
        self.values = {name: {} for name in titles}
        self.notes = []

    def add(self, library, key, value):
        self.values[library].setdefault(key, []).append(value)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def keys(self):
        """Every figure that any library has, in the order of measuring."""
        return list(dict.fromkeys(key for rows in self.values.values() for key in rows))

    def median(self, library, key):
        values = self.values[library].get(key)
        return statistics.median(values) if values else None

    def times_better(self, key):
        """Ours against the best rival: 2.0 is twice as good, whether less or more is better. None if unknown."""
        ours = self.median(OURS, key) if OURS in self.values else None
        rivals = [v for name in self.titles if name != OURS and (v := self.median(name, key)) is not None]
        if ours is None or not rivals:
            return None
        if key[4] in MORE_IS_BETTER:
            return ours / max(rivals)
        return min(rivals) / ours


def sized(key):
    """The size of a figure in words; empty where it has none."""
    return "" if key[2] in ("barrier", "start to end") else size_text(key[3])


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def value_text(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def rows_of(figures):
    """The table as lists of words, the heading first."""
    yield ["", "ranks", "size", "unit", *figures.titles.values(), "times better"]
    for key in figures.keys():
        _, ranks, name, _, unit = key
        better = figures.times_better(key)
        medians = [value_text(figures.median(library, key)) for library in figures.titles]
        yield [name, str(ranks), sized(key), unit, *medians, "-" if better is None else f"{better:.2f}"]


def plain_table(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(word.rjust(width) for word, width in zip(row, widths)) for row in rows)


def markdown_table(rows):
    head, *body = list(rows)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}"


def write(figures, folder):
    """Prints the table and leaves it in `folder` as latest.md, latest.json and latest.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(rows_of(figures))
    print("\n" + plain_table(rows))
    notes = "".join(f"- {note}\n" for note in figures.notes)
    print("\n" + (notes or "every job ended well\n"))
    heading = f"# Side by side\n\n{machine()}. Medians; times better: Serried against the best of the others.\n\n"
    (folder / "latest.md").write_text(heading + markdown_table(rows) + "\n\n" + notes)
    flat = {
        name: {"/".join(map(str, key)): values for key, values in rows.items()}
        for name, rows in figures.values.items()
    }
    (folder / "latest.json").write_text(json.dumps({"machine": machine(), "values": flat, "notes": figures.notes}))
    draw(figures, folder / "latest.svg")
    print(f"written: latest.md, latest.json, latest.svg in {os.path.relpath(folder)}")


def draw(figures, path):
    """A bar for each figure: how many times better than the best rival, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    points = [(key, figures.times_better(key)) for key in figures.keys()]
    points = [(key, better) for key, better in points if better is not None]
    if not points:
        return
    texts = [(key[2], key[1], sized(key)) for key, _ in points]
    labels = [" ".join(word for word in (name, size, f"· {ranks} ranks") if word) for name, ranks, size in texts]
    values = [better for _, better in points]
    figure, axes = plt.subplots(figsize=(8, 1 + 0.22 * len(points)), layout="constrained")
    colours = ["#2a7f62" if better >= 1 else "#c05a3a" for better in values]
    axes.barh(range(len(values)), [better - 1 for better in values], left=1, color=colours)
    axes.set_yticks(range(len(values)), labels, fontsize=7)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times better than the best of MPICH, Open MPI and Intel MPI (log scale)")
    figure.savefig(path)
