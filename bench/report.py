#!/usr/bin/env python3
"""From figures to files: a table in Markdown, all values in JSON, plots.

    bench/report.py     writes docs/performance.md and the table of the README from the recorded run (pages.py)
"""

import json
import os
import platform
import statistics
import time

import pages
import plots
from figures import BOUND, FREE, bar_of, meets, more_is_better
from sweep import in_words
from words import size_text, value_text

GOOD = "*good*: the same of the best fifth of the rounds of each. "
METHOD = """Each program ran with all libraries at once, but only one library's ranks were awake at a time: point by
point they took turns of some ten milliseconds (`bench/gate.py`), many rounds. Jobs that cannot be held (start-up,
Intel's benchmark) ran whole, one after the other, several rounds. Shown are medians. *ratio*: ours to the rival's of
the same round, median over the rounds, against the best rival; for times less is better, for GB/s and M/s more.
*good*: the same of the best fifth of the rounds of each. *bar*: what we want to reach. Ranks are bound, one a core,
where there are cores enough. Collectives of 4 KiB and more, and `latency-fresh`, move data that was written just
before, and writing counts. Where it says *bound*, the launcher bound the ranks before they started;
*free* ones were measured beside them. In `pingpong-two` ranks 0 and 1 play and the others wait in a barrier; in
`pingpong-pairs` all play."""


def sized(point):
    """The size of a figure in words; empty where it has none."""
    return "" if point[2].removesuffix(BOUND) in ("barrier", "start to end") else size_text(point[3])


def verdict(figures, point):
    """(ratio, ratio of the good, bar, whether it is met) in words."""
    ratio, good, bar = figures.ratio(point), figures.ratio_of_good(point), bar_of(point)
    sign = "≥" if more_is_better(point) else "≤"
    met = "" if bar is None or ratio is None else "yes" if meets(point, ratio, bar) else "NO"
    return [value_text(ratio, 2), value_text(good, 2), "" if bar is None else f"{sign} {bar:g}", met]


def rows_of(figures):
    """The table as lists of words, the heading first."""
    yield ["", "ranks", "size", "unit", *figures.titles.values(), "ratio", "good", "bar", "met"]
    for point in figures.points():
        program, ranks, name, _, unit = point
        if name.endswith(FREE):
            continue
        medians = [value_text(figures.median(library, point)) for library in figures.titles]
        shown = f"IMB {name}" if program == "imb" else name
        yield [shown, str(ranks), sized(point), unit, *medians, *verdict(figures, point)]


def plain_table(rows):
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(word.rjust(width) for word, width in zip(row, widths)) for row in rows)


def markdown_table(rows):
    head, *body = list(rows)
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def summary(figures):
    """How many bars are met, and which are not."""
    bars = [(point, figures.ratio(point), bar_of(point)) for point in figures.points()]
    bars = [(point, ratio, bar) for point, ratio, bar in bars if bar is not None and ratio is not None]
    met = sum(meets(*row) for row in bars)
    return f"Bars met: {met} of {len(bars)}" if bars else "No bar applies"


def binding(figures):
    """What it costs our ranks to be bound before they start."""
    costs = figures.costs_of_binding()
    if not costs:
        return ""
    worst = max(costs, key=costs.get)
    where = " ".join([worst[2].removesuffix(BOUND), sized(worst)]).strip()
    return (f"Bound ranks take {statistics.median(costs.values()):.2f} times as long as free ones "
            f"(median of {len(costs)} figures), at worst {costs[worst]:.2f} times ({where}).")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release().split('-')[0]}, {time.strftime('%Y-%m-%d')}"


def record(figures, swept, rounds):
    """Makes this run the recorded one, and writes the pages with our figures."""
    name, date = machine().rsplit(", ", 1)
    pages.keep(figures, swept, (name, date, rounds, summary(figures)))
    pages.write(page_method())


def page_method():
    """The method without what only the table of a run has, as it was for the recorded one."""
    method = METHOD.replace(GOOD, "")
    return method if "swept" in pages.read() else method.replace("and writing counts", "and writing is taken off (no more since)")


def write(figures, swept, folder):
    """Prints what the sweep says and the table; leaves them in `folder` as latest.md and latest.json, plots beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(rows_of(figures))
    notes = "".join(f"- {note}\n" for note in figures.notes) or "Every job ended well.\n"
    bound = binding(figures)
    heads = "".join(f"{in_words(*row)}.\n" for row in swept.items())
    print(f"\n{heads}\n" + plain_table(rows) + f"\n\n{summary(figures)}\n{bound}\n\n{notes}")
    heading = f"# Side by side\n\n{heads}\n{machine()}. {summary(figures)}. {bound}\n\n{METHOD}\n\n"
    (folder / "latest.md").write_text(heading + markdown_table(rows) + "\n\n" + notes)
    flat = {
        name: {"/".join(map(str, point)): values for point, values in rows.items()}
        for name, rows in figures.values.items()
    }
    (folder / "latest.json").write_text(json.dumps({"machine": machine(), "values": flat, "notes": figures.notes}))
    names = ["latest.md", "latest.json", *plots.draw(figures, folder)]
    print(f"written: {', '.join(names)} in {os.path.relpath(folder)}")


if __name__ == "__main__":
    pages.write(page_method())
