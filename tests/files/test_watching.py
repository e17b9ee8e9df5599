"""What goes to files and comes from them is told by serried top, by MPI_T and when a rank dies; serried doctor --file says
how a file would be accessed."""

import json
import subprocess

import jobs

MIB = 1 << 20


def test_top_and_mpi_t_count_what_goes_to_files(programs, tmp_path):
    command = jobs.job_command("serried", 2, [programs / "watched", tmp_path / "data"])
    job = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    try:
        said = [job.stdout.readline() for _ in range(2)]
        top = [jobs.STAGE / "bin/serried", "top", str(job.pid), "--json", "-n", "1", "-i", "0.2"]
        report = json.loads(subprocess.run(top, capture_output=True, text=True, check=True, timeout=60).stdout)
    finally:
        (tmp_path / "data.go").touch()
        job.communicate(timeout=60)
    assert said == ["MPI_T has counted 5000\n"] * 2
    files = [rank["total"]["files"] for rank in report["ranks"]]
    assert [file["bytes_written"] for file in files] == [3 * MIB + 5000] * 2
    assert [(file["bytes_read"], file["writes"], file["reads"]) for file in files] == [(MIB, 4, 1)] * 2
    assert all(file["waiting"] > 0 for file in files) and report["total"]["files"]["bytes_read"] == 2 * MIB


def test_a_death_tells_how_much_was_written(programs, tmp_path):
    command = jobs.job_command("serried", 2, [programs / "watched", tmp_path / "data", "die"])
    outcome = jobs.run_job(command, 60)
    assert "rank 1" in outcome.output and "of files it had written 3.0 MiB and read 1.0 MiB" in outcome.output, outcome.output


def doctor(*words):
    command = [jobs.STAGE / "bin/serried", "doctor", *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)


def test_the_doctor_tells_how_a_file_would_be_accessed(tmp_path):
    name = tmp_path / "data.h5"
    said = doctor("--file", name)
    assert said.returncode == 0 and f"{name} lies on " in said.stdout and "locks" in said.stdout, said.stdout
    name.with_name("data.h5.serried-sums").touch()
    assert "checksums" in doctor("--file", name).stdout
    missing = doctor("--file", tmp_path / "no/such")
    assert missing.returncode == 2 and "check the path" in missing.stdout, missing.stdout
    assert doctor("--file").returncode == 64
