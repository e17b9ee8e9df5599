"""Output for which there is no room: one line says where and why, the status is not 0, and the job goes on."""

import os
import pty
import resource
import subprocess

import pytest

from launching import PATIENCE, SERRIED, compile_c

MUCH = 'yes "$PMI_RANK" | head -c 400000; echo over > over.$PMI_RANK'


def told(err, place, reason="No space left on device"):
    """One line that names the place and the reason."""
    assert len(err.splitlines()) == 1 and err.startswith(f"serried: cannot write to {place}: {reason}"), err
    assert err.endswith("output of the job is lost\n"), err
    return True


def shell(launcher, command, **options):
    """A shell's command line, in which RUN is `serried run`."""
    return subprocess.run(["sh", "-c", command.replace("RUN", f"{SERRIED} run")], cwd=launcher.folder,
                          env=launcher.environment, capture_output=True, text=True, timeout=PATIENCE, **options)


@pytest.mark.parametrize("ranks", [1, 2])
def test_standard_output(launcher, ranks):
    result = shell(launcher, f"RUN -n {ranks} sh -c '{MUCH}' > /dev/full")
    assert result.returncode == 1 and told(result.stderr, "standard output")
    assert all((launcher.folder / f"over.{rank}").exists() for rank in range(ranks)), "the job did not go on"


@pytest.mark.parametrize("ranks", [1, 2])
def test_standard_error_is_told_on_standard_output(launcher, ranks):
    result = shell(launcher, f"RUN -n {ranks} sh -c '{{ {MUCH}; }} >&2' 2> /dev/full")
    assert result.returncode == 1 and told(result.stdout, "standard error")


def test_both_leave_the_status(launcher):
    result = shell(launcher, f"RUN -n 2 sh -c '{MUCH}' > /dev/full 2>&1")
    assert result.returncode == 1


FILES = {
    "-outfile-pattern": ("small/o.%r", "small/o."),
    "-errfile-pattern": ("small/e.%r", "small/e."),
    "--output-filename": ("small/all", "small/all/rank."),
}


@pytest.mark.parametrize("option", FILES)
@pytest.mark.parametrize("ranks", [1, 2])
def test_files_on_a_small_disk(launcher, option, ranks):
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    name, place = FILES[option]
    script = f"{{ {MUCH}; }} >&2" if "err" in option else MUCH
    (launcher.folder / "small").mkdir()
    result = shell(launcher, f"""exec unshare -m sh -ec 'mount -t tmpfs -o size=64k none small
        exec "$@"' sh RUN -n {ranks} {option} {name} sh -c '{script}'""")
    assert result.returncode == 1 and place in result.stderr
    assert told(result.stderr, result.stderr.split("write to ")[1].split(":")[0])


@pytest.mark.parametrize("option", ["-outfile-pattern", "-errfile-pattern"])
def test_a_full_device_for_all_ranks(launcher, option):
    result = launcher.run("-n", 3, option, "/dev/full", "sh", "-c", "echo x; echo x >&2")
    assert result.returncode == 1 and (result.stdout + result.stderr).count("serried:") == 1
    assert "serried: cannot write to /dev/full: No space left on device" in result.stderr


def test_a_file_system_that_says_so_when_a_file_is_closed(launcher, tmp_path):
    late = compile_c("late.c", tmp_path / "liblate.so", "-shared", "-fPIC")
    result = launcher.run("-n", 2, "-outfile-pattern", "late.%r", "echo", "x", env={"LD_PRELOAD": str(late)})
    assert result.returncode == 1 and told(result.stderr, "late.1", "Disk quota exceeded")
    report = launcher.run("-n", 2, "--report", "late.report", "sh", "-c", "kill -USR1 $$", env={"LD_PRELOAD": str(late)})
    assert "serried: cannot write the report late.report: Disk quota exceeded" in report.stderr


