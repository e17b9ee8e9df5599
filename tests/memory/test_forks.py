"""Processes that ranks start, while memory of the ranks is shared: see forks.py."""

import pathlib
import re

import pytest

import jobs

HERE = pathlib.Path(__file__).resolve().parent
WAYS = re.findall(r"^def start_(\w+)", (HERE / "forks.py").read_text(), re.MULTILINE)


def run(ranks, *arguments):
    return jobs.run_job(jobs.job_command("serried", ranks, [jobs.PYTHON, HERE / "forks.py", *arguments]), 300)


@pytest.mark.parametrize("way", WAYS)
def test_ranks_start_processes_while_their_arrays_are_shared(way):
    outcome = run(4, way, "windows")
    assert outcome.ended_well(), outcome.output
    assert sorted(outcome.output.split("\n")) == sorted(["", *(f"rank {rank} is done" for rank in range(4))])
