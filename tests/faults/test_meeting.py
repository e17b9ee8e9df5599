"""`serried run --meet`: containers of one machine that nobody starts one from another are one job. Containers are made of
namespaces here, each party in its own."""

import itertools
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from launching import PATIENCE, SERRIED, STAGE, compile_c
from namespaces import NAMESPACES
from test_denied import for_everybody  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def sharing(tmp_path_factory):
    target = tmp_path_factory.mktemp("sharing") / "sharing"
    return compile_c(HERE / "sharing.c", target, "-I", str(HERE.parent / "c"), compiler=str(STAGE / "bin/mpicc"))


class Containers:
    """Parties that meet in a folder, each in a container of its own."""

    def __init__(self, launcher):
        self.launcher = launcher
        self.folder = launcher.folder / "shared"
        self.folder.mkdir()
        self.numbers = itertools.count()

    def start(self, *command, apart="all", name=None, meet=("--parties", "2"), **options):
        number = next(self.numbers)
        flags = NAMESPACES[apart]
        if flags and subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
            pytest.skip("no right to make a namespace")
        words = [SERRIED, "run", "--meet", self.folder, *meet, *command]
        if flags:
            script = f'hostname {name or f"c{number}"} && exec "$@"' if "-u" in flags else 'exec "$@"'
            words = ["unshare", *flags, "sh", "-ec", script, "sh", *words]
        options.setdefault("env", {**self.launcher.environment, "PARTY_OF_TEST": str(number)})
        return subprocess.Popen(
            list(map(str, words)), cwd=self.launcher.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, **options)

    def wait_for_leader(self, name="job"):
        """Until somebody listens in the folder."""
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / f"serried-{name}.socket").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def processes(self, number, word):
        """Processes of a party whose command line has this word, as they are numbered here, from the top."""
        found = []
        for process in self.launcher.processes():
            try:
                environment = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                line = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if f"PARTY_OF_TEST={number}".encode() in environment and word in line and not line.startswith(("unshare", "sh ")):
                found.append(process)
        return sorted(found)


@pytest.fixture(scope="session")
def outliving(tmp_path_factory):
    """Programs whose last rank fails."""
    folder, sources = tmp_path_factory.mktemp("outliving"), HERE.parent / "survivors"
    return {name: compile_c(sources / f"{name}.c", folder / name, compiler=str(STAGE / "bin/mpicc"))
            for name in ("survivors", "agreements", "families")}


@pytest.fixture
def containers(launcher):
    made = Containers(launcher)
    yield made
    launcher.assert_nothing_left(within=10)
    assert not list(made.folder.iterdir())


def ends(*jobs):
    """How all have ended, and what they said."""
    return [(*(text := job.communicate(timeout=PATIENCE)), job.returncode)[::-1] for job in jobs]


@pytest.mark.parametrize("apart", NAMESPACES)
def test_two_containers_are_one_node(containers, work, sharing, apart):
    for program, expected in ((work, "4 ranks worked\n"), (sharing, None)):
        jobs = [containers.start("-n", 2, program, apart=apart) for _ in range(2)]
        said = ends(*jobs)
        assert [(status, err) for status, err, _ in said] == [(0, ""), (0, "")], said
        # The output is where the leader is.
        out = "".join(text for _, _, text in said)
        assert out == expected if expected else len(out.split()) == 4, said
        assert any(text == "" for _, _, text in said)


def test_parties_have_the_places_that_they_ask_for(containers, sharing):
    third = ("--containers", "3")
    jobs = [containers.start("-n", ranks, sharing, name=name, meet=(*third, "--party", party))
            for name, ranks, party in (("last", 1, 2), ("first", 2, 0), ("second", 1, 1))]
    said = ends(*jobs)
    assert [status for status, _, _ in said] == [0, 0, 0], said
    assert "".join(out for _, _, out in said) == "first:0 first:0 second:0 last:0\n"


def test_parties_may_run_different_programs_and_see_labels_and_places(containers, sharing):
    copy = containers.launcher.folder / "copy"
    copy.write_bytes(sharing.read_bytes())
    copy.chmod(0o755)
    leader = containers.start("-n", 1, "-prepend-pattern", "%r@%h ", sharing, name="one")
    containers.wait_for_leader()
    other = containers.start("-n", 2, "./copy", name="two")
    said = ends(leader, other)
    assert [status for status, _, _ in said] == [0, 0] and said[0][2] == "0@one one:0 two:1 two:1\n", said


