"""The programs of a distribution that run here as they are, with inputs, and what they must say.

A program is started in a folder of its own, in which `prepare` has put its input. What it computes is looked for in its
output or in a file that it writes; the last match counts. Numbers are those of Debian 12's programs under Debian's own MPI.
"""

import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass, field

import debian

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"


@dataclass(frozen=True)
class Value:
    """A number that a program computes: `expected`, by the number of ranks where it depends on that."""

    name: str
    pattern: str
    expected: object
    tolerance: float = 0.0
    file: str = ""

    def read(self, output, folder):
        text = (folder / self.file).read_text() if self.file else output
        found = re.findall(self.pattern, text, re.MULTILINE)
        return float(found[-1].replace("D", "E")) if found else None

    def wanted(self, ranks):
        return self.expected[ranks] if isinstance(self.expected, dict) else self.expected

    def is_right(self, value, ranks):
        # Half of a last digit more, for what the program's own decimal notation rounds off.
        return value is not None and abs(value - self.wanted(ranks)) <= self.tolerance * (1 + 1e-9)


@dataclass(frozen=True)
class Program:
    name: str
    packages: str
    speaks: str
    command: list
    values: list
    prepare: object = lambda folder, ranks: None
    ranks: tuple = (2, 4)
    short: tuple = ()  # with how many ranks in `make test`
    needs: tuple = ()  # libraries of ours
    peer: str = "openmpi"
    stdin: str = ""
    sources: str = ""  # a folder of build/ that it needs
    turns: int = 0  # where it takes long: fewer than all others
    environment: dict = field(default_factory=dict)
    theirs: dict = field(default_factory=dict)  # what is else in the environment of the other MPI


def inputs(name, **replaced):
    """The files of inputs/NAME, with @WORDS@ of them replaced."""

    def prepare(folder, ranks):
        for file in (INPUTS / name).iterdir():
            text = file.read_text()
            for word, value in replaced.items():
                text = text.replace(f"@{word}@", str(value))
            (folder / file.name).write_text(text)

    return prepare


def grid(folder, ranks):
    """HPCC's grid of processes is N/2 x 2."""
    inputs("hpcc")(folder, ranks)
    file = folder / "hpccinf.txt"
    file.write_text(re.sub(r"^2 Ps", f"{ranks // 2} Ps", file.read_text(), flags=re.MULTILINE))


def gromacs(folder, *words):
    """A step that is no job, by one rank."""
    command = [debian.PROGRAMS / "gmx_mpi", *words]
    subprocess.run(command, cwd=folder, env=debian.environment(), check=True, capture_output=True, timeout=600)


def water(folder, ranks):
    """A box of water, and of that what `mdrun` takes."""
    inputs("water")(folder, ranks)
    gromacs(folder, "solvate", "-cs", "spc216.gro", "-box", "3", "3", "3", "-o", "water.gro")
    gromacs(folder, "grompp", "-f", "steep.mdp", "-c", "water.gro", "-p", "system.top", "-o", "run.tpr")


def settled_water(folder, ranks):
    """The same after its minimum was looked for."""
    water(folder, ranks)
    gromacs(folder, "mdrun", "-s", "run.tpr", "-ntomp", "1", "-reprod", "-c", "settled.gro")
    gromacs(folder, "grompp", "-f", "md.mdp", "-c", "settled.gro", "-p", "system.top", "-o", "run.tpr")


def peptide(folder, ranks):
    for name in ("in.peptide", "data.peptide"):
        shutil.copy(debian.ROOT / "usr/share/lammps/examples/peptide" / name, folder)


def tables(flavour):
    """The .dat files that tell ScaLAPACK's tests what to try."""

    def prepare(folder, ranks):
        for file in (debian.LIBRARIES / f"scalapack/{flavour}-tests").glob("*.dat"):
            shutil.copy(file, folder)

    return prepare


def scalapack(test, count, flavour, **others):
    program = debian.LIBRARIES / f"scalapack/{flavour}-tests" / test
    values = [
        Value("passed", r"(\d+) tests completed and passed", count),
        Value("failed", r"(\d+) tests completed and failed", 0),
    ]
    speaks = "Fortran over C" + (", MPICH" if flavour == "mpich" else "")
    packages = f"scalapack-mpi-test libscalapack-{flavour}2.2"
    return Program(f"ScaLAPACK {test}", packages, speaks, [program], values, tables(flavour), (4,), peer=flavour, **others)


