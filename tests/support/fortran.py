"""The Fortran libraries that programs are compiled for, and how."""

import os
import shutil
from dataclasses import dataclass

import jobs

# Debian has it as flang-19; scripts/setup flang installs it.
FLANG = next(filter(shutil.which, ("flang", "flang-new", "flang-new-19")), "flang")

# Where scripts/setup unpacks Debian's packages of Open MPI and MPICH.
UNPACKED = jobs.BUILD / "fortran/usr"
LIBRARIES = UNPACKED / "lib/x86_64-linux-gnu"
MODULES = LIBRARIES / "fortran/gfortran-mod-15"
FLAGS = ["-O1", "-w", "-ffree-line-length-none", "-fallow-argument-mismatch"]
WIDE = ("-fdefault-integer-8",)
# How a program names MPI: `sections` is mpi_f08 with buffers that need not be contiguous.
WAYS = {"mpif.h": [], "mpi": ["-DMODULE"], "f08": [], "sections": []}


@dataclass
class Library:
    """A Fortran library: how a compiler is told to use it."""

    name: str
    include: list
    files: dict  # way of naming MPI -> libraries
    flags: tuple = ()
    options: tuple = ()  # of `serried run`
    programs: tuple = ()  # only these; all without one

    @property
    def ways(self):
        return self.files.keys()

    def is_here(self):
        return self.include[-1].is_dir()

    def environment(self):
        """Of the compiler."""
        return None

    def command(self, way, sources, binary):
        """The command that compiles and links a program."""
        folders = [f"-I{folder}" for folder in self.include]
        files = [f"-l:{name}" for name in self.files[way]]
        link = [f"-L{LIBRARIES}", *files, "-Wl,--allow-shlib-undefined"]
        return list(map(str, ["gfortran", *FLAGS, *self.flags, *WAYS[way], *folders, *sources, "-o", binary, *link]))


@dataclass
class Ours(Library):
    """Our own, with our mpifort and a compiler."""

    compiler: str = "gfortran"

    def is_here(self):
        return shutil.which(self.compiler) is not None

    def environment(self):
        return dict(os.environ, SERRIED_FC=self.compiler)

    def command(self, way, sources, binary):
        flags = [*(FLAGS if self.compiler == "gfortran" else ["-O1", "-w"]), *self.flags]
        return list(map(str, [jobs.STAGE / "bin/mpifort", *flags, *WAYS[way], *sources, "-o", binary]))


def libraries():
    """Those that can be used here, and a sentence for each that cannot."""
    c, mpifh = "libmpi.so.40", "libmpi_mpifh.so.40"
    openmpi = {"mpif.h": [mpifh, c], "mpi": [mpifh, c], "f08": ["libmpi_usempif08.so.40", mpifh, c]}
    mpich = ["libmpichfort.so.12", "libmpich.so.12"]
    all_of_them = [
        Library("openmpi", [LIBRARIES / "openmpi/include", MODULES / "openmpi"], openmpi),
        Library("mpich", [UNPACKED / "include/x86_64-linux-gnu/mpich"], dict.fromkeys(WAYS, mpich), ("-DOLD_OPERATIONS",)),
        # Their own Fortran libraries over our C libraries: that of MPICH, which is preloaded, and by an RPATH, which comes
        # before LD_LIBRARY_PATH, Open MPI's f08 over our mpifh. (MPICH 4.0 counts MPI_UNDEFINED from 1 in MPI_Waitany,
        # and takes sections of some shapes only, so its own library is not asked for these.)
        Library(
            "mpich's own",
            [UNPACKED / "include/x86_64-linux-gnu/mpich"],
            dict.fromkeys(WAYS, mpich),
            options=("-x", f"LD_PRELOAD={LIBRARIES}/libmpichfort.so.12"),
            programs=("collectives", "objects", "typed"),
        ),
        Library(
            "openmpi by RPATH",
            [LIBRARIES / "openmpi/include", MODULES / "openmpi"],
            openmpi,
            flags=("-Wl,--disable-new-dtags", f"-Wl,-rpath,{LIBRARIES}"),
            programs=("messages", "typed"),
        ),
        Ours("serried", [], dict.fromkeys(WAYS), compiler="gfortran"),
        Ours("flang", [], dict.fromkeys(WAYS), compiler=FLANG),
        # INTEGERs of 8 bytes.
        Ours("gfortran -fdefault-integer-8", [], dict.fromkeys(WAYS), WIDE, compiler="gfortran"),
        Ours("flang -fdefault-integer-8", [], dict.fromkeys(WAYS), WIDE, compiler=FLANG),
    ]
    found = [library for library in all_of_them if library.is_here()]
    missing = [
        f"{library.name}: its compiler, or its headers and modules, are not here (scripts/setup fortran, or flang)"
        for library in all_of_them
        if library not in found
    ]
    return found, missing
