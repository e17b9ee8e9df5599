"""What ranks print is seen when it is printed, and is there though they are killed."""

import os
import select
import shutil
import signal
import subprocess
import time

import pytest

import jobs
from launching import PATIENCE, PYTHON, STAGE, compile_c

TOLD = ["early", "early", "rank 0", "rank 1"]
FORTRAN = """
program told
  use mpi
  integer :: rank, error
  print '(a)', 'early'
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  print '(a,i0)', 'rank ', rank
  call sleep(300)
end program
"""
PYTHONS = """
print("early")
from mpi4py import MPI
print("rank", MPI.COMM_WORLD.rank)
import time; time.sleep(300)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return compile_c("told.c", tmp_path_factory.mktemp("told") / "told", compiler=str(STAGE / "bin/mpicc"))


def lines_of(command, count, seconds=PATIENCE, **variables):
    """The first lines that a job shows, sorted, as many as come in this time. Then it is ended."""
    environment = {**jobs.environment(STAGE / "lib"), **variables}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True)
    seen, end = b"", time.monotonic() + seconds
    try:
        while seen.count(b"\n") < count and (left := end - time.monotonic()) > 0:
            if select.select([process.stdout], [], [], left)[0]:
                piece = os.read(process.stdout.fileno(), 4096)
                if not piece:
                    break
                seen += piece
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    return sorted(seen.decode().splitlines())


@pytest.mark.parametrize("launcher", ["serried", "hydra"])
def test_of_a_program_in_c(told, launcher):
    assert lines_of(jobs.job_command(launcher, 2, [told, "sleep"]), 4) == TOLD


def test_of_a_program_in_fortran(tmp_path):
    if not shutil.which("gfortran"):
        pytest.skip("no Fortran compiler")
    source, program = tmp_path / "told.f90", tmp_path / "told"
    source.write_text(FORTRAN)
    subprocess.run([STAGE / "bin/mpifort", source, "-o", program], check=True, cwd=tmp_path)
    assert lines_of(jobs.job_command("serried", 2, [program]), 4) == TOLD


def test_of_a_program_in_python(tmp_path):
    (tmp_path / "told.py").write_text(PYTHONS)
    command = jobs.job_command("serried", 2, [PYTHON, tmp_path / "told.py"])
    assert lines_of(command, 4) == TOLD
    assert lines_of(command, 4, seconds=3, PYTHONUNBUFFERED="") == [], "what the user says counts"


def test_a_program_that_chooses_a_buffer_has_it(told):
    assert lines_of(jobs.job_command("serried", 2, [told, "sleep", "own"]), 1, seconds=2) == []


def test_what_a_rank_has_printed_is_there_though_it_is_killed(launcher, told):
    result = launcher.run("-n", 2, told, "kill")
    assert result.returncode != 0 and sorted(result.stdout.splitlines()) == TOLD
