"""The pages with our figures: docs/performance.md and a block of the README, written from bench/record.json.

The record is one run of `make bench`, kept with `bench/run.py --record`, and single experiments that people have
entered. So every figure in the project has one source; the house check compares the pages with it.
"""

import json
import pathlib
import textwrap

from figures import BOUND, FREE, bar_of, meets, more_is_better
from sweep import in_words
from words import size_text, value_text

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = ROOT / "bench/record.json"
BEGIN, END = "<!-- figures of bench/record.json, written by bench/report.py -->", "<!-- end of figures -->"

# The rows of the README: words, program, ranks, name, size. More ranks than the two cores are said so.
README_ROWS = [
    ("latency, 8 B", "p2p", 2, "latency", 8),
    ("latency, 256 B", "p2p", 2, "latency", 256),
    ("latency, 2 KiB", "p2p", 2, "latency", 2 << 10),
    ("latency, 16 KiB", "p2p", 2, "latency", 16 << 10),
    ("latency, 64 KiB, freshly written", "p2p", 2, "latency-fresh", 64 << 10),
    ("latency, 1 MiB, freshly written", "p2p", 2, "latency-fresh", 1 << 20),
    ("messages of 8 B, millions a second", "p2p", 2, "rate", 8),
    ("two threads of a rank, a communicator each, 8 B, M/s", "threads", 1, "two-threads", 8),
    ("barrier", "collectives", 2, "barrier", 0),
    ("bcast, 64 KiB", "collectives", 2, "bcast", 64 << 10),
    ("reduce, 4 KiB", "collectives", 2, "reduce", 4 << 10),
    ("allreduce, 512 B", "collectives", 2, "allreduce", 512),
    ("allreduce, 1 MiB", "collectives", 2, "allreduce", 1 << 20),
    ("alltoall, 64 KiB", "collectives", 2, "alltoall", 64 << 10),
    ("barrier", "collectives", 8, "barrier", 0),
    ("allreduce, 8 B", "collectives", 8, "allreduce", 8),
    ("allreduce, 1 MiB", "collectives", 8, "allreduce", 1 << 20),
    ("alltoall, 64 KiB", "collectives", 8, "alltoall", 64 << 10),
    ("ping-pong of two, the others wait, 8 B", "collectives", 8, "pingpong-two", 8),
    ("ping-pong of four pairs, 8 B", "collectives", 8, "pingpong-pairs", 8),
    ("an empty program, start to end, s", "startup", 64, "start to end", 0),
]


def table(rows):
    head, *body = rows
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def keep(figures, swept, run):
    """Makes a run the recorded one; experiments stay as they were. `run`: machine, date, rounds, summary."""
    machine, date, rounds, summary = run
    points = [
        {"point": list(point), "ratio": figures.ratio(point),
         "medians": {name: figures.median(name, point) for name in figures.titles}}
        for point in figures.points() if not point[2].endswith(FREE)
    ]
    record = {"machine": machine, "date": date, "rounds": rounds, "summary": summary, "swept": swept,
              "titles": figures.titles, "notes": figures.notes, "points": points, "experiments": read()["experiments"]}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def read():
    return json.loads(RECORD.read_text())


def swept_words(record):
    """What the sweep said, a sentence for each number of ranks, each behind a space."""
    return "".join(f" A sweep of {in_words(*row)}." for row in record.get("swept", {}).items())


def medians(record, row):
    return [value_text(row["medians"].get(name)) for name in record["titles"]]


def readme_block(record):
    """What stands between the marks in the README."""
    found = {tuple(row["point"][:4]): row for row in record["points"]}
    rows = [["", "ranks", *record["titles"].values(), "ratio"]]
    for words, program, ranks, name, size in README_ROWS:
        row = found.get((program, ranks, name, size))
        if row:
            where = f"{ranks} on 2 cores" if program == "collectives" and ranks > 2 else str(ranks)
            rows.append([words, where, *medians(record, row), value_text(row["ratio"], 2)])
    run = "quick run" if record["rounds"] == "quick" else "run"
    words = (f"One {run} of `make bench` on {record['date']} ({record['machine']}). Medians in µs where no unit is given. "
             f"{record['summary']}.{swept_words(record)}")
    return f"{textwrap.fill(words, 120)}\n\n{table(rows)}"


def all_points(record):
    """The recorded run as a table."""
    rows = [["", "ranks", "size", "unit", *record["titles"].values(), "ratio", "bar", "met"]]
    for row in record["points"]:
        point = tuple(row["point"])
        program, ranks, name, size, unit = point
        bar, ratio = bar_of(point), row["ratio"]
        sign = "≥" if more_is_better(point) else "≤"
        met = "" if bar is None or ratio is None else "yes" if meets(point, ratio, bar) else "NO"
        shown = "" if name.removesuffix(BOUND) in ("barrier", "start to end") else size_text(size)
        rows.append([f"IMB {name}" if program == "imb" else name, str(ranks), shown, unit, *medians(record, row),
                     value_text(ratio, 2), "" if bar is None else f"{sign} {bar:g}", met])
    return table(rows)


