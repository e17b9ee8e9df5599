"""A job whose ranks start processes in every way that Python has, while their arrays are shared between the ranks.

    forks.py WAY     one of the functions start_… below; the way of each is its name

Before, every rank has sent an array so often that its pages are shared with the other ranks. The children must see
the array as it was, the rank must go on to work with it, and it must become shared again once the children are gone.
"""

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy
import work

BYTES = 1 << 20
WINDOWS = not os.environ.get("SERRIED_COPY") and "windows" in sys.argv[2:]


def state(array):
    """`shared`, `private`: how the middle of an array is mapped."""
    middle = array.ctypes.data + array.nbytes // 2
    for line in open("/proc/self/maps"):
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= middle < last:
            return "shared" if line.split()[1].endswith("s") else "private"
    raise AssertionError("an array that is nowhere")


class Ring:
    """Every rank sends its array to the next one."""

    def __init__(self, world):
        self.world, self.generation = world, 0
        self.out, self.into = numpy.zeros(BYTES, "u1"), numpy.zeros(BYTES, "u1")

    def go(self, times):
        world = self.world
        for _ in range(times):
            self.generation += 1
            self.out[:] = work.pattern(world.rank, self.generation)
            left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
            world.Sendrecv(self.out, right, 0, self.into, left, 0)
            assert (self.into == work.pattern(left, self.generation)).all()

    def check(self):
        assert (self.out == work.pattern(self.world.rank, self.generation)).all()


def start_fork(ring):
    readable, writable = os.pipe()
    before = work.pattern(ring.world.rank, ring.generation)
    child = os.fork()
    if child == 0:
        os.close(writable)
        os.read(readable, 1)
        seen = (ring.out == before).all()
        ring.out[:] = 0
        os._exit(0 if seen and not ring.out.any() else 9)
    assert not WINDOWS or state(ring.out) == "private"
    ring.go(20)
    assert not WINDOWS or state(ring.out) == "private", "a child could see the array change"
    os.close(writable)
    os.close(readable)
    assert os.waitpid(child, 0)[1] == 0


def start_fork_and_exec(ring):
    """Shared again while the child lives that runs another program."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(readable, 0)
        os.close(writable)
        os.execvp("cat", ["cat"])
    os.close(readable)
    ring.go(200)
    assert not WINDOWS or state(ring.out) == "shared"
    os.close(writable)
    assert os.waitpid(child, 0)[1] == 0


def start_subprocess(ring):
    for _ in range(5):
        out = subprocess.run(["echo", "hello"], capture_output=True, text=True, check=True).stdout
        assert out == "hello\n"
        assert os.system("exit 3") == 3 << 8
        assert os.popen("echo there").read() == "there\n"
    assert not WINDOWS or state(ring.out) == "shared", "starting another program needs no demotion"
    environment = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert "libserried_malloc" not in environment


def start_subprocess_after_fork(ring):
    """preexec_fn makes Python fork."""
    subprocess.run(["true"], preexec_fn=ring.check, check=True)


def start_posix_spawn(ring):
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], os.environ)
    assert os.waitpid(child, 0)[1] == 7 << 8


def pool(kind, ring):
    with multiprocessing.get_context(kind).Pool(2) as workers:
        assert workers.map(work.square, range(100)) == [n * n for n in range(100)]
        sums = workers.map(work.total, [ring.out] * 3)
        assert sums == [int(ring.out.sum(dtype="i8"))] * 3


def start_pool_fork(ring):
    pool("fork", ring)


def start_pool_spawn(ring):
    pool("spawn", ring)


def start_pool_forkserver(ring):
    pool("forkserver", ring)


def start_executor(ring):
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        assert list(executor.map(work.square, range(50))) == [n * n for n in range(50)]


def start_fork_beside_a_writer(ring):
    """A thread goes on writing and taking memory while the rank forks; no store of it may be lost."""
    counts, stop = numpy.zeros(1 << 17, "i8"), threading.Event()
    rounds = 0

    def write():
        nonlocal rounds
        while not stop.is_set():
            numpy.add(counts, 1, out=counts)
            numpy.zeros(1 << 18, "u1").fill(1)
            rounds += 1

    for _ in range(20):
        ring.world.Sendrecv(counts, (ring.world.rank + 1) % ring.world.size, 1, numpy.empty_like(counts),
                            (ring.world.rank - 1) % ring.world.size, 1)
    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(30):
        child = os.fork()
        if child == 0:
            os._exit(0 if counts.min() + 1 >= counts.max() else 8)
        assert os.waitpid(child, 0)[1] == 0
        ring.go(1)
    stop.set()
    writer.join()
    assert (counts == rounds).all()


def main():
    from mpi4py import MPI  # only here: children that import this module are no ranks

    ring = Ring(MPI.COMM_WORLD)
    ring.go(20)
    assert not WINDOWS or state(ring.out) == "shared"
    globals()[f"start_{sys.argv[1]}"](ring)
    ring.check()
    ring.go(200)
    assert not WINDOWS or state(ring.out) == "shared", "not shared again"
    MPI.COMM_WORLD.Barrier()
    print(f"rank {MPI.COMM_WORLD.rank} is done")


if __name__ == "__main__":
    main()
