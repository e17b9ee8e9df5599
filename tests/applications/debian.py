"""Debian's programs and its own MPI, unpacked in build/applications and not installed: where they are, and the environment
in which they find each other there."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

ROOT = jobs.BUILD / "applications/root"
PROGRAMS = ROOT / "usr/bin"
MACHINE = os.uname().machine
LIBRARIES = ROOT / f"usr/lib/{MACHINE}-linux-gnu"
FOLDERS = [LIBRARIES, LIBRARIES / "blas", LIBRARIES / "lapack", ROOT / f"lib/{MACHINE}-linux-gnu", ROOT / "usr/lib"]
PACKAGES = ROOT / "usr/lib/python3/dist-packages"
PETSC = ROOT / f"usr/lib/petscdir/petsc3.18/{MACHINE}-linux-gnu-real/lib/python3/dist-packages"
# Means of Open MPI that are for a cluster's network, and refuse or warn here.
OPEN_MPI = ["--oversubscribe", "--mca", "mtl", "^ofi,psm,psm2", "--mca", "btl", "self,vader"]
LAUNCHERS = {
    "serried": [f"{jobs.STAGE}/bin/mpiexec"],
    "openmpi": [f"{PROGRAMS}/mpirun.openmpi", *OPEN_MPI],
    "mpich": [f"{PROGRAMS}/mpiexec.hydra"],
}
NAMES = {"openmpi": "Open MPI 4.1.4", "mpich": "MPICH 4.0.2"}


def environment(**more):
    """For programs of the unpacked packages; `serried run` puts our libraries in front of theirs."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "MPI"))}
    variables |= {
        "LD_LIBRARY_PATH": ":".join(map(str, FOLDERS)),
        "PYTHONPATH": str(PACKAGES),
        "CP2K_DATA_DIR": f"{ROOT}/usr/share/cp2k",
        "OPAL_PREFIX": f"{ROOT}/usr",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMP_NUM_THREADS": "1",
    }
    return variables | more


def is_unpacked(packages):
    """Whether all of these packages lie there."""
    stamp = ROOT.parent / "unpacked.txt"
    there = set(stamp.read_text().split()) if stamp.exists() else set()
    return set(packages.split()) <= there


def job(launcher, ranks, program, **more):
    """Command and environment of a job."""
    name, *arguments = map(str, program)
    path = PROGRAMS / name
    command = [*LAUNCHERS[launcher], "-n", str(ranks), str(path if path.exists() else name), *arguments]
    return command, environment(**more)
