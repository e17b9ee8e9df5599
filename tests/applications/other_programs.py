"""More programs of the distribution, of all fields and languages: what `programs.py` is for the first ones.

Expected numbers are those of Debian 12's programs under Debian's own MPI.
"""

import random
import re
import shutil
import subprocess

import debian
from programs import EXAMPLES, FORTRAN, PETSC_PATH, Program, Value, inputs

SHARE = debian.ROOT / "usr/share"
LIBRARY_PATH = ":".join(map(str, debian.FOLDERS))
SLEPC = debian.ROOT / f"usr/lib/slepcdir/slepc3.18/{debian.MACHINE}-linux-gnu-real/lib/python3/dist-packages"
PYTHON = "/usr/bin/python3"


def with_file(name, file):
    """The files of inputs/NAME, and one of the packages."""

    def prepare(folder, ranks):
        inputs(name)(folder, ranks)
        shutil.copy(SHARE / file, folder)

    return prepare


def cube(folder, ranks):
    """A cube of twelve dimensions by its faces; it has 2^12 corners."""
    rows = [[1] + [sign * (place == axis) for place in range(12)] for axis in range(12) for sign in (1, -1)]
    lines = ["cube", "H-representation", "begin", f"{len(rows)} 13 integer", *(" ".join(map(str, row)) for row in rows), "end"]
    (folder / "cube.ine").write_text("\n".join(lines) + "\n")


def grid(folder, ranks):
    """A graph: 40 by 40 points with their neighbours. Four equal parts can be cut out by 80 edges."""
    side = 40
    points = [(x, y) for x in range(side) for y in range(side)]
    near = [[(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)] for x, y in points]
    near = [[a * side + b for a, b in four if 0 <= a < side and 0 <= b < side] for four in near]
    lines = ["0", f"{len(points)} {sum(map(len, near))}", "0 000"]
    lines += [" ".join(map(str, [len(four), *four])) for four in near]
    (folder / "grid.grf").write_text("\n".join(lines) + "\n")


def reads(folder, ranks):
    """Pieces of a genome, by chance from both strands of it."""
    dice = random.Random(5)
    genome = "".join(dice.choice("ACGT") for _ in range(6000))
    other = str.maketrans("ACGT", "TGCA")
    with open(folder / "reads.fa", "w") as file:
        for number in range(0, 5901, 3):
            piece = genome[number : number + 100]
            file.write(f">{number}\n{piece.translate(other)[::-1] if number % 2 else piece}\n")


FOAM = {
    "WM_PROJECT_DIR": f"{SHARE}/openfoam",
    # The library of its communication that is for Open MPI, not that for none.
    "LD_LIBRARY_PATH": f"{debian.ROOT}/usr/lib/openmpi-system:{LIBRARY_PATH}",
}


def cavity(folder, ranks):
    """OpenFOAM's first example, divided among the ranks."""
    shutil.copytree(EXAMPLES / "openfoam-examples/examples/incompressible/icoFoam/cavity/cavity", folder, dirs_exist_ok=True)
    inputs("cavity", RANKS=ranks)(folder / "system", ranks)
    control = folder / "system/controlDict"
    control.write_text(re.sub(r"(?m)^(endTime\s+).*", r"\g<1>0.1;", control.read_text()).replace("writePrecision  6", "writePrecision  12"))
    for step in ("blockMesh", "decomposePar"):
        subprocess.run([debian.PROGRAMS / step], cwd=folder, env=debian.environment(**FOAM), check=True, capture_output=True, timeout=300)


def mumps(numbers, count):
    """A system of five equations, whose solution is 1, 2, 3, 4, 5."""
    folder = debian.ROOT / "usr/lib/mumps"
    kind = "cmplx" if numbers == "z" else "real"
    number = r"\(?([\d.E+-]+)(?:,[\d.E+-]+\))?"
    values = [
        Value("first", rf"Solution is +{number}", 1, 1e-12),
        Value("last", rf"Solution is .*?{number} *$", 5, 1e-12),
    ]
    return Program(f"MUMPS, {count}", "mumps-test", "Fortran, mpif.h", [folder / f"{numbers}simpletest"], values,
                   stdin=folder / f"input_simpletest_{kind}", needs=FORTRAN)