def test_two_jobs_meet_in_one_folder_by_their_names(containers, sharing):
    jobs = {name: [containers.start("-n", 1, sharing, name=name, meet=("--parties", "2", "--job", name)) for _ in range(2)]
            for name in ("red", "blue")}
    for name, parties in jobs.items():
        said = ends(*parties)
        assert [status for status, _, _ in said] == [0, 0], said
        assert "".join(out for _, _, out in said) == f"{name}:0 {name}:0\n"


def test_the_status_of_the_job_is_that_of_all_parties(containers):
    jobs = [containers.start("-n", 1, "sh", "-c", "[ $PMI_RANK = 1 ] && exit 7; sleep 60") for _ in range(2)]
    said = ends(*jobs)
    assert [status for status, _, _ in said] == [7, 7], said
    assert "rank 1" in "".join(err for _, err, _ in said)


def test_a_program_that_a_party_has_not_is_named_there(containers):
    [said] = ends(containers.start("-n", 1, "./nowhere"))
    assert said[0] == 127 and "nowhere" in said[1], said


def test_a_party_that_does_not_come_is_missed(containers, work):
    patience = ("--meet-timeout", "1")
    jobs = [containers.start(work, meet=("--parties", "3", *patience)) for _ in range(2)]
    for status, err, _ in ends(*jobs):
        assert status == 127 and "2 of 3 parties of the job `job` have come" in err and "1 is missing" in err, err
        assert err.count("serried:") == 1
    [(status, err, _)] = ends(containers.start(work, name="here", meet=("--parties", "2", "--party", "1", *patience)))
    assert status == 127 and "--party 1 on here, this one" in err and "there is no --party 0" in err, err


def test_a_party_that_goes_before_all_are_there_is_replaced(containers, work):
    leader = containers.start(work, meet=("--parties", "3"))
    containers.wait_for_leader()
    gone = containers.start(work, name="gone", meet=("--parties", "3"))
    deadline = time.monotonic() + PATIENCE
    while len(containers.processes(1, "run")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.5)
    os.kill(containers.processes(1, "run")[-1], signal.SIGKILL)
    gone.communicate(timeout=PATIENCE)
    others = [containers.start(work, meet=("--parties", "3")) for _ in range(2)]
    said = ends(leader, *others)
    assert [status for status, _, _ in said] == [0, 0, 0], said
    assert said[0][1] == "serried: the party on gone has gone before the job began\n" and said[0][2] == "3 ranks worked\n", said


def test_a_leader_that_goes_before_all_are_there_is_replaced(containers, work):
    leader = containers.start(work, apart="nothing", meet=("--parties", "3"))
    containers.wait_for_leader()
    member = containers.start(work, meet=("--parties", "3"))
    time.sleep(0.5)
    leader.kill()
    leader.communicate(timeout=PATIENCE)
    said = ends(member, *(containers.start(work, meet=("--parties", "3")) for _ in range(2)))
    assert [status for status, _, _ in said] == [0, 0, 0], said


def test_what_a_dead_job_has_left_is_in_nobodys_way(containers, work):
    dead = containers.start(work)
    containers.wait_for_leader()
    # Stopped first: the one above would clear up after the one below.
    chain = containers.processes(0, "run")
    for signal_number, processes in ((signal.SIGSTOP, chain), (signal.SIGKILL, reversed(chain))):
        for process in processes:
            os.kill(process, signal_number)
    dead.communicate(timeout=PATIENCE)
    assert (containers.folder / "serried-job.socket").exists()
    said = ends(*(containers.start(work) for _ in range(2)))
    assert [(status, err) for status, err, _ in said] == [(0, ""), (0, "")], said


@pytest.mark.parametrize("who", ["leader", "launcher of the leader", "agent of the leader", "member", "launcher of the member",
                                 "rank of the leader", "rank of the member"])
