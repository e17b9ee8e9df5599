"""Programs in Fortran as Debian has built them for Open MPI and MPICH, unmodified, over our libraries.

scripts/setup fortran unpacks them. Each is run as its users run it, and its results are compared with those that it has
over the MPI that it was built for.
"""

import os
import re
from dataclasses import dataclass, field

import jobs

HERE = jobs.ROOT / "tests/fortran"
PACKAGES = jobs.BUILD / "fortran-applications"
USR = PACKAGES / "usr"
LIBRARIES = USR / "lib/x86_64-linux-gnu"
WATER = """start h2o
memory total 400 mb
geometry units angstrom
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library 6-31g*
end
task scf energy
task mp2 energy
"""


@dataclass
class Application:
    """What is run: its name and what it shows, its ranks, the program, its input, and what its output says."""

    name: str
    ranks: int
    program: str
    arguments: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    standard_input: str | None = None
    expected: tuple = ()
    output: str | None = None  # a file; otherwise what it prints
    variables: dict = field(default_factory=dict)


def aluminium():
    """Elk's example, with its folder of species."""
    text = (USR / "share/doc/elk-lapw/examples/basic/Al/elk.in").read_text()
    return re.sub(r"'[^']*species[^']*'", f"'{USR}/share/elk-lapw/species/'", text)


def applications():
    mpgrafic = {"program": "mpgrafic", "arguments": ["--np=32"], "standard_input": "share/doc/mpgrafic/examples/Input.stdin"}
    return [
        Application("Elk, mpif.h of Open MPI", 2, "elk-lapw", files={"elk.in": aluminium()}, output="TOTENERGY.OUT",
                    expected=(r"-241\.91696\d+\s*$",)),
        Application("mpgrafic, mpi_f08 of Open MPI", 2, **mpgrafic, expected=(r"maximum= +0\.47112 +0\.36632 +1\.53037",)),
        Application("mpgrafic, mpi_f08 of Open MPI", 4, **mpgrafic, expected=(r"maximum= +0\.47112 +0\.42787 +1\.59280",)),
        Application("NWChem, mpif.h of MPICH", 2, "nwchem.mpich", ["h2o.nw"], {"h2o.nw": WATER},
                    expected=(r"Total SCF energy = +-76\.01050499103", r"Total MP2 energy +-76\.19902658647"),
                    variables={"NWCHEM_BASIS_LIBRARY": f"{USR}/share/nwchem/libraries/"}),
    ]


def run(application, directory, timeout):
    """The outcome of a run; what is missing of its output is said at the end of it."""
    for name, text in application.files.items():
        (directory / name).write_text(text)
    folders = [LIBRARIES, LIBRARIES / "lapack", LIBRARIES / "blas", USR / "lib"]
    env = jobs.environment(":".join(map(str, folders)), OMP_NUM_THREADS="1", **application.variables)
    command = jobs.job_command("serried", application.ranks, [USR / "bin" / application.program, *application.arguments])
    if application.standard_input:
        command = ["sh", "-c", 'input=$1; shift; exec "$@" <"$input"', "sh", str(USR / application.standard_input), *command]
    outcome = jobs.run_job(command, timeout, env=env, cwd=directory)
    shown = outcome.output
    if application.output and (directory / application.output).exists():
        shown = (directory / application.output).read_text()
    missing = [pattern for pattern in application.expected if not re.search(pattern, shown)]
    if missing and outcome.ended_well():
        return jobs.Outcome(1, "\n".join([*outcome.output.splitlines()[-20:], *(f"not in its output: {one}" for one in missing)]))
    return outcome


def are_here():
    return (PACKAGES / ".unpacked").exists() and os.uname().machine == "x86_64"
