"""`make demo`: it installs what scripts/demo.txt lists and no more, it comes out right, and its picture can be read."""

import ast
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tomllib
import zlib

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

EXAMPLES = jobs.ROOT / "examples"
LAND = (217, 200, 160)


def listed(name):
    """The wheels that a list of scripts/ names."""
    return (jobs.ROOT / f"scripts/{name}.txt").read_text().split()


def imported(path):
    """The first words of all that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.split(".")[0] for name in names}


def test_the_examples_import_only_what_the_demo_installs():
    files = list(EXAMPLES.rglob("*.py"))
    known = sys.stdlib_module_names | {path.stem for path in files} | {wheel.split("==")[0] for wheel in listed("demo")}
    assert len(files) > 3
    assert not {name for path in files for name in imported(path)} - known


def test_make_demo_sets_up_mpi4py_and_numpy_only():
    told = subprocess.run(["make", "-n", "demo"], cwd=jobs.ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"scripts/setup (.*)", told) == ["venv"]
    (profile,) = re.findall(r"scripts/stage \S+ (\S+)", told)
    assert profile in tomllib.loads((jobs.ROOT / "Cargo.toml").read_text())["profile"]
    assert [wheel.split("==")[0] for wheel in listed("demo")] == ["mpi4py", "numpy"]


# Makes a venv whose Python notes what it is told to install.
PYTHON3 = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@" >> %s/asked\\n' "$PWD" > "$3/bin/python"
chmod +x "$3/bin/python"
"""


@pytest.fixture
def setup(tmp_path):
    """Runs steps of scripts/setup where nothing is set up; gives the wheels that each has asked pip for."""
    shutil.copytree(jobs.ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "programs").mkdir()
    for name, text in {"python3": PYTHON3, "cargo": "#!/bin/sh\n", "cc": "#!/bin/sh\n"}.items():
        (tmp_path / "programs" / name).write_text(text)
        (tmp_path / "programs" / name).chmod(0o755)

    def run(*steps):
        (tmp_path / "asked").write_text("")
        environment = {**os.environ, "PATH": f"{tmp_path}/programs:{os.environ['PATH']}"}
        subprocess.run([tmp_path / "scripts/setup", *steps], env=environment, check=True, capture_output=True)
        return re.findall(r"\S+==\S+", (tmp_path / "asked").read_text())

    return run


def test_set_up_brings_to_each_what_it_needs_and_nothing_twice(setup, tmp_path):
    assert setup("venv") == listed("demo")
    assert setup("venv") == []
    assert setup("venv-tests") == listed("tests")
    assert setup("venv-bench") == listed("bench")
    assert setup("venv", "venv-tests", "venv-bench") == []
    assert setup("peers") == listed("peers")
    list_of_demo = tmp_path / "scripts/demo.txt"
    list_of_demo.write_text(list_of_demo.read_text().replace("numpy==2", "numpy==1"))
    assert setup("venv") == [wheel.replace("==2", "==1") for wheel in listed("demo") if wheel.startswith("numpy")]
    shutil.copy(jobs.ROOT / "scripts/demo.txt", list_of_demo)
    assert setup("venv") == [wheel for wheel in listed("demo") if wheel.startswith("numpy")]


def read_png(path):
    """The pixels of a PNG file with red, green and blue whose lines have no filter."""
    rest, chunks = path.read_bytes(), {}
    assert rest[:8] == b"\x89PNG\r\n\x1a\n"
    rest = rest[8:]
    while rest:
        (length,), kind, data = struct.unpack(">I", rest[:4]), rest[4:8], rest[8 : 8 + struct.unpack(">I", rest[:4])[0]]
        assert struct.unpack(">I", rest[8 + length : 12 + length])[0] == zlib.crc32(kind + data)
        chunks[kind], rest = data, rest[12 + length :]
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 2, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(rows, 1 + 3 * columns)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(rows, columns, 3)


def test_the_demo_comes_out_right_and_draws_the_harbour(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('the demo shall not need it')\n")
    command = [jobs.PYTHON, EXAMPLES / "harbour/demo.py", "--tree", jobs.STAGE, "--out", tmp_path / "out", "--", "--columns", "96", "--seconds", "200"]
    result = subprocess.run([str(word) for word in command], env={**os.environ, "PYTHONPATH": str(tmp_path)},
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "are equal to the serial run's, to the last bit" in result.stdout and "4 MiB" in result.stdout
    pixels = read_png(tmp_path / "out/harbour.png")
    left = pixels[:, : pixels.shape[1] * 4 // 9]
    land = (pixels == LAND).all(axis=2)
    assert 0.1 < land.mean() < 0.3 and land[pixels.shape[0] // 2].any()
    # There are waves: troughs and crests differ much more than one sees in calm water.
    sea = left[~land[:, : left.shape[1]]].astype(float)
    assert sea.std(axis=0).max() > 20
