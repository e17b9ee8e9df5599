"""The PMI-1 server, by a client of a few lines and by MPICH and Intel MPI."""

import pytest

from launching import PROGRAMS, PEERS, compile_c, in_time


def test_a_small_client_exchanges_values(launcher):
    result = launcher.run("-n", 3, "python3", PROGRAMS / "pmi_client.py", "exchange")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [f"rank {rank}: from {(rank + 1) % 3}" for rank in range(3)]


def test_abort_over_pmi_ends_the_job_with_its_code(launcher):
    result = launcher.run("-n", 3, "python3", PROGRAMS / "pmi_client.py", "abort")
    assert result.returncode == 42 and "rank 1" in result.stderr and "MPI_Abort with code 42" in result.stderr


def test_ending_well_without_finalize_is_a_failure(launcher):
    result = launcher.run("-n", 2, "python3", PROGRAMS / "pmi_client.py", "leave")
    assert result.returncode == 1 and "without MPI_Finalize" in result.stderr


def test_a_rank_that_never_joins_ends_the_job(launcher):
    script = f"[ $PMI_RANK = 1 ] && exit 0; exec python3 {PROGRAMS / 'pmi_client.py'} exchange"

    def attempt():
        result = launcher.run("-n", 3, "sh", "-c", script)
        assert result.returncode == 1 and "rank 1" in result.stderr and "without MPI_Init" in result.stderr

    in_time(5, attempt)


def test_a_bad_status_after_finalize_is_the_status_of_the_job(launcher):
    result = launcher.run("-n", 2, "python3", PROGRAMS / "pmi_client.py", "bad-after-finalize")
    assert result.returncode == 6


def peer(name):
    """The folder of an installed rival."""
    if not (PEERS / name / "lib/libmpi.so.12").exists():
        pytest.skip(f"no {name} installed (`make test` installs it)")
    return PEERS / name


@pytest.fixture
def mpich_program(tmp_path):
    mpich = peer("mpich")
    target = tmp_path / "sum"
    flags = ["-I", mpich / "include", "-L", mpich / "lib", "-lmpi"]
    return mpich, compile_c("sum.c", target, *map(str, flags))


def test_programs_linked_to_mpich_start_as_one_world(launcher, mpich_program):
    mpich, program = mpich_program
    result = launcher.run("-n", 4, "--launch-only", "-x", f"LD_LIBRARY_PATH={mpich / 'lib'}", program)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [f"rank {rank} of 4: sum 6, MPICH" for rank in range(4)]


def test_mpi_abort_of_mpich_gives_its_code(launcher, mpich_program):
    mpich, program = mpich_program
    result = launcher.run("-n", 2, "--launch-only", "-x", f"LD_LIBRARY_PATH={mpich / 'lib'}", program, 42)
    assert result.returncode == 42 and "called MPI_Abort with code 42" in result.stderr


def test_programs_linked_to_intel_mpi_start_as_one_world(launcher, mpich_program):
    intel = peer("impi")
    _, program = mpich_program
    libraries = {"LD_LIBRARY_PATH": str(intel / "lib"), "FI_PROVIDER_PATH": str(intel / "lib")}
    result = launcher.run("-n", 3, "--launch-only", program, env=libraries)
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == [f"rank {rank} of 3: sum 3, Intel(R)" for rank in range(3)]
