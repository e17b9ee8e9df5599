"""Random operations against a model (random.c): a short form of what tests/files/random runs for long."""

import os
import pathlib

import pytest

import jobs

# Ranks, and what the environment says.
JOBS = [(1, {}), (2, {}), (3, {}), (4, {"SERRIED_NODES": "2"}), (5, {"SERRIED_NODES": "3:cyclic"}), (3, {"SERRIED_COPY": "cells"})]
PLACES = {"tmpfs": "/dev/shm", "disk": None}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ranks, environment", JOBS, ids=lambda part: str(part).replace("/", "_"))
def test_nothing_differs_from_the_model(programs, tmp_path, ranks, environment, place):
    folder = pathlib.Path(PLACES[place] or tmp_path)
    operations = 1000 if place == "tmpfs" else 300
    seed = 100 * ranks + len(environment)
    command = jobs.job_command("serried", ranks, [programs / "random", folder, seed, operations])
    outcome = jobs.run_job(command, 240, env=dict(os.environ, **environment))
    left = list(folder.glob(f"random-{seed}-*"))
    for name in left:
        name.unlink()
    assert outcome.ended_well() and "nothing differs" in outcome.output, outcome.output
    assert not left
