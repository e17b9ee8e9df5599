"""A part of mpi4py's own suite, unmodified, with two ranks on each of two hosts: messages, collectives, windows and
files between hosts. tests/mpi4py runs all of it on one."""

import importlib.util
import pathlib

import hosts
import jobs
import pytest

MODULES = ["test_p2p_buf", "test_cco_buf", "test_rma", "test_io"]


def runner():
    """tests/mpi4py/run.py, which knows the suite and how to read what it says."""
    path = hosts.ROOT / "tests/mpi4py/run.py"
    spec = importlib.util.spec_from_file_location("mpi4py_run", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("module", MODULES)
def test_the_suite_of_mpi4py_passes_between_hosts(site, module):
    suite = runner()
    if suite.SUITE is None or not jobs.PYTHON.exists():
        pytest.skip("no build/venv, or no source of mpi4py (scripts/setup venv mpi4py-source)")
    logs = pathlib.Path(site.cluster.folder) / f"logs-{module}"
    logs.mkdir()
    # Files of the tests have to be where all hosts see them; /tmp is each host's own.
    env = jobs.environment(jobs.STAGE / "lib", TMPDIR=str(logs), MPI4PY_TEST_SPAWN="no", PYTHONFAULTHANDLER="1")
    program = [jobs.PYTHON, "-c", suite.TO_OWN_LOG, logs, suite.SUITE / "main.py", *suite.suite_arguments([rf"^{module}\."])]
    said = site.run("--hosts", "n1:2,n2:2", *program, env=env, timeout=600)
    result = suite.judge(logs, 4, jobs.Outcome(said.returncode, said.stdout + said.stderr))
    assert not result.failures, (result.failures, said.stderr)
    assert result.ran > result.skipped
