"""The text of every injected fault: it names the cause, in one screen, and says what to do."""

import os
import platform
import re
import resource
import signal
import subprocess

import pytest

from launching import PATIENCE, PYTHON, ROOT, SERRIED, STAGE, compile_c, peer_compiler

HERE = ROOT / "tests/golden"
CALLS = {"x86_64": 319, "aarch64": 279}  # memfd_create


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A program that sends and adds up in many ways."""
    target = tmp_path_factory.mktemp("work") / "work"
    flags = ["-std=gnu11", "-I", str(HERE.parent / "c")]
    return compile_c(HERE.parent / "faults/work.c", target, *flags, compiler=str(STAGE / "bin/mpicc"))


def told(result):
    """The status and what was said."""
    return f"status {result.returncode}\n{result.stderr}"


# The command line and the program.
STARTS = {
    "no-program": ["-n", "2"],
    "no-ranks": ["-n", "0", "true"],
    "option-unknown": ["--nonsense", "true"],
    "program-absent": ["-n", "2", "./absent"],
    "program-not-in-path": ["-n", "2", "no-such-program"],
    "program-not-executable": ["-n", "2", "./plain"],
    "program-is-folder": ["-n", "2", "./folder"],
    "program-without-interpreter": ["-n", "2", "./odd"],
    "program-is-no-program": ["-n", "2", "./nonsense"],
    "other-machine": ["-launcher-exec", "false", "-H", "far.example", "-n", "2", "true"],
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_that_cannot_be(launcher, golden, tmp_path, name):
    (tmp_path / "folder").mkdir()
    for file, text, mode in (("plain", "#!/bin/sh\n", 0o644), ("odd", "#!/nowhere/interpreter\n", 0o755),
                             ("nonsense", "no program at all", 0o755)):
        (tmp_path / file).write_text(text)
        (tmp_path / file).chmod(mode)
    golden(f"start-{name}", told(launcher.run(*STARTS[name])))


def test_a_program_for_open_mpi(launcher, golden, tmp_path):
    program = compile_c(HERE / "hello.c", tmp_path / "program", compiler=peer_compiler("openmpi"))
    golden("start-open-mpi-library", told(launcher.run("-n", 4, "--launch-only", program)))


def test_a_python_that_would_take_open_mpi(launcher, golden):
    if not PYTHON.exists():
        pytest.skip("no build/venv")
    result = launcher.run("-n", 4, PYTHON, "-c", "from mpi4py import MPI", env={"MPI4PY_LIBMPI": "/somewhere/libmpi.so.40"})
    golden("start-open-mpi-python", told(result))


# What ranks do.
@pytest.mark.parametrize("what", ["crash", "leave", "leave3", "overwrite", "error", "abort", "late"])
def test_a_rank_that_ends_badly(launcher, golden, misbehave, what):
    golden(f"rank-{what}", told(launcher.run("-n", 3, misbehave, what)))


def test_collectives_in_different_orders(launcher, golden, misbehave):
    golden("rank-order", told(launcher.run("-n", 2, misbehave, "order")))


def test_a_rank_that_never_joins(launcher, golden, misbehave):
    script = f"[ $PMI_RANK = 1 ] && exit 0; exec {misbehave} nothing"
    golden("rank-never-joins", told(launcher.run("-n", 3, "sh", "-c", script)))


def test_a_rank_that_is_killed(launcher, golden, misbehave):
    job = launcher.start("-n", 3, misbehave, "wait")
    launcher.wait_until_running(3)
    launcher.wait_until_asleep()
    os.kill(launcher.rank_ids()[1], signal.SIGKILL)
    _, err = job.communicate(timeout=PATIENCE)
    golden("rank-killed", f"status {job.returncode}\n{err}")


def test_a_python_exception(launcher, golden, tmp_path):
    if not PYTHON.exists():
        pytest.skip("no build/venv")
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 1:\n    raise ValueError('bad luck')\nMPI.COMM_WORLD.Barrier()\n")
    golden("rank-python-exception", told(launcher.run("-n", 2, PYTHON, "program.py")))


def test_a_timeout(launcher, golden, misbehave):
    for seconds in (0.7, 5.7, 20.7):  # a busy machine needs more, until all are there
        result = launcher.run("--timeout", seconds, "-n", 2, misbehave, "wait")
        if result.stderr.count("inside MPI_Recv") == 2:
            break
    golden("timeout", told(result))


def test_a_launcher_that_is_killed(launcher, golden, misbehave):
    job = launcher.start("-n", 2, misbehave, "wait")
    launcher.wait_until_running(2)
    [below] = (int(child) for child in open(f"/proc/{job.pid}/task/{job.pid}/children").read().split())
    os.kill(below, signal.SIGKILL)
    _, err = job.communicate(timeout=PATIENCE)
    golden("launcher-killed", f"status {job.returncode}\n{err}")
    launcher.assert_nothing_left()


def test_output_without_room(launcher, golden):
    golden("output-without-room", told(launcher.run("-n", 3, "-outfile-pattern", "/dev/full", "echo", "x")))


def test_a_setting_without_sense(launcher, golden, misbehave):
    golden("setting-wrong", told(launcher.run("-n", 1, misbehave, "nothing", env={"SERRIED_COPY": "magic"})))


# What the machine does not give.
def test_a_memory_cgroup_too_small(launcher, golden, work, memory_group):
    limit, members = memory_group
    limit.write_text(str(24 << 20))
    command = ["sh", "-c", f'echo $$ > {members}; exec "$@"', "sh", SERRIED, "run", "-n", "4", work, "60", "1000"]
    result = subprocess.run(command, cwd=launcher.folder, env=launcher.environment, capture_output=True, text=True,
                            timeout=PATIENCE)
    # Which rank it takes, and where, is the kernel's choice.
    text = re.sub(r"rank \d|(?<=  MPI: ).*", "*", told(result))
    golden("memory-cgroup", re.sub(r"  before that:\n(    .*\n)+", "", text))


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


LIMITS = {
    "open-files": (resource.RLIMIT_NOFILE, 12),
    "address-space": (resource.RLIMIT_AS, 20 << 20),
    "file-size": (resource.RLIMIT_FSIZE, 1 << 10),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit(launcher, golden, work, name):
    golden(f"limit-{name}", told(launcher.run("-n", 8, work, preexec_fn=limited(*LIMITS[name]))))


def test_a_sandbox_without_shared_memory(launcher, golden, work, tmp_path):
    if platform.machine() not in CALLS:
        pytest.skip("no number of this system call for this machine")
    deny = compile_c(HERE.parent / "faults/deny.c", tmp_path / "deny")
    command = [deny, str(CALLS[platform.machine()]), "--", SERRIED, "run", "-n", "4", work]
    result = subprocess.run(command, cwd=tmp_path, env=launcher.environment, capture_output=True, text=True, timeout=PATIENCE)
    golden("sandbox-without-memfd", told(result))


# Variables that announce a job which nobody serves.
ANNOUNCED = {
    "slurm": {"SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
    "open-mpi": {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"},
    "pmi": {"PMI_SIZE": "4", "PMI_RANK": "1"},
    "pmix": {"PMIX_NAMESPACE": "x", "PMIX_RANK": "1"},
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_job_that_nobody_serves(golden, launcher, misbehave, name):
    environment = {**launcher.environment, **ANNOUNCED[name]}
    result = subprocess.run([misbehave, "nothing"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert result.stdout == ""
    golden(f"announced-{name}", told(result))


# What a job does without, the doctor still says.
MACHINES = {
    "dev-shm-small": (["-m"], "mount -t tmpfs -o size=1m none /dev/shm", "dev-shm"),
    "dev-shm-read-only": (["-m"], "mount -t tmpfs -o ro,size=64m none /dev/shm", "dev-shm"),
    "dev-shm-absent": (["-m"], "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/urandom c 1 9",
                       "dev-shm"),
    "lo-down": (["-n"], "true", "loopback"),
    "hostname-unknown": (["-u", "-m"], "sed 's/myhostname//' /etc/nsswitch.conf > nss; "
                         "mount --bind nss /etc/nsswitch.conf; hostname no.such.host", "hosts"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_what_the_doctor_says_of_a_machine(launcher, golden, tmp_path, name):
    flags, script, about = MACHINES[name]
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    command = ["unshare", *flags, "sh", "-ec", f'{script}\nexec "$@"', "sh", SERRIED, "doctor"]
    result = subprocess.run(command, cwd=tmp_path, env=launcher.environment, capture_output=True, text=True, timeout=PATIENCE)
    golden(f"doctor-{name}", "".join(line for line in result.stdout.splitlines(True) if about in line.replace("/", "-")))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls are those of x86-64")
def test_what_the_doctor_says_of_a_sandbox(launcher, golden, tmp_path):
    deny = compile_c(HERE.parent / "faults/deny.c", tmp_path / "deny")
    command = [deny, "310", "311", "--", SERRIED, "doctor"]
    result = subprocess.run(command, cwd=tmp_path, env=launcher.environment, capture_output=True, text=True, timeout=PATIENCE)
    words = ("seccomp", "between two ranks")
    golden("doctor-sandbox", "".join(line for line in result.stdout.splitlines(True) if any(word in line for word in words)))
