"""Output and input: whole lines, labels, files, prompts, standard input."""

import os
import pty
import select
import signal
import subprocess
import sys
import time

from launching import PATIENCE, SERRIED, compile_c, state_of


def test_long_lines_of_many_ranks_are_never_mixed(launcher, tmp_path):
    compile_c("lines.c", tmp_path / "lines")
    ranks, count = 8, 20000
    result = launcher.run("-n", ranks, "./lines", count)
    assert result.returncode == 0
    seen = [0] * ranks
    for line in result.stdout.splitlines():
        rank, number, filling = line.split(" ")
        assert int(number) == seen[int(rank)], line[:80]
        assert filling == "abcdefghij"[int(rank)] * (10 + int(number) * 37 % 300), line[:80]
        seen[int(rank)] += 1
    assert seen == [count] * ranks


def test_the_last_line_needs_no_newline(launcher):
    result = launcher.run("-n", 3, "printf", "no newline")
    assert result.stdout.count("no newline") == 3


def test_labels(launcher):
    for option, label in (("-l", "[1] "), ("--tag-output", "[1,1]<stdout>: "), ("-prepend-pattern=r%r/%n ", "r1/2 ")):
        result = launcher.run(option, "-n", 2, "printf", "a\\nb\\n")
        assert result.stdout.splitlines().count(label + "a") == 1
        assert result.stdout.splitlines().count(label + "b") == 1


def test_standard_error_is_kept_apart(launcher):
    result = launcher.run("-n", 2, "sh", "-c", "echo out; echo err >&2")
    assert (result.stdout, result.stderr) == ("out\n" * 2, "err\n" * 2)


def test_files_for_each_rank(launcher, tmp_path):
    script = "echo o$PMI_RANK; echo e$PMI_RANK >&2"
    result = launcher.run("-outfile-pattern", "o/out.%r", "-errfile-pattern", "err.%r", "-n", 2, "sh", "-c", script)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (tmp_path / "o/out.1").read_text() == "o1\n" and (tmp_path / "err.0").read_text() == "e0\n"
    launcher.run("--output-filename", "folder", "-n", 2, "sh", "-c", script)
    assert (tmp_path / "folder/rank.1/stderr").read_text() == "e1\n"


def test_one_file_for_all_ranks_loses_nothing(launcher, tmp_path):
    launcher.run("-outfile-pattern", "all", "-n", 4, "sh", "-c", "echo x")
    assert (tmp_path / "all").read_text() == "x\n" * 4


def test_standard_input_goes_to_rank_0(launcher):
    result = launcher.run("-n", 3, "-l", "cat", input="some\nlines\n")
    assert (result.returncode, result.stdout) == (0, "[0] some\n[0] lines\n")


def test_a_prompt_without_newline_is_shown(launcher):
    script = "if [ $PMI_RANK = 0 ]; then printf 'Name? '; read name; echo Hello $name; fi"
    job = launcher.start("-n", 2, "sh", "-c", script, stdin=subprocess.PIPE)
    ready, _, _ = select.select([job.stdout], [], [], PATIENCE)
    assert ready and os.read(job.stdout.fileno(), 100) == b"Name? "
    out, _ = job.communicate("Ada\n", timeout=PATIENCE)
    assert (job.returncode, out) == (0, "Hello Ada\n")


def start_on_terminal(launcher, *arguments):
    """Starts a job in the launcher's folder on a pseudo-terminal of its own; returns the process and the terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(launcher.folder)
        os.execve(SERRIED, [SERRIED, "run", *map(str, arguments)], launcher.environment)
    return child, terminal


def on_terminal(launcher, arguments, typed):
    """Runs a job there to its end; returns the status and the screen."""
    child, terminal = start_on_terminal(launcher, *arguments)
    screen, status = b"", None
    deadline = time.monotonic() + PATIENCE
    while True:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                screen += os.read(terminal, 4096)
            except OSError:
                break
        if typed and typed[0][0] in screen:
            os.write(terminal, typed.pop(0)[1])
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), screen.decode()


def test_one_rank_has_the_terminal(launcher):
    script = "test -t 0 && test -t 1 && printf 'ready? ' && read x && echo got $x"
    status, screen = on_terminal(launcher, ["-n", 1, "sh", "-c", script], [(b"ready? ", b"yes\n")])
    assert status == 0 and "got yes" in screen


def test_one_rank_on_a_terminal_handles_its_own_interrupt(launcher):
    script = "trap 'echo interrupted; exit 7' INT; echo up; while :; do sleep 0.1; done"
    status, screen = on_terminal(launcher, ["-n", 1, "sh", "-c", script], [(b"up", b"\x03")])
    assert status == 7 and screen.count("interrupted") == 1


def test_what_is_typed_reaches_rank_0_of_several(launcher):
    script = "if [ $PMI_RANK = 0 ]; then printf 'ready? '; read x; echo got $x; fi"
    status, screen = on_terminal(launcher, ["-n", 3, "sh", "-c", script], [(b"ready? ", b"yes\n")])
    assert status == 0 and "got yes" in screen


def read_until_over(terminal, times):
    """Reads the screen until it has the word so often."""
    screen, deadline = b"", time.monotonic() + PATIENCE
    while screen.count(b"over") < times:
        assert time.monotonic() < deadline, screen
        if select.select([terminal], [], [], 0.1)[0]:
            screen += os.read(terminal, 4096)


# No shell: one that is stopped while it makes a child counts as running.
UNTIL_GO = [sys.executable, "-c", """if True:
    import os, time
    open(f"ready.{os.environ['PMI_RANK']}", "w").write(f"{os.getpid()}\\n")
    while not os.path.exists("go"):
        time.sleep(0.05)
    print("over")
"""]


def test_the_stop_key_stops_the_ranks_too(launcher):
    child, terminal = start_on_terminal(launcher, "-n", 2, *UNTIL_GO)
    launcher.wait_until_running(2)
    time.sleep(0.1)
    os.write(terminal, b"\x1a")
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    ranks = launcher.rank_ids()
    deadline = time.monotonic() + PATIENCE
    while [state_of(rank) for rank in ranks] != ["T", "T"]:
        assert time.monotonic() < deadline, "the ranks go on"
        time.sleep(0.02)
    (launcher.folder / "go").touch()
    os.kill(child, signal.SIGCONT)
    read_until_over(terminal, 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_job_that_goes_on_before_all_of_it_has_stopped_does_go_on(launcher):
    child, terminal = start_on_terminal(launcher, "-n", 2, *UNTIL_GO)
    launcher.wait_until_running(2)
    for _ in range(20):
        os.write(terminal, b"\x1a")
        _, status = os.waitpid(child, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        os.kill(child, signal.SIGCONT)
    (launcher.folder / "go").touch()
    read_until_over(terminal, 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_closed_output_ends_the_job(launcher):
    command = f"{SERRIED} run -n 2 yes | head -n 1"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=launcher.environment, timeout=PATIENCE)
    assert result.stdout == "y\n"
    launcher.assert_nothing_left()
