"""`serried run --hosts`: who runs where, output and input, exit statuses, signals, and what happens when something dies."""

import json
import os
import re
import signal
import time

import hosts
import pytest
from conftest import SERRIED

WAITS = 'echo "$PMI_RANK is up"; exec sleep 1000'


def in_order(text):
    return sorted(text.splitlines())


def test_ranks_run_on_the_hosts_that_are_named(site):
    said = site.run("--hosts", "n2,n3:2", "-l", "sh", "-c", "echo $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS $(hostname)")
    assert said.returncode == 0 and said.stderr == ""
    assert in_order(said.stdout) == ["[0] 3 0 1 n2", "[1] 3 0 2 n3", "[2] 3 1 2 n3"]


@pytest.mark.parametrize("options, expected", [
    (["-n", "4", "--hosts", "n1,n2"], "n1 n1 n2 n2"),
    (["-n", "4", "--hosts", "n1,n2", "--map-by", "node"], "n1 n2 n1 n2"),
    (["--hosts", "n1,n2,n3", "-ppn", "1"], "n1 n2 n3"),
    (["-n", "3", "--hosts", "n3:1,n4:1"], "n3 n4 n3"),
    (["-n", "1", "--hosts", "n3", "hostname", ":", "-n", "2"], "n3 n3 n3"),
])
def test_ranks_are_dealt_as_the_user_wants_it(site, options, expected):
    said = site.run("-prepend-pattern", "%r %h ", *options, "hostname")
    assert said.stderr == ""
    lines = [line.split() for line in in_order(said.stdout)]
    assert [line[0] for line in lines] == [str(rank) for rank in range(len(lines))]
    assert all(line[1] == line[2] for line in lines) and " ".join(line[1] for line in lines) == expected


def test_a_file_names_the_hosts(site):
    (site.cluster.folder / "list").write_text("# mine\nn2 slots=2\nn3:1\n")
    said = site.run("--hostfile", "list", "hostname")
    assert (in_order(said.stdout), said.stderr) == (["n2", "n2", "n3"], "")


@pytest.mark.parametrize("variables, expected", [
    ({"SLURM_JOB_NODELIST": "n[2-3]", "SLURM_TASKS_PER_NODE": "2(x2)"}, "n2 n2 n3 n3"),
    ({"PBS_NODEFILE": "list"}, "n3 n3 n4"),
    ({"LSB_MCPU_HOSTS": "n4 1 n2 1"}, "n2 n4"),
])
def test_batch_systems_name_the_hosts(site, variables, expected):
    (site.cluster.folder / "list").write_text("n3\nn3\nn4\n")
    environment = {**os.environ, **variables}
    said = site.run("hostname", env=environment)
    assert (" ".join(in_order(said.stdout)), said.stderr) == (expected, "")
    alone = site.run("-localonly", "hostname", env=environment)
    assert alone.stdout == "n1\n"


def test_a_tree_of_agents_is_as_good_as_a_flat_one(site):
    for fanout in ("1", "2"):
        said = site.run("--fanout", fanout, "--hosts", "n1,n2,n3,n4", "-l", "sh", "-c", "hostname; echo e >&2; exit 0")
        assert in_order(said.stdout) == ["[0] n1", "[1] n2", "[2] n3", "[3] n4"], said.stderr
        assert in_order(said.stderr) == [f"[{rank}] e" for rank in range(4)]
    bad = site.run("--fanout", "1", "--hosts", "n1,n2,n3,n4", "sh", "-c", "[ $PMI_RANK = 3 ] && exit 7; exec sleep 1000")
    assert bad.returncode == 7 and re.search(r"rank 3 \(process \d+ on n4, sh\) exited with status 7", bad.stderr)


def test_the_environment_and_the_directory_go_along_and_what_belongs_to_a_host_does_not(site):
    environment = {**os.environ, "MINE": "a b'c", "HOSTNAME": "wrong"}
    script = 'echo "$MINE|$HIS|$(pwd)|$HOSTNAME|$SSH_CLIENT"'
    said = site.run("-x", "HIS=x y", "--hosts", "n2", "sh", "-c", script, env=environment)
    mine, his, folder, host, client = said.stdout.strip().split("|")
    assert (mine, his, folder) == ("a b'c", "x y", str(site.cluster.folder))
    assert host != "wrong" and client.startswith("10.77.0.1")
    (site.cluster.folder / "below").mkdir(exist_ok=True)
    (site.cluster.folder / "below/prog").write_text("#!/bin/sh\npwd\n")
    (site.cluster.folder / "below/prog").chmod(0o755)
    said = site.run("-wdir", "below", "--hosts", "n2", "./prog")
    assert said.stdout == f"{site.cluster.folder}/below\n", said.stderr


