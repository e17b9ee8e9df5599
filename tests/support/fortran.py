"""The Fortran libraries that programs are compiled for, and how."""

from dataclasses import dataclass

import jobs

# Where scripts/setup unpacks Debian's packages of Open MPI and MPICH.
UNPACKED = jobs.BUILD / "fortran/usr"
LIBRARIES = UNPACKED / "lib/x86_64-linux-gnu"
MODULES = LIBRARIES / "fortran/gfortran-mod-15"
FLAGS = ["-O1", "-w", "-ffree-line-length-none", "-fallow-argument-mismatch"]
WAYS = {"mpif.h": [], "mpi": ["-DMODULE"], "f08": []}


@dataclass
class Library:
    """A Fortran library: how a compiler is told to use it."""

    name: str
    include: list
    files: dict  # way of naming MPI -> libraries

    @property
    def ways(self):
        return self.files.keys()

    def command(self, way, sources, binary):
        """The command that compiles and links a program."""
        folders = [f"-I{folder}" for folder in self.include]
        files = [f"-l:{name}" for name in self.files[way]]
        link = [f"-L{LIBRARIES}", *files, "-Wl,--allow-shlib-undefined"]
        return list(map(str, ["gfortran", *FLAGS, *WAYS[way], *folders, *sources, "-o", binary, *link]))


def libraries():
    """Those that can be used here, and a sentence for each that cannot."""
    c, mpifh = "libmpi.so.40", "libmpi_mpifh.so.40"
    openmpi = {"mpif.h": [mpifh, c], "mpi": [mpifh, c], "f08": ["libmpi_usempif08.so.40", mpifh, c]}
    mpich = ["libmpichfort.so.12", "libmpich.so.12"]
    all_of_them = [
        Library("openmpi", [LIBRARIES / "openmpi/include", MODULES / "openmpi"], openmpi),
        Library("mpich", [UNPACKED / "include/x86_64-linux-gnu/mpich"], dict.fromkeys(["mpif.h", "mpi", "f08"], mpich)),
    ]
    found = [library for library in all_of_them if library.include[-1].is_dir()]
    missing = [
        f"{library.name}: its headers and modules are not here (scripts/setup fortran)"
        for library in all_of_them
        if library not in found
    ]
    return found, missing
