"""Programs of others over our files, unmodified: the parallel tests of HDF5 and those of PnetCDF over the libraries that
Debian has built for MPICH and for Open MPI, and h5py's. What takes longer is run by tests/files/hdf5."""

import os
import pathlib
import subprocess

import pytest

import debian
import jobs

HERE = pathlib.Path(__file__).resolve().parent

pytestmark = pytest.mark.skipif(not debian.IS_THERE, reason="no libraries of Debian in build/io: scripts/io-libraries")


@pytest.fixture(scope="session")
def hdf5(tmp_path_factory):
    return {
        flavour: debian.HDF5Tests(flavour, tmp_path_factory.mktemp(flavour.name))
        for flavour in (debian.MPICH, debian.OPEN_MPI)
    }


@pytest.fixture(scope="session")
def pnetcdf(tmp_path_factory):
    return tmp_path_factory.mktemp("pnetcdf")


def run(ranks, program, folder, **environment):
    command = jobs.job_command("serried", ranks, program)
    outcome = jobs.run_job(command, 400, env={**debian.environment(), **environment}, cwd=folder)
    assert outcome.ended_well(), outcome.output[-6000:]
    return outcome.output


# Ranks, and how express: 3 leaves out what repeats.
HDF5_PROGRAMS = [
    (debian.MPICH, "t_mpi", 3),
    (debian.MPICH, "testphdf5", 3),
    (debian.MPICH, "t_pread", 3),
    (debian.MPICH, "t_init_term", 3),
    (debian.MPICH, "t_filters_parallel", 2),
    (debian.OPEN_MPI, "t_mpi", 2),
    (debian.OPEN_MPI, "testphdf5", 2),
    (debian.OPEN_MPI, "t_shapesame", 2),
]


@pytest.mark.parametrize("flavour, name, ranks", HDF5_PROGRAMS, ids=lambda part: getattr(part, "name", None))
def test_hdf5(hdf5, tmp_path, flavour, name, ranks):
    said = run(ranks, [hdf5[flavour].program(name)], tmp_path, HDF5TestExpress="3")
    assert "FAILED" not in said, said


def test_a_file_that_was_not_closed_is_flushed(hdf5, tmp_path):
    """The first program writes, flushes and aborts; the second one finds what was flushed."""
    for name in ("t_pflush1", "t_pflush2"):
        command = jobs.job_command("serried", 3, [hdf5[debian.MPICH].program(name)])
        outcome = jobs.run_job(command, 200, env=debian.environment(), cwd=tmp_path)
    assert outcome.ended_well(), outcome.output


def test_a_file_that_finalize_closes_is_whole(hdf5, tmp_path):
    for name in ("t_pshutdown", "t_prestart"):
        run(3, [hdf5[debian.MPICH].program(name)], tmp_path)


def test_newer_hdf5_of_source_passes_its_parallel_tests():
    """HDF5 1.14 is built with our mpicc once, into build/io/built, which takes two or three minutes."""
    outcome = jobs.run_job([HERE / "hdf5", "quick"], 1500, env=dict(os.environ, TREE=str(jobs.STAGE)))
    if "no source of HDF5 1.14" in outcome.output:
        pytest.skip("the source of HDF5 1.14 is not to be had")
    assert outcome.status == 0 and "0 failed" in outcome.output, outcome.output[-6000:]


def test_the_programs_that_come_with_romio_pass():
    """Those of MPICH's own suite as well, on our files."""
    outcome = jobs.run_job([HERE / "romio"], 1200, env=dict(os.environ, TREE=str(jobs.STAGE)))
    if "no source of MPICH" in outcome.output:
        pytest.skip("the source of MPICH is not to be had")
    assert outcome.status == 0 and " 0 failed" in outcome.output, outcome.output[-6000:]


PNETCDF_PROGRAMS = {
    "testcases": """add_var alignment_test buftype_free check_striping check_type collective_error flexible flexible2
        flexible_varm inq_num_vars inq_recsize ivarn mix_collectives modes ncmpi_vars_null_stride noclobber nonblocking
        one_record record redef1 scalar test_erange test_fillvalue test_vard test_vard_multiple test_vard_rec test_varm
        tst_def_var_fill tst_dimsizes tst_free_comm tst_info tst_max_var_dims tst_version varn_contig varn_int vectors""",
    "nonblocking": "flexible_bput i_varn_indef i_varn_int64 interleaved large_num_reqs req_all test_bput wait_after_indep",
    "header": "header_consistency",
}
PNETCDF_M4 = {
    "testcases": "put_all_kinds tst_vars_fill iput_all_kinds error_precedence null_args",
    "nonblocking": "column_wise",
}


@pytest.mark.parametrize("part", ["testcases", "nonblocking", "header"])
def test_pnetcdf(pnetcdf, tmp_path, part):
    sources = [f"{part}/{name}.c" for name in PNETCDF_PROGRAMS[part].split()]
    if debian.has_m4():
        sources += [f"{part}/{name}.m4" for name in PNETCDF_M4.get(part, "").split()]
    wrong = {}
    for source in sources:
        program = debian.pnetcdf_program(source, pnetcdf)
        command = jobs.job_command("serried", 4, [program, tmp_path / f"{program.name}.nc"])
        outcome = jobs.run_job(command, 300, env=debian.environment(), cwd=tmp_path)
        # Each says in a line of its own whether it has passed.
        lines = [line for line in outcome.output.splitlines() if "*** TESTING" in line]
        if not outcome.ended_well() or not lines or any("pass" not in line and "skip" not in line for line in lines):
            wrong[source] = outcome.output[-2000:]
    assert not wrong, wrong


DEBIAN_PYTHON = pathlib.Path("/usr/bin/python3")


@pytest.fixture
def h5py_job(tmp_path):
    """Runs a Python program with h5py of Debian on some ranks."""
    there = DEBIAN_PYTHON.exists()
    version = subprocess.run([DEBIAN_PYTHON, "-V"], capture_output=True, text=True).stdout if there else ""
    if not version.startswith("Python 3.11"):
        pytest.skip("h5py of Debian needs its Python, 3.11")
    path = os.pathsep.join(debian.python_path())
    return lambda ranks, *words: run(ranks, [DEBIAN_PYTHON, *words], tmp_path, PYTHONPATH=path)


def test_h5py_passes_its_own_tests_of_mpi(h5py_job):
    own = debian.ROOT / "usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi/tests"
    said = h5py_job(2, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--only-mpi", own / "test_file.py")
    assert said.count(" passed") == 2, said


def test_h5py_writes_and_reads_in_parallel(h5py_job):
    assert h5py_job(3, HERE / "parallel_h5py.py").count("right") == 3