def test_rank_0_reads_standard_input_and_the_others_nothing(site):
    text = "".join(f"line {number}\n" for number in range(40000))
    said = site.run("--hosts", "n2,n3", "sh", "-c", "wc -l", input=text)
    assert in_order(said.stdout) == ["0", "40000"]
    early = site.run("--hosts", "n2,n3", "true", input=text)
    assert early.returncode == 0


def test_long_output_comes_whole_and_lines_are_not_mixed(site):
    script = 'i=0; while [ $i -lt 20000 ]; do echo "$PMI_RANK this is a line of some length number $i"; i=$((i+1)); done'
    said = site.run("--hosts", "n1,n2,n3", "sh", "-c", script)
    lines = said.stdout.splitlines()
    for rank in range(3):
        mine = [line for line in lines if line.startswith(f"{rank} ")]
        assert mine == [f"{rank} this is a line of some length number {number}" for number in range(20000)]
    assert len(lines) == 60000


def test_a_reader_that_has_had_enough_ends_the_job(site):
    command = f"{SERRIED} run --hosts n2,n3 yes | head -1"
    said = site.cluster.run("n1", ["sh", "-c", command])
    assert (said.stdout, said.stderr) == ("y\n", "")


def test_output_goes_to_files_here(site):
    site.run("--hosts", "n2,n3", "-outfile-pattern", "out.%r.%h", "hostname", check=True)
    assert [(site.cluster.folder / f"out.{rank}.n{rank + 2}").read_text() for rank in (0, 1)] == ["n2\n", "n3\n"]


@pytest.mark.parametrize("script, status, words", [
    ("exit 3", 3, "rank 1 .* on n3, sh.* exited with status 3"),
    ("kill -9 $$", 137, "rank 1 .* on n3, sh.* was killed by signal 9"),
])
def test_the_first_bad_end_ends_the_job_everywhere(site, script, status, words):
    said = site.run("--hosts", "n2,n3,n4", "sh", "-c", f"[ $PMI_RANK = 1 ] && {script}; exec sleep 1000")
    assert said.returncode == status and re.search(words, said.stderr) and "The other 2 ranks are ended" in said.stderr


def test_what_cannot_be_started_is_told_with_its_host(site):
    folder = site.cluster.folder / "odd"
    folder.write_text("#!/nowhere/interpreter\n")
    folder.chmod(0o755)
    said = site.run("--hosts", "n2,n3", "./odd")
    assert said.returncode == 127 and re.search("cannot start ./odd on n[23]: the interpreter", said.stderr)


def test_a_host_that_does_not_answer_is_told_with_what_ssh_says(site):
    said = site.run("--hosts", "n2,n9", "hostname")
    assert (said.returncode, said.stdout) == (127, "")
    assert "no agent could be started on n9: ssh" in said.stderr and "n9" in said.stderr.splitlines()[1]


def test_another_path_on_the_hosts_is_told(site):
    said = site.run("--hosts", "n2", "--agent-path", "/nowhere/serried", "hostname")
    assert said.returncode == 127 and "no agent could be started on n2" in said.stderr and "/nowhere/serried" in said.stderr
    link = site.cluster.folder / "there"
    link.symlink_to(SERRIED)
    assert site.run("--hosts", "n2", "--agent-path", str(link), "hostname").stdout == "n2\n"


def test_key_and_plan_are_in_no_command_line(site):
    job = site.start("--hosts", "n2,n3", "sh", "-c", WAITS, env={**os.environ, "SECRET": "squeamish"})
    assert in_order(job.stdout.readline() + job.stdout.readline()) == ["0 is up", "1 is up"]
    lines = [line for name in site.cluster.names for line in site.cluster.processes(name).values()]
    assert sum(line.endswith("serried agent") and "ssh" not in line for line in lines) >= 2
    assert not any("squeamish" in line for line in lines)
    os.kill(site.inner(job), signal.SIGTERM)
    job.communicate()


