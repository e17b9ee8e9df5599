"""Build systems find MPI by `PATH` alone, in C, C++ and, where `mpifort` is staged, Fortran; what they build runs."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parent / "project"
LANGUAGES = {"c": "sum_c", "cxx": "sum_cxx"}
HAS_FORTRAN = (jobs.STAGE / "bin/mpifort").exists() and shutil.which("gfortran")
if HAS_FORTRAN:
    LANGUAGES["fortran"] = "sum_f"
MACROS = jobs.BUILD / "autoconf-archive/usr/share/aclocal"
# What a user has set for another MPI must not decide here.
FOREIGN = ("MPI_", "OMPI_", "MPICH_", "I_MPI", "CC", "CXX", "FC", "PKG_CONFIG")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The tree under a second path: what is found must be found from there."""
    place = tmp_path_factory.mktemp("tree") / "serried"
    place.symlink_to(jobs.STAGE)
    return place


@pytest.fixture
def environment(tree):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    kept["PATH"] = f"{tree}/bin:{jobs.PYTHON.parent}:{kept['PATH']}"
    return kept


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def built_programs_run(folder, tree):
    for program in LANGUAGES.values():
        assert run(tree / "bin/mpiexec", "-n", 3, folder / program) == "Serried 3\n"


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool, path=f"{jobs.PYTHON.parent}:{os.environ['PATH']}"):
            pytest.skip(f"no {tool} here")


def test_cmake_finds_it_by_its_compilers(tree, environment, tmp_path):
    needs("cmake", "make")
    fortran = f"-DWITH_FORTRAN={'ON' if HAS_FORTRAN else 'OFF'}"
    said = run("cmake", "-S", PROJECT, "-B", tmp_path, "-G", "Unix Makefiles", fortran, env=environment)
    real = jobs.STAGE.resolve()
    assert f"found MPI 5.0 with {tree}/bin/mpiexec" in said or f"found MPI 5.0 with {real}/bin/mpiexec" in said, said
    run("cmake", "--build", tmp_path, env=environment)
    built_programs_run(tmp_path, tree)
    run("ctest", "--test-dir", tmp_path, env=environment)


def test_cmake_finds_it_by_MPI_HOME_as_the_module_file_sets_it(tree, environment, tmp_path):
    needs("cmake", "make")
    environment["PATH"] = environment["PATH"].split(":", 1)[1]
    environment["MPI_HOME"] = str(tree)
    said = run("cmake", "-S", PROJECT, "-B", tmp_path, "-G", "Unix Makefiles", env=environment)
    assert "found MPI 5.0 with" in said and "/bin/mpiexec" in said


def test_meson_finds_it(tree, environment, tmp_path):
    needs("meson", "ninja")
    option = f"-Dfortran={'true' if HAS_FORTRAN else 'false'}"
    run("meson", "setup", tmp_path / "build", PROJECT, option, env=environment)
    run("meson", "compile", "-C", tmp_path / "build", env=environment)
    built_programs_run(tmp_path / "build", tree)


def test_autotools_find_it_by_AX_MPI(tree, environment, tmp_path):
    needs("autoconf", "aclocal", "make")
    if not (MACROS / "ax_mpi.m4").exists():
        pytest.skip("no AX_MPI: autoconf-archive could not be downloaded")
    source = shutil.copytree(PROJECT, tmp_path / "source")
    run("aclocal", "-I", MACROS, cwd=source, env=environment)
    run("autoconf", cwd=source, env=environment)
    run("./configure", *["--enable-fortran"] * bool(HAS_FORTRAN), cwd=source, env=environment)
    run("make", *LANGUAGES.values(), cwd=source, env=environment)
    built_programs_run(source, tree)


