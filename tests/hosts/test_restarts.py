"""`serried run --restarts N` on several hosts: the hosts that are left take the ranks of those that are lost."""

import os
import re
import signal
import time

import pytest
from conftest import Site, made
from test_programs import compiled
from test_run import agents

PROGRAM = "tests/launcher/checkpoints.c"
WAITS = 'echo "$SERRIED_RESTART $PMI_RANK is up"; [ $SERRIED_RESTART -gt 0 ] || exec sleep 1000'


@pytest.fixture
def checkpoints(four):
    program = compiled(PROGRAM, four.folder / "checkpoints")
    state = four.folder / "state"
    state.unlink(missing_ok=True)
    return [program, str(state)]


def waiting(site, *options):
    """A job of which all ranks are up, in their first attempt; they would wait for ever."""
    job = site.start(*options, "sh", "-c", WAITS)
    ranks = int(options[options.index("-n") + 1])
    for _ in range(ranks):
        assert re.fullmatch(r"0 \d is up\n", job.stdout.readline()), job.stderr.read()
    return job


def test_ranks_that_die_begin_again_on_the_same_hosts(site, checkpoints):
    said = site.run("--restarts", "2", "--hosts", "n1:2,n2:2", *checkpoints, "dies")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [
        "attempt 0 begins with turn 0", "attempt 1 begins with turn 1", "attempt 2 begins with turn 2", "attempt 2: sum 780 of 4 ranks"]
    assert re.findall("attempt.*", said.stderr) == [
        "attempt 1 of 3 has failed (rank 3, status 137)", "attempt 2 begins: 4 ranks, 2 on n1, 2 on n2",
        "attempt 2 of 3 has failed (rank 3, status 137)", "attempt 3 begins: 4 ranks, 2 on n1, 2 on n2"]


def test_a_spare_host_takes_the_place_of_one_without_its_agent(site, checkpoints):
    job = site.start("--restarts", "1", "--on-deadlock", "off", "-n", "4", "--hosts", "n1:2,n2:2,n3:2,n4:2", *checkpoints, "waits")
    assert [job.stdout.readline(), job.stdout.readline()] == ["attempt 0 begins with turn 0\n", "all wait\n"]
    site.cluster.kill("n2", agents(site, "n2")[1])
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    assert out.splitlines() == ["attempt 1 begins with turn 1", "attempt 1: sum 780 of 4 ranks"]
    assert "attempt 2 begins: 4 ranks, 2 on n1, 2 on n3, without n2" in err and "n2 lost" in err, err


def test_hosts_are_lost_one_after_the_other(site):
    script = 'echo "$SERRIED_RESTART $(hostname) is up"; [ $SERRIED_RESTART = 2 ] || exec sleep 1000'
    job = site.start("--restarts", "5", "-n", "2", "--hosts", "n2,n3,n4,n1", "sh", "-c", script)
    for attempt, victim in (("0", "n3"), ("1", "n4")):
        lines = [job.stdout.readline(), job.stdout.readline()]
        assert sorted(lines) == sorted([f"{attempt} n2 is up\n", f"{attempt} {victim} is up\n"]), job.stderr.read()
        site.cluster.kill(victim, agents(site, victim)[1])
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and sorted(out.splitlines()) == ["2 n1 is up", "2 n2 is up"], err


def test_too_few_slots_are_told(site):
    job = waiting(site, "--restarts", "3", "-n", "4", "--hosts", "n1:2,n2:2,n3:1")
    site.cluster.kill("n2", agents(site, "n2")[1])
    _, err = job.communicate(timeout=60)
    assert job.returncode == 125 and "it is not started again: it has 4 ranks, and too few slots are left (3 on n1, n3)" in err, err


def test_a_job_with_more_ranks_than_slots_goes_on_with_fewer_hosts(site):
    job = waiting(site, "--restarts", "1", "-n", "4", "--hosts", "n1,n2")
    site.cluster.kill("n2", agents(site, "n2")[1])
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and sorted(out.splitlines()) == [f"1 {rank} is up" for rank in range(4)], err
    assert "attempt 2 begins: 4 ranks on n1, without n2" in err, err


def test_signals_end_the_second_attempt_too(site):
    script = 'echo "$SERRIED_RESTART is up"; [ $SERRIED_RESTART = 0 ] && exit 3; exec sleep 1000'
    job = site.start("--restarts", "5", "--hosts", "n2,n3", "sh", "-c", script)
    up = 0
    while up < 2:
        line = job.stdout.readline()
        assert line, job.stderr.read()
        up += line == "1 is up\n"
    os.kill(site.inner(job), signal.SIGTERM)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 143 and err.count(" begins: ") == 1, err


def test_a_host_that_cannot_be_reached_at_first_is_no_failure(site):
    said = site.run("--restarts", "3", "--hosts", "n2,n9", "hostname")
    assert said.returncode == 127 and "attempt" not in said.stderr, said.stderr


def test_a_host_that_is_unplugged_is_left_out():
    """For a test alone, which breaks a host: what is left there ends as well, once its agent misses the launcher."""
    with made(3) as cluster:
        site = Site(cluster)
        job = waiting(site, "--restarts", "1", "--host-timeout", "4", "-n", "4", "--hosts", "n1:2,n2:2,n3:2")
        cluster.unplug("n2")
        first = job.stdout.readline()
        assert not [line for line in cluster.processes("n2").values() if "sleep 1000" in line], "two attempts at once"
        out, err = job.communicate(timeout=90)
        assert job.returncode == 0 and sorted((first + out).splitlines()) == [f"1 {rank} is up" for rank in range(4)], err
        assert "n2 has not answered for 4s and is given up" in err and "4 ranks, 2 on n1, 2 on n3, without n2" in err, err
        cluster.plug("n2")
        time.sleep(0.5)
        site.assert_nothing_left(60)


def test_a_host_that_is_cut_off_while_a_rank_dies_is_left_out():
    """The launcher cannot wait until its silence is noticed."""
    script = """
        echo "$SERRIED_RESTART $PMI_RANK is up"; [ $SERRIED_RESTART -gt 0 ] && exit 0
        while [ $PMI_RANK != 0 ] || ! [ -e go ]; do sleep 0.1; done; exit 3"""
    with made(3) as cluster:
        site = Site(cluster)
        job = site.start("--restarts", "1", "-n", "3", "--hosts", "n1,n2,n3,n1", "sh", "-c", script)
        assert sorted(job.stdout.readline() for _ in range(3)) == [f"0 {rank} is up\n" for rank in range(3)]
        cluster.unplug("n2")
        (cluster.folder / "go").touch()
        first = job.stdout.readline()
        assert not [line for line in cluster.processes("n2").values() if "is up" in line], "two attempts at once"
        out, err = job.communicate(timeout=90)
        assert job.returncode == 0 and sorted((first + out).splitlines()) == [f"1 {rank} is up" for rank in range(3)], err
        assert "attempt 1 of 2 has failed (rank 0, n2 lost, status 3)" in err and "2 on n1, 1 on n3, without n2" in err, err
        cluster.plug("n2")
        site.assert_nothing_left(60)
