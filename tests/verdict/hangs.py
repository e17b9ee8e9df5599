"""Python programs that hang: hangs.py CASE. Comments as in hangs.c."""

import sys
import threading
import time

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
me = world.rank


# case crossed_receives 2: ranks 0 and 1 wait for each other
def crossed_receives():
    def inner():
        return world.recv(source=1 - me, tag=7)  # stuck 0 1: inner at ; for a message of rank

    return inner()


# case arrays_with_the_wrong_tag 2: ranks 0 and 1 wait for each other
def arrays_with_the_wrong_tag():
    data = numpy.zeros(4)
    world.Send(data, 1 - me, tag=8)
    world.Recv(data, 1 - me, tag=7)  # stuck 0 1: with tag 8 (32 bytes) ; this call waits for tag 7


# case missing_in_bcast 3: rank 1 has not come to MPI_Bcast
def missing_in_bcast():
    if me == 1:
        world.recv(source=0)  # stuck 1: for a message of rank 0
    else:
        world.bcast(None, root=1)  # stuck 0 2: in MPI_Bcast with root 1


# case missing_in_barrier 2: rank 1 has not come to MPI_Barrier ; rank 1 has finalized
def missing_in_barrier():
    if me == 0:
        world.Barrier()  # stuck 0: for rank 1


# case request_in_a_thread 2: ranks 0 and 1 wait for each other
def request_in_a_thread():
    def wait():
        world.irecv(source=1 - me, tag=3).wait()  # stuck 0 1: wait at

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()


# case naps_between_tests 2: ranks 0 and 1 wait for each other
def naps_between_tests():
    request = world.irecv(source=1 - me, tag=3)
    while not request.test()[0]:  # stuck 0 1: calls MPI_Test and sleeps, again and again ; of rank ; with tag 3
        time.sleep(0.01)


globals()[sys.argv[1]]()
