"""bench/flash-io: the files of FLASH over MPI-IO, HDF5 and PnetCDF hold what was written, in each of its modes."""

import os
import subprocess

import pytest

import debian
import jobs

SOURCES = [jobs.ROOT / "bench/flash-io" / f"{name}.c" for name in ("flash_io", "blocks", "mpi_io", "interleaved")]
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]
with_libraries = pytest.mark.skipif(not debian.IS_THERE, reason="no libraries of Debian in build/io: scripts/io-libraries")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The program for a library; those of Debian are for one MPI each."""
    folder, made = tmp_path_factory.mktemp("flash"), {}

    def program(library):
        if library not in made:
            made[library] = folder / library
            command = [jobs.STAGE / "bin/mpicc", *FLAGS, *SOURCES, "-o", made[library]]
            if library != "mpi-io":
                flavour, name = (debian.MPICH, "hdf5_mpich.so.103") if library == "hdf5" else (debian.OPEN_MPI, "pnetcdf.so.0d")
                own = [SOURCES[0].with_name(f"{library}.c"), f"-DWITH_{library.upper()}", *flavour.flags()]
                command = ["gcc", *FLAGS, *SOURCES, *own, "-o", made[library], debian.LIBRARIES / f"lib{name}", *flavour.link()]
            subprocess.run([str(word) for word in command], check=True)
        return made[library]

    return program


def run(program, folder, *options, ranks=3, **environment):
    words = [program, "--quiet", "--repeat", "1", "--blocks", "5", *options]
    env = {**(debian.environment() if debian.IS_THERE else os.environ), **environment}
    outcome = jobs.run_job(jobs.job_command("serried", ranks, words), 240, env=env, cwd=folder)
    lines = [line for line in outcome.output.splitlines() if " ranks " in line]
    assert outcome.ended_well() and lines and all(line.endswith(" right") for line in lines), outcome.output
    return lines


@pytest.mark.parametrize("memory", ["packed", "guard", "unk"])
@pytest.mark.parametrize("library", ["mpi-io", pytest.param("hdf5", marks=with_libraries), pytest.param("pnetcdf", marks=with_libraries)])
def test_what_is_read_back_is_what_was_written(compiled, tmp_path, library, memory):
    for how in ([], ["--independent"], ["--sync"]):
        assert len(run(compiled(library), tmp_path, "--library", library, "--memory", memory, *how)) == 4
    assert os.listdir(tmp_path) == []


def test_blocks_of_16_cells_and_ranks_on_several_nodes(compiled, tmp_path):
    run(compiled("mpi-io"), tmp_path, "--cells", "16", "--memory", "guard", SERRIED_NODES="2")
    run(compiled("mpi-io"), tmp_path, "--interleave", "512", SERRIED_NODES="2")
    run(compiled("mpi-io"), tmp_path, "--interleave", "4096", "--independent")


@with_libraries
def test_h5py_finds_the_datasets_of_flash(compiled, tmp_path):
    run(compiled("hdf5"), tmp_path, "--library", "hdf5", "--keep")
    python = "/usr/bin/python3"
    if not os.path.exists(python) or "3.11" not in subprocess.run([python, "-V"], capture_output=True, text=True).stdout:
        pytest.skip("h5py of Debian needs its Python, 3.11")
    code = """
import h5py, numpy
with h5py.File("flash_io_hdf5_chk_0000") as file:
    total = file["simulation parameters"][0]["total blocks"]
    dens, names = file["dens"], [name[0].decode() for name in file["unknown names"]]
    assert total == 5 + 6 + 7 and dens.shape == (total, 8, 8, 8) and len(names) == 24 and names[10:12] == ["gpot", "f1  "], names
    assert (dens[17, 7, 7, 7], dens[3, 1, 2, 3]) == (17 * 65536.0 + 511, 3 * 65536.0 + 64 + 16 + 3)
    assert file["gid"].shape == (total, 15) and file["bounding box"].shape == (total, 3, 2)
with h5py.File("flash_io_hdf5_plt_crn_0000") as file:
    assert file["temp"].shape == (total, 9, 9, 9) and file["temp"].dtype == "f4" and len(file["unknown names"]) == 4
print("as FLASH has it")
"""
    environment = dict(debian.environment(), PYTHONPATH=os.pathsep.join(debian.python_path()))
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "as FLASH has it\n", done.stderr