@pytest.mark.parametrize("apart", ["nothing", "all"])
def test_all_end_whoever_is_killed(containers, work, who, apart):
    leader = containers.start("-n", 2, work, 1000, apart=apart)
    containers.wait_for_leader()
    member = containers.start("-n", 2, work, 1000, apart=apart)
    containers.launcher.wait_until_running(4)
    number = 1 if "member" in who else 0
    chain = containers.processes(number, "serried run")
    victim = {"leader": chain[0], "member": chain[0], "agent of the leader": (containers.processes(0, "agent") or [0])[-1]}.get(
        who, containers.processes(number, str(work) + " ")[-1] if who.startswith("rank") else chain[-1])
    os.kill(victim, signal.SIGKILL)
    said = ends(leader, member)
    assert all(status not in (0, None) for status, _, _ in said), said
    told = "".join(err for _, err, _ in said)
    assert "serried:" in told, said
    if number == 1 and not who.startswith("rank"):
        assert "the party on" in said[0][1] and "has gone" in said[0][1], said
    containers.launcher.assert_nothing_left(within=10)


def told_by(said):
    return "".join(out for _, _, out in said), "".join(err for _, err, _ in said)


@pytest.mark.parametrize("apart", ["nothing", "network", "all"])
@pytest.mark.parametrize("name, what", [
    ("survivors", "receive"), ("survivors", "collective3"), ("survivors", "revoke"), ("agreements", "agree"),
    ("agreements", "shrink"), ("agreements", "both_groups"),
])
def test_a_job_that_has_met_goes_on_without_a_rank(containers, outliving, name, what, apart):
    jobs = [containers.start("-n", 2, "--on-failure=continue", outliving[name], what, apart=apart) for _ in range(2)]
    said = ends(*jobs)
    out, err = told_by(said)
    assert [status for status, _, _ in said] == [0, 0] and out.count("well") == 3, said
    assert err.count("The job goes on without it (--on-failure=continue).") == 1, said


@pytest.mark.parametrize("seed", range(6))
def test_whoever_fails_at_any_time_the_rest_of_a_job_that_has_met_goes_on(containers, outliving, seed):
    jobs = [containers.start("-n", 3, "--with-ft", "ulfm", outliving[("survivors", "agreements")[seed % 2]], "storm", seed // 2)
            for _ in range(2)]
    said = ends(*jobs)
    out, err = told_by(said)
    assert [status for status, _, _ in said] == [0, 0] and out == "well\n", said
    assert err.count("The job goes on without it") == 5, said


WAITS_FOR_OTHERS = ["-n", 2, "--on-failure=continue"]


@pytest.mark.parametrize("apart", ["nothing", "all"])
def test_a_job_that_has_met_goes_on_without_a_party(containers, outliving, apart):
    leader = containers.start(*WAITS_FOR_OTHERS, outliving["survivors"], "party", apart=apart)
    containers.wait_for_leader()
    member = containers.start(*WAITS_FOR_OTHERS, outliving["survivors"], "party", apart=apart)
    containers.launcher.wait_until_running(4)
    os.kill(containers.processes(1, "serried run")[-1], signal.SIGKILL)
    said = ends(leader, member)
    assert said[0][0] == 0 and said[0][2].count("well") == 2, said
    assert "the job goes on without them (--on-failure=continue)" in said[0][1], said


@pytest.mark.parametrize("apart", ["nothing", "system V", "network", "all"])
@pytest.mark.parametrize("what", ["spawn", "networks"])
def test_ranks_that_have_met_start_others(containers, apart, what):
    family = compile_c(HERE.parent / "dynamic/family.c", containers.launcher.folder / "family",
                       "-I", str(HERE.parent / "c"), compiler=str(STAGE / "bin/mpicc"))
    said = ends(*(containers.start("-n", 1, family, what, apart=apart) for _ in range(2)))
    assert [(status, err) for status, err, _ in said] == [(0, "")] * 2, said


def test_parties_that_are_started_again_meet_again(containers):
    """Whoever has started the containers does so again, as Docker does with `--restart=on-failure`."""
    words = ["-n", 2, "sh", "-c", "[ $TIMES = 0 ] && exit 3; exit 0"]
    for times, expected in ((0, 3), (1, 0)):
        environment = {**containers.launcher.environment, "TIMES": str(times)}
        said = ends(*(containers.start(*words, env=environment) for _ in range(2)))
        assert [status for status, _, _ in said] == [expected] * 2, said


def test_a_signal_to_the_leader_ends_all(containers, work):
    leader = containers.start("-n", 1, work, 1000, apart="nothing")
    containers.wait_for_leader()
    member = containers.start("-n", 1, work, 1000)
    containers.launcher.wait_until_running(2)
    leader.send_signal(signal.SIGTERM)
    said = ends(leader, member)
    assert [status for status, _, _ in said] == [143, 143], said


def test_a_leader_that_waits_is_ended_by_a_signal_and_leaves_nothing(containers, work):
    job = containers.start(work, apart="nothing")
    containers.wait_for_leader()
    job.send_signal(signal.SIGTERM)
    [(status, err, _)] = ends(job)
    assert status not in (0, None) and "ended before all parties had come" in err, err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
@pytest.mark.parametrize("leader_is_root", [True, False])
def test_parties_of_two_users_are_no_job(containers, for_everybody, leader_is_root):  # noqa: F811
    containers.folder.chmod(0o1777)
    for folder in [containers.folder, *containers.folder.parents]:
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o055)

    def start(is_root, patience):
        other = {} if is_root else {"user": 54321, "group": 54321, "extra_groups": []}
        words = [for_everybody / "serried", "run", "--meet", containers.folder, "--parties", "2", "--meet-timeout", patience,
                 for_everybody / "work"]
        return subprocess.Popen(list(map(str, words)), cwd="/", env=containers.launcher.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **other)

    first = start(leader_is_root, 3)
    containers.wait_for_leader()
    [(status, err, _)] = ends(start(not leader_is_root, 1))
    assert status == 127 and "all parties of a job have to be of one user" in err, err
    # Somebody else who comes in spite of that is named.
    if not leader_is_root:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(containers.folder / "serried-job.socket"))
            assert b"user 0 is not the user of the job, 54321" in stranger.recv(4096)
    [(status, err, _)] = ends(first)
    assert status == 127 and "1 is missing" in err, err
    assert leader_is_root or "user 0 wanted to take part, but the job is of user 54321" in err, err


