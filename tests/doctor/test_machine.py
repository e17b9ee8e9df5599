"""The doctor on machines that are not as one wishes: each fault is named, with its weight and what to do."""

import os
import pathlib
import platform
import resource

import pytest

from launching import SERRIED

# Numbers of system calls that sandboxes deny.
CALLS = {
    "x86_64": {"process_vm_readv": 310, "memfd_create": 319},
    "aarch64": {"process_vm_readv": 270, "memfd_create": 279},
}.get(platform.machine())


def one(found, about):
    assert about in found, sorted(found)
    return " ".join(f"{row['level']}: {row['text']} {row['advice'] or ''}" for row in found[about])


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


def test_text_and_json_are_the_same_facts(doctor):
    text, (found, status) = doctor.text(), doctor.facts()
    assert text.returncode == status
    for about in ("cpus", "shared-memory", "dev-shm", "pairs", "lo", "hostname", "fabrics", "working-directory"):
        for row in found[about]:
            # Free space and memory change while one looks.
            assert row["text"].split(",")[0].split(" of memory")[-1] in text.stdout, row
    assert text.stderr == "" and "a job of two ranks, tried just now, works" in text.stdout


@pytest.mark.parametrize("script, words", [
    ("mount -t tmpfs -o size=1m none /dev/shm", ["1.0 MiB", "small"]),
    ("mount -t tmpfs -o size=300m none /dev/shm; head -c 299m /dev/zero > /dev/shm/full", ["300 MiB", "full"]),
    ("mount -t tmpfs -o ro none /dev/shm", ["read-only"]),
    ("mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/urandom c 1 9", ["no /dev/shm"]),
], ids=["small", "full", "read-only", "absent"])
def test_dev_shm(doctor, script, words):
    found, status = doctor.in_namespace(["-m"], script)
    assert one(found, "dev-shm").startswith("note") and all(word in one(found, "dev-shm") for word in words)
    assert "works" in one(found, "pairs") and status == 0


def test_lo_that_is_down(doctor):
    found, status = doctor.in_namespace(["-n"], "true")
    assert "lo) is down" in one(found, "lo") and status == 0


def test_a_hostname_that_nobody_knows(doctor):
    hosts = "sed 's/myhostname//' /etc/nsswitch.conf > nss; mount --bind nss /etc/nsswitch.conf; hostname no.such.host"
    found, status = doctor.in_namespace(["-u", "-m"], hosts)
    assert "no.such.host, is not in /etc/hosts" in one(found, "hostname") and status == 0


@pytest.mark.skipif(not CALLS, reason="no table of system calls for this machine")
def test_a_sandbox_that_denies_copies_between_processes(doctor, deny):
    found, status = doctor.facts(before=[deny, CALLS["process_vm_readv"], "--"])
    assert "seccomp" in found and "cross-memory)" not in one(found, "pairs").split(";")[0]
    assert "no better because" in one(found, "pairs")


@pytest.mark.skipif(not CALLS, reason="no table of system calls for this machine")
def test_a_sandbox_that_denies_shared_memory(doctor, deny):
    found, status = doctor.facts(before=[deny, CALLS["memfd_create"], "--"])
    assert status == 2 and one(found, "shared-memory").startswith("fault")
    assert "seccomp" in one(found, "shared-memory") and "memfd_create" in one(found, "pairs")


def test_one_cpu_of_several(doctor):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    found, _ = doctor.facts(before=["taskset", "-c", min(os.sched_getaffinity(0))])
    assert "1 of " in one(found, "cpus") and "take turns" in one(found, "cpus") and "affinity" in found


def test_few_open_files(doctor):
    found, status = doctor.facts(preexec_fn=limited(resource.RLIMIT_NOFILE, 40))
    assert status >= 1 and "warning: 40 open files" in one(found, "open-files") and "ulimit -n" in one(found, "open-files")


@pytest.mark.parametrize("megabytes, weight, least", [(100, "fault", 2), (4000, "warning", 1)])
def test_little_address_space(doctor, megabytes, weight, least):
    found, status = doctor.facts(preexec_fn=limited(resource.RLIMIT_AS, megabytes << 20))
    assert status >= least and one(found, "address-space").startswith(weight)
    assert "ulimit -v" in one(found, "address-space")


def test_small_files(doctor):
    found, status = doctor.facts(preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 20))
    assert status == 2 and "ulimit -f" in one(found, "address-space")


def test_a_working_directory_that_is_read_only(doctor):
    folder = pathlib.Path(doctor.launcher.folder)
    found, _ = doctor.in_namespace(["-m"], f"mount -t tmpfs -o ro none {folder}; cd {folder}")
    assert "read-only" in one(found, "working-directory") and "tmpfs" in one(found, "working-directory")


def test_it_speaks_by_itself_below_a_start_that_fails(launcher):
    result = launcher.run("-n", 8, "true", preexec_fn=limited(resource.RLIMIT_NOFILE, 12))
    assert result.returncode == 127 and result.stderr.count("serried:") == 1
    assert "WARN  12 open files" in result.stderr and "-> raise `ulimit -n`" in result.stderr, result.stderr


def test_a_command_line_without_sense(doctor):
    assert doctor.text("--jsno").returncode == 64
    assert "usage: serried doctor" in doctor.text("--help").stdout
    assert pathlib.Path(SERRIED).exists()
