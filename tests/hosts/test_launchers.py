"""Programs of ours on several hosts under every launcher: Hydra, Intel's, Slurm with PMI and PMIx, prterun, our own over srun."""

import os
import pathlib
import shutil

import hosts
import jobs
import pytest
from conftest import SERRIED, Site, made
from test_programs import compiled

LIBRARY = pathlib.Path(SERRIED).resolve().parents[1] / "lib"
MPICH, INTEL, OPEN_MPI = (jobs.PEERS / name for name in ("mpich", "impi", "openmpi"))
PLACES = ["n1", "n1", "n2", "n2"]


@pytest.fixture(scope="module")
def cluster():
    with made(2, slurm=True) as cluster:
        yield cluster


@pytest.fixture
def on(cluster):
    """The hosts; others may leave something in /tmp, so only processes are looked at."""
    site = Site(cluster)
    site.cluster.files = lambda name: set()
    yield site
    try:
        site.assert_nothing_left()
    finally:
        site.clean()


@pytest.fixture(scope="module")
def program(cluster):
    return compiled("tests/launcher/sum.c", cluster.folder / "sum")


@pytest.fixture(scope="module")
def afar(cluster):
    return compiled("tests/dynamic/afar.c", cluster.folder / "afar")


def commands():
    prte = {"OPAL_PREFIX": OPEN_MPI, "PRTE_PREFIX": OPEN_MPI, "PMIX_PREFIX": OPEN_MPI}
    return {
        "hydra": ([MPICH / "bin/mpiexec", "-launcher", "ssh", "-hosts", "n1,n2", "-ppn", "2", "-n", "4"], {}),
        "intel": ([INTEL / "bin/mpiexec.hydra", "-bootstrap", "ssh", "-hosts", "n1,n2", "-ppn", "2", "-n", "4"],
                  {"I_MPI_ROOT": INTEL}),
        "pmi2": (["srun", "--mpi=pmi2", "-N2", "-n4"], {}),
        "pmix": (["srun", "--mpi=pmix", "-N2", "-n4"], {}),
        "prterun": ([OPEN_MPI / "bin/prterun", "--allow-run-as-root", "--prefix", OPEN_MPI, "-H", "n1:2,n2:2", "-n", "4",
                     "-x", "LD_LIBRARY_PATH"], prte),
        "serried over srun": ([SERRIED, "run", "-launcher", "slurm", "--hosts", "n1:2,n2:2"], {}),
    }


def why_not(command):
    """Why a launcher cannot be tried here, if it cannot."""
    if "--mpi=pmix" in command and not list(pathlib.Path("/usr/lib").glob("*/pmix2/lib/libpmix.so")):
        return "Slurm's plugin for PMIx wants libpmix.so (Debian: libpmix-dev)"
    return None if shutil.which(command[0]) else f"no {command[0]}"


@pytest.mark.parametrize("name", commands())
def test_ranks_on_two_hosts_add_up(on, program, name):
    command, variables = commands()[name]
    refusal = why_not([str(word) for word in command])
    if refusal:
        pytest.skip(refusal)
    variables = {name: str(value) for name, value in variables.items()}
    environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY), **variables}
    said = on.cluster.run("n1", [*command, program], env=environment)
    expected = [f"rank {rank} of 4: sum 6, Serried" for rank in range(4)]
    assert sorted(line for line in said.stdout.splitlines() if line) == expected, said


def test_an_allocation_of_slurm_names_the_hosts(on, program):
    script = on.cluster.folder / "script"
    script.write_text(f"#!/bin/sh\n{SERRIED} run {program}\n")
    said = on.cluster.run("n1", ["salloc", "-N2", "--ntasks-per-node=2", "sh", script])
    assert sorted(said.stdout.splitlines())[-1] == "rank 3 of 4: sum 6, Serried", said


def test_a_step_without_a_server_is_refused(on, program):
    said = on.cluster.run("n1", ["srun", "--mpi=none", "-N2", "-n4", program], env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)})
    assert said.returncode != 0 and "srun --mpi=pmi2" in said.stderr and "sum" not in said.stdout


@pytest.mark.parametrize("value, where", [("n2:2,n1", ["n2", "n2", "n1"]), ("n2", ["n2"] * 3)])
@pytest.mark.parametrize("name", ["pmi2", "pmix"])
def test_ranks_that_slurm_starts_have_children_on_named_hosts(on, afar, name, value, where):
    command, _ = commands()[name]
    refusal = why_not(command)
    if refusal:
        pytest.skip(refusal)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)}
    said = on.cluster.run("n1", [*command, afar, "talk", "3", "host", value], env=environment)
    assert (said.returncode, said.stdout.split()) == (0, where), said


def test_children_stay_where_their_root_is_if_slurm_starts_it(on, afar):
    said = on.cluster.run("n1", ["srun", "--mpi=pmi2", "-N2", "-n2", afar, "talk", "2"],
                          env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY)})
    assert (said.returncode, said.stdout.split()) == (0, ["n1", "n1"]), said
