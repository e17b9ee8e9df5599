"""`serried doctor --hosts`: what would not work between hosts, before a job is started there."""

import json
import os
import subprocess

import pytest
from conftest import SERRIED


def faults(said):
    """Faults by what they are about: texts and advice."""
    told = json.loads(said.stdout)
    assert told["status"] == said.returncode, said
    found = {}
    for row in told["findings"]:
        if row["level"] == "fault":
            found.setdefault(row["about"], []).append(f"{row['text']} -> {row['advice']}")
    return found


def examined(site, *arguments, **options):
    return site.run("--json", *arguments, command="doctor", **options)


def test_hosts_that_are_well_are_found_well(site):
    said = site.run("--hosts", "n1,n2,n3,n4", command="doctor")
    assert (said.returncode, said.stderr) == (0, ""), said.stdout
    assert "n1 is this machine" in said.stdout and "n4 is reached" in said.stdout
    assert "a job with a rank on each host, tried just now, works" in said.stdout
    assert "IP multicast reaches all 4 nodes" in said.stdout
    # What is the same everywhere is said once.
    assert said.stdout.count("ranks of several nodes talk over") == 1 and "all: " in said.stdout


def test_a_file_names_the_hosts_and_a_script_reaches_them(site):
    (site.cluster.folder / "list").write_text("n1 slots=4\nn2 slots=4\n")
    script = site.cluster.folder / "reach"
    script.write_text('#!/bin/sh\necho "Welcome to $1"\nexec ssh "$@"\n')
    script.chmod(0o755)
    said = examined(site, "--hostfile", "list", "-launcher-exec", script)
    assert said.returncode == 0 and faults(said) == {}, said.stdout + said.stderr


def test_a_name_that_nobody_knows_is_a_fault(site):
    found = faults(examined(site, "--hosts", "n2,n9"))
    assert list(found) == ["host"] and len(found["host"]) == 1
    assert found["host"][0].startswith("n9 cannot be reached as `serried run` would: ssh: ")
    assert "correct the name" in found["host"][0]


def test_another_path_and_another_version_are_faults(site):
    found = faults(examined(site, "--hosts", "n2", "--agent-path", "/nowhere/serried"))
    assert "/nowhere/serried" in found["host"][0] and "name its path with --agent-path" in found["host"][0]
    other = site.cluster.folder / "other"
    other.write_text("#!/bin/sh\necho serried-doctor 0.0.1\n")
    other.chmod(0o755)
    found = faults(examined(site, "--hosts", "n2", "--agent-path", other))
    assert "Serried 0.0.1 is there" in found["host"][0]


def test_a_login_that_needs_a_password_is_a_fault(site):
    script = site.cluster.folder / "refused"
    script.write_text("#!/bin/sh\necho 'me@n2: Permission denied (publickey,password).' >&2\nexit 255\n")
    script.chmod(0o755)
    found = faults(examined(site, "--hosts", "n2", "-launcher-exec", script))
    assert "Permission denied" in found["host"][0] and "without a password" in found["host"][0]


def test_a_folder_that_is_not_on_the_other_host_is_a_fault(site):
    enter = site.cluster.command("n2", ["mount", "-t", "tmpfs", "none", "/mnt"])
    subprocess.run(enter, check=True)
    (site.cluster.root("n1") / "mnt/only_here").mkdir()
    try:
        job = site.cluster.start("n1", [SERRIED, "doctor", "--json", "--hosts", "n1,n2"], cwd="/mnt/only_here")
        out, err = job.communicate(timeout=60)
    finally:
        subprocess.run(site.cluster.command("n2", ["umount", "/mnt"]), check=True)
        (site.cluster.root("n1") / "mnt/only_here").rmdir()
    found = faults(subprocess.CompletedProcess([], job.returncode, out, err))
    assert "n2: the folder /mnt/only_here" in found["folder"][0] and "-wdir" in found["folder"][0]


def test_hosts_that_cannot_connect_to_each_other_are_named(site):
    route = ["ip", "route", "{}", "blackhole", "10.77.0.3/32"]

    def change(word):
        subprocess.run(site.cluster.command("n2", [part.format(word) for part in route]), check=True)

    change("add")
    try:
        found = faults(examined(site, "--hosts", "n1,n2,n3"))
    finally:
        change("del")
    told = " ".join(found["reach"])
    assert "n2 does not reach n3 at 10.77.0.3" in told and "n3 does not reach n2 at 10.77.0.2" in told, told
    assert "n1" not in told and "firewall" in told


def test_the_program_is_looked_at_on_each_host(site):
    said = examined(site, "--hosts", "n1,n2", SERRIED)
    assert said.returncode == 0 and "n1 n2" not in said.stdout and "all: " in said.stdout
    missing = examined(site, "--hosts", "n1,n2", "./nowhere")
    assert faults(missing) and "all: " in missing.stdout and "nowhere" in missing.stdout


@pytest.mark.parametrize("arguments, words", [
    (["--hosts"], "--hosts needs a value"),
    (["--hosts", ","], "there is no host in it"),
    (["--hosts", "n1", "-launcher", "pigeon"], "known are ssh"),
    (["--hostfile", "/nowhere/list"], "no such file"),
])
def test_a_wrong_command_line_is_told(site, arguments, words):
    said = site.run(*arguments, command="doctor", env={**os.environ})
    assert said.returncode == 64 and words in said.stderr, said.stderr
