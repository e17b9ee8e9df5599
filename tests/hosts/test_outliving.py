"""Jobs on several hosts that go on without ranks, or whole hosts, that have failed: as on one machine (tests/survivors)."""

import re
import time

import pytest
from test_programs import compiled

GOES_ON = "--on-failure=continue"
PLACES = {"2x2": "n1:2,n2:2", "4x1": "n1,n2,n3,n4", "3+3": "n2:3,n4:3"}
RANKS = {"2x2": 4, "4x1": 4, "3+3": 6}


@pytest.fixture(scope="module")
def built(four):
    """The programs of tests/survivors, where all hosts see them."""
    names = ("survivors", "agreements", "windows", "delay", "families")
    return {name: compiled(f"tests/survivors/{name}.c", four.folder / name) for name in names}


def survive(site, program, what, places):
    ranks = RANKS[places]
    job = site.run("--hosts", PLACES[places], GOES_ON, program, what)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("well") == ranks - 1, job.stdout + job.stderr
    assert re.search(rf"rank {ranks - 1} \(process \d+ on n[24], \w+\) was killed by signal 9, SIGKILL", job.stderr), job.stderr
    assert job.stderr.count("The job goes on without it (--on-failure=continue).") == 1, job.stderr


def outlast(site, program, seed, places, *options):
    job = site.run("--hosts", PLACES[places], *options, GOES_ON, program, "storm", str(seed))
    assert job.returncode == 0 and job.stdout == "well\n", job.stdout + job.stderr
    assert job.stderr.count("The job goes on without it") == RANKS[places] - 1, job.stderr


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("what", ["receive", "send", "before", "any"])
def test_messages(site, built, what, places):
    survive(site, built["survivors"], what, places)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kind", range(6))
def test_collectives(site, built, kind, places):
    survive(site, built["survivors"], f"collective{kind}", places)


@pytest.mark.parametrize("places", PLACES)
def test_a_communicator_is_revoked(site, built, places):
    survive(site, built["survivors"], "revoke", places)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("what", ["agree", "shrink", "iagree", "ishrink", "both_groups", "collectives_between", "no_remote_group"])
def test_those_that_are_left_agree(site, built, what, places):
    survive(site, built["agreements"], what, places)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("places", PLACES)
def test_whoever_fails_at_any_time_the_rest_goes_on(site, built, seed, places):
    outlast(site, built["survivors"], seed, places)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("places", PLACES)
def test_whoever_fails_at_any_time_the_rest_agrees(site, built, seed, places):
    outlast(site, built["agreements"], seed, places)


@pytest.mark.parametrize("places", ["2x2", "4x1"])
@pytest.mark.parametrize("what, left", [("child", 7), ("parent", 7), ("root", 7), ("revoke", 7), ("both_groups", 7), ("job", 4)])
def test_parents_and_children(site, built, places, what, left):
    job = site.run("--hosts", PLACES[places], GOES_ON, built["families"], "spawn", what)
    assert job.returncode == 0 and job.stdout.count("well") == left, job.stdout + job.stderr


@pytest.mark.parametrize("seed", range(4))
def test_whoever_fails_at_any_time_of_parents_and_children(site, built, seed):
    job = site.run("--hosts", PLACES["2x2"], GOES_ON, built["families"], "spawn", "storm", str(seed))
    assert job.returncode == 0 and job.stdout.count("well") == 1, job.stdout + job.stderr


def test_a_tree_of_agents_passes_it_on(site, built):
    outlast(site, built["survivors"], 3, "4x1", "--fanout", "1")
    outlast(site, built["agreements"], 4, "4x1", "--fanout", "2")


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("what", ["fence", "lock_held", "lock_wanted", "start", "wait", "access", "file0", "file3"])
def test_windows_and_files(site, built, what, places):
    survive(site, built["windows"], what, places)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("places", PLACES)
def test_whoever_fails_at_any_time_the_rest_has_windows(site, built, seed, places):
    outlast(site, built["windows"], seed, places)


def with_last_host_up(site, built, *options):
    """A job whose last rank is alone on n4; all ranks are inside of MPI, which the launcher may not have seen yet."""
    job = site.start("--hosts", PLACES["4x1"], GOES_ON, *options, built["survivors"], "host")
    for _ in range(4):
        assert job.stdout.readline() == "up\n", job.stderr.read()
    return job


def test_a_host_whose_agent_is_killed_is_outlived(site, built):
    job = with_last_host_up(site, built)
    agents = [number for number, line in site.cluster.processes("n4").items() if line.endswith("serried agent")]
    site.cluster.kill("n4", max(agents))
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and out == "well\n" * 3, out + err
    assert "the agent on n4 has ended too early" in err and "the job goes on without them" in err, err


def test_a_host_that_is_unplugged_is_outlived(site, built):
    job = with_last_host_up(site, built, "--host-timeout", "4")
    site.cluster.unplug("n4")
    try:
        out, err = job.communicate(timeout=60)
    finally:
        site.cluster.plug("n4")
    assert job.returncode == 0 and out == "well\n" * 3, out + err
    assert "n4 has not answered for 4s and is given up (rank 3); the job goes on without them" in err, err


def test_the_last_rank_is_told_of_and_the_job_ends_badly(site, built):
    job = site.run("--hosts", "n1,n2", GOES_ON, "sh", "-c", "exit 3")
    assert job.returncode == 3, job.stderr


def test_all_are_told_within_a_second(site, built):
    job = site.run("--hosts", "n1:2,n2:2,n3:2,n4:2", GOES_ON, built["delay"])
    assert job.returncode == 0, job.stdout + job.stderr
    took = [float(line.split()[1]) for line in job.stdout.splitlines() if line != "well"]
    assert len(took) == 7 + 6 + 5 + 4 + 3 + 2, job.stdout
    print(f"at most {max(took):.0f} ms")
    # In less than a second on a quiet machine.
    assert max(took) < 3000, job.stdout
