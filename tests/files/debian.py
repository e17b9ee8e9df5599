"""HDF5, PnetCDF and h5py as Debian has built them, for MPICH and for Open MPI, in build/io (scripts/io-libraries), and how
their own tests are compiled over them: with the headers of that MPI, whatever the library that they run on."""

import dataclasses
import pathlib
import shutil
import subprocess

import jobs

IO = jobs.BUILD / "io"
ROOT = IO / "system"
LIBRARIES = ROOT / "usr/lib/x86_64-linux-gnu"
HDF5 = IO / "hdf5-1.10"
PNETCDF = IO / "pnetcdf"
IS_THERE = (ROOT / ".unpacked").exists() and (PNETCDF / ".unpacked").exists()

# As in testpar/Makefile.am of HDF5; a program without a list is one file.
TESTPHDF5 = "testphdf5 t_dset t_file t_file_image t_mdset t_ph5basic t_coll_chunk t_span_tree t_chunk_alloc t_filter_read t_prop t_coll_md_read"
COMMON = "h5test testframe cache_common swmr_common external_common"


@dataclasses.dataclass(frozen=True)
class Flavour:
    """Libraries for one MPI."""

    name: str
    peer: str
    library: str

    def flags(self):
        """What a program for it is compiled and linked with, MPI aside."""
        return [f"-I{jobs.PEERS / self.peer / 'include'}", f"-I{ROOT}/usr/include/hdf5/{self.name}", f"-I{ROOT}/usr/include"]

    def link(self):
        return [jobs.PEERS / self.peer / "lib" / self.library, "-Wl,--unresolved-symbols=ignore-in-shared-libs", "-lm", "-ldl", "-lz"]


MPICH = Flavour("mpich", "mpich", "libmpi.so.12")
OPEN_MPI = Flavour("openmpi", "openmpi", "libmpi.so.40")


def run_compiler(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class HDF5Tests:
    """The programs of HDF5's testpar for a flavour, in a folder; each is compiled when it is asked for."""

    def __init__(self, flavour, folder):
        self.flavour, self.folder = flavour, folder
        (folder / "H5srcdir_str.h").write_text(f'static const char *config_srcdir = "{HDF5}/testpar";\n')
        places = [f"-I{HDF5 / part}" for part in ("src", "test", "testpar")]
        # NDEBUG, as Debian's library has it: some programs look into structures that depend on it.
        self.compile = ["gcc", "-w", "-O0", "-DNDEBUG", f"-I{folder}", *flavour.flags(), *places]
        for name in COMMON.split():
            run_compiler([*self.compile, "-c", HDF5 / "test" / f"{name}.c", "-o", folder / f"{name}.o"])
        run_compiler(["ar", "rcs", folder / "libh5test.a", *(folder / f"{name}.o" for name in COMMON.split())])

    def program(self, name):
        made = self.folder / name
        if not made.exists():
            sources = TESTPHDF5.split() if name == "testphdf5" else [name]
            files = [HDF5 / "testpar" / f"{source}.c" for source in sources]
            library = LIBRARIES / f"libhdf5_{self.flavour.name}.so.103"
            common = self.folder / "libh5test.a"
            run_compiler([*self.compile, *files, common, library, "-o", made, *self.flavour.link()])
        return made


def pnetcdf_program(path, folder):
    """A test program of PnetCDF, of a source below its folder test, for Open MPI: Debian has built it for that."""
    source, made = PNETCDF / "test" / path, folder / pathlib.Path(path).stem
    if source.suffix == ".m4":
        text = subprocess.run(["m4", "-DPNETCDF", f"-I{PNETCDF}/m4", source], capture_output=True, text=True, check=True).stdout
        source = folder / f"{source.stem}.c"
        source.write_text(text)
    common = PNETCDF / "test/common"
    # What PnetCDF's configure writes down, where a system has no such names.
    types = ["-Dschar=signed char", "-Duchar=unsigned char", "-Dlonglong=long long", "-Dulonglong=unsigned long long"]
    flags = ["gcc", "-w", "-O0", *types, f"-I{common}", f"-I{PNETCDF}/src/include", *OPEN_MPI.flags()]
    run_compiler([*flags, source, common / "testutils.c", LIBRARIES / "libpnetcdf.so.0d", "-o", made, *OPEN_MPI.link()])
    return made


def environment():
    """That of a job whose programs find these libraries."""
    return jobs.environment(LIBRARIES)


def has_m4():
    """Whether the sources can be had that PnetCDF makes with it."""
    return shutil.which("m4") is not None


def python_path():
    """Where Debian's Python finds h5py, NumPy and mpi4py, as Debian has built them, and then pytest."""
    return [str(ROOT / "usr/lib/python3/dist-packages"), *map(str, (jobs.BUILD / "venv/lib").glob("python3.11/site-packages"))]
