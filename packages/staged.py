"""What a staged tree is: its version, its ELF files and the C library that they ask for."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)


def programs(tree):
    """Its programs and libraries, each once."""
    files = (path for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]


def needed_glibc(files):
    """The newest version of glibc that a file asks for, and which file."""
    newest = (2, 0), ""
    for file in files:
        command = ["readelf", "--version-info", "--wide", str(file)]
        said = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        for match in re.finditer(r"Name: GLIBC_(\d+)\.(\d+)", said):
            newest = max(newest, (tuple(map(int, match.groups())), file.name))
    return newest