@pytest.mark.parametrize("package, compiler, source", [
    ("mpi", "cc", "sum.c"), ("mpi-c", "cc", "sum.c"), ("serried", "cc", "sum.c"), ("mpi-cxx", "c++", "sum.cxx"),
    ("mpi-fort", "gfortran", "sum_mpif.f90"),
])
def test_pkg_config_has_the_flags(package, compiler, source, tree, environment, tmp_path):
    needs("pkg-config", compiler)
    if package == "mpi-fort" and not HAS_FORTRAN:
        pytest.skip("no mpifort is staged")
    environment["PKG_CONFIG_PATH"] = f"{tree}/lib/pkgconfig"
    flags = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
    assert run("pkg-config", "--modversion", package, env=environment).startswith("0.")
    run(compiler, PROJECT / source, "-o", tmp_path / "sum", *flags)
    assert run(tree / "bin/mpiexec", "-n", 3, tmp_path / "sum") == "Serried 3\n"


WRAPPERS = {"mpicc": "cc", "mpicxx": "c++", "mpic++": "c++"}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_show_what_they_do(wrapper, tree):
    real = jobs.STAGE.resolve()
    include, link = f"-I{real}/include", f"-L{real}/lib -Wl,-rpath,{real}/lib -lmpi_abi"

    def show(*words):
        return run(tree / "bin" / wrapper, *words).strip()

    command = f"{WRAPPERS[wrapper]} {include} x.c {link}"
    assert [show(word, "x.c") for word in ("-show", "-showme", "--showme", "--showme:command")] == [command] * 3 + [WRAPPERS[wrapper]]
    assert show("--showme:compile") == show("-compile-info") == show("-showme:compile") == include
    assert show("--showme:link") == show("-link_info") == link
    assert (show("--showme:incdirs"), show("--showme:libdirs"), show("--showme:libs")) == (f"{real}/include", f"{real}/lib", "mpi_abi")
    assert show("--showme:version").startswith(f"{wrapper}: serried 0.")
    refused = subprocess.run([tree / "bin" / wrapper, "--showme:nonsense"], capture_output=True, text=True)
    assert refused.returncode == 1 and "there are command, compile" in refused.stderr


@pytest.mark.parametrize("abi, library", [("standard", "libmpi_abi.so.1"), ("mpich", "libmpi.so.12"), ("openmpi", "libmpi.so.40")])
def test_wrappers_make_programs_of_each_abi(abi, library, tree, environment, tmp_path):
    """By an option or by a variable: what is built beside mpi4py's wheel must have the ABI of that."""
    for name, option, setting in (("option", [f"-abi={abi}"], "standard"), ("setting", [], abi)):
        program = tmp_path / name
        variables = environment | {"SERRIED_ABI": setting}
        run(tree / "bin/mpicc", *option, PROJECT / "sum.c", "-o", program, env=variables)
        assert f"[{library}]" in run("readelf", "--dynamic", program)
        assert run(tree / "bin/mpiexec", "-n", 3, program) == "Serried 3\n"
    refused = subprocess.run([tree / "bin/mpicc", "-abi=none", "x.c"], capture_output=True, text=True)
    assert refused.returncode == 1 and "there are standard, mpich and openmpi" in refused.stderr


def test_the_module_file_sets_paths_to_the_tree_where_it_stands(tree):
    """Read by tclsh with the commands of Environment Modules as procedures."""
    needs("tclsh")
    file = next((tree / "share/modulefiles/serried").iterdir())
    script = "\n".join(f"proc {name} {{args}} {{puts [concat {name} $args]}}" for name in
                       ("module-whatis", "conflict", "prepend-path", "setenv"))
    script += f"\nset ModulesCurrentModulefile {{{file}}}\nsource {{{file}}}\n"
    said = run("tclsh", input=script).splitlines()
    paths = dict(line.split()[1:] for line in said if line.startswith(("prepend-path", "setenv")))
    for name, inside in {"PATH": "bin", "MANPATH": "share/man", "PKG_CONFIG_PATH": "lib/pkgconfig", "LD_LIBRARY_PATH": "lib"}.items():
        assert paths[name] == f"{tree}/{inside}" and pathlib.Path(paths[name]).is_dir()
    assert paths["MPI_HOME"] == str(tree)
