"""Which MPI a program will really load, launchers, and variables: told without running anything."""

import os
import shutil
import subprocess
import sysconfig

import pytest

from launching import HELLO, PEERS, PYTHON, STAGE, program
from test_machine import one


def test_a_program_of_our_own(doctor, build):
    found, status = doctor.facts(build("ours", "serried"))
    assert "libmpi_abi.so.1: Serried, the standard ABI" in one(found, "mpi") and status == 0
    assert "mpi-otherwise" not in found  # our mpicc puts the folder into the program


def test_a_program_for_mpich_takes_ours(doctor, build):
    found, status = doctor.facts(build("for-mpich", "mpich"))
    assert "libmpi.so.12: Serried, the MPICH ABI" in one(found, "mpi") and status == 0
    assert "(MPICH)" in one(found, "mpi-otherwise")


def test_a_program_whose_rpath_wins(doctor, launcher):
    mpich = PEERS.resolve() / "mpich"
    if not (mpich / "lib/libmpi.so.12").exists():
        pytest.skip("no MPICH installed")
    folder, path = mpich / "lib", launcher.folder / "rpath"
    (launcher.folder / "hello.c").write_text(HELLO)
    subprocess.run(["cc", "hello.c", "-o", path, f"-I{mpich}/include", folder / "libmpi.so.12",
                    "-Wl,--disable-new-dtags", f"-Wl,-rpath,{folder}"], cwd=launcher.folder, check=True)
    found, status = doctor.facts(path)
    assert status == 1 and "loads MPICH from" in one(found, "mpi") and "RPATH" in one(found, "mpi")
    # And so it is.
    loaded = subprocess.run(["ldd", path], env={"LD_LIBRARY_PATH": str(STAGE / "lib")}, capture_output=True, text=True)
    assert f"libmpi.so.12 => {folder}" in loaded.stdout


@pytest.mark.parametrize("there", [True, False])
def test_a_program_for_open_mpi(doctor, build, launcher, there):
    """It gets our library, whether Open MPI's is there or not."""
    path = build("for-open-mpi", "openmpi") if there else for_an_open_mpi_that_is_gone(launcher.folder)
    found, status = doctor.facts(path)
    assert status == 0 and "libmpi.so.40: Serried, Open MPI's own ABI" in one(found, "mpi"), found
    if there:
        assert launcher.run("-n", 2, path).returncode == 0


def for_an_open_mpi_that_is_gone(folder):
    (folder / "main.c").write_text("int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }\n")
    (folder / "mpi.c").write_text("int MPI_Init(void *a, void *b) { return a == b; }\n")
    for command in (["-shared", "-fPIC", "mpi.c", "-o", "libmpi.so.40", "-Wl,-soname,libmpi.so.40"],
                    ["main.c", "libmpi.so.40", "-o", "moved"]):
        subprocess.run(["cc", *command], cwd=folder, check=True)
    (folder / "libmpi.so.40").unlink()
    return folder / "moved"