PROGRAMS = [
    Program(
        "ABINIT",
        "abinit abinit-data",
        "Fortran, use mpi",
        ["abinit", "hydrogen.abi"],
        [Value("energy", r"etotal +(\S+)", -1.1177777452, 2e-10)],
        with_file("abinit", "abinit/psp/01h.pspgth"),
        needs=FORTRAN,
    ),
    Program(
        "Quantum ESPRESSO",
        "quantum-espresso quantum-espresso-data",
        "Fortran, use mpi",
        ["pw.x", "-in", "aluminium.in"],
        [
            Value("energy", r"^! +total energy += +(\S+)", -4.18662686, 1e-8),
            Value("Fermi energy", r"Fermi energy is +(\S+)", 8.2324),
            Value("pressure", r"P= +(\S+)", -16.96),
        ],
        with_file("espresso", "espresso/pseudo/Al.pz-vbc.UPF"),
        needs=FORTRAN,
    ),
    Program(
        "OpenFOAM icoFoam",
        "openfoam openfoam-examples",
        "C++",
        ["icoFoam", "-parallel"],
        [
            Value("velocity", r"Solving for Ux, Initial residual = ([^,]+),", {2: 0.000280968853135, 4: 0.000278144938135}, 1e-12),
            Value("pressure", r"Solving for p, Initial residual = ([^,]+),", {2: 0.000467068373335, 4: 0.000448603694905}, 1e-12),
        ],
        cavity,
        environment=FOAM,
    ),
    Program(
        "BAGEL",
        "bagel",
        "C++, MPICH",
        ["BAGEL", "water.json"],
        [Value("MP2", r"MP2 total energy: +(\S+)", -76.1620673784, 1e-9)],
        inputs("bagel", BASIS=SHARE / "bagel"),
        peer="mpich",
        environment={"BAGEL_NUM_THREADS": "1"},
    ),
    Program(
        "MPQC",
        "mpqc mpqc-support",
        "C++",
        ["mpqc", "hydride.in"],
        [Value("energy", r"total scf energy = +(\S+)", -15.6728326538, 2e-10)],
        inputs("mpqc"),
        environment={"SCLIBDIR": f"{SHARE}/mpqc"},
    ),
    Program(
        "GPAW",
        "gpaw gpaw-data",
        "Python, C",
        [PYTHON, "hydrogen.py"],
        [Value("energy", r"^energy (\S+)", -6.449776, 1e-5)],
        inputs("gpaw"),
        environment={"GPAW_SETUP_PATH": f"{SHARE}/gpaw-setups"},
    ),
    Program(
        "slepc4py on SLEPc",
        "python3-slepc4py-real",
        "Python, C",
        [PYTHON, "eigenvalue.py"],
        [Value("largest", r"^result (\S+)", 3.9998910662, 2e-10)],
        inputs("slepc4py"),
        needs=FORTRAN,
        environment={"PYTHONPATH": f"{SLEPC}:{PETSC_PATH}"},
    ),
    mumps("d", "real numbers"),
    mumps("z", "complex numbers"),
    Program(
        "PT-Scotch",
        "ptscotch",
        "C, threads",
        ["dgpart", "-vm", "4", "grid.grf", "grid.map"],
        [Value("cut", r"CommCutSz=\S+\s+\((\d+)\)", 80)],
        grid,
    ),
    Program(
        "NEURON",
        "python3-neuron",
        "Python, C",
        [PYTHON, "ring.py"],
        [Value("spikes", r"^spikes (\d+)", 38), Value("last spike", r"^last (\S+)", 199.35)],
        inputs("neuron"),
        environment={"NEURONHOME": f"{SHARE}/nrn", "LD_LIBRARY_PATH": f"{LIBRARY_PATH}:{debian.ROOT}/usr/lib/nrn"},
    ),
    Program(
        "LIGGGHTS",
        "liggghts",
        "C++",
        ["liggghts", "-in", "in.fall"],
        [Value("kinetic energy", r"^ +5000 +\d+ +(\S+)", 0.00075911885, 1e-11)],
        inputs("falling"),
    ),
    Program(
        "PhyML",
        "phyml",
        "C",
        ["phyml-mpi", "-i", "sequences.phy", "-b", "4", "--r_seed", "7", "--quiet"],
        [Value("likelihood", r"Log-likelihood:\s+(\S+)", -1690.72142, 1e-5, "sequences.phy_phyml_stats.txt")],
        inputs("phyml"),
    ),
    Program(
        "ABySS",
        "abyss",
        "C++",
        [debian.ROOT / "usr/lib/abyss/ABYSS-P", "-k31", "-o", "contigs.fa", "reads.fa"],
        [Value("length", r"^>\d+ (\d+) ", 5974, file="contigs.fa")],
        reads,
    ),
    Program(
        "mplrs",
        "mplrs",
        "C",
        ["mplrs", "cube.ine"],
        [Value("corners", r"^\*Totals: vertices=(\d+)", 4096)],
        cube,
        ranks=(4,),  # it asks for no less
    ),
    Program(
        "ParFORM",
        "form",
        "C",
        ["parform", "power.frm"],
        [Value("coefficient", r"^ +\+ (\d+)\*y\^14", 4782969)],
        inputs("form"),
    ),
    Program(
        "NetPIPE, every byte",
        "netpipe-openmpi",
        "C",
        ["NPopenmpi", "-u", "65536", "-i"],
        [Value("lengths", r"^ *(\d+): .* Integrity check passed", 27)],
        ranks=(2,),
        turns=1,  # it sends for a given time
    ),
]
