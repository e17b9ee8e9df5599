"""The table of programs: for the terminal, and for the README from record.json."""

import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
RECORD, README = HERE / "record.json", HERE.parents[1] / "README.md"
BEGIN, END = "<!-- programs of tests/applications/record.json -->", "<!-- end of programs -->"


def seconds(median):
    """A time, where a run has ended well."""
    return "fails" if median is None else f"{median:.2f} s"


def ratio(row):
    """Ours by theirs; none where one of them has no time."""
    return row["serried"] / row["theirs"] if row["serried"] and row["theirs"] else None


def lines(rows):
    yield "| program | speaks | ranks | result | Serried | Debian's MPI | ratio |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        result = "right" if row["right"] else "**wrong**"
        compared = f"{ratio(row):.2f}" if ratio(row) else ""
        yield (f"| {row['program']} | {row['speaks']} | {row['ranks']} | {result} | {seconds(row['serried'])} "
               f"| {seconds(row['theirs'])} ({row['peer']}) | {compared} |")


FAR = 20  # One MPI takes so many times as long as the other one: this says what it cannot do, and would be half of a mean.


def is_near(one):
    return 1 / FAR < one < FAR


def mean(rows, ranks):
    """The geometric mean of the ratios of runs with so many ranks, but for those that are far apart."""
    compared = [ratio(row) for row in rows if row["ranks"] == ranks and ratio(row)]
    ratios = [math.log(one) for one in compared if is_near(one)]
    return f"{math.exp(sum(ratios) / len(ratios)):.2f} with {ranks} ranks" if ratios else ""


def means(rows):
    both = " and ".join(filter(None, (mean(rows, ranks) for ranks in (2, 4))))
    is_far = any(ratio(row) and not is_near(ratio(row)) for row in rows)
    return f"Geometric mean of the ratios: {both}{f', without rows that are more than {FAR} times apart' * is_far}."


def text(rows):
    return "\n".join([*lines(rows), "", means(rows)])


def section():
    """What stands in the README."""
    record = json.loads(RECORD.read_text())
    turns = record["turns"]
    said = f"Whole runs of {record['date']}, start to end, in turns with Debian's MPI; medians of {turns}. {record['machine']}.\n"
    rows = record["rows"]
    programs = len({row["program"] for row in rows})
    folded = [f"<details><summary>All {programs} programs</summary>", "", *lines(rows), "", "</details>"]
    return "\n".join([BEGIN, said, means(rows), "", *folded, END])


def write(rows, turns, date, machine):
    """Rows take the place of those of the same program, ranks and other MPI, so that a record can be made in pieces."""
    old = json.loads(RECORD.read_text())["rows"] if RECORD.exists() else []
    kept = {(row["program"], row["ranks"], row["peer"]): row for row in [*old, *rows]}
    record = {"date": date, "turns": turns, "machine": machine, "rows": list(kept.values())}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + section() + rest.split(END)[1])
