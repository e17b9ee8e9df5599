"""Machines that are not as one wishes: little memory, no network, sandboxes, limits.

Where a job can do without, it runs; else one message, of a screen at most, names the cause, and nothing is left.
"""

import os
import pathlib
import platform
import resource
import shutil
import subprocess
import tempfile

import pytest

from launching import PATIENCE, PEERS, SERRIED, STAGE, compile_c

HERE = pathlib.Path(__file__).resolve().parent
# Numbers of system calls that sandboxes deny.
CALLS = {
    "x86_64": {"process_vm_readv": 310, "process_vm_writev": 311, "memfd_create": 319, "membarrier": 324},
    "aarch64": {"process_vm_readv": 270, "process_vm_writev": 271, "memfd_create": 279, "membarrier": 283},
}.get(platform.machine())
CROSS_MEMORY = ["process_vm_readv", "process_vm_writev"]


@pytest.fixture(scope="session")
def deny(tmp_path_factory):
    """A program that denies system calls to another."""
    if not CALLS:
        pytest.skip(f"no table of system calls for {platform.machine()}")
    return compile_c(HERE / "deny.c", tmp_path_factory.mktemp("deny") / "deny")


def run(launcher, *command, timeout=PATIENCE, **options):
    """Any command, with the mark of the launcher's processes."""
    return subprocess.run([*map(str, command)], cwd=launcher.folder, env=launcher.environment, capture_output=True,
                          text=True, timeout=timeout, stdin=subprocess.DEVNULL, **options)


def worked(result, ranks=4):
    assert (result.returncode, result.stdout) == (0, f"{ranks} ranks worked\n"), result.stderr
    return True


def told(result, *words):
    """A failure that one message of a screen tells, with these words."""
    lines = result.stderr.splitlines()
    assert result.returncode not in (0, None), result
    assert 1 <= len(lines) <= 24 and result.stderr.count("serried:") == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
    return True


def in_namespace(launcher, flags, script, *command):
    """Runs a command after a shell script, in namespaces of its own."""
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    return run(launcher, "unshare", *flags, "sh", "-ec", f'{script}\nexec "$@"', "sh", *command)


DEVICES = "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/urandom c 1 9; test ! -e /dev/shm"
SHARED_MEMORY_FOLDERS = {
    "of 1 MiB": "mount -t tmpfs -o size=1m none /dev/shm",
    "full": "mount -t tmpfs -o size=1m none /dev/shm; head -c 2m /dev/zero > /dev/shm/full || true",
    "read-only": "mount -t tmpfs -o ro none /dev/shm",
    "absent": DEVICES,
    "and /tmp read-only": "mount -t tmpfs -o ro none /dev/shm; mount --bind $PWD $PWD; mount -t tmpfs -o ro none /var/tmp",
}


@pytest.mark.parametrize("how", SHARED_MEMORY_FOLDERS)
@pytest.mark.parametrize("hydra", [False, True])
def test_dev_shm_is_not_needed(launcher, work, how, hydra):
    command = [PEERS / "mpich/bin/mpiexec"] if hydra else [SERRIED, "run"]
    launcher.environment["LD_LIBRARY_PATH"] = str(STAGE / "lib")
    worked(in_namespace(launcher, ["-m"], SHARED_MEMORY_FOLDERS[how], *command, "-n", 4, work))


@pytest.mark.parametrize("flags, script", [
    (["-n"], "true"),
    (["-u"], "hostname no.such.host"),
    (["-n", "-u"], "hostname no.such.host"),
])
@pytest.mark.parametrize("hydra", [False, True])
def test_neither_lo_nor_a_name_is_needed(launcher, work, flags, script, hydra):
    command = [PEERS / "mpich/bin/mpiexec"] if hydra else [SERRIED, "run"]
    launcher.environment["LD_LIBRARY_PATH"] = str(STAGE / "lib")
    worked(in_namespace(launcher, flags, script, *command, "-n", 4, work))


