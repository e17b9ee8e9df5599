"""Jobs that were started apart, by launchers that know nothing of each other, and connect."""

import os
import signal
import subprocess

import pytest

from launching import PATIENCE, STAGE


class Jobs:
    """Some jobs that run at a time, each by a launcher of its own or by none."""

    def __init__(self, launcher, program):
        self.launcher, self.program, self.jobs = launcher, program, []
        launcher.environment["SERRIED_NAMES"] = str(launcher.folder)

    def start(self, what, ranks, word, *options):
        self.jobs.append(self.launcher.start("-n", ranks, *options, self.program, what, word))
        return self.jobs[-1]

    def start_alone(self, what, word):
        environment = {**self.launcher.environment, "LD_LIBRARY_PATH": str(STAGE / "lib")}
        self.jobs.append(subprocess.Popen(
            [self.program, what, word], cwd=self.launcher.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.jobs[-1]

    def end(self):
        """The status of each, and what it has said."""
        return [(job.returncode, out + err) for job in self.jobs for out, err in [job.communicate(timeout=PATIENCE)]]

    def all_end_well(self):
        said = self.end()
        assert all(status == 0 and "serried:" not in text for status, text in said), said
        self.launcher.assert_nothing_left(within=10)


@pytest.fixture
def jobs(launcher, apart):
    return Jobs(launcher, apart)


@pytest.mark.parametrize("servers, clients", [(1, 1), (2, 3), (3, 1)])
def test_two_jobs_connect_by_a_port(jobs, servers, clients):
    jobs.start("server", servers, "port")
    jobs.start("client", clients, "port")
    jobs.all_end_well()


@pytest.mark.parametrize("ranks", [1, 2])
def test_they_find_each_other_by_a_name(jobs, ranks):
    jobs.start("finder", ranks, "a service")
    jobs.start("publisher", ranks, "a service")
    jobs.all_end_well()
    assert not list(jobs.launcher.folder.glob("*.name"))


def test_processes_that_nobody_launches_connect_too(jobs):
    jobs.start_alone("server", "port")
    jobs.start("client", 2, "port")
    jobs.all_end_well()


@pytest.mark.parametrize("ranks", [1, 2])
def test_many_jobs_become_one_communicator(jobs, ranks):
    jobs.start("hub", ranks, "port")
    for _ in range(3):
        jobs.start("spoke", ranks, "port")
    jobs.all_end_well()


@pytest.mark.parametrize("means", ["cells", "memory-file"])
def test_the_same_by_other_means(jobs, means):
    jobs.launcher.environment["SERRIED_COPY"] = means
    jobs.start("server", 2, "port")
    jobs.start("client", 2, "port")
    jobs.all_end_well()


def test_long_messages_between_jobs_are_read_where_they_lie(jobs):
    jobs.start("lender", 2, "port")
    jobs.start("borrower", 2, "port")
    jobs.all_end_well()


@pytest.mark.parametrize("setting", [{"SERRIED_COPY": "cells"}, {"SERRIED_TRANSPORT": "wire:sealed"}])
def test_no_window_is_mapped_where_that_is_not_wanted(jobs, setting):
    jobs.launcher.environment.update(setting)
    jobs.start("sender", 2, "port")
    jobs.start("receiver", 2, "port")
    jobs.all_end_well()


def test_jobs_on_pretended_nodes_connect(jobs):
    jobs.launcher.environment.update(SERRIED_NODES="2", SERRIED_TRANSPORT="wire")
    jobs.start("server", 2, "port")
    jobs.start("client", 3, "port")
    jobs.all_end_well()


def test_two_processes_join_over_a_socket(jobs):
    jobs.start("joiner", 1, "socket")
    jobs.start_alone("joiner", "socket")
    jobs.all_end_well()


def test_a_port_of_a_process_that_has_ended_is_an_error(jobs):
    assert jobs.launcher.run("-n", 1, jobs.program, "opener", "port").returncode == 0
    jobs.start("nobody", 2, "port")
    jobs.all_end_well()


def test_a_port_that_was_closed_is_an_error_and_another_one_of_its_process_is_not(jobs):
    jobs.start("reopener", 1, "port")
    jobs.start("insister", 1, "port")
    jobs.all_end_well()


def test_a_job_that_is_gone_is_missed_by_the_other(jobs):
    jobs.start("leaves", 1, "port")
    jobs.start("misses", 1, "port")
    (left, _), (status, said) = jobs.end()
    assert left == 7 and status not in (0, None) and "of another job cannot be reached" in said, said
    jobs.launcher.assert_nothing_left(within=10)


def test_waiting_for_another_job_is_no_deadlock(jobs):
    jobs.start("server", 2, "port", "--on-deadlock=abort")
    # Two times the time after which a verdict is possible.
    with pytest.raises(subprocess.TimeoutExpired):
        jobs.jobs[0].wait(timeout=8)
    jobs.start("client", 2, "port", "--on-deadlock=abort")
    jobs.all_end_well()


def test_who_does_not_know_the_secret_does_not_get_in(jobs):
    server = jobs.start("server", 1, "port")
    port = jobs.launcher.folder / "port"
    while not port.exists():
        assert server.poll() is None
    name = port.read_text()
    words = name.split(":")
    wrong = ":".join([*words[:4], "0" * len(words[4]), *words[5:]])
    (jobs.launcher.folder / "wrong").write_text(wrong)
    stranger = jobs.launcher.start("-n", 1, jobs.program, "client", "wrong")
    _, said = stranger.communicate(timeout=PATIENCE)
    assert stranger.returncode not in (0, None) and "port" in said, said
    jobs.start("client", 1, "port")
    jobs.all_end_well()


def test_a_published_name_of_a_killed_job_is_free(jobs):
    first = jobs.start_alone("publisher", "a service")
    while not list(jobs.launcher.folder.glob("*.name")):
        assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.communicate(timeout=PATIENCE)
    jobs.jobs.clear()
    jobs.start("finder", 1, "a service")
    jobs.start("publisher", 1, "a service")
    jobs.all_end_well()
