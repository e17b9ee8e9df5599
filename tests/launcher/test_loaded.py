"""Jobs on cores that other programs load."""

import os
import statistics

import pytest

from launching import STAGE, compile_c
from load import busy_loops


def test_two_ranks_keep_their_cores_beside_busy_loops(launcher):
    """A rank that sleeps between two messages gets its core back when somebody's time slice ends. These messages took more
    than 200 us each so; ranks that look on take some of them."""
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        pytest.skip("the two ranks share a core")
    program = compile_c("there_and_back.c", launcher.folder / "there_and_back", compiler=str(STAGE / "bin/mpicc"))
    times = 20_000
    with busy_loops(2 * cpus):
        took = [float(launcher.run("-n", 2, program, times).stdout) for _ in range(5)]
    assert statistics.median(took) < 30e-6 * times, f"{times} times there and back took {took} s"