def page(record, method):
    """docs/performance.md."""
    notes = "".join(f"- {note}\n" for note in record["notes"])
    experiments = "\n\n".join(f"### {one['title']}\n\n{one['how'][0].upper()}{one['how'][1:]}.\n\n{table(one['table'])}"
                              for one in record["experiments"])
    return f"""# Performance

All figures are on this page. `bench/report.py` writes it, and the table in the README, from `bench/record.json`: do not edit it.
`make bench` measures on your machine; `bench/run.py --record` makes that run the recorded one.

## Side by side

{record['machine']}, {record['date']}, {record['rounds']} rounds. {record['summary']}.{swept_words(record)}

{all_points(record)}

{notes}
{method}

## What the table does not show

A sweep over random cells (`make sweep`) takes whole times: it draws operations, lengths, kinds of buffers, and whether the
program writes its data before and reads them after. At two ranks the geometric mean of the ratios to the best rival was 0.98
on 2026-11-26 (140 cells; 0.86 some hours before, with another seed), and half of the cells were slower than the best rival's
by more than 5 %. Most of these are nonblocking collectives of 8 to 16 KiB, matched probes, the v-forms with
a few bytes (against Open MPI), exchanges over 100 KiB of data just written, and persistent requests. The cores of a
virtual machine are nearer or farther from each other from minute to minute, so a bar that is just met in one run may be
missed in the next.

Random cells on windows (`bench/sweep.py --only windows`) are whole epochs: each operation, five kinds of windows, six ways to
synchronise, seven layouts. The data are checked, and a library that is wrong or fails in a cell sits it out. A run of 110 cells at
two ranks on 2026-11-26, beside builds, gave a geometric mean of 1.59 to the best rival, with 74 % slower by more than 5 %. Another one of 60
cells, quieter, gave 1.44 with 57 %, and 0.58 to our own state before pieces went many at a time. Against rivals it is 1.1 on memory of the library and in blocks of the heap,
1.6 on attached memory, and 3.4 on variables with initial values. The kernel copies to and from memory that is not shared: that costs
a system call each time, and about 0.6 us for each scattered piece that is written.

Between hosts (`bench/nodes.py --parts windows`) one epoch is still slower than elsewhere. On 2026-11-28, two hosts with a rank
each on the two cores of this machine, 24 cells of seed 11 gave a geometric mean of 1.55 with 75 % slower by more than 5 %, and
31 cells of seed 7 one of 1.81. To the state of the day before these are 0.39 and 0.53, for ranks that wait now do the work of
their node's server. A fetch of a word takes 27 to 38 us, as the machine is fast or slow, and 15 to 21 with Intel MPI. With four
hosts and two ranks each, more ranks than cores, the mean of 22 cells was 0.06, with none slower. Many operations in one epoch
go together: 100 puts of 8 bytes and a flush take 1.6 us each, 25 before.

### Other programs on the same cores

`make bench-loaded` measures single calls while busy loops run on all cores. On 2026-11-26, 2 ranks beside 4 loops on 2 cores, mean times
in us, all time counted:

| call | bytes | Serried | the day before | MPICH | Intel MPI |
|---|---|---|---|---|---|
| ping-pong, there and back | 8 | 1.5 | 259 | 8.8 | 2.7 |
| | 4096 | 11 | 895 | 15 | 15 |
| | 65536 | 30 | 730 | 64 | 46 |
| barrier | | 1.0 | 77 | 2.1 | 2.3 |
| allreduce | 8 | 1.0 | 80 | 1.9 | 2.1 |
| | 4096 | 6.8 | 78 | 6.4 | 7.6 |
| | 65536 | 16 | 168 | 103 | 36 |

Since waits know who sends, an exchange with Irecv, Isend and Waitall takes 6.9 us on average for 8 bytes and 38 for 4096
(before 13.5 and 54; 99th percentiles 1.3 and 9 us, before 3.8 and 3390).

With 4 ranks beside 4 loops a ping-pong of 8 bytes took 2.6, 2615 and 35 us (Serried, MPICH, Intel MPI), a barrier 16, 13853 and 39.

## Single experiments

Each was made once, by hand, and is not repeated by `make bench`, unless it says so.

{experiments}
"""


def pages(method):
    """Path -> text of each page that has our figures, as it should be."""
    record = read()
    readme = (ROOT / "README.md").read_text()
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return {
        "docs/performance.md": page(record, method),
        "README.md": f"{before}{BEGIN}\n{readme_block(record)}\n{END}{after}",
    }


def write(method):
    for name, text in pages(method).items():
        (ROOT / name).write_text(text)
