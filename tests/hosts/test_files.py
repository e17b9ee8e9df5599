"""Files that ranks of several hosts have open, in a folder that all hosts see: the programs of tests/c and tests/files."""

import errno
import os
import pathlib
import re
import shutil

import hosts
import pytest
from conftest import MPICC
from test_programs import compiled

SOURCES = {
    **{name: f"tests/c/{name}.c" for name in ("file_access", "file_behind", "file_errors", "file_representations", "file_shared")},
    **{name: f"tests/files/{name}.c" for name in ("replaces", "writes", "disks")},
    "random": "tests/files/random*.c",
}


@pytest.fixture(scope="module")
def built(four):
    """Programs where all hosts see them, and the library that makes calls fail."""
    folder = four.folder / "programs"
    folder.mkdir()
    programs = {name: compiled(source, folder / name) for name, source in SOURCES.items()}
    programs["failing.so"] = str(folder / "failing.so")
    source = hosts.ROOT / "tests/files/failing.c"
    four.run("n1", ["cc", "-std=gnu11", "-shared", "-fPIC", "-o", programs["failing.so"], source, "-ldl"], check=True)
    return programs


@pytest.fixture
def folder(four):
    """An empty folder that all hosts see."""
    made = four.folder / "files"
    made.mkdir()
    yield made
    shutil.rmtree(made)


def run(site, folder, places, *program, **environment):
    return site.run("--hosts", places, *program, env=dict(os.environ, TMPDIR=str(folder), **environment), timeout=240)


def assert_well(said):
    assert said.returncode == 0 and "wrong" not in said.stdout + said.stderr, said.stdout + said.stderr


@pytest.mark.parametrize("name, places", [
    ("file_access", "n1:2,n2:2"), ("file_access", "n1,n2,n3,n4"), ("file_shared", "n1:2,n2:2"), ("file_shared", "n1:2,n2,n3:2"),
    ("file_behind", "n1,n2:2"), ("file_errors", "n1,n2"), ("file_representations", "n1,n2"),
])
def test_programs_of_one_machine_are_right_on_several(site, built, folder, name, places):
    assert_well(run(site, folder, places, built[name]))
    assert not os.listdir(folder)


@pytest.mark.parametrize("places, seed", [("n1:2,n2:2", 31), ("n1,n2,n3", 32)])
def test_random_operations_are_those_of_a_model(site, built, folder, places, seed):
    said = run(site, folder, places, built["random"], folder, str(seed), "400")
    assert_well(said)
    assert "nothing differs" in said.stdout


@pytest.mark.parametrize("kind", ["interleaved", "rows", "apart", "nonblocking"])
def test_what_ranks_write_they_read(site, built, folder, kind):
    assert_well(run(site, folder, "n1:2,n2:2", built["writes"], folder / "file", "0", kind))


def test_what_fails_on_one_host_is_told_to_all(site, built, folder):
    """Where ranks write for others: those of n2 cannot write."""
    header = (pathlib.Path(MPICC).parents[1] / "include/mpi.h").read_text()
    no_space = re.search(r"MPI_ERR_NO_SPACE\b\D*(\d+)", header)[1]
    script = f'[ $(hostname) = n2 ] && export LD_PRELOAD={built["failing.so"]}; exec "$@"'
    fail = {"FAIL_CALL": "pwrite", "FAIL_ERRNO": str(errno.ENOSPC), "FAIL_PATH": "full"}
    assert_well(run(site, folder, "n1:2,n2:2", "sh", "-c", script, "sh", built["writes"], folder / "full", no_space, "interleaved", **fail))


@pytest.mark.parametrize("sums", ["false", "true"])
def test_a_safe_checkpoint_takes_the_place_of_the_old_file(site, built, folder, sums):
    name = folder / "checkpoint"
    name.write_bytes(b"the old file")
    assert_well(run(site, folder, "n1:2,n2", built["replaces"], name, sums))
    assert name.stat().st_size == 3 * 7 * 700001
    assert sorted(os.listdir(folder)) == ["checkpoint", "checkpoint.serried-sums"][: 1 + (sums == "true")]
    said = run(site, folder, "n1,n2,n3", built["replaces"], name, sums, "read")
    assert_well(said)


def test_a_killed_job_leaves_the_old_file(site, built, folder):
    name = folder / "checkpoint"
    name.write_bytes(b"the old file")
    said = run(site, folder, "n1:2,n2", built["replaces"], name, "false", "killed")
    assert said.returncode == 137 and name.read_bytes() == b"the old file", said.stderr
    assert_well(run(site, folder, "n1:2,n2", built["replaces"], name, "false"))
    assert os.listdir(folder) == ["checkpoint"]


@pytest.mark.parametrize("kind", ["truncated", "removed", "far"])
def test_odd_things_happen_to_open_files(site, built, folder, kind):
    assert_well(run(site, folder, "n1:2,n2:2", built["disks"], folder / "file", kind))
