"""`serried bench`: figures of this machine, for people and for machines."""

import json
import subprocess

import pytest
from launching import PATIENCE, SERRIED

LENGTHS = {8, 1000, 15000, 250000, 4000000}
COLLECTIVES = {"bcast", "allreduce", "allgather", "alltoall"}


def bench(launcher, *arguments):
    job = subprocess.run([SERRIED, "bench", *map(str, arguments)], cwd=launcher.folder, env=launcher.environment,
                         capture_output=True, text=True, timeout=PATIENCE)
    launcher.assert_nothing_left(within=10)
    return job


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_cell_has_a_time(launcher, ranks):
    job = bench(launcher, "--json", "-n", ranks)
    assert (job.returncode, job.stderr) == (0, "")
    told = json.loads(job.stdout)
    assert told["ranks"] == ranks
    rows = {(row["what"], row["bytes"]): row for row in told["rows"]}
    expected = {(what, bytes) for what in COLLECTIVES for bytes in LENGTHS} | {("barrier", 0)}
    if ranks > 1:
        expected |= {("message", bytes) for bytes in LENGTHS} | {("message of many", 8)}
    assert set(rows) == expected and len(told["rows"]) == len(expected)
    assert all(row["microseconds"] > 0 for row in rows.values())
    if ranks > 1:
        assert {row["partner"] for row in rows.values() if row["what"].startswith("message")} == {1}
        # Nothing moves 4 MB in the time of 8 bytes.
        for what in ("message", "bcast", "alltoall"):
            assert rows[what, 4000000]["microseconds"] > rows[what, 8]["microseconds"], what


def test_the_table_is_for_people(launcher):
    job = bench(launcher)
    assert (job.returncode, job.stderr) == (0, "")
    first, _, head, *rows = job.stdout.splitlines()
    assert "2 ranks on " in first and head.split()[-1] == "4000000"
    assert [row.split("  ")[0] for row in rows] == ["message, rank 1", "message of many, rank 1", "barrier", "bcast", "allreduce",
                                                    "allgather", "alltoall"]


def test_it_is_a_program_of_a_job_too(launcher):
    job = launcher.run("-n", 2, "--bind-to", "core", SERRIED, "bench")
    assert job.returncode == 0 and job.stdout.count("allreduce") == 1, job.stdout + job.stderr


@pytest.mark.parametrize("arguments, status, words", [
    (["./program"], 64, "./program is no option"),
    (["--nonsense"], 2, "--nonsense"),
])
def test_a_wrong_command_line_is_told(launcher, arguments, status, words):
    job = bench(launcher, *arguments)
    assert job.returncode == status and words in job.stderr, job.stderr
