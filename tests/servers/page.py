#!/usr/bin/env python3
"""Writes docs/scale.md and its picture from record.json.

    tests/servers/page.py              from what was measured last
    tests/servers/page.py --measure    measures first, in a minute
"""

import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "record.json"
PICTURE = "docs/pictures/scale.svg"
PAGE = "docs/scale.md"
MANIFEST = ["--manifest-path", str(HERE / "Cargo.toml"), "--target-dir", str(ROOT / "target/servers")]
NAMES = {"before": "before the study", "study": "the study", "grid": "grid, k = {}", "hypercube": "hypercube"}


def measure():
    run = subprocess.run(
        ["cargo", "run", "--release", "--quiet", *MANIFEST, "--bin", "scale"], check=True, stdout=subprocess.PIPE, text=True
    )
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    RECORD.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")


def name(row):
    words = NAMES[row["scheme"]].format(row["parameter"])
    return words if row["buffer"] > 1024 else words + ", slots"


def bytes_of(number):
    if number is None:
        return "–"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number} B"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def law_table(rows):
    """Law and measured bytes, by nodes and scheme."""
    columns = list(dict.fromkeys(name(row) for row in rows if row["buffer"] > 1024))
    found = {(row["nodes"], name(row)): row for row in rows}
    lines = []
    for nodes in sorted({row["nodes"] for row in rows}):
        cells = [f"{nodes:,}", f"{12 * nodes:,}"]
        for column in columns:
            row = found[nodes, column]
            mark = "**" if row["scheme"] == "grid" and row["parameter"] == row["chosen"] else ""
            cells.append(f"{mark}{bytes_of(row['law'])}{mark}<br>{bytes_of(row.get('most'))}")
        lines.append(cells)
    return table(["nodes", "processes", *columns], lines)


def growth_table(rows):
    """The study's own size: one server as a process of its own."""
    lines = []
    for row in rows:
        if "growth" in row and row["buffer"] > 1024:
            ratio = f"{row['growth'] / row['law']:.2f}"
            cells = [name(row), f"{row['senders']:,}", *map(bytes_of, (row["law"], row["most"], row["growth"])), ratio]
            lines.append(cells)
    return table(["scheme", "senders", "law", "simulated: most held", "VmRSS growth", "growth : law"], lines)


def traffic_table(rows):
    """What traffic by chance costs at the largest size that all schemes have."""
    lines = []
    for row in rows:
        if row["nodes"] == 800:
            cells = [name(row), f"{row['messages']:.2f}", f"{row['passed']:.2f}", bytes_of(row["at_rest"])]
            lines.append(cells)
    return table(["scheme", "messages sent for each request", "requests passed on", "held at rest"], lines)


COLOURS = {"before the study": "#b03030", "the study": "#d08020", "grid, k = 1": "#9090a0", "grid, k = 2": "#4060c0"}
COLOURS |= {"grid, k = 3": "#2090b0", "grid, k = 4": "#208050", "hypercube": "#705090"}


def picture(rows):
    """Bytes by nodes, both on logarithmic axes: lines are laws, dots what was measured."""
    left, top, width, height = 70, 20, 480, 320
    place_x = lambda nodes: left + width * (math.log10(nodes) - 2) / 4
    place_y = lambda size: top + height * (12 - math.log10(size)) / 7
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 390" font-family="sans-serif" font-size="12">',
        '<rect width="720" height="390" fill="white"/>',
    ]
    for power in range(5, 13):
        y = place_y(10**power)
        parts.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#ddd"/>')
        label = bytes_of(10**power) if power < 12 else "1 TB"
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for power in range(2, 7):
        x = place_x(10**power)
        parts.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{10**power:,}</text>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">nodes of 12 processes (simulated)</text>')
    for at, (column, colour) in enumerate(COLOURS.items()):
        own = [row for row in rows if name(row) == column]
        line = " ".join(f"{place_x(row['nodes']):.1f},{place_y(row['law']):.1f}" for row in own)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for row in own:
            if "most" in row:
                parts.append(f'<circle cx="{place_x(row["nodes"]):.1f}" cy="{place_y(row["most"]):.1f}" r="3.5" fill="{colour}"/>')
        y = top + 20 + 18 * at
        parts.append(f'<path d="M565 {y - 4}h20" stroke="{colour}" stroke-width="1.5"/><circle cx="575" cy="{y - 4}" r="3.5" fill="{colour}"/>')
        parts.append(f'<text x="592" y="{y}">{column}</text>')
    return "\n".join([*parts, "</svg>", ""])


def page(rows):
    text = (HERE / "page.txt").read_text()
    chosen = {row["nodes"]: row for row in rows if row["scheme"] == "grid" and row["parameter"] == row["chosen"]}
    million = next(row for row in rows if row["nodes"] == 10**6 and row["scheme"] == "grid" and row["parameter"] == chosen[10**6]["parameter"])
    parts = {
        "LAWS": law_table(rows),
        "GROWTH": growth_table(rows),
        "TRAFFIC": traffic_table(rows),
        "MILLION": bytes_of(million["most"]),
    }
    for word, part in parts.items():
        text = text.replace("{" + word + "}", part)
    return text


def pages():
    """What is written, by path from the root."""
    rows = json.loads(RECORD.read_text())
    return {PAGE: page(rows), PICTURE: picture(rows)}


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    for path, text in pages().items():
        (ROOT / path).write_text(text)
