"""Jobs that go on without ranks that have failed: what each call says, and that those that are left can do everything."""

import pytest
from launching import STAGE

GOES_ON = "--on-failure=continue"


def survive(launcher, program, what, ranks, *options, **others):
    job = launcher.run("-n", ranks, *(options or [GOES_ON]), program, what, **others)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("well") == ranks - 1, job.stdout + job.stderr
    assert f"rank {ranks - 1} (" in job.stderr and "SIGKILL" in job.stderr, job.stderr
    assert job.stderr.count("The job goes on without it (--on-failure=continue).") == 1, job.stderr
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("what", ["receive", "send", "before", "any"])
def test_messages(launcher, survivors, what, ranks):
    survive(launcher, survivors, what, ranks)


@pytest.mark.parametrize("ranks", [3, 6])
def test_the_handler_is_told_the_first_error_of_several(launcher, survivors, ranks):
    survive(launcher, survivors, "several", ranks)


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("nodes", [{}, {"SERRIED_NODES": "2", "SERRIED_TRANSPORT": "wire"}])
def test_those_who_have_nothing_to_do_with_it_do_not_hear_of_a_failure(launcher, survivors, nodes, ranks):
    survive(launcher, survivors, "outside", ranks, env=nodes)


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("nodes", [{}, {"SERRIED_NODES": "2", "SERRIED_TRANSPORT": "wire"}])
def test_a_failure_elsewhere_does_not_end_an_accept(launcher, survivors, nodes, ranks):
    survive(launcher, survivors, "accepts", ranks, env=nodes)


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("kind", range(6))
def test_collectives(launcher, survivors, kind, ranks):
    survive(launcher, survivors, f"collective{kind}", ranks)


@pytest.mark.parametrize("ranks", [3, 8])
@pytest.mark.parametrize("kind", range(7))
@pytest.mark.parametrize("nodes", [{}, {"SERRIED_NODES": "2", "SERRIED_TRANSPORT": "wire"}])
def test_what_a_rank_has_ended_before_it_fails_ends_well(launcher, survivors, nodes, kind, ranks):
    for _ in range(5):
        survive(launcher, survivors, f"ended{kind}", ranks, env=nodes)


@pytest.mark.parametrize("ranks", [3, 6])
def test_a_communicator_is_revoked(launcher, survivors, ranks):
    survive(launcher, survivors, "revoke", ranks)


@pytest.mark.parametrize("ranks", [3, 6])
@pytest.mark.parametrize("what", ["agree", "shrink", "iagree", "ishrink", "both_groups", "collectives_between", "no_remote_group"])
def test_those_that_are_left_agree(launcher, agreements, what, ranks):
    survive(launcher, agreements, what, ranks)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_whoever_fails_at_any_time_the_rest_goes_on(launcher, survivors, seed, ranks):
    outlast(launcher, survivors, seed, ranks)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_whoever_fails_at_any_time_the_rest_agrees(launcher, agreements, seed, ranks):
    outlast(launcher, agreements, seed, ranks)


def outlast(launcher, program, seed, ranks, **options):
    job = launcher.run("-n", ranks, GOES_ON, program, "storm", seed, **options)
    assert job.returncode == 0 and job.stdout == "well\n", job.stdout + job.stderr
    assert job.stderr.count("The job goes on without it") == ranks - 1, job.stderr
    launcher.assert_nothing_left(within=10)


@pytest.mark.parametrize("options", [["--with-ft", "ulfm"], ["--with-ft", "mpi"], ["--enable-recovery"]])
def test_options_of_open_mpi_mean_the_same(launcher, survivors, options):
    survive(launcher, survivors, "receive", 3, *options)


def test_a_program_that_is_written_for_open_mpi(launcher, of_open_mpi):
    library = {"LD_LIBRARY_PATH": str(STAGE / "lib")}
    job = launcher.run("-n", 3, GOES_ON, of_open_mpi, "fails", env=library)
    assert job.returncode == 0 and job.stdout == "well\n" * 2, job.stdout + job.stderr
    job = launcher.run("-n", 3, of_open_mpi, env=library)
    assert job.returncode == 0 and job.stdout == "well\n" * 3, job.stdout + job.stderr


def test_a_program_with_our_header(launcher, with_header):
    survive(launcher, with_header, "agree", 3)


@pytest.mark.parametrize("ranks", [2, 5])
def test_a_program_of_fortran(launcher, in_fortran, ranks):
    job = launcher.run("-n", ranks, GOES_ON, in_fortran)
    assert job.returncode == 0 and job.stdout == "well\n", job.stdout + job.stderr


def test_without_the_option_the_job_ends(launcher, survivors):
    job = launcher.run("-n", 3, survivors, "receive")
    assert job.returncode == 137 and "The other 2 ranks are ended." in job.stderr, job.stderr
    assert "well" not in job.stdout
    launcher.assert_nothing_left(within=10)


def test_an_error_that_nobody_handles_ends_the_job(launcher, survivors):
    job = launcher.run("-n", 3, GOES_ON, survivors, "fatal")
    assert job.returncode not in (0, 137), job.stderr
    assert "rank 2 of the job has failed" in job.stderr and "MPI_Barrier" in job.stderr, job.stderr
    launcher.assert_nothing_left(within=10)


def test_a_job_of_which_nobody_is_left_has_failed(launcher, tmp_path):
    job = launcher.run("-n", 2, GOES_ON, "bash", "-c", "kill -9 $$")
    assert job.returncode == 137, job.stderr


def test_a_wrong_word_is_told(launcher):
    job = launcher.run("-n", 2, "--on-failure=perhaps", "true")
    assert job.returncode == 2 and "known are abort and continue" in job.stderr, job.stderr
