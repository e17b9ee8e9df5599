"""Starting: who the ranks are, what they inherit, what cannot be started."""

import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from launching import PEERS, PROGRAMS, SERRIED, compile_c, in_time, peer_compiler, program


def lines(result):
    assert result.returncode == 0, result.stderr
    return sorted(result.stdout.splitlines())


def test_every_rank_knows_its_rank_and_the_size(launcher):
    result = launcher.run("-n", 3, "sh", "-c", "echo $PMI_RANK of $PMI_SIZE, $MPI_LOCALRANKID of $MPI_LOCALNRANKS")
    assert lines(result) == [f"{rank} of 3, {rank} of 3" for rank in range(3)]


def test_threads_of_ranks_share_the_cpus_unless_somebody_has_said_how_many(launcher):
    cpus = len(os.sched_getaffinity(0))
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    for name in names:
        launcher.environment.pop(name, None)

    def threads(*options):
        values = " ".join(f"${{{name}--}}" for name in names)
        return set(lines(launcher.run(*options, "sh", "-c", f"echo {values}")))

    half = max(1, cpus // 2)
    assert threads("-n", 1) == {"- - - -"} == threads("-n", 2, "--bind-to", "core")
    assert threads("-n", 2) == {f"- {half} {half} {half}"} and threads("-n", 3 * cpus) == {"- 1 1 1"}
    assert threads("-n", 2, "-genv", "OPENBLAS_NUM_THREADS", "7") == {f"- 7 {half} {half}"}
    launcher.environment["OMP_NUM_THREADS"] = "5"
    assert threads("-n", 2) == {"5 - - -"}


def test_mpiexec_and_mpirun_are_the_same_command(launcher, tmp_path):
    for name in ("mpiexec", "mpirun"):
        (tmp_path / name).symlink_to(SERRIED)
        result = subprocess.run([tmp_path / name, "-n", "2", "echo", "x"], capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (0, "x\nx\n")


def test_several_programs_are_one_job(launcher):
    result = launcher.run("-n", 1, "-env", "WHO", "one", "sh", "-c", "echo $PMI_RANK/$PMI_SIZE $WHO", ":",
                          "-n", 2, "-env", "WHO", "two", "sh", "-c", "echo $PMI_RANK/$PMI_SIZE $WHO")
    assert lines(result) == ["0/3 one", "1/3 two", "2/3 two"]


def test_environment_options_of_hydra_and_open_mpi(launcher):
    result = launcher.run("-genv", "A", "1", "-x", "B=2", "-x", "C", "-env", "D", "4", "--unset-env", "E",
                          "sh", "-c", "echo $A$B$C$D${E-gone}", env={"C": "3", "E": "5"})
    assert lines(result) == ["1234gone"]


def test_variables_of_an_outer_job_are_not_passed_on(launcher):
    outer = {"PMI_RANK": "7", "PMIX_RANK": "7", "OMPI_COMM_WORLD_RANK": "7", "SERRIED_NODE_SEGMENT": "3:4"}
    result = launcher.run("-n", 1, "sh", "-c", "echo $PMI_RANK ${PMIX_RANK-none} ${OMPI_COMM_WORLD_RANK-none}",
                          env=outer)
    assert lines(result) == ["0 none none"]


def test_a_job_can_start_a_job(launcher):
    result = launcher.run("-n", 2, SERRIED, "run", "-n", "2", "sh", "-c", "echo $PMI_RANK/$PMI_SIZE")
    assert lines(result) == ["0/2", "0/2", "1/2", "1/2"]


def test_working_directory(launcher, tmp_path):
    (tmp_path / "there").mkdir()
    program(tmp_path / "there", "pwd\n")
    result = launcher.run("-wdir", "there", "-n", 2, "./program")
    assert lines(result) == [str((tmp_path / "there").resolve())] * 2


def test_binding_stays_within_the_allowed_cpus(launcher):
    cpu = min(os.sched_getaffinity(0))
    allowed = "grep Cpus_allowed_list /proc/self/status"
    bound = launcher.run("-n", 1, "--bind-to", "core", "--report-bindings", "sh", "-c", allowed)
    assert bound.returncode == 0 and "rank 0 is bound to CPU" in bound.stderr
    one = subprocess.run(["taskset", "-c", str(cpu), SERRIED, "run", "-n", "1", "--bind-to", "core", "sh", "-c", allowed],
                         capture_output=True, text=True)
    assert one.stdout.split() == ["Cpus_allowed_list:", str(cpu)]
    many = launcher.run("-n", 2 * os.cpu_count(), "--bind-to", "core", "true")
    assert many.returncode == 0 and "no rank is bound" in many.stderr


def test_options_of_other_launchers_are_named_once(launcher):
    result = launcher.run("--oversubscribe", "--allow-run-as-root", "--mca", "btl", "self", "-ppn", 1, "-n", 3, "true")
    assert result.returncode == 0
    assert len(result.stderr.splitlines()) == 1 and "--mca btl self" in result.stderr


def test_a_host_that_cannot_be_reached_is_told_with_what_the_remote_shell_says(launcher, tmp_path):
    program(tmp_path, 'echo "$1 is far away" >&2\nexit 255\n', "reach")
    result = launcher.run("-launcher-exec", "./reach", "-H", "far.example", "-n", 2, "true")
    assert (result.returncode, result.stdout) == (127, "")
    assert "no agent could be started on far.example" in result.stderr and "far.example is far away" in result.stderr


def test_a_remote_shell_that_is_not_there_is_told(launcher):
    result = launcher.run("-launcher-exec", "./reach", "-H", "far.example", "-n", 2, "true")
    assert result.returncode == 127 and "cannot start an agent on far.example: ./reach" in result.stderr
    unknown = launcher.run("-launcher", "pigeon", "-H", "far.example", "true")
    assert unknown.returncode == 127 and "known are ssh" in unknown.stderr


def test_what_is_no_agent_is_told(launcher, tmp_path):
    program(tmp_path, 'printf "\\nserried 77 9.9.9\\n"\nexec sleep 60\n', "other")
    result = launcher.run("-launcher-exec", "./other", "-H", "far.example", "true")
    assert result.returncode == 127 and "far.example has another version of Serried (serried 77 9.9.9)" in result.stderr
    program(tmp_path, 'head -c 100000 /dev/zero\nexec sleep 60\n', "noise")
    result = launcher.run("-launcher-exec", "./noise", "-H", "far.example", "true")
    assert result.returncode == 127 and "what comes from far.example is not from an agent" in result.stderr


@pytest.mark.parametrize("option", ["-f", "-hostfile", "-machinefile", "--default-hostfile"])
def test_a_file_of_hosts_has_to_be_there(launcher, tmp_path, option):
    missing = launcher.run(option, "hosts", "-n", 2, "true")
    assert missing.returncode == 2 and f"{option} hosts: there is no such file" in missing.stderr
    (tmp_path / "hosts").write_text(f"# this machine\nlocalhost:4\n{socket.gethostname()} slots=2\n127.0.0.1\n")
    here = launcher.run(option, "hosts", "-n", 2, "echo", "x")
    assert (here.returncode, here.stdout, here.stderr) == (0, "x\nx\n", "")


def test_hosts_that_mean_this_machine_are_accepted(launcher):
    result = launcher.run("-hosts", f"localhost,{socket.gethostname()}:2,127.0.0.1,[::1]:1", "-n", 2, "echo", "x")
    assert (result.returncode, result.stdout, result.stderr) == (0, "x\nx\n", "")


def test_a_configuration_file_names_the_programs(launcher, tmp_path):
    (tmp_path / "programs").write_text(
        "# ocean and air\n\n-n 2 -env WHO ocean sh -c \"echo $WHO $PMI_RANK/$PMI_SIZE\"\n"
        "-n 1 -env WHO air \\\n  sh -c \"echo $WHO $PMI_RANK/$PMI_SIZE\"\n")
    assert lines(launcher.run("-configfile", "programs")) == ["air 2/3", "ocean 0/3", "ocean 1/3"]
    before = launcher.run("-l", "-n", 1, "echo", "land", ":", "-configfile", "programs")
    assert lines(before) == ["[0] land", "[1] ocean 1/4", "[2] ocean 2/4", "[3] air 3/4"]
    for arguments, words in ((["absent"], "-configfile absent: there is no such file"),
                             (["programs", "-n", 2, "true"], "-configfile FILE stands in the place of a program")):
        result = launcher.run("-configfile", *arguments)
        assert result.returncode == 2 and words in result.stderr and len(result.stderr.splitlines()) == 1


def test_what_cannot_start_is_said_in_one_sentence(launcher, tmp_path):
    (tmp_path / "here").write_text("#!/bin/sh\n")
    cases = {
        "absent-program": "no such program in PATH",
        "here": "did you mean ./here",
        "./here": "chmod +x",
        ".": "cannot start .: it is a directory",
        "..": "cannot start ..: it is a directory",
        str(tmp_path): "it is a directory",
    }
    for name, words in cases.items():
        if name == "here":
            (tmp_path / "here").chmod(0o755)
        result = launcher.run("-n", 3, name)
        (tmp_path / "here").chmod(0o644)
        assert result.returncode == 127 and words in result.stderr, (name, result.stderr)
        assert len(result.stderr.splitlines()) == 1


def test_a_program_that_is_refused_is_named_as_the_user_has_written_it(launcher, tmp_path):
    compile_c(PROGRAMS.parent / "golden/hello.c", tmp_path / "hello", compiler=peer_compiler("openmpi"))
    (tmp_path / "below").mkdir()
    shutil.copy(tmp_path / "hello", tmp_path / "below/hello")
    said = launcher.run("-n", 2, "--launch-only", "./hello").stderr
    assert "cannot start ./hello: it would load Open MPI" in said
    assert "cannot start below/hello: " in launcher.run("-n", 2, "--launch-only", "-wdir", "below", "./hello").stderr


@pytest.mark.parametrize("how", ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"])
def test_a_program_for_open_mpi_runs_whatever_path_is_in_it(launcher, tmp_path, how):
    """A RUNPATH comes behind the library path, an RPATH before it: then our library is preloaded."""
    folder = PEERS / "openmpi/lib"
    flags = [how, f"-Wl,-rpath,{folder}"]
    compile_c(PROGRAMS.parent / "golden/hello.c", tmp_path / "hello", *flags, compiler=peer_compiler("openmpi"))
    result = launcher.run("-n", 3, "./hello")
    assert sorted(result.stdout.split("\n")[:-1]) == [f"rank {rank} of 3" for rank in range(3)], result


def test_a_program_for_open_mpi_finds_its_launchers_variables(launcher, tmp_path):
    (tmp_path / "ask.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(void) { if (getenv(\"NEVER\")) MPI_Init(0, 0);\n"
        'puts(getenv("OMPI_COMM_WORLD_RANK")); puts(getenv("OMPI_COMM_WORLD_LOCAL_SIZE")); }\n'
    )
    compile_c(tmp_path / "ask.c", tmp_path / "ask", compiler=peer_compiler("openmpi"))
    result = launcher.run("-n", 2, "./ask")
    assert sorted(result.stdout.split()) == ["0", "1", "2", "2"], result
    other = launcher.run("-n", 2, "sh", "-c", "echo ${OMPI_COMM_WORLD_RANK-none}")
    assert other.stdout.split() == ["none", "none"], other


def test_a_failed_exec_is_reported_once(launcher, tmp_path):
    path = tmp_path / "odd"
    path.write_text("no program at all")
    path.chmod(0o755)
    result = launcher.run("-n", 8, "./odd")
    assert result.returncode == 127 and result.stderr.count("cannot start") == 1
    path.write_text("#!/nowhere/interpreter\n")
    assert "interpreter" in launcher.run("-n", 2, "./odd").stderr


def test_64_ranks_start_quickly_on_few_cores(launcher):
    def attempt():
        result = launcher.run("-n", 64, "sh", "-c", "echo $PMI_RANK")
        assert sorted(map(int, result.stdout.split())) == list(range(64))

    in_time(5, attempt)


def test_200_starts_in_a_row_leave_nothing(launcher):
    before = len(list(pathlib.Path("/proc/self/fd").iterdir()))
    for _ in range(200):
        assert launcher.run("-n", 2, "true").returncode == 0
    launcher.assert_nothing_left()
    assert len(list(pathlib.Path("/proc/self/fd").iterdir())) == before


def test_signal_dispositions_and_masks_are_those_of_the_user(launcher):
    show = "grep -E 'SigBlk|SigIgn' /proc/self/status"
    plain = subprocess.run(["sh", "-c", show], capture_output=True, text=True, restore_signals=True)
    assert launcher.run("-n", 1, "sh", "-c", show).stdout == plain.stdout
