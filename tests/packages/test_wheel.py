"""`pip install serried`: the wheel in a fresh venv, beside mpi4py's wheel and other MPIs, with no variable set.

The wheel is made of the tree that is tested, in seconds; its tag says which glibc that needs. WHEEL=build/wheel/….whl tests
one that is there, such as the release form of `make wheel`.
"""

import pathlib
import re
import zipfile

from support import jobs, run

LIBRARY = "from mpi4py import MPI; print(MPI.Get_library_version().split()[0], MPI.COMM_WORLD.size)"
MAPPED = "; print({line.split()[-1] for line in open('/proc/self/maps') if '/libmpi' in line})"
SUM = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\\n", sum);
    return MPI_Finalize();
}
"""


def test_mpi4py_says_hello(venv):
    said = venv.run("mpiexec", "-n", 4, "python", "-m", "mpi4py.bench", "helloworld").splitlines()
    assert [line.split(" on ")[0] for line in sorted(said)] == [f"Hello, World! I am process {rank} of 4" for rank in range(4)]


def test_each_launcher_starts_ranks_that_have_our_library(venv):
    for command in (["mpiexec", "-n"], ["mpirun", "-np"], ["serried", "run", "-n"]):
        assert venv.run(*command, 2, "python", "-c", LIBRARY) == "Serried 2\n" * 2


def test_a_program_alone_finds_it_too(venv):
    said = venv.run("python", "-c", LIBRARY + MAPPED).splitlines()
    assert said == ["Serried 1", str({str(venv.bin.parent / "lib/libmpi.so.12")})]


def test_one_library_is_loaded_under_all_names(venv):
    """Empty libraries stand for links: whatever names a program uses, there is one engine."""
    names = "'libmpi.so.12', 'libmpich.so.12', 'libmpicxx.so.12'"
    load = f"import ctypes, serried; [ctypes.CDLL(serried.lib / name) for name in ({names})]; from mpi4py import MPI"
    said = venv.run("mpiexec", "-n", 1, "python", "-c", load + MAPPED.replace("/libmpi'", "/libmpi.so'"))
    assert said.count("libmpi.so.12") == 1


def test_programs_load_the_library_by_the_names_that_linkers_use(venv):
    """Under the launcher. Those of links have empty libraries, which need the one that has everything."""
    for name, loaded in (("libmpi.so", "libmpi.so.12"), ("libmpi_abi.so", "libmpi_abi.so.1")):
        load = f"import ctypes; ctypes.CDLL('{name}').MPI_Init"
        mapped = MAPPED.replace("/libmpi'", f"/{loaded}'")
        assert venv.run("mpiexec", "-n", 1, "python", "-c", load + mapped) == f"{{'{venv.bin.parent}/lib/serried/lib/{loaded}'}}\n"


def test_python_is_told_where_things_are(venv):
    said = venv.run("python", "-c", "import serried as s; print(s.__version__, s.bin, s.lib, s.include, s.library('mpich'))")
    version, *paths = said.split()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version) and all(pathlib.Path(path).exists() for path in paths)
    assert venv.run("python", "-m", "serried", "version") == f"serried {version}\n" == venv.run("serried", "version")


def test_mpicc_makes_programs_that_run(venv, tmp_path):
    (tmp_path / "sum.c").write_text(SUM)
    for compiler in ("mpicc", "mpicxx"):
        source = tmp_path / ("sum.c" if compiler == "mpicc" else "sum.cxx")
        source.write_text(SUM)
        venv.run(compiler, source, "-o", tmp_path / compiler)
        assert venv.run("mpiexec", "-n", 3, tmp_path / compiler) == "sum 3\n"


def test_the_doctor_knows_the_commands_of_the_wheel(venv):
    said = venv.run("serried", "doctor", venv.bin / "python")
    for command in ("serried", "mpiexec", "mpirun"):
        assert f"{command} is {venv.bin / command}: Serried's" in said, said
    assert "mpi4py takes Serried (libmpi.so.12)" in said


def test_it_works_beside_another_mpi_whichever_comes_last(venv, wheel):
    """MPICH's wheel has files with our names. Under our launcher, programs have our library all the same."""
    mpich = next(line for line in (jobs.ROOT / "scripts/peers.txt").read_text().split() if line.startswith("mpich=="))
    venv.pip("install", mpich)
    assert venv.run("serried", "run", "-n", 2, "python", "-c", LIBRARY) == "Serried 2\n" * 2
    venv.pip("install", "--force-reinstall", "--no-deps", wheel)
    assert venv.run("mpiexec", "-n", 2, "python", "-c", LIBRARY) == "Serried 2\n" * 2
    venv.pip("uninstall", "-y", "mpich")
    venv.pip("install", "--force-reinstall", "--no-deps", wheel)
    assert venv.run("mpiexec", "-n", 2, "python", "-c", LIBRARY) == "Serried 2\n" * 2


def test_no_file_needs_a_newer_c_library_than_the_tag_says(wheel, tmp_path):
    major, minor = map(int, re.search(r"manylinux_(\d+)_(\d+)_", wheel.name).groups())
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    programs = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(programs) >= 7
    for program in programs:
        said = run("readelf", "--version-info", "--dynamic", "--wide", program)
        newer = [v for v in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said) if tuple(map(int, v)) > (major, minor)]
        assert newer == [], program.name
        asked = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
        asked -= {path.name for path in programs}
        everywhere = r"lib(c|m|dl|pthread|rt|gcc_s)\.so\.\d+|ld-linux-.*"
        assert [name for name in asked if not re.fullmatch(everywhere, name)] == [], program.name


def test_uninstalling_leaves_nothing(venv):
    venv.pip("uninstall", "-y", "serried")
    folder = venv.bin.parent
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert [str(path) for path in files if "serried" in str(path) or str(path).startswith(("bin/mpi", "lib/libmpi"))] == []
