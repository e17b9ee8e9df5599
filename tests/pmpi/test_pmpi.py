"""Tools that take over MPI_ functions and call PMPI_ (MPI-5.0 chapter 15): preloaded and linked, our own small one in
both ABIs, and EZTrace as Debian builds it (against MPICH), unmodified."""

import os
import pathlib
import subprocess

import pytest

from launching import PYTHON, ROOT, compile_c, peer_compiler

HERE = pathlib.Path(__file__).resolve().parent
EZTRACE = ROOT / "build/eztrace"
EXPECTED = [
    "rank 0: sum 1", "rank 1: sum 1",
    "tool: rank 0: 5 sends, 0 receives, 4 collectives, 1 others",
    "tool: rank 1: 0 sends, 5 receives, 4 collectives, 1 others",
]
TRAFFIC_IN_PYTHON = """
from mpi4py import MPI
import array
world = MPI.COMM_WORLD
data = array.array("i", [7])
for tag in range(5):
    world.Send([data, MPI.INT], 1, tag) if world.rank == 0 else world.Recv([data, MPI.INT], 0, tag)
for _ in range(3):
    mine, total = array.array("i", [world.rank]), array.array("i", [0])
    world.Allreduce(mine, total)
world.Barrier()
MPI.Wtime()
print(f"rank {world.rank}: sum {total[0]}", flush=True)
"""


@pytest.fixture(params=["serried", "mpich"])
def compiler(request):
    """Our mpicc (standard ABI) and MPICH's."""
    return peer_compiler(request.param)


def library(compiler, folder):
    return compile_c(HERE / "counter.c", folder / "libcounter.so", "-shared", "-fPIC", compiler=compiler)


def ran(result):
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.splitlines()) == EXPECTED
    assert result.stderr == ""


def test_a_preloaded_tool(launcher, compiler, tmp_path):
    program = compile_c(HERE / "traffic.c", tmp_path / "traffic", compiler=compiler)
    ran(launcher.run("-n", 2, "-x", f"LD_PRELOAD={library(compiler, tmp_path)}", program))


def test_a_linked_tool(launcher, compiler, tmp_path):
    tool = library(compiler, tmp_path)
    flags = [str(tool), f"-Wl,-rpath,{tmp_path}"]
    ran(launcher.run("-n", 2, compile_c(HERE / "traffic.c", tmp_path / "traffic", *flags, compiler=compiler)))


def test_a_tool_in_the_program(launcher, compiler, tmp_path):
    program = compile_c(HERE / "traffic.c", tmp_path / "traffic", str(HERE / "counter.c"), compiler=compiler)
    ran(launcher.run("-n", 2, program))


def test_a_preloaded_tool_under_python(launcher, tmp_path):
    """The wheel of mpi4py, unmodified; it has no profiling hook of its own any more since 4.0."""
    if not PYTHON.exists():
        pytest.skip("no build/venv")
    tool = library(peer_compiler("mpich"), tmp_path)
    (tmp_path / "traffic.py").write_text(TRAFFIC_IN_PYTHON)
    result = launcher.run("-n", 2, "-x", f"LD_PRELOAD={tool}", PYTHON, "traffic.py")
    assert result.returncode == 0, result.stderr
    # mpi4py calls the large form of Allreduce, which the tool does not take over.
    assert sorted(result.stdout.splitlines()) == [line.replace("4 collectives", "1 collectives") for line in EXPECTED]


@pytest.fixture
def eztrace(launcher, tmp_path):
    """Runs a job under EZTrace; gives the events of its trace as lines."""
    [*found] = EZTRACE.glob("usr/lib/*/libeztrace-mpich.so")
    if not found:
        pytest.skip("no EZTrace (`scripts/setup pmpi-tool` brings it from Debian)")
    folder = found[0].parent
    modules = ":".join(str(folder / f"libeztrace-{part}.so") for part in ("core", "lib", "mpich"))
    variables = [f"LD_PRELOAD={modules}", f"LD_LIBRARY_PATH={folder}", f"EZTRACE_LIBRARY_PATH={folder}",
                 "EZTRACE_TRACE=mpich", f"EZTRACE_TRACE_DIR={tmp_path / 'trace'}"]

    def run(*program):
        options = [word for variable in variables for word in ("-x", variable)]
        result = launcher.run("-n", 2, *options, *program)
        assert result.returncode == 0, result.stderr
        [trace] = tmp_path.glob("trace/*/eztrace_log.otf2")
        printed = subprocess.run([EZTRACE / "usr/bin/otf2-print", trace], capture_output=True, text=True,
                                 env=dict(os.environ, LD_LIBRARY_PATH=str(folder)))
        return result.stdout.splitlines(), printed.stdout.splitlines()

    return run


def test_eztrace_sees_the_traffic_of_a_program(eztrace, tmp_path):
    program = compile_c(HERE / "traffic.c", tmp_path / "traffic", compiler=peer_compiler("mpich"))
    output, events = eztrace(program)
    assert sorted(output) == EXPECTED[:2]
    count = lambda *words: sum(all(word in line for word in words) for line in events)  # noqa: E731
    # The version of 2023 knows no large forms: the one message by MPI_Send_c is received, but not seen sent.
    assert count("MPI_RECV ", 'Sender: 0 ("P#0T#0"', "Length: 4") == 5
    assert count("MPI_SEND ", "Receiver: 1", "Length: 4") == 3
    assert count("MPI_ISEND ", "Receiver: 1", "Tag: 3") == 1
    assert count("MPI_COLLECTIVE_END", "ALLREDUCE", "Sent: 4") == 6
    assert count("MPI_COLLECTIVE_END", "BARRIER") == 2


def test_eztrace_sees_the_traffic_of_python(eztrace, tmp_path):
    if not PYTHON.exists():
        pytest.skip("no build/venv")
    (tmp_path / "traffic.py").write_text(TRAFFIC_IN_PYTHON)
    output, events = eztrace(PYTHON, "traffic.py")
    assert sorted(output) == EXPECTED[:2]
    # mpi4py calls large forms, which this EZTrace does not know; of Barrier there is only one form.
    assert sum("MPI_COLLECTIVE_END" in line and "BARRIER" in line for line in events) == 2
