"""`serried tune`: a file of crossovers is measured, written, and used by all ranks of later jobs."""

import re
import shutil
import subprocess

import pytest

from launching import PATIENCE, PEERS, SERRIED, STAGE, compile_c

MEASURED = ["whole_of_two", "pulled"]


def serried(launcher, *arguments, command=SERRIED, **variables):
    done = subprocess.run([command, *map(str, arguments)], cwd=launcher.folder, env={**launcher.environment, **variables},
                          capture_output=True, text=True, timeout=PATIENCE)
    launcher.assert_nothing_left(within=10)
    return done


@pytest.fixture
def crossover(launcher):
    """A program whose ranks say how many bytes a crossover has."""
    return compile_c("crossover.c", launcher.folder / "crossover", compiler=str(STAGE / "bin/mpicc"))


def told(ranks, bytes_):
    return [f"rank {rank}: {bytes_}" for rank in range(ranks)]


def in_force(launcher, name, **variables):
    return int(re.search(rf"^ +{name} +(\d+) of", serried(launcher, "info", **variables).stdout, re.MULTILINE)[1])


def test_what_is_measured_is_written_and_used(launcher):
    file = launcher.folder / "tuning.toml"
    job = serried(launcher, "tune", "--output", file, *MEASURED)
    assert (job.returncode, job.stderr) == (0, "")
    found = {name: re.search(rf"^{name}: .*\n +(stays|moves) at", job.stdout, re.MULTILINE)[1] for name in MEASURED}
    for name in MEASURED:
        rows = re.findall(r"^ +(bytes|below|beyond)((?: +[\d.K]+)+)$", job.stdout.split(f"{name}: ")[1], re.MULTILINE)[:3]
        assert [row[0] for row in rows] == ["bytes", "below", "beyond"]
        assert len({len(row[1].split()) for row in rows}) == 1 and len(rows[0][1].split()) >= 5
    text = file.read_text()
    assert text.startswith("# Made by `serried tune`") and job.stdout.endswith(f"written: {file}\n")
    # What has moved stands in the file, and nothing else.
    values = {name: int(value) for name, value in re.findall(r"^(\w+) = (\d+)$", text, re.MULTILINE)}
    assert set(values) == {name for name, what in found.items() if what == "moves"}
    assert all(in_force(launcher, name, SERRIED_TUNING=str(file)) == value for name, value in values.items())


def test_nothing_is_written_on_request(launcher):
    before = set(launcher.folder.iterdir())
    job = serried(launcher, "tune", "--show", "in_slots_of_two")
    assert (job.returncode, job.stderr) == (0, "") and "in_slots_of_two: " in job.stdout and "written" not in job.stdout
    assert set(launcher.folder.iterdir()) == before


def test_all_ranks_take_the_values_of_the_launcher(launcher, crossover):
    file = launcher.folder / "tuning.toml"
    file.write_text("# by hand\nwhole = 5_000\n")
    job = launcher.run("-n", 3, crossover, "whole", env={"SERRIED_TUNING": str(file)})
    assert job.returncode == 0 and sorted(job.stdout.splitlines()) == told(3, 5000), job.stderr
    # A rank that had another file would choose other ways than its peers.
    job = launcher.run("-n", 2, "-x", f"SERRIED_TUNING={file}", crossover, "whole")
    assert sorted(job.stdout.splitlines()) == told(2, in_force(launcher, "whole", SERRIED_TUNING="none"))


def test_ranks_of_other_launchers_and_without_one_have_them_too(launcher, crossover):
    file = launcher.folder / "tuning.toml"
    file.write_text("whole = 5000\n")
    alone = serried(launcher, "whole", command=crossover, SERRIED_TUNING=str(file))
    assert alone.stdout.splitlines() == told(1, 5000)
    hydra = PEERS / "mpich/bin/mpiexec"
    if not hydra.exists():
        pytest.skip("no Hydra installed (`make test` installs it)")
    job = serried(launcher, "-n", 3, crossover, "whole", command=hydra, SERRIED_TUNING=str(file))
    assert sorted(job.stdout.splitlines()) == told(3, 5000), job.stderr


def test_a_file_beside_the_libraries_is_found(launcher, crossover):
    command = launcher.folder / "prefix/bin/serried"
    command.parent.mkdir(parents=True)
    shutil.copy(SERRIED, command)
    file = launcher.folder / "prefix/share/serried/tuning.toml"
    file.parent.mkdir(parents=True)
    file.write_text("whole = 5000\n")
    assert f"of {file}" in serried(launcher, "info", command=command).stdout
    job = serried(launcher, "run", "-n", 2, crossover, "whole", command=command, LD_LIBRARY_PATH=str(STAGE / "lib"))
    assert sorted(job.stdout.splitlines()) == told(2, 5000), job.stderr
    job = serried(launcher, "run", "-n", 2, crossover, "whole", command=command, LD_LIBRARY_PATH=str(STAGE / "lib"),
                  SERRIED_TUNING="none")
    assert "5000" not in job.stdout and job.returncode == 0
    # It is measured anew in the same place, also where that is not there.
    shutil.rmtree(file.parent)
    job = serried(launcher, "tune", "in_slots_of_two", command=command)
    assert job.returncode == 0 and "Made by" in file.read_text(), job.stderr


@pytest.mark.parametrize("text, words", [
    ("whole = 5\n", "says whole = 5 in line 1, which has to be 4096 to 1048576 bytes"),
    ("\nhole = 5000\n", "names `hole` in line 2, which is no crossover"),
    (None, "cannot be read: No such file"),
])
def test_a_wrong_file_is_told_and_no_job_starts(launcher, text, words):
    file = launcher.folder / "tuning.toml"
    if text is not None:
        file.write_text(text)
    job = launcher.run("-n", 2, "touch", "started", env={"SERRIED_TUNING": str(file)})
    assert job.returncode != 0 and words in job.stderr and str(file) in job.stderr, job.stderr
    assert "serried tune" in job.stderr and not (launcher.folder / "started").exists()
    assert words in serried(launcher, "info", SERRIED_TUNING=str(file)).stdout


@pytest.mark.parametrize("arguments, status, words", [
    (["hole"], 64, "hole is no option and no length"),
    (["--output"], 64, "--output wants a file"),
    (["--output", "/nowhere/tuning.toml", "pulled"], 1, "cannot write /nowhere/tuning.toml"),
])
def test_a_wrong_command_line_is_told(launcher, arguments, status, words):
    job = serried(launcher, "tune", *arguments)
    assert job.returncode == status and words in job.stderr and job.stdout == "", job.stderr
