"""Containers: each rank in one of its own, the whole job in one, the calls that Docker's default profile denies, bubblewrap.
What the kernel refuses between the ranks costs nothing but time."""

import os
import re
import shutil
import subprocess

import pytest

from launching import SERRIED
from namespaces import NAMESPACES, apart
from test_denied import CALLS, CROSS_MEMORY, deny, for_everybody, run, worked  # noqa: F401
from test_meeting import Containers, containers, ends, sharing  # noqa: F401

COPIES = ["", "cross-memory", "memory-file"]


@pytest.mark.parametrize("kind", NAMESPACES)
@pytest.mark.parametrize("copy", COPIES)
def test_each_rank_is_in_a_container_of_its_own(launcher, work, kind, copy):
    if copy:
        launcher.environment["SERRIED_COPY"] = copy
    worked(run(launcher, SERRIED, "run", "-n", 4, *apart(kind), work))


@pytest.mark.parametrize("kind", NAMESPACES)
def test_the_ranks_of_such_containers_share_memory(launcher, sharing, kind):  # noqa: F811
    said = run(launcher, SERRIED, "run", "-n", 3, *apart(kind), sharing)
    assert (said.returncode, said.stderr, len(said.stdout.split())) == (0, "", 3), said


def reached(text):
    """By what means the ranks read memory that is not in windows, as `serried info --pairs` tells it."""
    return set(re.findall(r"other memory: .*?\((\S+)\)", text))


@pytest.mark.parametrize("kind", NAMESPACES)
def test_memory_of_such_ranks_is_copied_once_at_most(launcher, kind):
    """What namespaces forbid, descriptors allow, which the ranks pass by sockets that the launcher makes for them."""
    said = run(launcher, SERRIED, "run", "-n", 3, *apart(kind), SERRIED, "info", "--pairs")
    assert (said.returncode, said.stderr) == (0, "") and reached(said.stdout) <= {"cross-memory", "memory-file"}, said
    assert kind != "all" or reached(said.stdout) == {"memory-file"}, said


@pytest.mark.parametrize("kind", NAMESPACES)
def test_memory_of_containers_that_meet_is_copied_once_at_most(containers, kind):  # noqa: F811
    said = ends(*(containers.start("-n", 2, SERRIED, "info", "--pairs", apart=kind) for _ in range(2)))
    assert [(status, err) for status, err, _ in said] == [(0, "")] * 2, said
    means = reached("".join(out for _, _, out in said))
    assert means and means <= {"cross-memory", "memory-file"}, said


@pytest.mark.parametrize("kind", NAMESPACES)
def test_some_ranks_are_in_containers_and_others_are_not(launcher, work, kind):
    inside = " ".join(apart(kind))
    worked(run(launcher, SERRIED, "run", "-n", 4, "sh", "-c", f'[ $PMI_RANK -gt 1 ] && exec {inside} {work}; exec {work}'))


@pytest.mark.parametrize("kind", NAMESPACES)
def test_the_whole_job_is_in_a_container(launcher, work, kind):
    worked(run(launcher, *apart(kind), SERRIED, "run", "-n", 4, work))


@pytest.mark.parametrize("more", [[], CROSS_MEMORY], ids=["", "and cross-memory"])
@pytest.mark.parametrize("inside", [False, True])
def test_what_docker_denies_is_not_needed(launcher, work, deny, more, inside):  # noqa: F811
    denied = [deny, "docker", *(CALLS[name] for name in more), "--"]
    words = [SERRIED, "run", "-n", 4, *denied] if inside else [*denied, SERRIED, "run", "-n", 4]
    worked(run(launcher, *words, work))


@pytest.mark.parametrize("kind", ["network", "processes", "all"])
def test_containers_that_meet_do_not_need_it_either(containers, work, deny, kind):  # noqa: F811
    denied = [deny, "docker", *(CALLS[name] for name in CROSS_MEMORY), "--"]
    said = ends(*(containers.start("-n", 2, *denied, work, apart=kind) for _ in range(2)))
    assert [(status, err) for status, err, _ in said] == [(0, ""), (0, "")], said
    assert "".join(out for _, _, out in said) == "4 ranks worked\n"


@pytest.fixture
def bubble(for_everybody):  # noqa: F811
    """Runs words as a user without rights; `{}` stands for bubblewrap, the rest of which is its container."""
    if not shutil.which("bwrap"):
        pytest.skip("no bwrap here (Debian has bubblewrap)")
    container = ["bwrap", "--unshare-all", "--die-with-parent", "--dev-bind", "/", "/", "--proc", "/proc", "--tmpfs", "/dev/shm"]
    nobody = {"user": 54321, "group": 54321, "extra_groups": []} if os.geteuid() == 0 else {}
    if subprocess.run([*container, "true"], capture_output=True, cwd="/", **nobody).returncode:
        pytest.skip("users without rights may not make namespaces here")

    def words(*command):
        return [word for given in command for word in (container if given == "{}" else [str(given)])]

    words.options = nobody
    words.folder = for_everybody
    return words


@pytest.mark.parametrize("where", ["ranks", "job"])
def test_bubblewrap_by_a_user_without_rights(launcher, bubble, where):
    launcher.folder = "/"
    serried, work = bubble.folder / "serried", bubble.folder / "work"
    words = bubble(serried, "run", "-n", 4, "{}", work) if where == "ranks" else bubble("{}", serried, "run", "-n", 4, work)
    worked(run(launcher, *words, **bubble.options))


def test_bubbles_meet(launcher, bubble, tmp_path):
    meeting = bubble.folder / "meeting"
    meeting.mkdir()
    meeting.chmod(0o1777)
    words = bubble("{}", bubble.folder / "serried", "run", "--meet", meeting, "--parties", 2, "-n", 2, bubble.folder / "work")
    jobs = [subprocess.Popen(words, cwd="/", env=launcher.environment, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **bubble.options) for _ in range(2)]
    said = ends(*jobs)
    assert [(status, err) for status, err, _ in said] == [(0, ""), (0, "")], said
    assert "".join(out for _, _, out in said) == "4 ranks worked\n" and not list(meeting.iterdir())
