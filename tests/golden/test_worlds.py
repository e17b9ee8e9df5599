"""Every launcher with every library: the right size, or a failure that says why. Never several ranks 0 of 1.

Pairs in which neither is ours are others' business.
"""

import os
import re
import subprocess

import pytest

from launching import PATIENCE, PEERS, PYTHON, ROOT, SERRIED, STAGE, compile_c, peer_compiler

HERE = ROOT / "tests/golden"
RANKS = 3
LAUNCHERS = {
    "serried": [SERRIED, "run"],
    "mpich": [PEERS / "mpich/bin/mpiexec"],
    "impi": [PEERS / "impi/bin/mpiexec"],
    "openmpi": [PEERS / "openmpi/bin/mpirun", "--allow-run-as-root", "--oversubscribe"],
}
# Each library of ours as programs find it; None: Python with the wheel of mpi4py.
OURS = {"standard": "serried", "mpich-abi": "mpich", "mpi4py": None}
IN_PYTHON = "from mpi4py import MPI; print(f'rank {MPI.COMM_WORLD.rank} of {MPI.COMM_WORLD.size}', flush=True)"


def command_for(library, folder):
    compiler = OURS[library]
    if compiler is None:
        if not PYTHON.exists():
            pytest.skip("no build/venv")
        return [PYTHON, "-c", IN_PYTHON]
    return [compile_c(HERE / "hello.c", folder / f"hello-{library}", compiler=peer_compiler(compiler))]


def run(launcher, command, **variables):
    environment = {**launcher.environment, **variables}
    return subprocess.run([*map(str, command)], cwd=launcher.folder, env=environment, capture_output=True, text=True,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, start_new_session=True)


def run_for_sure(launcher, command, **variables):
    """As `run`; once in a while Open MPI's launcher cannot start itself, and then it is asked again."""
    for _ in range(3):
        result = run(launcher, command, **variables)
        if "PMIx server's listener thread failed to start" not in result.stderr:
            break
    return result


def one_world(result):
    # Not by lines: Intel's launcher mixes them.
    said = sorted(re.findall(r"rank \d+ of \d+", result.stdout))
    return result.returncode == 0 and said == [f"rank {rank} of {RANKS}" for rank in range(RANKS)]


@pytest.mark.parametrize("library", OURS)
@pytest.mark.parametrize("starter", LAUNCHERS)
def test_a_library_of_ours_under_every_launcher(launcher, tmp_path, starter, library):
    if not LAUNCHERS[starter][0] or not os.path.exists(LAUNCHERS[starter][0]):
        pytest.skip(f"no {starter} installed")
    environment = {} if starter == "serried" else {
        "LD_LIBRARY_PATH": str(STAGE / "lib"), "MPI4PY_LIBMPI": str(STAGE / "lib/libmpi.so.12")}
    command = [*LAUNCHERS[starter], "-n", RANKS, *command_for(library, tmp_path)]
    assert one_world(run_for_sure(launcher, command, **environment))


@pytest.mark.parametrize("library", ["mpich", "impi", "openmpi"])
def test_libraries_of_others_under_our_launcher(launcher, tmp_path, library):
    compiler = peer_compiler("mpich" if library == "impi" else library)
    program = compile_c(HERE / "hello.c", tmp_path / "hello", compiler=compiler)
    folder = PEERS / library / "lib"
    if not folder.exists():
        pytest.skip(f"no {library} installed")
    result = run(launcher, [SERRIED, "run", "--launch-only", "-n", RANKS, "-x", f"LD_LIBRARY_PATH={folder}",
                            "-x", f"FI_PROVIDER_PATH={folder}", program])
    if library == "openmpi":
        assert result.returncode == 127 and "each rank would be alone" in result.stderr, result
    else:
        assert one_world(result), result


@pytest.mark.parametrize("library", OURS)
@pytest.mark.parametrize("variables", [
    {"SLURM_NTASKS": "4", "SLURM_PROCID": "1", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
    {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
    {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"},
    {"PMIX_NAMESPACE": "prterun-x", "PMIX_RANK": "1"},
    {"PMI_SIZE": "4", "PMI_RANK": "1", "PMI_FD": "77"},
], ids=lambda variables: next(iter(variables)))
def test_a_job_that_is_announced_and_not_served(launcher, tmp_path, variables, library):
    """As srun without PMI, or a launcher of another MPI in front: an error and not rank 0 of 1."""
    libraries = {"LD_LIBRARY_PATH": str(STAGE / "lib"), "MPI4PY_LIBMPI": str(STAGE / "lib/libmpi.so.12")}
    command = command_for(library, tmp_path)
    result = run(launcher, command, **libraries, **variables)
    assert result.returncode != 0 and "of 1" not in result.stdout, result
    assert "serried run -n" in result.stderr and result.stderr.count("MPI_Init") >= 1, result
    # Under our launcher the same variables do no harm.
    assert one_world(run(launcher, [SERRIED, "run", "-n", RANKS, *command], **variables))


@pytest.mark.parametrize("variables", [
    {"SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
    {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"},
    {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0", "PMIX_NAMESPACE": "x", "PMIX_RANK": "0"},
], ids=["one-task", "shell-of-an-allocation", "one-rank"])
def test_one_rank_is_one_rank(launcher, tmp_path, variables):
    result = run(launcher, command_for("standard", tmp_path), LD_LIBRARY_PATH=str(STAGE / "lib"), **variables)
    assert (result.returncode, result.stdout) == (0, "rank 0 of 1\n"), result
