"""Paths between hosts that break while their agents still hear the launcher, as by a firewall: who does not hear whom is told
soon, nothing is lost if the path comes back, and a host is given up at `--host-timeout` if it does not."""

import time

import pytest
from conftest import Site, made, need_libfabric
from test_programs import compiled


@pytest.fixture
def cut():
    """Four hosts for a test alone, with a program that talks between n2 and n3 and others."""
    with made(4) as cluster:
        yield Site(cluster), compiled("tests/hosts/paths.c", cluster.folder / "paths")


def begun(site, program, *options, seconds=10, hosts="n2,n3"):
    job = site.start(*options, "--hosts", hosts, program, str(seconds))
    assert job.stdout.readline() == "all are there\n", job.stderr.read()
    return job


def sentences(job, seconds):
    """What is said on standard error, until the end of the job, with the times since now."""
    began = time.monotonic()
    said = []
    for line in job.stderr:
        said.append((time.monotonic() - began, line.strip()))
    job.wait(seconds)
    return said


def first(said, words):
    """When a sentence with such words was said."""
    return next((at for at, line in said if words in line), None)


@pytest.mark.parametrize("how", ["drop", "blackhole"])
def test_a_broken_path_is_named_soon_and_given_up(cut, how):
    site, program = cut
    job = begun(site, program, "--host-timeout", "7", seconds=60)
    site.cluster.cut("n2", "n3", how)
    said = sentences(job, 30)
    named = first(said, "n2 and n3 have not heard each other for 3 s (rank 0; rank 1), though both answer here")
    given_up = first(said, "n2 and n3 have not heard each other for 7s; n3 is given up (rank 1); the job is ended")
    assert job.returncode == 125 and named is not None and given_up is not None, said
    assert named < 5.5 and 5.5 < given_up < 10, said
    assert not [line for _, line in said if "no word from" in line], said


def test_a_path_that_is_cut_for_5_seconds_loses_nothing(cut):
    site, program = cut
    job = begun(site, program, seconds=12)
    site.cluster.cut("n2", "n3")
    time.sleep(5)
    site.cluster.mend("n2", "n3")
    out, err = job.communicate(timeout=60)
    assert (job.returncode, out.count("well")) == (0, 2), out + err
    assert "n2 and n3 have not heard each other for 3 s" in err and "n2 and n3 hear each other again" in err, err


@pytest.mark.parametrize("network", ["wire", "fabric"])
@pytest.mark.parametrize("what", ["messages", "windows"])
def test_what_is_on_its_way_while_a_path_is_cut_is_no_deadlock(cut, what, network):
    if network == "fabric":
        need_libfabric()
    site, program = cut
    job = site.start("-genv", "SERRIED_TRANSPORT", network, "--on-deadlock=abort", "--hosts", "n2,n3", program, what)
    assert job.stdout.readline() == "all are there\n", job.stderr.read()
    site.cluster.cut("n2", "n3")
    time.sleep(6)
    site.cluster.mend("n2", "n3")
    out, err = job.communicate(timeout=60)
    assert (job.returncode, out.count("well")) == (0, 2), out + err
    assert "cannot go on" not in err, err


def test_a_host_that_is_unplugged_is_named_once_and_loses_nothing_in_5_seconds(cut):
    site, program = cut
    job = begun(site, program, seconds=12, hosts="n1,n2,n3")
    site.cluster.unplug("n3")
    time.sleep(5)
    site.cluster.plug("n3")
    out, err = job.communicate(timeout=60)
    assert (job.returncode, out.count("well")) == (0, 3), out + err
    assert "no word from n3 for 3 s" in err and "n3 answers again" in err, err


def test_a_rank_that_only_waits_notices_it_too(cut):
    site, _ = cut
    waits = compiled("tests/hosts/waits.c", site.cluster.folder / "waits")
    job = site.start("--host-timeout", "6", "--on-deadlock=off", "--hosts", "n2,n3", waits)
    assert job.stdout.readline() == "all are there\n", job.stderr.read()
    site.cluster.cut("n2", "n3")
    said = sentences(job, 30)
    assert job.returncode == 125 and first(said, "n2 and n3 have not heard each other for 3 s") < 6, said


def test_a_job_goes_on_with_the_other_hosts(cut):
    site, program = cut
    job = site.start("--host-timeout", "6", "--on-failure=continue", "--hosts", "n1,n2,n3,n4", program, "missing")
    assert job.stdout.readline() == "all are there\n", job.stderr.read()
    for other in ("n1", "n2", "n4"):
        site.cluster.cut("n3", other)
    out, err = job.communicate(timeout=60)
    assert (job.returncode, out.count("well")) == (0, 3), out + err
    assert "n3 is given up (rank 2); the job goes on without them" in err, err
    site.assert_nothing_left()


def test_the_next_attempt_leaves_the_host_out(cut):
    site, program = cut
    job = begun(site, program, "--restarts", "1", "--host-timeout", "5", "-n", "2", seconds=10, hosts="n2:1,n3:1,n4:1")
    site.cluster.cut("n2", "n3")
    out, err = job.communicate(timeout=90)
    assert job.returncode == 0 and out.count("well") == 2, out + err
    assert "1 on n2, 1 on n4, without n3" in err, err