FORTRAN = ("libmpi_mpifh.so.40",)


def nwchem(flavour, **others):
    values = [
        Value("SCF", r"Total SCF energy += +(\S+)", -76.010504991033, 5e-12),
        Value("MP2", r"Total MP2 energy +(\S+)", -76.199026586471, 5e-12),
    ]
    name = "NWChem" + (" for MPICH" if flavour == "mpich" else "")
    command = [f"nwchem.{flavour}", "water.nw"]
    basis = {"NWCHEM_BASIS_LIBRARY": f"{debian.ROOT}/usr/share/nwchem/libraries/"}
    packages = f"nwchem-{flavour} nwchem-data"
    speaks = "Fortran 77 -i8, C, windows"
    return Program(name, packages, speaks, command, values, inputs("nwchem"), peer=flavour, environment=basis, **others)


def windows(allocated):
    """NWChem's own ARMCI over windows that MPI allocates, for which Debian's MPICH gives wrong numbers, or over others."""
    values = [
        Value("SCF", r"Total SCF energy += +(\S+)", -75.629748563052, 5e-12),
        Value("DFT", r"Total DFT energy += +(\S+)", -76.358963844253, 5e-12),
    ]
    basis = {"NWCHEM_BASIS_LIBRARY": f"{debian.ROOT}/usr/share/nwchem/libraries/"}
    return Program(
        f"NWChem, windows {'allocated' if allocated else 'created'}",
        "nwchem-mpich nwchem-data",
        "Fortran 77 -i8, C, windows",
        ["nwchem.mpich", "water.nw"],
        values,
        inputs("nwchem-windows"),
        ranks=(1, 2, 4),
        short=(2,),
        needs=("libmpifort.so.12",),
        peer="mpich",
        environment=basis | {"ARMCI_USE_WIN_ALLOCATE": str(int(allocated))},
        theirs={"ARMCI_USE_WIN_ALLOCATE": "0"},
    )


