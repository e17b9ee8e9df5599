"""Pages of the manual and completions of shells: for every function and command, and what they say is so."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402

MANUAL = jobs.STAGE / "share/man"
COMPLETIONS = jobs.STAGE / "share/bash-completion/completions"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)


def shown(page):
    """A page as `man` shows it; its warnings are failures."""
    if not shutil.which("man"):
        pytest.skip("no man here")
    done = run("man", "--warnings", "-E", "UTF-8", "-l", page, env={"MANWIDTH": "100", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    assert (done.returncode, done.stderr) == (0, ""), page
    return done.stdout


def test_every_function_of_the_header_has_a_page():
    functions = set(re.findall(r"^\w+ (MPI_\w+)\(", (jobs.STAGE / "include/mpi.h").read_text(), re.MULTILINE))
    pages = {page.stem for page in (MANUAL / "man3").iterdir()}
    assert len(functions) > 600 and sorted(functions - pages) == []


@pytest.mark.parametrize("name", ["MPI_Send", "MPI_Comm_spawn", "MPI_Win_create", "MPI_Wtime", "MPI_T_init_thread", "MPI_Alltoallw"])
def test_a_page_can_be_shown(name):
    text = shown(MANUAL / f"man3/{name}.3")
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "SEE ALSO"):
        assert f"\n{heading}\n" in text


def test_the_page_of_a_function_names_its_arguments_their_errors_and_the_chapter():
    text = " ".join(shown(MANUAL / "man3/MPI_Send.3").split())
    for words in ("int MPI_Send_c(const void *buf, MPI_Count count,", "dest rank of a process", "MPI_ERR_TAG tag", "MPI-5.0 chapter 3"):
        assert words in text, text


@pytest.mark.parametrize("command", ["run", "doctor", "top", "why"])
def test_the_page_of_a_command_has_what_its_help_says(command):
    text = shown(MANUAL / f"man1/serried-{command}.1")
    said = run(jobs.STAGE / "bin/serried", command, "--help").stdout
    options = re.findall(r"^  (-{1,2}[\w-]+)", said, re.MULTILINE)
    assert [option for option in options if option not in text] == []
    assert f"serried {command} [" in text and "serried-run(1)" in text


def completed(words):
    """What bash offers behind these words."""
    script = f'. "$0"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _serried; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = run("bash", "-c", script, COMPLETIONS / "serried")
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_and_options():
    serried = jobs.STAGE / "bin/serried"
    assert completed(f"{serried} ''") == ["run", "info", "doctor", "top", "why", "bench", "tune", "help"]
    assert "--bind-to" in completed(f"{serried} run --b") and "--bind-to" in completed(f"{jobs.STAGE}/bin/mpiexec --b")
    assert completed(f"{serried} top --j") == ["--json"]


@pytest.mark.parametrize("shell, file", [
    ("bash", "bash-completion/completions/serried"),
    ("zsh", "zsh/site-functions/_serried"),
    ("fish", "fish/vendor_completions.d/serried.fish"),
])
def test_a_shell_can_read_its_completions(shell, file):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    assert run(shell, "-n", jobs.STAGE / "share" / file).returncode == 0
