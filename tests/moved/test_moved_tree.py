"""The staged tree works from wherever it is put: no absolute path is compiled in."""

import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, sum %d\n", size, sum);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A copy of stage/ in another place, under a name with a space in it."""
    place = tmp_path_factory.mktemp("somewhere else") / "serried moved"
    shutil.copytree(jobs.STAGE, place, symlinks=True)
    return place


def run(command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **options)


def test_a_c_program_is_built_and_run_by_the_moved_tree(moved, tmp_path):
    (tmp_path / "sum.c").write_text(PROGRAM)
    built = run([moved / "bin/mpicc", tmp_path / "sum.c", "-o", tmp_path / "sum"])
    assert built.returncode == 0, built.stderr
    result = run([moved / "bin/mpiexec", "-n", 3, tmp_path / "sum"])
    assert (result.returncode, result.stdout) == (0, "3 ranks, sum 3\n"), result.stderr


@pytest.mark.parametrize("flag", ["-static", "--static", "-static-pie"])
def test_mpicc_says_why_a_program_cannot_be_static(moved, tmp_path, flag):
    """In one sentence instead of the linker's; whatever does not link is left to the compiler."""
    (tmp_path / "sum.c").write_text(PROGRAM)
    built = run([moved / "bin/mpicc", flag, tmp_path / "sum.c", "-o", tmp_path / "sum"])
    assert built.returncode == 1 and built.stdout == "" and not (tmp_path / "sum").exists()
    assert built.stderr.startswith(f"mpicc: {flag} cannot work: ") and "shared library only" in built.stderr
    assert "ld:" not in built.stderr and len(built.stderr.splitlines()) == 2
    assert run([moved / "bin/mpicc", flag, "-c", tmp_path / "sum.c", "-o", tmp_path / "sum.o"]).returncode == 0
    assert flag in run([moved / "bin/mpicc", "-show", flag, tmp_path / "sum.c"]).stdout


def test_the_unmodified_mpi4py_wheel_finds_the_moved_library(moved):
    code = "from mpi4py import MPI; c = MPI.COMM_WORLD; s = c.allreduce(c.rank); print(s) if c.rank == 0 else 0"
    result = run([moved / "bin/mpirun", "-n", 3, jobs.PYTHON, "-c", code])
    assert (result.returncode, result.stdout) == (0, "3\n"), result.stderr


def test_libraries_are_files_with_the_names_that_programs_ask_for(moved):
    """Some look for them among the files that a process has mapped."""
    names = ["libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1", "libmpicxx.so.12"]
    assert [name for name in names if (moved / "lib" / name).is_symlink()] == []
    code = "from mpi4py import MPI; print([w for line in open('/proc/self/maps') if 'libmpi.so' in (w := line.split(maxsplit=5)[-1].strip())][0])"
    result = run([moved / "bin/mpirun", "-n", 1, jobs.PYTHON, "-c", code])
    assert (result.returncode, result.stdout) == (0, f"{moved}/lib/libmpi.so.12\n"), result.stderr


def test_nothing_staged_names_the_build_folder(moved):
    here = str(jobs.ROOT).encode()
    for path in moved.rglob("*"):
        if path.is_file():
            assert here not in path.read_bytes(), f"{path.name} names {jobs.ROOT}"


def test_make_install_copies_the_tree(tmp_path):
    result = run(["scripts/install", tmp_path / "prefix"], cwd=jobs.ROOT)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "prefix/bin/mpiexec").exists() and (tmp_path / "prefix/lib/libmpi.so.12").exists()
