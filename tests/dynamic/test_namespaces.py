"""Jobs in containers that start others, and that connect: containers are namespaces, also networks of their own, whose loopback
device is down."""

import itertools
import os
import signal
import time

import pytest

from namespaces import NAMESPACES, apart
from test_apart import Jobs, jobs  # noqa: F401


@pytest.mark.parametrize("kind", NAMESPACES)
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("what", ["spawn", "generations"])
def test_ranks_in_containers_of_their_own_start_others(launcher, family, kind, ranks, what):
    began = time.monotonic()
    said = launcher.run("-n", ranks, *apart(kind), family, what)
    assert (said.returncode, said.stderr) == (0, ""), said
    # Each wait that nobody ends takes a second, and there would be dozens.
    assert time.monotonic() - began < 20
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("kind", ["network", "all"])
def test_some_ranks_are_in_containers(launcher, family, kind):
    inside = " ".join(apart(kind))
    said = launcher.run("-n", 3, "sh", "-c", f"[ $PMI_RANK -gt 0 ] && exec {inside} {family} spawn; exec {family} spawn")
    assert (said.returncode, said.stderr) == (0, ""), said
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("kind", ["network", "processes", "all"])
def test_the_whole_job_is_in_a_container(launcher, family, kind):
    launcher.inside = apart(kind)
    said = launcher.run("-n", 2, family, "spawn")
    assert (said.returncode, said.stderr) == (0, ""), said


@pytest.mark.parametrize("server, client", list(itertools.product(["nothing", "network", "all"], repeat=2)))
def test_jobs_in_containers_connect_by_the_folder_of_names(jobs, server, client):  # noqa: F811
    for kind, what in ((server, "server"), (client, "client")):
        jobs.launcher.inside = apart(kind)
        jobs.start(what, 2, "port")
    jobs.all_end_well()
    assert not list(jobs.launcher.folder.glob(".serried-*"))


@pytest.mark.parametrize("kind", ["network", "all"])
def test_each_rank_of_both_jobs_is_in_a_container_of_its_own(jobs, kind):  # noqa: F811
    for what in ("finder", "publisher"):
        jobs.jobs.append(jobs.launcher.start("-n", 2, *apart(kind), jobs.program, what, "a service"))
    jobs.all_end_well()


def test_what_a_killed_job_has_left_in_the_folder_is_in_nobodys_way(jobs):  # noqa: F811
    server = jobs.start("server", 1, "port")
    while not (jobs.launcher.folder / "port").exists():
        assert server.poll() is None
    [left] = jobs.launcher.folder.glob(".serried-*.door")
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    jobs.jobs.clear()
    (jobs.launcher.folder / "port").unlink()
    os.utime(left, (1, 1))
    jobs.start("server", 2, "port")
    jobs.start("client", 2, "port")
    jobs.all_end_well()
    assert not list(jobs.launcher.folder.glob(".serried-*"))
