#!/usr/bin/env python3
"""All tests: one line for each part, a sum at the end.

    make test                       with all set-up
    make test PARTS="unit mpi4py"   only these parts
    tests/run.py unit mpi4py        the same, without set-up (--set-up: with it, while the compilers work)
    tests/run.py --quick            what `make check` runs: the parts of QUICK, over a tree compiled in haste

A part is a command. Its log goes to build/test/<part>.log; how many tests passed is read from its last lines.
A part that fails does not stop the others, but those that need what it makes do not begin. Parts run beside each other
as far as there is room; those in which it matters how long something takes have at most a compiler beside them, which
takes what they leave.
"""

import dataclasses
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import jobs  # noqa: E402
from parts import ALONE, COMPILER, Part, run_all  # noqa: E402

PYTHON = str(jobs.PYTHON)


def pytest(*paths):
    return [PYTHON, "-m", "pytest", "-q", "--durations=12", *paths]


STAGED = ("stage", "setup")
# In the order in which they are started, as far as there is room: the tree, for which most of them wait, and compilers;
# those that want all cores; then what takes longest first.
PARTS = [
    Part(
        "setup",
        "programs and libraries of others that the tests use",
        ["scripts/setup", "for-tests"],
        30,
        0.3,
        is_needed=True,
    ),
    Part("format", "rustfmt has nothing to change", ["cargo", "fmt", "--all", "--check"], 5, 0.3),
    Part("house", "house rules: lengths, paths, settings, docs", [PYTHON, "tests/house/check.py"], 5, 0.3),
    Part("dependencies", "licences, sources and versions of crates", [PYTHON, "tests/house/dependencies.py"], 5, 0.3),
    Part("stage", "release build and staged tree", ["scripts/stage"], 30, 1.9, is_needed=True),
    Part(
        "clippy",
        "no warnings",
        ["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        60,
        COMPILER,
    ),
    Part("unit", "unit tests of all crates", ["cargo", "test", "--workspace", "--no-fail-fast"], 60, COMPILER, ("clippy", "setup")),
    Part(
        "loom",
        "mailbox, express boxes, doorbell, withdrawals, shared-out work: every interleaving",
        ["cargo", "test", "--release", "--manifest-path", "tests/loom/Cargo.toml", "--target-dir", "target/loom"],
        60,
        COMPILER,
    ),
    Part(
        "servers",
        "servers between nodes: small worlds in every interleaving, wrong protocols, garbage, long runs, memory at scale",
        ["cargo", "test", "--release", "--manifest-path", "tests/servers/Cargo.toml", "--target-dir", "target/servers"],
        60,
        COMPILER,
    ),
    Part("threads", "unit tests with threads under ThreadSanitizer", ["tests/sanitize/threads"], 60, COMPILER),
    Part("third", "a third ABI, made from its file alone", ["tests/third_abi/run", "bad_objects", "completion", "datatypes", "tool_variables"], 60, COMPILER, STAGED),
    Part("c", "C programs, both ABIs", ["tests/c/run"], 20, 1.3, STAGED),
    Part("faults", "kills, odd machines, limits: one message, nothing left", pytest("tests/faults"), 20, after=STAGED),
    Part(
        "golden",
        "what people read when something goes wrong; every launcher with every library",
        pytest("tests/golden"),
        15,
        after=STAGED,
    ),
    Part("rungs", "C programs with each means of copying", ["tests/c/run", "--rungs"], 20, 1.3, STAGED),
    Part("nodes", "C programs with ranks that pretend to be on several nodes", ["tests/c/run", "--nodes"], 15, 1.6, STAGED),
    Part("hosts", "several hosts, as namespaces: the test cluster, jobs on it", pytest("tests/hosts"), 60, 0.4, STAGED),
    Part("mpi4py", "mpi4py's own suite, unmodified", [PYTHON, "tests/mpi4py/run.py"], 60, 1.2, STAGED),
    Part("address", "C programs and library under AddressSanitizer", ["tests/sanitize/run"], 60, 1, STAGED),
    Part("portable", "aarch64: compiles, and rooms of the engine in an emulator", ["tests/portable/run"], 60, 1, ("unit",)),
    Part("libraries", "HDF5, PnetCDF, h5py of Debian, with their own tests", pytest("tests/files/test_libraries.py"), 30, 1.1, STAGED),
    Part("packages", "pip install serried, with mpi4py in a fresh venv; the Debian package; recipes", pytest("tests/packages"), 15, 0.5, STAGED),
    Part("fortran", "Fortran programs for every library, of mpif.h, mpi and mpi_f08", ["tests/fortran/run"], 15, 0.4, STAGED),
    Part("dynamic", "jobs that start others and connect; mpi4py's tests of that", pytest("tests/dynamic"), 15, 0.4, STAGED),
    Part(
        "verdict",
        "jobs that hang are told why",
        pytest("tests/verdict", "--ignore=tests/verdict/test_slow.py"),
        20,
        0.3,
        STAGED,
    ),
    Part("survivors", "jobs that go on without ranks that have failed", pytest("tests/survivors"), 40, 0.8, STAGED),
    Part("fabric", "C programs with ranks that talk over libfabric", ["tests/c/run", "--fabric"], 15, 1.2, STAGED),
    Part("imb", "Intel's IMB-MPI1, P2P, NBC, MT with data checking", [PYTHON, "tests/imb/run.py"], 60, 1, STAGED),
    Part("wire", "C programs with ranks that talk over TCP", ["tests/c/run", "--wire"], 15, 0.9, STAGED),
    Part("devices", "buffers in the memory of GPUs, over a driver of ours", ["tests/fake_driver/run"], 20, 1.4, STAGED),
    Part("armci-wire", "ARMCI between nodes, over TCP", ["tests/c/run", "--folder", "tests/armci", "--wire"], 15, 1.8, STAGED),
    Part("slow", "slow jobs are let alone", pytest("tests/verdict/test_slow.py"), 15, 1.5, STAGED),
    Part("loopback", "C programs with ranks that talk over local sockets", ["tests/c/run", "--loopback"], 15, 1, STAGED),
    Part("top", "serried top: true rates, terminal", pytest("tests/top", "--ignore=tests/top/test_page.py"), 20, 0.1, STAGED),
    Part("files", "MPI-IO: faults of the file system, nothing lost", pytest("tests/files", "--ignore=tests/files/test_libraries.py"), 15, 0.7, STAGED),
    Part("finding", "CMake, Meson, autotools and pkg-config find MPI", pytest("tests/build_systems"), 15, 0.4, STAGED),
    Part("grids", "windows between nodes whose servers stand in a grid", ["tests/c/run", "--grids"], 15, 1.7, STAGED),
    Part("page", "serried top: its page in a browser", pytest("tests/top/test_page.py"), 15, 0.2, STAGED),
    Part("coarrays", "OpenCoarrays' own tests, as Debian has compiled them", ["tests/coarrays/run"], 15, 0.9, STAGED),
    Part("global-arrays", "stock Global Arrays of Debian over our ARMCI", [PYTHON, "tests/global_arrays/run"], 15, 1.2, STAGED),
    Part("abi", "constants, layouts, symbols against peers", ["tests/abi/run"], 15, 0.4, STAGED),
    Part("armci", "ARMCI: every call, all ABIs, all means of copying", ["tests/c/run", "--folder", "tests/armci"], 15, 1.2, STAGED),
    Part("pmpi", "tools over PMPI, preloaded and linked: our own and EZTrace", pytest("tests/pmpi"), 15, 0.3, STAGED),
    Part("programs", "programs of Debian as they are: known results", [PYTHON, "tests/applications/run", "--short"], 15, 0.8, STAGED),
    Part("shmem4py", "shmem4py's own suite, unmodified", ["tests/shmem4py/run"], 20, 1.1, STAGED),
    Part("shmem-networks", "OpenSHMEM between nodes, over local sockets and TCP", ["tests/shmem/run", "--networks"], 15, 1.5, STAGED),
    Part("shmem", "OpenSHMEM: C and C++ programs", ["tests/shmem/run"], 20, 1.1, STAGED),
    Part("shmem-rungs", "the same with each means of copying", ["tests/shmem/run", "--rungs"], 15, 1.1, STAGED),
    Part("doctor", "serried doctor: faults named, libraries found, variables", pytest("tests/doctor"), 15, 0.5, STAGED),
    Part("demo", "the demo: only mpi4py and NumPy, right, a picture", pytest("tests/demo"), 10, 0.3, STAGED),
    Part("moved", "the staged tree works from another place", pytest("tests/moved"), 10, 0.3, STAGED),
    Part("shmem-wrong", "OpenSHMEM: wrong calls, ends, the header beside a peer's", pytest("tests/shmem"), 10, 1, STAGED),
    Part("armci-faults", "ARMCI: wrong calls, ranks that die", pytest("tests/armci/faults"), 15, 1, STAGED),
    Part("launcher", "serried run: output, exit status, faults", pytest("tests/launcher"), 20, ALONE, STAGED),
    Part("memory", "memory of ranks: budgets, sharing it, processes they start", pytest("tests/memory"), 20, ALONE, STAGED),
    Part("mpi4py-more", "mpi4py's suite with 5 ranks, and under Hydra", [PYTHON, "tests/mpi4py/run.py", "--more-ranks"], 60, 1.2, STAGED),
]


# What shows most mistakes in the least time. Their tree is compiled in a hurry (see scripts/stage).
QUICK = ("format", "house", "clippy", "unit", "stage", "c")
QUICK_TREE = "build/quick/tree"
QUICK_COMMANDS = {"stage": ["scripts/stage", QUICK_TREE, "quick"], "c": ["tests/c/run", "--first"]}


def quick_parts():
    os.environ["TREE"] = QUICK_TREE
    return [dataclasses.replace(p, command=QUICK_COMMANDS.get(p.name, p.command)) for p in PARTS if p.name in QUICK]


def hear_signals():
    """Lets what is tested get the signals that a shell has made deaf for what it runs in the background."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main():
    hear_signals()
    wanted = sys.argv[1:]
    if wanted == ["--quick"]:
        return finish(run_all(quick_parts()))
    all_parts = [part.name for part in PARTS if part.name != "setup"]
    set_up = ["setup"] if "--set-up" in wanted else []
    wanted = [name for name in wanted if name != "--set-up"]
    jobs.refuse_unknown("part", wanted, all_parts)
    if set_up:
        print("setup goes on while the compilers work; what it installs: build/test/setup.log", flush=True)
    chosen = [*set_up, *(wanted or all_parts)]
    finish(run_all([part for part in PARTS if part.name in chosen]))


def finish(counts):
    jobs.finish(*(sum(column) for column in zip(*counts)))


if __name__ == "__main__":
    main()