SUITE = debian.jobs.BUILD / "mpi4py-3.1.4"
PETSC_SUITE = debian.jobs.BUILD / "petsc4py-3.18.5"
EXAMPLES = debian.ROOT / "usr/share/doc"
PETSC_PATH = f"{debian.PETSC}:{debian.PACKAGES}"
PROGRAMS = [
    Program(
        "LAMMPS melt",
        "lammps",
        "C++",
        ["lmp", "-in", "in.melt"],
        [
            Value("temperature", r"^ +250 +(\S+)", 1.6645597),
            Value("pair energy", r"^ +250 +\S+ +(\S+)", -4.7774327),
            Value("total energy", r"^ +250 +\S+ +\S+ +\S+ +(\S+)", -2.2812174),
            Value("pressure", r"^ +250 +\S+ +\S+ +\S+ +\S+ +(\S+)", 5.7526089),
        ],
        inputs("melt"),
        short=(2, 4),
    ),
    Program(
        "LAMMPS peptide",
        "lammps lammps-examples",
        "C++",
        ["lmp", "-in", "in.peptide"],
        [Value("total energy", r"TotEng += +(\S+)", -5251.364, 0.001)],
        peptide,
    ),
    Program(
        "GROMACS, minimum",
        "gromacs",
        "C++",
        ["gmx_mpi", "mdrun", "-s", "run.tpr", "-ntomp", "1", "-reprod"],
        [Value("potential", r"^Potential Energy += +(\S+)", -4.6471e4, 1)],
        water,
    ),
    Program(
        "GROMACS, dynamics",
        "gromacs",
        "C++",
        ["gmx_mpi", "mdrun", "-s", "run.tpr", "-ntomp", "1", "-reprod"],
        # Its kernels depend on the processor, and so do the last digits: 1.92e-2 to 1.99e-2 over Debian's Open MPI.
        [Value("drift", r"Conserved energy drift: (\S+)", 1.955e-2, 0.04e-2, "md.log")],
        settled_water,
    ),
    Program(
        "HPCC",
        "hpcc",
        "C",
        ["hpcc"],
        [
            Value("success", r"^Success=(\d)", 1, file="hpccoutf.txt"),
            Value("residual", r"^\|\|Ax-b.*= +(\S+) .* PASSED", 0.0107220, file="hpccoutf.txt"),
            Value("errors", r"^MPIRandomAccess_Errors=(\d+)", 0, file="hpccoutf.txt"),
        ],
        grid,
    ),
    Program(
        "h5py on HDF5",
        "python3-h5py-mpi python3-mpi4py",
        "Python, C",
        ["/usr/bin/python3", "write_and_read.py"],
        [Value("sum", r"^sum (\S+)", {2: 1498499, 4: 4994994})],
        inputs("h5py"),
        short=(2, 4),
    ),
    Program(
        "mpi4py 3.1.4, its own tests",
        "python3-mpi4py",
        "Python, C",
        ["/usr/bin/python3", SUITE / "test/runtests.py", "--no-builddir", "-q", "-e", "spawn", "-e", "dynproc"],
        [Value("tests", r"^Ran (\d+) tests", 1358)],
        sources=SUITE.name,
        turns=1,
    ),
    Program(
        "petsc4py on PETSc",
        "python3-petsc4py-real",
        "Python, C",
        ["/usr/bin/python3", "poisson.py"],
        [Value("largest", r"^result (\S+)", 1275)],
        inputs("petsc4py"),
        needs=FORTRAN,
        environment={"PYTHONPATH": PETSC_PATH},
    ),
    Program(
        "petsc4py 3.18.5, its own tests",
        "python3-petsc4py-real",
        "Python, C",
        # Without test_dmplex, of which testMetric fails with 2 ranks, over Debian's Open MPI too.
        ["/usr/bin/python3", PETSC_SUITE / "test/runtests.py", "--no-builddir", "-q", "-e", "test_dmplex"],
        [Value("tests", r"^Ran (\d+) tests", 6002)],
        ranks=(2,),
        sources=PETSC_SUITE.name,
        turns=1,
        needs=FORTRAN,
        environment={"PYTHONPATH": PETSC_PATH},
    ),
    scalapack("xdlu", 240, "openmpi", needs=FORTRAN),
    scalapack("xdqr", 352, "openmpi", needs=FORTRAN),
    scalapack("xdlu", 240, "mpich", turns=1),  # MPICH takes minutes: its ranks never give a core up
    Program(
        "CP2K",
        "cp2k",
        "Fortran, mpif.h",
        ["cp2k.popt", "water.inp"],
        [Value("energy", r"ENERGY\| Total.*: +(\S+)", -17.164106022448, 1e-11)],
        inputs("cp2k"),
        needs=FORTRAN,
    ),
    Program(
        "Elk",
        "elk-lapw",
        "Fortran, use mpi",
        ["elk-lapw"],
        [
            Value("energy", r"^ +(\S+) *$", -241.91696704, file="TOTENERGY.OUT", tolerance=1e-8),
            Value("Fermi energy", r"^ +(\S+) *$", 0.26571830, file="EFERMI.OUT", tolerance=1e-8),
        ],
        inputs("aluminium", SPECIES=debian.ROOT / "usr/share/elk-lapw/species"),
        needs=FORTRAN,
        short=(2,),
    ),
    Program(
        "mpgrafic",
        "mpgrafic fftw2",
        "Fortran, mpi_f08",
        ["mpgrafic", "--np=32"],
        [
            Value("mean sigma", r"Mean sigma.*maximum= +(\S+)", 0.47112),
            Value("sampled sigma", r"Mean sigma.*maximum= +\S+ +(\S+)", {2: 0.36632, 4: 0.42787}),
            Value("maximum", r"Mean sigma.*maximum= +\S+ +\S+ +(\S+)", {2: 1.53037, 4: 1.59280}),
        ],
        needs=FORTRAN,
        short=(2,),
        stdin=EXAMPLES / "mpgrafic/examples/Input.stdin",
    ),
    nwchem("openmpi", needs=FORTRAN),
    nwchem("mpich", needs=("libmpifort.so.12",)),
    windows(allocated=False),
    windows(allocated=True),
]