def test_a_library_that_is_nowhere_and_a_dangling_rpath(doctor, launcher):
    folder = launcher.folder
    (folder / "f.c").write_text("int f(void) { return 0; }\n")
    (folder / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    (folder / "gone").mkdir()
    for command in (["-shared", "-fPIC", "f.c", "-o", "gone/libserried_test_f.so"],
                    ["main.c", "-o", "main", "-Lgone", "-lserried_test_f", f"-Wl,-rpath,{folder}/gone"]):
        subprocess.run(["cc", *command], cwd=folder, check=True)
    found, status = doctor.facts(folder / "main")
    assert status == 0 and "library" not in found and "asks for no MPI" in one(found, "mpi")
    shutil.rmtree(folder / "gone")
    found, status = doctor.facts(folder / "main")
    assert status == 2 and "libserried_test_f.so, which is nowhere" in one(found, "library")
    assert f"{folder}/gone" in one(found, "rpath") and f"{folder}/gone" in one(found, "library")


def test_origin_and_libraries_of_libraries(doctor, build, launcher):
    """The MPI comes in by a library beside the program, found by $ORIGIN."""
    folder = launcher.folder
    (folder / "sub").mkdir()
    (folder / "f.c").write_text("#include <mpi.h>\nint f(void) { return MPI_Init(0, 0); }\n")
    (folder / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    mpicc = PEERS / "mpich/bin/mpicc"
    if not mpicc.exists():
        pytest.skip("no MPICH installed")
    subprocess.run([mpicc, "-shared", "-fPIC", "f.c", "-o", "sub/libf.so"], cwd=folder, check=True)
    subprocess.run(["cc", "main.c", "-o", "main", "-Lsub", "-lf", "-Wl,-rpath,$ORIGIN/sub",
                    "-Wl,--allow-shlib-undefined"], cwd=folder, check=True)
    found, status = doctor.facts(folder / "main")
    assert status == 0 and "libmpi.so.12: Serried" in one(found, "mpi"), found


def test_python(doctor):
    if not PYTHON.exists():
        pytest.skip("no build/venv")
    found, status = doctor.facts(PYTHON)
    assert status == 0 and "mpich, openmpi" in one(found, "mpi4py") and "takes Serried" in one(found, "mpi4py")
    doctor.environment["MPI4PY_MPIABI"] = "openmpi"
    found, status = doctor.facts(PYTHON)
    assert status == 0 and "takes Serried (libmpi.so.40)" in one(found, "mpi4py"), found
    doctor.environment["MPI4PY_LIBMPI"] = str(PEERS / "openmpi/lib/libmpi.so.40")
    found, status = doctor.facts(PYTHON)
    assert status == 2 and "each rank would be alone" in one(found, "mpi4py")


@pytest.fixture
def bare_python(launcher):
    """The folder of the programs of a Python without mpi4py."""
    folder = launcher.folder / "bare"
    subprocess.run(["python3", "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin"


def test_a_script_whose_python_has_no_mpi4py(doctor, launcher, bare_python):
    (launcher.folder / "script.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    doctor.environment["PATH"] = f"{bare_python}:{doctor.environment['PATH']}"
    found, status = doctor.facts("script.py")
    assert status == 2 and one(found, "mpi4py").startswith("fault: script.py needs mpi4py, which")
    assert found["mpi4py"][0]["advice"] == f"{bare_python}/python3 -m pip install mpi4py"
    # And so it is.
    assert "No module named 'mpi4py'" in launcher.run("-n", 2, "python3", "script.py").stderr


def test_a_script_that_names_its_python_and_one_that_needs_no_mpi4py_itself(doctor, launcher, bare_python):
    script = launcher.folder / "script"
    script.write_text(f"#!{bare_python}/python3\nfrom mpi4py import MPI\n")
    script.chmod(0o755)
    found, status = doctor.facts("./script")
    assert status == 2 and f"which {bare_python}/python3 does not have" in one(found, "mpi4py")
    script.write_text(f"#!{bare_python}/python3\nimport solver\n")
    found, status = doctor.facts("./script")
    assert status == 1 and "warning" in one(found, "mpi4py") and "pip install mpi4py" in one(found, "mpi4py")
    script.write_text("#!/nowhere/python3\n")
    found, status = doctor.facts("./script")
    assert status == 2 and "./script needs Python" in one(found, "program")


def test_a_python_in_path_that_is_a_script_is_asked_which_one_it_chooses(doctor, launcher, bare_python):
    """As pyenv's are: what stands in PATH has no packages of its own."""
    (launcher.folder / "script.py").write_text("import mpi4py\n")
    shims = launcher.folder / "shims"
    shims.mkdir()
    program(shims, f'exec {bare_python}/python3 "$@"\n', "python3")
    doctor.environment["PATH"] = f"{shims}:{doctor.environment['PATH']}"
    found, status = doctor.facts("script.py")
    assert status == 2 and f"which {bare_python}/python3 does not have" in one(found, "mpi4py")
    found, status = doctor.facts("python3")
    assert status == 0 and f"{bare_python}/python3 has no mpi4py" in one(found, "mpi4py")
    program(shims, "exit 1\n", "python3")
    found, status = doctor.facts("script.py")
    assert status == 0 and "does not say which Python" in one(found, "mpi4py")


def test_a_python_of_the_distribution_gets_a_venv(doctor, launcher, bare_python):
    """Debian's pip installs nothing beside the system's own packages, so that advice would be of no use."""
    folder, version = launcher.folder / "base", sysconfig.get_python_version()
    (folder / "bin").mkdir(parents=True)
    shutil.copy((bare_python / "python3").resolve(), folder / f"bin/python{version}")
    (folder / "bin/python3").symlink_to(f"python{version}")
    (folder / f"lib/python{version}").mkdir(parents=True)
    (folder / f"lib/python{version}/EXTERNALLY-MANAGED").touch()
    (launcher.folder / "script.py").write_text("import mpi4py\n")
    doctor.environment.update(PATH=f"{folder}/bin:{doctor.environment['PATH']}", HOME=str(folder))
    found, status = doctor.facts("script.py")
    assert status == 2 and f"{folder}/bin/python3 -m venv" in found["mpi4py"][0]["advice"]


@pytest.mark.parametrize("content, words", [("", "it is empty"), ("no program\n", "it is no program for this machine")])
def test_a_file_that_is_no_program(doctor, launcher, content, words):
    path = launcher.folder / "program"
    path.write_text(content)
    path.chmod(0o755)
    found, status = doctor.facts("./program")
    assert status == 2 and one(found, "program").startswith("fault") and words in one(found, "program")


def test_the_program_is_not_run(doctor, launcher):
    script = launcher.folder / "script"
    script.write_text("#!/bin/sh\ntouch has-run\n")
    script.chmod(0o755)
    found, status = doctor.facts("./script")
    assert "is a script" in one(found, "program") and not (launcher.folder / "has-run").exists()
    found, status = doctor.facts("./absent")
    assert status == 2 and "no such file" in one(found, "program")


def test_launchers(doctor):
    path = doctor.environment["PATH"]
    doctor.environment["PATH"] = f"{STAGE}/bin:{path}"
    found, _ = doctor.facts()
    assert "bin/mpiexec is" not in one(found, "launcher") and one(found, "launcher").count("Serried's") == 3
    for name, words in (("openmpi", "Open MPI's"), ("mpich", "Hydra, of MPICH"), ("impi", "Intel MPI's")):
        if (PEERS / name / "bin/mpirun").exists():
            doctor.environment["PATH"] = f"{PEERS}/{name}/bin:{STAGE}/bin:{path}"
            found, status = doctor.facts()
            assert words in one(found, "launcher") and "comes later in PATH" in one(found, "launcher")
            assert status == 0


def test_the_launcher_of_another_mpi_is_a_note(doctor, other_mpi):
    """It is no fault of the machine that users have other MPIs; they are told what to start programs with."""
    doctor.environment["PATH"] = f"{other_mpi}:{doctor.environment['PATH']}"
    found, status = doctor.facts()
    told = one(found, "launcher")
    assert status == 0 and f"note: mpiexec is {other_mpi}/mpiexec: Open MPI's" in told
    assert "Start programs with" in told and "serried run -n N PROGRAM" in told


@pytest.mark.parametrize("variables, about, words", [
    ({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}, "job", "Slurm announces 4 ranks"),
    ({"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0"}, "job", "announces 3 ranks"),
    ({"PMI_SIZE": "2", "PMI_RANK": "0"}, "job", "PMI_SIZE announces 2 ranks"),
    ({"SERRIED_" + "MEMROY": "1"}, "settings", "no setting of Serried"),
    ({"SERRIED_COPY": "magic"}, "settings", "magic"),
    ({"LD_PRELOAD": "/nowhere/libx.so"}, "preload", "cannot be loaded"),
    ({"OMPI_MCA_btl": "self", "UCX_TLS": "tcp"}, "other-variables", "UCX_TLS"),
])
def test_variables(doctor, variables, about, words):
    doctor.environment.update(variables)
    found, status = doctor.facts()
    assert words in one(found, about), found
    assert status == (0 if about == "other-variables" else 2 if words == "magic" else 1)
    if about == "job":
        # `serried run` works all the same.
        assert "works" in one(found, "pairs")


def test_a_preloaded_mpi(doctor):
    library = PEERS / "mpich/lib/libmpi.so.12"
    if not library.exists():
        pytest.skip("no MPICH installed")
    found, _ = doctor.facts("true")
    assert "preload" not in found
    doctor.environment["LD_PRELOAD"] = os.fspath(library.resolve())
    found, status = doctor.facts("true")
    assert status >= 1 and "before the MPI that it asks for" in one(found, "preload")