def up(site, *options, count=3, names="n1,n2,n3"):
    """A job whose ranks are all up."""
    job = site.start(*options, "--hosts", names, "sh", "-c", WAITS)
    for _ in range(count):
        assert job.stdout.readline().endswith("is up\n"), job.stderr.read()
    return job


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_that_end_go_to_all_hosts(site, number, status):
    job = up(site)
    os.kill(site.inner(job), number)
    _, err = job.communicate()
    assert job.returncode == status and f"received signal {int(number)}" in err


def test_other_signals_go_to_all_ranks(site):
    script = 'trap "echo got it; exit 0" USR1; echo "$PMI_RANK is up"; while :; do :; done'
    job = site.start("--hosts", "n2,n3", "sh", "-c", script)
    assert job.stdout.readline() and job.stdout.readline()
    os.kill(site.inner(job), signal.SIGUSR1)
    out, err = job.communicate()
    assert (job.returncode, out, err) == (0, "got it\ngot it\n", "")


def test_a_time_limit_ends_all_and_tells_where_each_rank_is(site):
    said = site.run("--timeout", "2", "--hosts", "n2,n3", "sleep", "1000")
    assert said.returncode == 124
    for rank, host in enumerate(("n2", "n3")):
        assert re.search(rf"rank {rank} \(process \d+ on {host}\)", said.stderr), said.stderr


def test_processes_that_ranks_leave_behind_are_ended(site):
    said = site.run("--hosts", "n2,n3", "sh", "-c", "setsid sleep 1000 & exit 0")
    assert said.returncode == 0


def agents(site, name):
    """The agents of a host, guards first, by their numbers there."""
    return sorted(number for number, line in site.cluster.processes(name).items()
                  if line.endswith("serried agent") and " -x " not in line and not line.startswith("bash"))


@pytest.mark.parametrize("who", ["guard", "agent", "sshd", "ssh", "launcher", "its guard"])
def test_nothing_is_left_whoever_is_killed(site, who):
    job = up(site)
    assert len(agents(site, "n2")) == 2
    inner = site.inner(job)
    if who in ("guard", "agent"):
        site.cluster.kill("n2", agents(site, "n2")[who == "agent"])
    elif who == "sshd":
        sessions = [number for number, line in site.cluster.processes("n2").items() if line.startswith("sshd: ") and "@" in line]
        site.cluster.kill("n2", *sessions)
    elif who == "ssh":
        shells = [number for number, line in site.cluster.processes("n1").items() if line.startswith("ssh ")]
        site.cluster.kill("n1", shells[0])
    else:
        os.kill(inner if who == "its guard" else hosts.children_of(inner)[0], signal.SIGKILL)
    _, err = job.communicate(timeout=60)
    assert job.returncode != 0
    if who in ("guard", "agent", "sshd", "ssh"):
        assert job.returncode == 125 and "The job is ended" in err.replace("the job is ended", "The job is ended"), err
        assert re.search("the agent on n[23] has ended too early", err), err


def test_a_stopped_agent_is_named_and_given_up(site):
    job = up(site, "--host-timeout", "5")
    site.cluster.kill("n2", agents(site, "n2")[1], sign=signal.SIGSTOP)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 125
    assert "no word from n2 for 3 s (rank 1)" in err and "n2 has not answered for 5s and is given up (rank 1)" in err


def test_an_agent_that_was_stopped_for_a_moment_loses_nothing(site):
    script = 'echo "$PMI_RANK is up"; read _; i=0; while [ $i -lt 100 ]; do echo $i; i=$((i+1)); sleep 0.05; done'
    job = site.start("-l", "--hosts", "n2,n3", "sh", "-c", script, stdin=-1)
    # Rank 1 reads an empty input, so it goes on at once.
    assert "[0] 0 is up\n" in iter(job.stdout.readline, "")
    agent = agents(site, "n2")[1]
    job.stdin.write("go\n")
    job.stdin.flush()
    site.cluster.kill("n2", agent, sign=signal.SIGSTOP)
    time.sleep(4)
    site.cluster.kill("n2", agent, sign=signal.SIGCONT)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0 and [line for line in out.splitlines() if line[:3] == "[0]"] == [f"[0] {i}" for i in range(100)]
    assert "no word from n2" in err and "n2 answers again" in err


def test_messages_between_hosts_are_measured_too(site):
    said = site.run("--json", "--hosts", "n1:2,n2:2", command="bench")
    assert (said.returncode, said.stderr) == (0, "")
    partners = {row["partner"] for row in json.loads(said.stdout)["rows"] if row["what"] == "message"}
    assert partners == {1, 2}