def test_a_limit_on_the_size_of_files(launcher):
    """The launcher writes the files, so it must not be killed by the signal that goes with the limit."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (56 << 20, 56 << 20))

    result = launcher.run("-n", 2, "-outfile-pattern", "all", "sh", "-c", "yes | head -c 30000000", preexec_fn=limit)
    assert result.returncode == 1 and told(result.stderr, "all", "File too large"), result
    assert "ulimit -f" in result.stderr and (launcher.folder / "all").stat().st_size == 56 << 20


def test_the_report(launcher):
    result = launcher.run("-n", 2, "--report", "/dev/full", "sh", "-c", "exit 3")
    assert result.returncode == 3
    assert result.stderr.endswith("serried: cannot write the report /dev/full: No space left on device (os error 28)\n")


def test_the_loss_stands_in_the_report(launcher, tmp_path):
    result = launcher.run("-n", 2, "-outfile-pattern", "/dev/full", "--report", "report", "echo", "x")
    assert result.returncode == 1
    assert "cannot write to /dev/full: No space left" in (tmp_path / "report").read_text()


def test_the_table_of_numbers_and_complaints(launcher):
    """What the launcher itself says."""
    table = shell(launcher, "RUN -n 2 --stats true 2> /dev/full")
    assert table.returncode == 1 and told(table.stdout, "standard error")
    wrong = shell(launcher, "RUN -n 0 true 2> /dev/full")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    for words in ("run --help", "run --version", "help", "version"):
        text = shell(launcher, f"{SERRIED} {words} > /dev/full")
        assert text.returncode == 1 and text.stderr.startswith("serried: cannot write to standard output: No space"), text


def test_a_terminal_that_has_gone(launcher):
    master, slave = pty.openpty()
    os.close(master)
    result = subprocess.run([SERRIED, "run", "-n", "2", "echo", "x"], env=launcher.environment, stdin=subprocess.DEVNULL,
                            stdout=slave, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    os.close(slave)
    assert result.returncode == 1 and told(result.stderr, "standard output", "Input/output error")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_reader_that_has_had_enough_is_no_loss(launcher, ranks):
    result = shell(launcher, f"{{ RUN -n {ranks} yes; echo $? >&2; }} | head -n 1")
    assert (result.stdout, result.stderr) == ("y\n", "141\n")


def test_room_that_comes_back_is_used(launcher):
    """A full disk: what was lost stays lost, the rest is written."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("no right to make a namespace")
    script = "yes | head -c 400000; sleep 0.5; rm small/other; sleep 0.5; echo the end"
    (launcher.folder / "small").mkdir()
    result = shell(launcher, f"""exec unshare -m sh -ec 'mount -t tmpfs -o size=64k none small
        head -c 40000 /dev/zero > small/other
        "$@" || echo $?; tail -n 1 small/o' sh RUN -n 1 -outfile-pattern small/o sh -c '{script}'""")
    assert result.stdout == "1\nthe end\n" and told(result.stderr, "small/o")


@pytest.mark.parametrize("options, redirection", [("", "> f 2>&1"), ("-outfile-pattern f -errfile-pattern f", "")])
def test_output_and_error_of_a_rank_keep_their_order_in_one_file(launcher, options, redirection):
    script = 'for i in 1 2 3 4 5 6 7 8 9; do echo "o$i"; echo "e$i" >&2; done'
    result = shell(launcher, f"RUN -n 1 {options} sh -c '{script}' {redirection}")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (launcher.folder / "f").read_text().split() == [f"{what}{i}" for i in range(1, 10) for what in "oe"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_a_rank_writes_to_its_own_file_is_there_at_once(launcher, ranks):
    """Also if it is no whole line."""
    job = launcher.start("-n", ranks, "-outfile-pattern", "ready.%r", "sh", "-c", "printf $$; while ! [ -e go ]; do sleep 0.05; done")
    launcher.wait_until_running(ranks)
    (launcher.folder / "go").touch()
    assert job.communicate(timeout=PATIENCE) == ("", "") and job.returncode == 0


def test_ranks_that_share_a_file_do_not_mix_their_lines(launcher, tmp_path):
    compile_c("lines.c", tmp_path / "lines")
    assert launcher.run("-n", 4, "-outfile-pattern", "all", "./lines", 3000).returncode == 0
    lines = (tmp_path / "all").read_text().splitlines()
    assert len(lines) == 12000
    for line in lines:
        rank, number, filling = line.split(" ")
        assert filling == "abcd"[int(rank)] * (10 + int(number) * 37 % 300), line[:80]
