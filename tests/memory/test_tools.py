"""Programs whose memory somebody else looks after: debuggers, checkers, limits. Windows turn themselves off, or work."""

import pathlib
import shutil
import subprocess

import pytest

import jobs

PROGRAMS = jobs.ROOT / "tests/c"


@pytest.fixture(scope="module")
def compile_c(tmp_path_factory):
    """Compiles one of the C test programs."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_one(name, *flags):
        target = folder / "-".join([name, *(flag.strip("-").replace("=", "") for flag in flags)])
        command = [jobs.STAGE / "bin/mpicc", PROGRAMS / f"{name}.c", "-o", target, "-std=gnu11", "-g", "-O1", *flags]
        done = subprocess.run([*command, "-lpthread"], capture_output=True, text=True)
        if done.returncode and flags:
            pytest.skip(f"the compiler has no {flags[0]}")
        assert done.returncode == 0, done.stderr
        return target

    return compile_one


def needed(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here (Debian: apt install {tool})")
    return tool


def run(program, before=(), env=None, timeout=300):
    outcome = jobs.run_job(jobs.job_command("serried", 2, [*before, program]), timeout,
                           env=jobs.environment(None, **env) if env else None)
    assert outcome.ended_well(), outcome.output
    return outcome.output


@pytest.mark.parametrize("name", ["allocation", "direct"])
def test_under_a_limit_on_address_space(compile_c, name):
    run(compile_c(name), ["sh", "-c", 'ulimit -v 8000000; SERRIED_COPY=direct exec "$0"'])


def test_under_gdb(compile_c):
    gdb = [needed("gdb"), "--batch", "--nx", "-ex", "run", "--args"]
    assert run(compile_c("direct"), gdb).count("exited normally") == 2


def test_under_valgrind(compile_c):
    quiet = [needed("valgrind"), "--quiet", "--error-exitcode=0"]
    said = run(compile_c("pingpong"), quiet)
    assert "free()" not in said, said
    info = subprocess.run([*quiet, jobs.STAGE / "bin/serried", "info"], capture_output=True, text=True)
    assert "ranks cannot map each other's memory: valgrind" in info.stdout


def test_with_the_address_sanitizer(compile_c):
    run(compile_c("direct", "-fsanitize=address"), env={"ASAN_OPTIONS": "detect_leaks=0"})


def test_in_a_memory_cgroup(compile_c):
    """Blocks become shared in parts, so what is there twice meanwhile stays far below such a limit."""
    groups = pathlib.Path("/sys/fs/cgroup")
    group = next((g for g in (groups / "memory", groups) if (g / "cgroup.procs").exists()), groups) / "serried-test"
    limit = "memory.limit_in_bytes" if (groups / "memory").exists() else "memory.max"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("memory cgroups cannot be made here")
    try:
        try:
            (group / limit).write_text(str(80 << 20))
        except OSError:
            pytest.skip("memory cgroups cannot be limited here")
        run(compile_c("direct"), ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$0"'])
    finally:
        group.rmdir()