@pytest.mark.parametrize("names", [CROSS_MEMORY, ["membarrier"], [*CROSS_MEMORY, "membarrier"]], ids="-".join)
@pytest.mark.parametrize("copy", ["", "cross-memory"])
def test_system_calls_that_a_sandbox_denies_are_not_needed(launcher, work, deny, names, copy):
    if copy:
        launcher.environment["SERRIED_COPY"] = copy
    numbers = [CALLS[name] for name in names]
    worked(run(launcher, deny, *numbers, "--", SERRIED, "run", "-n", 4, work))
    # Only one rank is in the sandbox.
    one = f'[ $PMI_RANK = 1 ] && exec {deny} {" ".join(map(str, numbers))} -- {work}; exec {work}'
    worked(run(launcher, SERRIED, "run", "-n", 4, "sh", "-c", one))


def test_without_shared_memory_there_is_one_message(launcher, work, deny):
    told(run(launcher, deny, CALLS["memfd_create"], "--", SERRIED, "run", "-n", 4, work), "memfd_create", "not permitted")


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


@pytest.mark.parametrize("files", range(4, 41, 4))
def test_few_open_files(launcher, work, files):
    result = run(launcher, SERRIED, "run", "-n", 8, work, preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    assert told(result, "ulimit -n") if result.returncode else worked(result, 8)
    assert result.returncode == 0 or files < 40


@pytest.mark.parametrize("megabytes", [20, 30, 50, 100, 200, 400])
def test_little_address_space(launcher, work, megabytes):
    limit = limited(resource.RLIMIT_AS, megabytes << 20)
    result = run(launcher, SERRIED, "run", "-n", 8, work, preexec_fn=limit)
    assert told(result) if result.returncode else worked(result, 8)
    assert result.returncode == 0 or megabytes < 200


@pytest.mark.parametrize("kilobytes", [0, 1, 100, 1 << 20])
def test_a_limit_on_the_size_of_files(launcher, work, kilobytes):
    limit = limited(resource.RLIMIT_FSIZE, kilobytes << 10)
    result = run(launcher, SERRIED, "run", "-n", 4, work, preexec_fn=limit)
    assert worked(result) if kilobytes > 1 << 17 else told(result, "ulimit -f")


@pytest.fixture
def for_everybody(work):
    """A copy of command, libraries and program that any user may read."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="for-everybody-"))
    folder.chmod(0o755)
    shutil.copytree(STAGE / "lib", folder / "lib", symlinks=True)
    (folder / "bin").mkdir()
    for file in (SERRIED, work):
        shutil.copy(file, folder / "bin")
    yield folder / "bin"
    shutil.rmtree(folder)


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_few_processes(launcher, for_everybody, processes):
    if os.getuid() != 0:
        pytest.skip("needs a user with no other processes, and so root to become one")

    def become_somebody():
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        os.setresgid(54321, 54321, 54321)
        os.setresuid(54321, 54321, 54321)

    launcher.folder = for_everybody
    command = [for_everybody / "serried", "run", "-n", 8, for_everybody / "work"]
    told(run(launcher, *command, preexec_fn=become_somebody), "ulimit -u")


@pytest.mark.parametrize("megabytes", [4, 16, 40, 64])
def test_a_memory_cgroup_too_small_is_named(launcher, work, memory_group, megabytes):
    limit, members = memory_group
    limit.write_text(str(megabytes << 20))
    enter = f'echo $$ > {members}; exec "$@"'
    result = run(launcher, "sh", "-c", enter, "sh", SERRIED, "run", "-n", 4, work, 60, 1000)
    told(result, "out-of-memory killer", "more memory")
    launcher.assert_nothing_left()


def test_a_memory_cgroup_large_enough(launcher, work, memory_group):
    limit, members = memory_group
    limit.write_text(str(96 << 20))
    worked(run(launcher, "sh", "-c", f'echo $$ > {members}; exec "$@"', "sh", SERRIED, "run", "-n", 4, work))
