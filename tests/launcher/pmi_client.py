"""A rank that speaks just enough PMI-1."""

import os
import sys

rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
wire = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)


def ask(line):
    wire.write(line.encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        answer += wire.read(1)
    return dict(pair.split("=", 1) for pair in answer.decode().split() if "=" in pair)


assert ask("cmd=init pmi_version=1 pmi_subversion=1")["rc"] == "0"
space = ask("cmd=get_my_kvsname")["kvsname"]
what = sys.argv[1]
if what == "exchange":
    ask(f"cmd=put kvsname={space} key=key{rank} value=from-{rank}")
    assert ask("cmd=barrier_in")["cmd"] == "barrier_out"
    value = ask(f"cmd=get kvsname={space} key=key{(rank + 1) % size}")["value"]
    print(f"rank {rank}: {value.replace('-', ' ')}")
    assert ask(f"cmd=get kvsname={space} key=PMI_process_mapping")["value"] == f"(vector,(0,1,{size}))"
if what == "abort":
    if rank == 1:
        wire.write(b"cmd=abort exitcode=42\n")
    ask("cmd=barrier_in")
if what == "leave":
    sys.exit(0)
ask("cmd=finalize")
if what == "bad-after-finalize" and rank == 1:
    sys.exit(6)
