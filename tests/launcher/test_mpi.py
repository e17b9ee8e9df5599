"""MPI programs under the launcher: how they start, fail and end."""

import os
import signal
import subprocess
import time

import pytest

from launching import PATIENCE, PEERS, PYTHON, SERRIED, STAGE, compile_c, in_time, program


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """A C program that does, on one rank, what its argument says."""
    if not (STAGE / "lib/libmpi_abi.so.1").exists():
        pytest.skip("no staged library beside the command")
    target = tmp_path_factory.mktemp("mpi") / "misbehave"
    return compile_c("misbehave.c", target, compiler=str(STAGE / "bin/mpicc"))


@pytest.fixture
def python(launcher):
    """A Python with mpi4py."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        pytest.skip("no Python with mpi4py (`make test` installs one)")
    return PYTHON


def failure(launcher, *arguments, **options):
    """A job that must fail with one message within 3 seconds."""
    results = []

    def attempt():
        results.append(launcher.run(*arguments, **options))
        assert results[-1].stderr.count("serried:") == 1, results[-1].stderr

    in_time(3, attempt)
    assert len({result.returncode for result in results}) == 1
    return results[-1]


def test_a_program_runs_as_one_world_and_counts(launcher, ranks):
    result = launcher.run("-n", 3, "--stats", ranks, "nothing")
    assert result.returncode == 0 and result.stdout.splitlines() == ["3 ranks"]
    assert "collectives" in result.stderr


def test_a_program_without_launcher_is_a_job_of_one_rank(launcher, ranks):
    alone = subprocess.run([ranks, "nothing"], env=without_launcher(), capture_output=True, text=True, timeout=PATIENCE)
    assert (alone.returncode, alone.stdout) == (0, "1 ranks\n")


def without_launcher(**more):
    library = {"LD_LIBRARY_PATH": str(STAGE / "lib")}
    return {**os.environ, **library, **more}


def test_mpi_abort_gives_its_code(launcher, ranks):
    result = failure(launcher, "-n", 3, ranks, "abort")
    assert result.returncode == 42
    assert "rank 1" in result.stderr and "MPI_Abort with code 42" in result.stderr
    assert "before the abort" in result.stdout


def test_an_error_that_nobody_handles_is_told_before_the_launcher_speaks(launcher, ranks):
    result = launcher.run("-n", 3, ranks, "error")
    told, end = result.stderr.split("serried: rank 1 (process")
    assert "MPI_Send failed" in told and "because of the error above" in end


def test_a_crash_names_signal_and_last_call(launcher, ranks):
    result = failure(launcher, "-n", 3, ranks, "crash")
    assert result.returncode == 139
    assert "SIGSEGV" in result.stderr and "last call was MPI_Barrier" in result.stderr


def test_a_killed_rank_tells_where_it_waited(launcher, ranks):
    def attempt():
        job = launcher.start("-n", 3, ranks, "wait")
        launcher.wait_until_running(3)
        launcher.wait_until_asleep()
        victim = launcher.rank_ids()[1]
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        _, err = job.communicate(timeout=PATIENCE)
        assert job.returncode == 137 and err.count("serried:") == 1
        assert f"process {victim}" in err and "inside MPI_Recv (rank 2, tag 77" in err and "waiting for" in err
        return began

    in_time(3, attempt)


def test_leaving_without_finalize_is_a_failure(launcher, ranks):
    assert failure(launcher, "-n", 3, ranks, "leave").returncode == 1
    result = failure(launcher, "-n", 3, ranks, "leave3")
    assert result.returncode == 3 and "without MPI_Finalize" in result.stderr


def test_a_status_after_finalize_is_kept(launcher, ranks):
    assert failure(launcher, "-n", 3, ranks, "late").returncode == 4


def test_a_rank_that_never_joins(launcher, ranks):
    result = failure(launcher, "-n", 3, "sh", "-c", f"[ $PMI_RANK = 1 ] && exit 0; exec {ranks} nothing")
    assert result.returncode == 1 and "rank 1" in result.stderr


@pytest.mark.parametrize("victim", ["launcher", "guard"])
def test_kill_9_of_the_launcher_ends_waiting_ranks(launcher, ranks, tmp_path, victim):
    program(tmp_path, f"{ranks} wait\n")

    def attempt():
        job = launcher.start("-n", 4, "./program")
        launcher.wait_until_running(4)
        with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
            below = int(file.read().split()[0])
        began = time.monotonic()
        os.kill(job.pid if victim == "guard" else below, signal.SIGKILL)
        job.wait(timeout=PATIENCE)
        launcher.assert_nothing_left()
        return began

    in_time(5, attempt)


def test_a_timeout_tells_where_every_rank_is(launcher, ranks):
    for seconds in (1, 5, 20):  # a busy machine needs more, until all are there
        result = launcher.run("--timeout", seconds, "-n", 3, ranks, "wait")
        assert result.returncode == 124
        for rank in range(3):
            assert f"rank {rank} (process" in result.stderr
        if result.stderr.count("inside MPI_Recv") == 3:
            return
    pytest.fail(result.stderr)


def test_a_python_exception_in_one_rank_ends_the_job(launcher, python):
    script = """if True:
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 2:
            raise ValueError("the reason")
        world.recv(source=2)
    """
    result = failure(launcher, "-n", 4, python, "-c", script)
    assert result.returncode == 1 and "ValueError: the reason" in result.stderr and "rank 2" in result.stderr


@pytest.mark.parametrize("announced", [
    {"SLURM_NTASKS": "4"},
    {"SLURM_NTASKS": "4", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7"},
    {"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "999"},
    {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"},
])
def test_a_world_is_never_split_in_silence(ranks, announced):
    alone = subprocess.run([ranks, "nothing"], env=without_launcher(**announced), capture_output=True, text=True, timeout=PATIENCE)
    assert alone.returncode != 0 and "serried run" in alone.stderr, alone


def test_an_mpi_program_inside_a_rank_is_refused(launcher, ranks):
    result = launcher.run("-n", 2, ranks, "again")
    assert result.returncode != 0 and "from within a rank" in result.stderr


def test_one_rank_may_run_several_programs_in_turn(launcher, ranks):
    result = launcher.run("-n", 1, "sh", "-c", f"{ranks} nothing && {ranks} nothing && {ranks} again")
    assert (result.returncode, result.stdout) == (0, "1 ranks\n" * 4), result.stderr


@pytest.mark.parametrize("count", [1, 2, 5])
def test_hydra_starts_our_ranks(ranks, count):
    hydra = PEERS / "mpich/bin/mpiexec"
    if not hydra.exists():
        pytest.skip("no MPICH installed (`make test` installs one)")
    for extra in ([], ["-pmi-port"]):
        result = subprocess.run([hydra, *extra, "-n", str(count), ranks, "nothing"], env=without_launcher(),
                                capture_output=True, text=True, timeout=PATIENCE)
        assert (result.returncode, result.stdout) == (0, f"{count} ranks\n"), result.stderr
    aborted = subprocess.run([hydra, "-n", "3", ranks, "abort"], env=without_launcher(), capture_output=True, timeout=PATIENCE)
    assert aborted.returncode == 42


def test_intels_hydra_starts_our_ranks(ranks):
    hydra = PEERS / "impi/bin/mpiexec.hydra"
    if not hydra.exists():
        pytest.skip("no Intel MPI installed (`make test` installs one)")
    result = subprocess.run([hydra, "-n", "3", ranks, "nothing"], env=without_launcher(), capture_output=True,
                            text=True, timeout=PATIENCE)
    assert (result.returncode, result.stdout) == (0, "3 ranks\n"), result.stderr


@pytest.mark.parametrize("elsewhere", [["-n"], ["-u", "sh", "-c", 'hostname no.such.host; exec "$@"', "sh"]])
def test_a_machine_without_network_or_name_is_enough(ranks, elsewhere):
    if subprocess.run(["unshare", elsewhere[0], "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    result = subprocess.run(["unshare", *elsewhere, SERRIED, "run", "-n", "3", ranks, "nothing"], capture_output=True,
                            text=True, timeout=PATIENCE)
    assert (result.returncode, result.stdout) == (0, "3 ranks\n"), result.stderr


def test_64_ranks_on_few_cores(launcher, ranks):
    def attempt():
        result = launcher.run("-n", 64, ranks, "nothing")
        assert (result.returncode, result.stdout) == (0, "64 ranks\n")

    in_time(5, attempt)


def test_200_jobs_in_a_row_leave_nothing(launcher, ranks):
    for _ in range(200):
        assert launcher.run("-n", 2, ranks, "nothing").returncode == 0
    launcher.assert_nothing_left()


def test_serried_info_tells_what_is_here():
    result = subprocess.run([SERRIED, "info"], capture_output=True, text=True)
    assert result.returncode == 0 and "CPUs" in result.stdout and "libraries" in result.stdout


def test_each_program_of_several_knows_its_number(launcher, python):
    # A line in one piece: Hydra mixes pieces.
    code = ("import os; from mpi4py import MPI; world = MPI.COMM_WORLD; "
            "os.write(1, f'{world.rank} {world.Get_attr(MPI.APPNUM)}\\n'.encode())")
    program = [python, "-c", code]
    result = launcher.run("-n", 1, *program, ":", "-n", 2, *program)
    assert sorted(result.stdout.splitlines()) == ["0 0", "1 1", "2 1"], result.stderr
    hydra = [PEERS / "mpich/bin/mpiexec", "-n", "2", *program, ":", "-n", "1", *program]
    result = subprocess.run(hydra, env=without_launcher(), capture_output=True, text=True, timeout=PATIENCE)
    assert sorted(result.stdout.splitlines()) == ["0 0", "1 0", "2 1"], result.stderr
