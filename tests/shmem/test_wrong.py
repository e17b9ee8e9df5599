"""Wrong calls end the job with one sentence that says what is wrong, or give the value that the standard has for it; ends of
programs have the right status; variables of the environment."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import jobs  # noqa: E402

# What the sentence says.
ENDED = {
    "before_the_beginning": "shmem_p failed: OpenSHMEM is not initialised; call shmem_init",
    "after_the_end": "shmem_p failed: OpenSHMEM has been finalized",
    "pe_that_is_not_there": "shmem_p failed: argument pe is 2, but the PEs are 0 to 1",
    "negative_pe": "shmem_put failed: argument pe is -1",
    "local_address": "is no symmetric address; it must lie in a block of shmem_malloc or be a global or static variable",
    "address_of_malloc": "shmem_g failed: argument source: 0x",
    "beyond_the_heap": "go beyond the symmetric memory that begins there",
    "null_address": "argument source: 0x0 is no symmetric address",
    "null_source": "argument source is a null pointer",
    "unaligned_atomic": "is no multiple of 8; atomic operations take aligned words",
    "unaligned_wait": "shmem_wait_until failed: argument ivar: the address",
    "wait_for_local_word": "argument ivar: 0x",
    "wrong_comparison": "argument cmp is 17; it must be one of SHMEM_CMP_EQ",
    "wrong_signal_operation": "argument sig_op is 9; it must be SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
    "negative_stride": "the stride of the symmetric array is -1; it must be 1 elements at least",
    "overlapping_blocks": "the stride of the symmetric array is 1; it must be 2 elements at least",
    "wrong_context": "argument ctx (0x12345) is no context",
    "invalid_context": "argument ctx is the null context",
    "destroyed_context": "is no context: it was never made, or has been freed",
    "default_context_destroyed": "argument ctx is SHMEM_CTX_DEFAULT, which cannot be destroyed",
    "free_of_a_variable": "shmem_free failed: no block of the symmetric heap begins at",
    "free_twice": "was it freed before, or not allocated there?",
    "different_sizes": "shmem_malloc failed: argument size: not all PEs have given the same",
    "odd_alignment": "argument alignment (24) is no power of two that is a multiple of 8",
    "lock_twice": "shmem_set_lock failed: this PE holds the lock at",
    "unlock_of_a_free_lock": "shmem_clear_lock failed: this PE does not hold the lock at",
    "set_that_leaves_one_out": "leave the calling PE out",
    "wrong_level_of_threads": "argument requested (99) is no level of thread support",
}
# What is said while the program goes on; nothing, where that is no mistake.
SURVIVED = {
    "no_such_team": "shmem_team_split_strided failed: start 0, stride 7 and size 3 name no PEs of a team of 2",
    "split_of_the_invalid_team": None,
    "wrong_root": "shmem_broadcast failed: argument PE_root is 2, but the PEs are 0 to 1",
    "too_much_memory": "the symmetric heap is exhausted",
}
# Status and words.
ENDS = {
    "ends_with_status": (5, "ended the job with status 5"),
    "ends_well": (0, None),
    "returns_without_finalize": (0, None),
    "fails_without_finalize": (3, "exited with status 3"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = tmp_path_factory.mktemp("wrong") / "calls"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-nonnull", "-O1", "-g"]
    subprocess.run([jobs.STAGE / "bin/oshcc", *flags, HERE / "wrong/calls.c", "-o", built], check=True)
    return built


def run(program, name="", pes=2, **variables):
    command = jobs.job_command("serried", pes, [program, *([name] if name else [])])
    return jobs.run_job(command, 120, env=dict(os.environ, **variables))


@pytest.fixture(scope="module")
def outcomes(program):
    """All jobs, some at once."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(names := [*ENDED, *SURVIVED, *ENDS], pool.map(lambda name: run(program, name), names)))


@pytest.mark.parametrize("name", ENDED)
def test_a_wrong_call_is_told_and_ends_the_job(name, outcomes):
    outcome = outcomes[name]
    assert ENDED[name] in outcome.output and outcome.status == 1, outcome.output
    assert "written" not in outcome.output and "was killed" not in outcome.output
    assert len(outcome.output.splitlines()) <= 8, outcome.output


@pytest.mark.parametrize("name", SURVIVED)
def test_what_the_standard_has_a_value_for_is_given_and_told(name, outcomes):
    outcome = outcomes[name]
    assert outcome.status == 0 and outcome.output.count("survived") == 2, outcome.output
    said = [line for line in outcome.output.splitlines() if line != "survived"]
    if SURVIVED[name] is None:
        assert not said
    else:
        assert said and all(SURVIVED[name] in line for line in said), outcome.output


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_program_is_the_end_of_the_job(name, outcomes):
    status, words = ENDS[name]
    outcome = outcomes[name]
    assert outcome.status == status, outcome.output
    if words is None:
        assert "serried:" not in outcome.output, outcome.output
    else:
        assert words in outcome.output, outcome.output


def test_variables_of_the_environment_print_what_they_should(program):
    said = run(program, SHMEM_VERSION="1", SMA_INFO="yes").output
    assert said.count("OpenSHMEM 1.6") == 1 and said.count("SHMEM_SYMMETRIC_SIZE") == 1, said
    said = run(program, SHMEM_DEBUG="1").output
    assert "PE 0 of 2" in said and "PE 1 of 2" in said, said


def test_the_size_of_the_heap_is_kept_to(program):
    small = run(program, "too_much_memory", SHMEM_SYMMETRIC_SIZE="1.5m")
    assert small.status == 0 and "SHMEM_SYMMETRIC_SIZE allows no more" in small.output, small.output
    wrong = run(program, SHMEM_SYMMETRIC_SIZE="20kk")
    assert wrong.status == 1 and "SHMEM_SYMMETRIC_SIZE is `20kk`; it must be a size" in wrong.output, wrong.output
