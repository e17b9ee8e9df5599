"""Processes of several jobs, by MPI_Comm_spawn or by a port, of which some fail: the others go on together."""

import re

import pytest
from launching import PATIENCE
from test_survivors import GOES_ON

WHAT = ["child", "parent", "root", "revoke", "both_groups", "job"]
# What no machine exceeds, however busy it is; on a quiet one 100 ms are enough.
MOST_MILLISECONDS = 2000


def times(text, word):
    return [float(time) for time in re.findall(rf"{word} ([0-9.]+)", text)]


def is_right(said, survivors):
    status, out, err = said
    assert status == 0, out + err
    assert out.count("well") == survivors and "not so" not in err, out + err
    told = times(out, "told")
    assert all(time < MOST_MILLISECONDS for time in told), told
    print("told within", max(told, default=0), "ms")


def spawned(launcher, program, what, ranks, *seed):
    job = launcher.run("-n", ranks, GOES_ON, program, "spawn", what, *seed)
    launcher.assert_nothing_left(within=10)
    return job.returncode, job.stdout, job.stderr


def connected(launcher, program, what, ranks, *seed):
    sides = [launcher.start("-n", ranks, GOES_ON, program, way, "port", what, *seed) for way in ("serve", "call")]
    said = [side.communicate(timeout=PATIENCE) for side in sides]
    launcher.assert_nothing_left(within=10)
    return [side.returncode for side in sides], "".join(out for out, _ in said), "".join(err for _, err in said)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("what", WHAT)
def test_parents_and_children(launcher, families, what, ranks):
    is_right(spawned(launcher, families, what, ranks), 2 * ranks - (ranks if what == "job" else 1))


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("what", WHAT)
def test_jobs_that_have_connected(launcher, families, what, ranks):
    statuses, out, err = connected(launcher, families, what, ranks)
    # A job of which nobody is left has failed.
    expected = [0, 137] if what == "job" else [0, 0]
    assert statuses == expected, out + err
    is_right((0, out, err), 2 * ranks - (ranks if what == "job" else 1))


@pytest.mark.parametrize("ranks", [3, 4, 8])
def test_one_that_fails_is_replaced(launcher, replaced, ranks):
    """A rank that has ended well before others is not taken for one that has failed, whoever has talked with it."""
    for _ in range(5):
        job = launcher.run("-n", ranks, GOES_ON, replaced)
        is_right((job.returncode, job.stdout, job.stderr), ranks)
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_whoever_fails_at_any_time_of_parents_and_children(launcher, families, seed, ranks):
    is_right(spawned(launcher, families, "storm", ranks, seed), 1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ranks", [1, 3])
def test_whoever_fails_at_any_time_of_jobs_that_have_connected(launcher, families, seed, ranks):
    statuses, out, err = connected(launcher, families, "storm", ranks, seed)
    assert statuses == [0, 137], out + err
    is_right((0, out, err), 1)
