"""Running commands in a venv in which no other MPI has a say."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

FOREIGN = ("MPI", "PMI", "OMPI_", "I_MPI", "HYDRA_", "LD_", "PYTHON", "PATH", "SERRIED")


def run(*command, **options):
    """What a command prints; it must end well."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Venv:
    def __init__(self, folder):
        run(sys.executable, "-m", "venv", folder)
        self.bin = folder / "bin"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self.environment["PATH"] = f"{self.bin}:/usr/bin:/bin"
        self.environment["VIRTUAL_ENV"] = str(folder)

    def run(self, command, *words, **variables):
        """What it prints, of a command of this venv."""
        return run(self.bin / command, *words, env=self.environment | variables)

    def pip(self, *words, **variables):
        self.run("python", "-m", "pip", "--quiet", "--disable-pip-version-check", *words, **variables)
