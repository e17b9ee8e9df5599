"""The MPIs that are compared: how the programs of each are built and started."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
import jobs  # noqa: E402

PROGRAMS = ROOT / "build/bench"


class Library:
    """One MPI. `folder` is where its shared library lies, for programs that somebody else has built."""

    def __init__(self, name, title, mpicc, launcher, folder, environment=None):
        self.name, self.title, self.folder = name, title, folder
        self.mpicc, self.launcher = mpicc, launcher
        self.environment = dict(os.environ, **(environment or {}))

    def program(self, name):
        return PROGRAMS / self.name / name

    def build(self):
        for source in ROOT.glob("bench/*.c"):
            target = self.program(source.stem)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([self.mpicc, "-O2", "-pthread", source, "-o", target], check=True)

    def command(self, program, ranks):
        """The command line that starts one of our programs, or any other command given as a list."""
        words = [self.program(program)] if isinstance(program, str) else program
        return [*map(str, self.launcher), "-n", str(ranks), *map(str, words)]

    def run(self, program, ranks, timeout, **extra):
        return jobs.run_job(self.command(program, ranks), timeout, env=dict(self.environment, **extra))


def all_libraries():
    peers = jobs.PEERS
    root_flags = ["--allow-run-as-root"] if os.getuid() == 0 else []
    intel = {"I_MPI_ROOT": f"{peers}/impi", "FI_PROVIDER_PATH": f"{peers}/impi/lib"}
    # Intel's wheel has no compiler wrapper: its programs are built with MPICH's, whose ABI it shares.
    intel["LD_LIBRARY_PATH"] = f"{peers}/impi/lib"
    open_mpi = [peers / "openmpi/bin/mpiexec", *root_flags, "--oversubscribe", "--bind-to", "none"]
    return [
        Library("serried", "Serried", jobs.STAGE / "bin/mpicc", [jobs.STAGE / "bin/mpiexec"], jobs.STAGE / "lib"),
        Library("mpich", "MPICH", peers / "mpich/bin/mpicc", [peers / "mpich/bin/mpiexec"], None),
        Library("openmpi", "Open MPI", peers / "openmpi/bin/mpicc", open_mpi, None),
        Library("impi", "Intel MPI", peers / "mpich/bin/mpicc", [peers / "impi/bin/mpiexec.hydra"],
                peers / "impi/lib", intel),
    ]
