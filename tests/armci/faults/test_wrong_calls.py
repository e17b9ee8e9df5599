"""Wrong calls of ARMCI: the job ends, and a sentence says which rank, which call, and what is wrong. A rank that is killed
while it holds a mutex: the others are told, and none hangs. Memory where /dev/shm is small."""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import jobs  # noqa: E402

# By the number of the case in wrong_call.c: what is told by whom.
TOLD = {
    0: r"ARMCI_Barrier failed: ARMCI is not initialised; call ARMCI_Init before",
    1: r"ARMCI_Put failed: 4 bytes at 0x\w+ are not all in the 100 bytes that are exposed at 0x\w+",
    2: r"ARMCI_Put failed: argument proc is 2, but the ranks are 0 to 1",
    3: r"ARMCI_Put failed: argument proc is -1, but the ranks are 0 to 1",
    4: r"ARMCI_Put failed: argument of the local memory is a null pointer",
    5: r"ARMCI_Put failed: the address \S+ is in no memory that rank 1 has from ARMCI_Malloc",
    6: r"ARMCI_Put failed: the address 0x\w+ is in no memory that rank 1 has from ARMCI_Malloc",
    7: r"ARMCI_Get failed: argument bytes is -1; it cannot be negative",
    8: r"ARMCI_Get failed: the address 0x\w+ is in no memory that rank 1 has",
    9: r"ARMCI_Acc failed: argument datatype is 6; the types are ARMCI_ACC_INT \(0\) to ARMCI_ACC_DCP \(5\)",
    10: r"ARMCI_Acc failed: argument scale is a null pointer",
    11: r"ARMCI_Acc failed: 12 bytes are no whole number of elements, which have 8 bytes each",
    12: r"ARMCI_PutS failed: argument stride_levels is 9; it can be 0 to 8",
    13: r"ARMCI_PutS failed: argument count is a null pointer",
    14: r"ARMCI_PutS failed: argument of the local strides is a null pointer",
    15: r"ARMCI_GetS failed: argument count \(an element of it\) is -2; it cannot be negative",
    16: r"ARMCI_PutS failed: 120 bytes at 0x\w+ are not all in the 100 bytes",
    17: r"ARMCI_PutV failed: 8 bytes at 0x\w+ are not all in the 100 bytes",
    18: r"ARMCI_PutV failed: argument iov.dst_ptr_array is a null pointer",
    19: r"ARMCI_AccV failed: argument iov is a null pointer",
    20: r"ARMCI_Rmw failed: argument op is 4; the operations are ARMCI_FETCH_AND_ADD \(0\) to ARMCI_SWAP_LONG \(3\)",
    21: r"ARMCI_Rmw failed: argument ploc is a null pointer",
    22: r"ARMCI_Rmw failed: 8 bytes at 0x\w+ are not all in the 100 bytes",
    23: r"ARMCI_Fence failed: argument proc is 7, but the ranks are 0 to 1",
    24: r"ARMCI_Lock failed: there are no mutexes: all ranks must call ARMCI_Create_mutexes before",
    25: r"ARMCIX_Lock_hdl failed: argument hdl \(0x0\) is no set of mutexes",
    26: r"ARMCI_Wait failed: argument handle is a null pointer",
    27: r"ARMCI_Malloc failed: argument ptrs is a null pointer",
    28: r"ARMCI_Free failed: argument ptr \(0x\w+\) is not what rank 0 has got from ARMCI_Malloc",
    29: r"ARMCI_Malloc failed: argument size is -8; it cannot be negative",
    30: r"ARMCI_Free_group failed: argument group->comm is the null communicator",
    31: r"ARMCI_Group_create failed: pid_list has 5, but the ranks of the group are 0 to 1",
    32: r"ARMCI_Group_create failed: .*rank 1.*twice",
    33: r"ARMCI_Absolute_id failed: argument group_rank is 2, but the group has 2 ranks",
    34: r"ARMCI_Group_free failed: the group of all ranks cannot be freed",
    35: r'armci_msg_igop failed: argument op is "xor"; the operations are \+ \* max',
    36: r"armci_msg_gop_scope failed: argument scope is 3; the scopes are SCOPE_ALL",
    37: r"armci_msg_snd failed: argument tag is -1; it must be 0 or more",
    38: r"armci_msg_snd failed: argument to is 3, but the ranks are 0 to 1",
    39: r"armci_msg_sel failed: argument n is 4; the value at the beginning has 8 bytes",
    40: r"armci_domain_id failed: argument glob_proc_id is 9, but the ranks are 0 to 1",
    41: r"ARMCI_Error: the sky falls \(code 7\)",
    42: r"armci_msg_snd failed: argument tag is 2147483647, which ARMCI has for notifications",
    43: r"ARMCI_Group_create failed: argument grp_size is -1; it cannot be negative",
    44: r"armci_notify failed: argument proc is 2, but the ranks are 0 to 1",
}


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compiles a program of this folder; gives its path."""
    folder = tmp_path_factory.mktemp("armci")
    built = {}

    def compile_once(name):
        if name not in built:
            program = folder / name
            command = [jobs.STAGE / "bin/mpicc", "-std=gnu11", "-Wall", "-Wextra", "-O1", "-g", HERE / f"{name}.c"]
            subprocess.run([*command, "-o", program, "-larmci"], check=True)
            built[name] = program
        return built[name]

    return compile_once


def run(program, ranks, *arguments, wrapper=()):
    return jobs.run_job([*wrapper, *jobs.job_command("serried", ranks, [program, *arguments])], 120)


@pytest.mark.parametrize("case", TOLD, ids=str)
def test_wrong_call(case, build):
    outcome = run(build("wrong_call"), 2, case)
    assert outcome.status not in (0, None, 98, 99), outcome.output
    assert re.search(r"serried: rank [01]: " + TOLD[case], outcome.output), outcome.output
    assert "SIGSEGV" not in outcome.output and "internal error" not in outcome.output, outcome.output


def test_every_case_is_tried():
    cases = re.findall(r"case (\d+):", (HERE / "wrong_call.c").read_text())
    assert {0, *map(int, cases)} == set(TOLD)


@pytest.mark.parametrize("how", ["killed", "exits"])
def test_a_holder_that_dies(how, build):
    outcome = run(build("holder_dies"), 3, how)
    assert outcome.status not in (0, None), outcome.output
    assert re.search(r"rank 1 \(process \d+ on .*(killed by signal 9|exited with status)", outcome.output), outcome.output


def test_a_small_dev_shm_is_no_obstacle(build):
    """80 MB of a rank, and a /dev/shm of 1 MB."""
    wrapper = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    outcome = run(build("holder_dies"), 2, "large", wrapper=wrapper)
    assert outcome.status == 0, outcome.output
