"""Starting MPI jobs from the test runners: which launcher, which library, and a time limit that is kept.

A runner names a launcher and the folder of a library. The library's folder goes in front of LD_LIBRARY_PATH,
so that an unmodified program finds it; `serried run` does the same by itself.
"""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The tree that is tested: the staged one, or that of `make check`.
STAGE = ROOT / os.environ.get("TREE", "stage")
BUILD = ROOT / "build"
PYTHON = BUILD / "venv/bin/python"
PEERS = BUILD / "peers"
# Makes headers and tables of the ABIs. It is compiled where scripts/stage has it too, and waits for no other build.
GENERATE = ["cargo", "run", "--quiet", "--target-dir", "target/generate", "--package", "serried-mpi-generate", "--"]

LAUNCHERS = {
    "serried": f"{STAGE}/bin/serried run",
    "hydra": f"{PEERS}/mpich/bin/mpiexec",
}


def requirements(name):
    """What scripts/NAME.txt has pip install."""
    return (ROOT / "scripts" / f"{name}.txt").read_text().split()


@dataclass
class Outcome:
    """How a job ended: its exit status (None when the time was up) and all it wrote."""

    status: int | None
    output: str

    def ended_well(self):
        return self.status == 0

    def why(self):
        """What is wrong with its end, in few words; nothing if it ended well."""
        return "" if self.ended_well() else "time was up" if self.status is None else f"status {self.status}"

    def last(self, lines):
        """So many lines from its end, as runners print them below a failure."""
        return "".join(f"  | {line}\n" for line in self.output.splitlines()[-lines:])


def refuse_unknown(kind, wanted, known):
    """Ends the program if a name that somebody has typed is none of those there are."""
    if unknown := set(wanted) - set(known):
        sys.exit(f"no such {kind}: {', '.join(sorted(unknown))}. There are: {' '.join(known)}")


def environment(library, **extra):
    """The environment of a job that must load its MPI from the folder `library`."""
    env = dict(os.environ, **extra)
    path = [str(library)] if library else []
    if env.get("LD_LIBRARY_PATH"):
        path.append(env["LD_LIBRARY_PATH"])
    env["LD_LIBRARY_PATH"] = ":".join(path)
    return env


def job_command(launcher, ranks, program, options=()):
    """The command line that runs `program` on `ranks` ranks; `launcher` is a name above or a command."""
    return [*shlex.split(LAUNCHERS.get(launcher, launcher)), "-n", str(ranks), *options, *map(str, program)]


# Jobs under way. A runner may have several, each in a thread.
_running = set()
_is_ending = False


def _leave(_signal, _frame):
    """A runner that is told to end ends its jobs first: this goes through `except BaseException` below."""
    global _is_ending
    _is_ending = True
    for process in list(_running):
        _send(process, signal.SIGTERM)
    sys.exit(143)


signal.signal(signal.SIGTERM, _leave)


def run_job(command, timeout, env=None, cwd=None, stdin=subprocess.DEVNULL):
    """Runs a command to its end, or to the end of its time: then the whole process group is killed."""
    if _is_ending:
        raise InterruptedError("this runner is told to end: it starts no other job")
    process = subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=timeout)
        return Outcome(process.returncode, output)
    except subprocess.TimeoutExpired:
        return Outcome(None, stop(process))
    except BaseException:
        stop(process)
        raise
    finally:
        _running.discard(process)


def _send(process, sign):
    """Sends a signal to a process group, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sign)


def stop(process):
    """Ends a process group: politely first, so that a launcher can end its ranks."""
    output = ""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        _send(process, sign)
        try:
            output, _ = process.communicate(timeout=5)
            break
        except subprocess.TimeoutExpired:
            pass
    return output or ""


def closing_line(passed, failed, skipped=0):
    """The last line of every test part; the main runner adds these up."""
    line = f"{passed} passed, {failed} failed"
    return line + (f", {skipped} skipped" if skipped else "")


def finish(passed, failed, skipped=0):
    """Prints the closing line and ends the program with the status that goes with it."""
    print(closing_line(passed, failed, skipped), flush=True)
    sys.exit(1 if failed else 0)
