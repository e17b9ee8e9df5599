/* A rank that goes while it holds a mutex for which all others wait; or, as another argument, much memory. */
#include <armci.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    int me = armci_msg_me();
    if (strcmp(how, "large") == 0) {
        void *base[64];
        long bytes = 80L << 20, wrong = ARMCI_Malloc(base, bytes) != 0;
        if (!wrong) {
            int other = (me + 1) % armci_msg_nproc();
            memset(base[me], me + 1, bytes);
            ARMCI_Barrier();
            char last = 0;
            ARMCI_Get((char *)base[other] + bytes - 1, &last, 1, other);
            wrong = last != other + 1;
        }
        ARMCI_Finalize();
        MPI_Finalize();
        return wrong;
    }
    ARMCI_Create_mutexes(1);
    if (me == 1)
        ARMCI_Lock(0, 0);
    ARMCI_Barrier();
    if (me != 1)
        ARMCI_Lock(0, 0);
    else if (strcmp(how, "killed") == 0)
        kill(getpid(), SIGKILL);
    else {
        usleep(100000);
        _exit(0);
    }
    return 0;
}
