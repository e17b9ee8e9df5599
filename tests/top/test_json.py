"""`serried top --json`: what is shown is true, the job does not notice, and nothing is left."""

import os
import re
import signal
import subprocess
import time

import pytest

from launching import PATIENCE, SERRIED
from rates import near, times


def test_rates_and_matrix_are_true_within_2_percent(start, top):
    job = start(8)
    job.wait_until_it_flows()
    status, reports, _ = top(job.process.pid, "--json", "--interval", 2, "--count", 2)
    job.end()
    assert status == 0 and [report["sequence"] for report in reports] == [1, 2]
    for report in reports:
        begin, end = report["time"] - report["interval"], report["time"]
        truth, shown = {}, {(flow["from"], flow["to"]): flow for flow in report["traffic"]}
        for rank, row in enumerate(report["ranks"]):
            a_second = times(job.steps(rank, begin, end), 1 / report["interval"])
            assert row["rank"] == rank
            near(row["rate"]["messages_sent"], times(a_second, rank + 2), f"messages of rank {rank}")
            near(row["rate"]["bytes_sent"], times(a_second, 64 * (rank + 1) ** 2 + 20000), f"bytes of rank {rank}")
            for peer, (messages, size) in job.flows(rank).items():
                truth[rank, peer] = times(a_second, messages), times(a_second, size)
        for pair, (messages, size) in truth.items():
            near(shown[pair]["message_rate"], messages, f"messages {pair}")
            near(shown[pair]["byte_rate"], size, f"bytes {pair}")
        # Barriers go over shared memory, so there is nothing else.
        assert {pair for pair, flow in shown.items() if flow["byte_rate"] > 0} == set(truth)
        for key in ("messages_sent", "bytes_sent"):
            near(report["rate"][key], sum(row["rate"][key] for row in report["ranks"]), key)
        by_means = sum(report["rate"]["bytes_by"].values())
        sizes = [size for _, size in truth.values()]
        near(by_means, (sum(least for least, _ in sizes), sum(most for _, most in sizes)), "bytes by means")
        for row in report["ranks"]:
            assert abs(sum(row["share"].values()) - 1) < 0.001


def test_who_lets_the_others_wait_is_named(start, top):
    job = start(2, slow=1)
    job.wait_until_it_flows()
    for _ in range(10):  # while others take the cores, both wait
        _, reports, _ = top(job.process.pid, "--json", "--interval", 1, "--count", 3)
        last = reports[-1]
        # It computes for half of each step; for the rest both sleep, outside MPI.
        if last["ranks"][0]["share"]["waiting"] > 0.3 > last["ranks"][1]["share"]["waiting"]:
            break
    job.end()
    assert last["ranks"][0]["share"]["waiting"] > 0.3 > last["ranks"][1]["share"]["waiting"]
    assert last["slowest"]["rank"] == 1


def test_the_end_of_the_job_is_told_with_its_totals(start, top):
    job = start(4, 4)
    job.wait_until_it_flows()
    status, reports, _ = top(job.process.pid, "--json", "--interval", 60)
    job.end()
    assert status == 0 and len(reports) == 1 and reports[0]["job"]["ended"]
    for rank, row in enumerate(reports[0]["ranks"]):
        assert row["state"] == "finalized" and row["share"] is None
        sent = sum(flow["messages"] for flow in reports[0]["traffic"] if flow["from"] == rank)
        # The program's own messages, and the few of its collectives.
        said = job.said[rank][-1][2]
        assert said <= row["total"]["messages_sent"] <= said + 20
        assert sent == row["total"]["messages_sent"]


def test_every_process_of_a_job_stands_for_it_and_jobs_are_not_mixed(start, top):
    jobs = [start(2), start(3)]
    for job in jobs:
        job.wait_until_it_flows()
    status, _, complaint = top("--json", "--count", 1)
    # Other tests may run beside this one, whose jobs are listed too, and the list is cut.
    assert status == 1 and "several jobs" in complaint and len(re.findall(r"^ +\d+  \S", complaint, re.M)) >= 2
    seen = []
    for job in jobs:
        _, [report], _ = top(job.process.pid, "--json", "--count", 1, "-i", 0.1)
        assert len(report["ranks"]) == job.ranks == report["job"]["ranks"]
        processes = [row["process"] for row in report["ranks"]]
        seen += processes
        for process in processes:
            _, [same], _ = top(process, "--json", "--count", 1, "-i", 0.1)
            assert same["job"]["process"] == report["job"]["process"]
            assert [row["process"] for row in same["ranks"]] == processes
    assert len(set(seen)) == 5
    for job in jobs:
        job.end()


def test_a_program_that_nobody_launched_is_a_job_of_one_rank(start, top):
    job = start(0)
    job.wait_until_it_flows()
    _, [report], _ = top(job.process.pid, "--json", "--count", 1, "--interval", 0.5)
    job.end()
    [row] = report["ranks"]
    assert row["process"] == job.process.pid and row["rate"]["messages_sent"] > 0
    assert {(flow["from"], flow["to"]) for flow in report["traffic"]} == {(0, 0)}


def test_attaching_and_detaching_at_any_time_does_not_disturb_the_job(start, launcher):
    job = start(4)
    watchers = []
    while len(watchers) < 24:
        command = [SERRIED, "top", str(job.process.pid), "--json", "--interval", "0.05"]
        watchers.append(subprocess.Popen(
            command, env=launcher.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0.15)
        if len(watchers) > 3:
            watchers[-4].send_signal([signal.SIGKILL, signal.SIGTERM, signal.SIGINT][len(watchers) % 3])
    job.end()
    # A signal that comes while the process only begins ends it as it ends any other.
    codes = [watcher.wait(PATIENCE) for watcher in watchers]
    assert set(codes) <= {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 130, 143, 0, 1}, codes


@pytest.mark.parametrize("process, words", [(2147483647, "there is no process"), (os.getpid(), "belongs to no job")])
def test_what_is_no_job_is_refused_in_a_sentence(top, process, words):
    status, _, complaint = top(process, "--json")
    assert status == 1 and words in complaint and len(complaint.splitlines()) < 15


def test_a_job_of_another_user_is_refused(start, top):
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    job = start(2)
    job.wait_until_it_flows()
    try:
        status, _, complaint = top(job.process.pid, "--json", "--count", 1, user=65534)
    except PermissionError:
        pytest.skip("nobody but root can run a program here")
    finally:
        job.end()
    assert status == 1 and "belongs to user 0" in complaint


def test_a_full_disk_is_told_and_a_reader_that_has_had_enough_is_not(start, launcher):
    job = start(2)
    job.wait_until_it_flows()
    command = f"{SERRIED} top {job.process.pid} --json -i 0.05"
    for where, status, words in ((" > /dev/full", 1, "No space left on device"), (" | head -n 1 > /dev/null", 0, "")):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command + where], env=launcher.environment,
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status and words in done.stderr and bool(done.stderr) == bool(words), done
    job.end()


def test_wrong_options_are_named(top):
    status, _, complaint = top("--interval", "0", "--json")
    assert status == 2 and "0.05 to 3600" in complaint
    status, _, complaint = top()
    assert status == 2 and "--json" in complaint
