"""What tests of the launcher share: running a job, and looking for what it left. A conftest.py imports all of it."""

import os
import pathlib
import shutil
import signal
import subprocess
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests/launcher"


def find_serried():
    """The staged command, or SERRIED, or the last one built."""
    candidates = [os.environ.get("SERRIED", ""), ROOT / "stage/bin/serried"]
    candidates += [ROOT / "target" / kind / "serried" for kind in ("debug", "release")]
    for candidate in map(pathlib.Path, filter(None, candidates)):
        if candidate.is_file():
            return str(candidate)
    pytest.exit("no serried command: run `make` first, or set SERRIED", 2)


SERRIED = find_serried()
STAGE = pathlib.Path(SERRIED).resolve().parents[1]
PEERS = ROOT / "build/peers"
PYTHON = ROOT / "build/venv/bin/python"
# After so many seconds a test takes what has not ended for a hang. It is long because machines are slow and busy; whether
# something is quick is asked with `in_time`.
PATIENCE = 120
FUTEX = ("202", "98")  # the number of this system call: x86-64, aarch64
# The smallest program.
HELLO = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n"


def in_time(seconds, attempt, times=8):
    """Something that must be possible in less than so many seconds. Others who want the machine can make it late, so it is
    tried again until it is in time; all else that it checks must be right each time. The time counts from the moment that
    `attempt` gives (of time.monotonic), or from its beginning."""
    took = []
    while not took or took[-1] >= seconds:
        assert len(took) < times, f"it shall take less than {seconds} s, and took {took}"
        began = time.monotonic()
        began = attempt() or began
        took.append(round(time.monotonic() - began, 2))


class Launcher:
    """Starts jobs whose processes all carry a mark in their environment."""

    def __init__(self, folder):
        self.folder = folder
        self.mark = "MARK_OF_THIS_TEST=" + uuid.uuid4().hex
        self.environment = dict(os.environ)
        self.environment.pop("MPIEXEC_TIMEOUT", None)
        name, value = self.mark.split("=")
        self.environment[name] = value
        self.files_before = self.named_files()
        # Words before the launcher's own command.
        self.inside = []

    def start(self, *arguments, **options):
        """A job under way."""
        for file in self.folder.glob("ready.*"):
            file.unlink()  # of a job before
        options.setdefault("stdin", subprocess.DEVNULL)
        command = [*self.inside, SERRIED, "run", *map(str, arguments)]
        environment = {**self.environment, **options.pop("env", {})}
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run(self, *arguments, input=None, timeout=PATIENCE, **options):
        """A job that has ended: its status and what it wrote."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"{arguments} did not end within {timeout} s\n{out}\n{err}")
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def processes(self):
        """Living processes that carry the mark."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                marked = self.mark.encode() in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if marked:
                found.append(int(entry.name))
        return found

    def named_files(self):
        """Names in the places where runtimes leave files behind."""
        folders = [pathlib.Path("/dev/shm"), pathlib.Path("/tmp")]
        return {str(entry) for folder in folders if folder.is_dir()
                for entry in folder.iterdir() if "serried" in entry.name.lower()}

    def wait_until_running(self, count):
        """Waits until `count` ranks have written a file `ready.N`: one that exists may still be empty."""
        deadline = time.monotonic() + PATIENCE
        while sum(bool(file.read_text().strip()) for file in self.folder.glob("ready.*")) < count:
            assert time.monotonic() < deadline, "the ranks did not come up"
            time.sleep(0.01)

    def wait_until_asleep(self):
        """Waits until every rank that has written `ready.N` sleeps on a word in memory: it waits in an MPI call."""
        deadline = time.monotonic() + PATIENCE
        for rank in self.rank_ids():
            while pathlib.Path(f"/proc/{rank}/syscall").read_text().split()[0] not in FUTEX:
                assert time.monotonic() < deadline, "the ranks do not fall asleep"
                time.sleep(0.01)

    def assert_nothing_left(self, within=2):
        """No process and no file of the job is left. The time is counted in looks, which take longer on a busy machine, as
        the end of a process does."""
        for _ in range(int(within / 0.02)):
            if not self.processes():
                break
            time.sleep(0.02)
        assert not self.processes(), f"left behind: {self.processes()}"
        left = self.named_files() - self.files_before
        assert not left, f"left behind: {left}"

    def rank_ids(self):
        """Process ids that the ranks wrote into `ready.N`, by rank."""
        files = sorted(self.folder.glob("ready.*"), key=lambda file: int(file.suffix[1:]))
        return [int(file.read_text()) for file in files]


def state_of(process):
    """One letter, as the kernel tells it."""
    return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stop(*processes):
    """Stops processes, and waits until they have stopped."""
    deadline = time.monotonic() + PATIENCE
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    while any(state_of(process) not in "Tt" for process in processes):
        assert time.monotonic() < deadline, "they do not stop"
        time.sleep(0.01)


def children_of(process):
    """Its children, as far as it is there."""
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


@pytest.fixture
def launcher(tmp_path):
    """A launcher in a folder of its own; nothing may be left in the end."""
    made = Launcher(tmp_path)
    yield made
    made.assert_nothing_left()


def program(folder, text, name="program"):
    """Writes an executable shell script."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def compile_c(source, target, *flags, compiler="cc"):
    """Compiles a C program, of tests/launcher if it has no path; skips where there is no compiler."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    subprocess.run([compiler, "-O1", str(PROGRAMS / source), "-o", str(target), *flags], check=True)
    return target


def for_each_abi(source):
    """A fixture: the program of a C source, compiled by our mpicc for each ABI."""

    @pytest.fixture(scope="session", params=["standard", "mpich", "openmpi"])
    def program(request, tmp_path_factory):
        target = tmp_path_factory.mktemp(source.stem) / source.stem
        flags = [f"-abi={request.param}"] if request.param != "standard" else []
        return compile_c(source, target, *flags, compiler=str(STAGE / "bin/mpicc"))

    return program


def peer_compiler(whose):
    """The mpicc of an MPI (`serried` or a folder of build/peers); skips where it is not installed."""
    compiler = STAGE / "bin/mpicc" if whose == "serried" else PEERS / whose / "bin/mpicc"
    if not compiler.exists():
        pytest.skip(f"no {whose} installed (`make test` installs it)")
    return str(compiler)


@pytest.fixture
def memory_group():
    """A memory cgroup below our own; gives a function that sets its limit, and its list of processes."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    version_1 = [line.split(":")[2] for line in lines if "memory" in line.split(":")[1].split(",")]
    version_2 = [line.split(":")[2] for line in lines if line.startswith("0::")]
    base = f"/sys/fs/cgroup/memory{version_1[0]}" if version_1 else f"/sys/fs/cgroup{(version_2 or [''])[0]}"
    folder = pathlib.Path(base.rstrip("/")) / f"serried-{uuid.uuid4().hex}"
    limit = folder / ("memory.limit_in_bytes" if version_1 else "memory.max")
    try:
        folder.mkdir()
        limit.write_text("1000000000")
    except OSError as problem:
        if folder.is_dir():
            folder.rmdir()
        pytest.skip(f"no right to make a memory cgroup: {problem.strerror}")
    yield limit, folder / "cgroup.procs"
    folder.rmdir()
