"""The wheel for aarch64, in an emulator: WHEEL_AARCH64=build/wheel/….whl names the one that `make wheel` has made."""

import os
import shutil
import zipfile

import pytest
from support import jobs, run

PROGRAM = jobs.ROOT / "tests/build_systems/project/sum.c"
SYSTEM = "/usr/aarch64-linux-gnu"
COMPILER = "aarch64-linux-gnu-gcc"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What the wheel puts into lib/serried."""
    wheel = os.environ.get("WHEEL_AARCH64")
    if not wheel:
        pytest.skip("WHEEL_AARCH64 names no wheel: it takes a release build to make one")
    if not shutil.which("qemu-aarch64") or not shutil.which(COMPILER):
        pytest.skip("no emulator or compiler for aarch64 (Debian: qemu-user gcc-aarch64-linux-gnu)")
    folder = tmp_path_factory.mktemp("aarch64")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (tree,) = folder.glob("*.data/data/lib/serried")
    for program in (tree / "bin").iterdir():
        program.chmod(0o755)
    return tree


@pytest.fixture(scope="module")
def program(tree, tmp_path_factory):
    made = tmp_path_factory.mktemp("program") / "sum"
    run(COMPILER, "-I", tree / "include", PROGRAM, "-o", made, f"-L{tree}/lib", f"-Wl,-rpath,{tree}/lib", "-lmpi_abi")
    return made


def emulated(*words):
    return ["qemu-aarch64", "-L", SYSTEM, *words]


def test_its_programs_are_for_that_processor(tree):
    assert "AArch64" in run("readelf", "-h", tree / "bin/serried")
    assert run(*emulated(tree / "bin/serried", "version")).startswith("serried ")


def test_a_program_of_one_rank_runs(program):
    assert run(*emulated(program)) == "Serried 0\n"


def test_ranks_in_emulators_talk_over_shared_memory(program):
    """Started by this machine's launcher: what both share has the same layout."""
    said = run(jobs.STAGE / "bin/serried", "run", "-n", 3, "--library-path", "keep", *emulated(program))
    assert said == "Serried 3\n"
