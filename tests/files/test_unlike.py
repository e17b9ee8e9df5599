"""Arguments that ranks must give alike (unlike.c): the call fails at all of them with the right class and says what differs."""

import os

import pytest

import jobs

LAST = 2
# The class, what all ranks are told of, and what the last rank alone is told (and the others of it).
ALWAYS = {
    "open amode": ("MPI_ERR_NOT_SAME", "argument amode is MPI_MODE_RDWR at rank 0 and MPI_MODE_RDONLY at rank 2"),
    "open wrong amode": ("MPI_ERR_AMODE", None),
    "open no name": ("MPI_ERR_BAD_FILE", None),
    "open other file": ("MPI_ERR_NOT_SAME", "different files at ranks 0 and 2"),
    "set_size": ("MPI_ERR_NOT_SAME", "argument size is 100 at rank 0 and 101 at rank 2"),
    "set_size negative": ("MPI_ERR_ARG", None),
    "preallocate": ("MPI_ERR_NOT_SAME", "argument size is 100 at rank 0 and 99 at rank 2"),
    "preallocate negative": ("MPI_ERR_ARG", None),
    "set_atomicity": ("MPI_ERR_NOT_SAME", "argument flag is 0 at rank 0 and 1 at rank 2"),
    "seek_shared": ("MPI_ERR_NOT_SAME", "argument offset is 4 at rank 0 and 5 at rank 2"),
    "seek_shared whence": ("MPI_ERR_NOT_SAME", "argument whence is MPI_SEEK_SET at rank 0 and MPI_SEEK_CUR at rank 2"),
    "seek_shared wrong whence": ("MPI_ERR_ARG", None),
    "set_size again": ("MPI_SUCCESS", ""),
    "end": ("right", ""),
}
CHECKED = {
    "view disp": ("MPI_SUCCESS", ""),
    "view etype": ("MPI_ERR_NOT_SAME", "argument etype (its extent in the file) is 4 at rank 0 and 8 at rank 2"),
    "view datarep": ("MPI_ERR_NOT_SAME", "argument datarep is native at rank 0 and external32 at rank 2"),
    "view no datarep": ("MPI_ERR_UNSUPPORTED_DATAREP", None),
    "view negative": ("MPI_ERR_ARG", None),
    "view back": ("MPI_ERR_TYPE", None),
    "view type": ("MPI_SUCCESS", ""),
}


@pytest.mark.parametrize("nodes", ["1", "3"])
@pytest.mark.parametrize("check", ["0", "1"])
def test_all_ranks_fail_alike(programs, tmp_path, check, nodes):
    wanted = {**ALWAYS, **(CHECKED if check == "1" else {})}
    if nodes != "1":
        del wanted["open other file"]  # nodes do not compare their numbers of files
    words = ["views"] if check == "1" else []
    command = jobs.job_command("serried", LAST + 1, [programs / "unlike", tmp_path, *words])
    outcome = jobs.run_job(command, 120, env=dict(os.environ, SERRIED_CHECK=check, SERRIED_NODES=nodes))
    assert outcome.ended_well(), outcome.output
    found = {}
    for line in outcome.output.splitlines():
        what, rank, code, text = line.split("|", 3)
        found[what, int(rank)] = code, text
    for what, (code, told) in wanted.items():
        for rank in range(LAST + 1):
            assert found[what, rank][0] == code, (what, rank, found[what, rank])
            text = found[what, rank][1]
            if told is None:
                # The rank itself is told what is wrong, all others who it was.
                assert ("rank 2 gave this call" in text) == (rank != LAST), text
            else:
                assert told in text, (what, rank, text)