def test_strangers_are_in_nobodys_way(containers, work):
    """Of the same user, but without the secret; some say nothing."""
    leader = containers.start(work, apart="nothing")
    containers.wait_for_leader()
    strangers = [socket.socket(socket.AF_UNIX) for _ in range(3)]
    for number, stranger in enumerate(strangers):
        stranger.connect(str(containers.folder / "serried-job.socket"))
        stranger.sendall([b"", b"GET / HTTP/1.0\r\n\r\n", b"\0\0\0\0\4\0\0\0abcd"][number])
    member = containers.start(work)
    said = ends(leader, member)
    for stranger in strangers:
        stranger.close()
    assert [status for status, _, _ in said] == [0, 0], said
    assert said[0][1].count("serried: --meet:") == 3 and said[1][1] == "", said


@pytest.mark.parametrize("words, sentence", [
    (["--meet", "."], "wants --parties N"), (["--parties", "2"], "belong to --meet FOLDER"),
    (["--meet", ".", "--parties", "2", "--party", "2"], "they are 0 to 1"),
    (["--meet", ".", "--parties", "2", "--job", "a/b"], "no /"),
    (["--meet", ".", "--parties", "2", "--hosts", "a"], "parties that meet are on one machine"),
    (["--meet", ".", "--parties", "2", "--restarts", "2"], "starts them again"),
    (["--meet", "nowhere", "--parties", "2"], "--meet nowhere"),
])
def test_command_lines_that_make_no_sense_are_told(launcher, words, sentence):
    said = launcher.run(*words, "true")
    assert said.returncode in (2, 127) and sentence in said.stderr, said


def test_a_folder_with_a_long_name_will_do(containers, work):
    containers.folder.rmdir()
    containers.folder = containers.launcher.folder / ("long" * 30) / "shared"
    containers.folder.mkdir(parents=True)
    said = ends(*(containers.start(work, apart="nothing") for _ in range(2)))
    assert [(status, err) for status, err, _ in said] == [(0, ""), (0, "")], said
