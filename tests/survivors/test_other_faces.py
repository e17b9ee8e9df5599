"""A rank fails while others are inside of one-sided synchronisation, of collective access to files, of OpenSHMEM or ARMCI."""

import re

import pytest
from test_survivors import GOES_ON, outlast, survive

KINDS_OF_FILES = range(7)
# Where ranks ask servants or servers for each other's memory: on one node, on two without and with a network, and each on its own.
SURROUNDINGS = [
    (("SERRIED_COPY", "cells"),),
    (("SERRIED_NODES", "2"),),
    (("SERRIED_NODES", "2"), ("SERRIED_TRANSPORT", "wire")),
    (("SERRIED_TRANSPORT", "wire"),),
]


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("what", ["fence", "lock_held", "lock_wanted", "start", "wait", "access"])
def test_windows(launcher, windows, what, ranks):
    survive(launcher, windows, what, ranks)


@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.parametrize("surroundings", SURROUNDINGS)
@pytest.mark.parametrize("what", ["lock_held", "lock_wanted", "access"])
def test_windows_without_common_memory(launcher, windows, what, surroundings, ranks):
    survive(launcher, windows, what, ranks, env=dict(surroundings))


@pytest.mark.parametrize("ranks", [3, 4])
@pytest.mark.parametrize("surroundings", [(), *SURROUNDINGS])
@pytest.mark.parametrize("what", ["end", "close"])
def test_a_rank_stays_until_those_that_are_left_need_it_no_more(launcher, windows, what, surroundings, ranks):
    survive(launcher, windows, what, ranks, env=dict(surroundings))


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_files(launcher, windows, kind):
    survive(launcher, windows, f"file{kind}", 4)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_whoever_fails_at_any_time_the_rest_has_windows(launcher, windows, seed, ranks):
    outlast(launcher, windows, seed, ranks)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("copy", ["cross-memory", "cells"])
def test_whoever_fails_at_any_time_while_memory_is_copied(launcher, windows, seed, copy):
    outlast(launcher, windows, seed, 4, env={"SERRIED_COPY": copy})


def ends(launcher, program, *what):
    """The job ends, and says that a rank has failed, in a sentence of the call."""
    job = launcher.run("-n", 4, GOES_ON, program, *what)
    assert job.returncode not in (0, 137) and "not so" not in job.stdout, job.stdout + job.stderr
    told = re.search(r"failed: rank 3 (of the job has failed|\(process \d+\) has ended while data were copied)", job.stderr)
    assert told and "The job goes on without it" in job.stderr, job.stderr
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("what", ["barrier", "sync", "wait", "test", "lock", "malloc", "collect", "finalize"])
def test_openshmem(launcher, pes, what):
    ends(launcher, pes, what)


@pytest.mark.parametrize("what", ["barrier", "mutex", "malloc"])
def test_armci(launcher, armci, what):
    ends(launcher, armci, what)


@pytest.mark.parametrize("seed", range(12))
def test_whoever_fails_at_any_time_the_job_ends(launcher, pes, armci, seed):
    ends(launcher, pes, "storm", seed)
    ends(launcher, armci, "storm", seed)
