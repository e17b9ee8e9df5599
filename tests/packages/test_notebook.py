"""Notebooks: a kernel that no launcher has started has a pool of workers, or a cluster of dask; nothing is left of them."""

import os
import pathlib
import time
import uuid

import pytest
from support import jobs

DRIVER = jobs.ROOT / "tests/packages/notebook.py"
POOL = """
from mpi4py.futures import MPIPoolExecutor
pool = MPIPoolExecutor(4)
print("result", sum(pool.map(pow, range(100), [3] * 100)))
"""
WHO = """
import os, work
who = list(pool.map(work.who, range(40)))
print("workers", len({process for process, *_ in who}), "others", os.getpid() not in {process for process, *_ in who})
print("size", {size for _, size, _ in who}, "marked", {mark for *_, mark in who} == {os.environ["MARK_OF_THIS_TEST"]})
"""
WORK = """
import os, time
from mpi4py import MPI

def who(number):
    time.sleep(0.05)
    return os.getpid(), MPI.COMM_WORLD.size, os.environ["MARK_OF_THIS_TEST"]
"""
END = "pool.shutdown()\nprint('ended')\n"
AGAIN = POOL.replace("[3]", "[2]")
CLUSTER = """
import subprocess
from distributed import Client
command = "mpiexec -n 3 dask-mpi --scheduler-file cluster.json --worker-class distributed.Worker --no-dashboard"
cluster = subprocess.Popen(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
client = Client(scheduler_file="cluster.json", timeout=200)
client.wait_for_workers(2, timeout=200)
print("result", sum(client.gather(client.map(lambda x: x * x, range(10)))))
"""
CLUSTER_END = """
client.shutdown()
print("ended", cluster.wait(120))
"""


def marked(mark):
    """Processes that have this in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]))
        except OSError:
            continue
    return found


@pytest.fixture
def notebook(venv_with_kernel, tmp_path):
    """Runs cells; gives what they print. In the end no process is left."""
    mark = uuid.uuid4().hex
    (tmp_path / "work.py").write_text(WORK)

    def run(how, *cells):
        files = []
        for number, cell in enumerate(cells):
            files.append(tmp_path / f"cell-{number}.py")
            files[-1].write_text(cell)
        before = os.getcwd()
        os.chdir(tmp_path)
        try:
            return venv_with_kernel.run("python", DRIVER, how, *files, MARK_OF_THIS_TEST=mark, PYTHONPATH=str(tmp_path))
        finally:
            os.chdir(before)

    yield run
    for _ in range(1500):
        if not (left := marked(mark)):
            break
        time.sleep(0.02)
    assert not left, f"left behind: {left}"


RESULT = f"result {sum(number ** 3 for number in range(100))}"


def test_a_kernel_has_a_pool_of_four_workers(notebook):
    said = notebook("shutdown", POOL, WHO, END)
    assert RESULT in said and "workers 4 others True" in said and "size {4} marked True" in said and "ended" in said, said
    assert said.count("cell ok") == 3, said


def test_a_pool_comes_after_another(notebook):
    said = notebook("shutdown", POOL, END, AGAIN, END)
    assert RESULT in said and f"result {sum(number ** 2 for number in range(100))}" in said, said


def test_a_kernel_that_is_shut_down_takes_its_pool_along(notebook):
    assert RESULT in notebook("shutdown", POOL)


def test_a_kernel_that_is_killed_takes_its_pool_along(notebook):
    assert RESULT in notebook("kill", POOL)


def test_a_kernel_uses_a_cluster_of_dask_over_ranks(notebook):
    said = notebook("shutdown", CLUSTER, CLUSTER_END)
    assert "result 285" in said and "ended 0" in said, said
