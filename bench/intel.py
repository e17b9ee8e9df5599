"""Intel's own benchmark, IMB-MPI1: the unmodified binary of the impi-rt wheel, on Serried and on Intel's own library."""

import re

from libraries import jobs

IMB = jobs.PEERS / "impi/bin/IMB-MPI1"
# ranks, arguments. Few repetitions: a job should take a second.
JOBS = [
    (2, ["PingPong", "PingPing", "-msglog", "3:22", "-iter", "300,40", "-iter_policy", "off"]),
    (2, ["Allreduce", "Bcast", "Barrier", "-msglog", "3:20", "-iter", "300,20", "-iter_policy", "off"]),
    (8, ["PingPong", "Allreduce", "Barrier", "-npmin", "8", "-msglog", "3:16", "-iter", "30,5",
         "-iter_policy", "off"]),
]
SIZES = {0, 8, 64, 512, 4096, 32768, 65536, 1 << 20, 4 << 20}


def fits(library):
    """Whether it is run on this library. Open MPI has another ABI; MPICH with 8 ranks takes minutes."""
    return library.name in ("serried", "impi")


def run(library, ranks, arguments, timeout):
    extra = {"LD_LIBRARY_PATH": str(library.folder)}
    return library.run([IMB, *arguments], ranks, timeout, **extra)


def figures_in(text):
    """(benchmark, bytes, microseconds) for each row of each table. Where there are three times, the last, the mean
    over the ranks, is taken; it is the column that Intel's tables end their times with."""
    for table in re.split(r"^# Benchmarking ", text, flags=re.MULTILINE)[1:]:
        name, *lines = table.splitlines()
        heading = next((line.split() for line in lines if "#repetitions" in line), [])
        column = next((i for i, word in enumerate(heading) if word.startswith(("t_avg", "t["))), None)
        for line in lines:
            row = line.split()
            if column is None or not row or not all(re.fullmatch(r"[\d.]+", word) for word in row):
                continue
            size = int(row[0]) if heading[0] == "#bytes" else 0
            if size in SIZES:
                yield name.strip(), size, float(row[column])
