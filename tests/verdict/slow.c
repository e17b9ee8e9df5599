/* Programs that are slow, but alive: slow CASE SECONDS. Nobody may say of them that they hang.
 *
 * A comment `case NAME RANKS` above a function says with how many ranks it runs. */

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
enum { BIG = 1 << 20 };

static int me, size, seconds;
static int x, y, many[64];
static char *big;
static volatile double sum;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void doze(void) { sleep(seconds); }

static void compute(double duration) {
    for (double end = now() + duration; now() < end;)
        for (int i = 0; i < 1000; i++)
            sum += i;
}

// case sleeping_sender 2
static void sleeping_sender(void) {
    if (me == 0) {
        doze();
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case computing_sender 2
static void computing_sender(void) {
    if (me == 0) {
        compute(seconds);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case sleeping_receiver_of_big 2
static void sleeping_receiver_of_big(void) {
    if (me == 0)
        MPI_Send(big, BIG, MPI_CHAR, 1, 0, WORLD);
    else {
        doze();
        MPI_Recv(big, BIG, MPI_CHAR, 0, 0, WORLD, IGNORE);
    }
}

// case sleeping_receiver_of_ssend 2
static void sleeping_receiver_of_ssend(void) {
    if (me == 0)
        MPI_Ssend(&x, 1, MPI_INT, 1, 0, WORLD);
    else {
        doze();
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case chain 4
static void chain(void) {
    if (me == 0)
        doze();
    else
        MPI_Recv(&x, 1, MPI_INT, me - 1, 0, WORLD, IGNORE);
    if (me + 1 < size)
        MPI_Send(&x, 1, MPI_INT, me + 1, 0, WORLD);
}

#define LATE(name, call)                                                                                               \
    static void name(void) {                                                                                           \
        for (int i = 0; i < 3; i++) {                                                                                  \
            if (i == 2 && me == size - 1)                                                                              \
                doze();                                                                                                \
            call;                                                                                                      \
        }                                                                                                              \
    }

// case late_barrier 3
LATE(late_barrier, MPI_Barrier(WORLD))
// case late_root 3
LATE(late_root, MPI_Bcast(many, 4, MPI_INT, size - 1, WORLD))
// case late_allreduce 3
LATE(late_allreduce, MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, WORLD))
// case late_long_allreduce 3
LATE(late_long_allreduce, MPI_Allreduce(MPI_IN_PLACE, big, BIG, MPI_CHAR, MPI_MAX, WORLD))
// case late_alltoall 3
LATE(late_alltoall, MPI_Alltoall(many, 1, MPI_INT, many + 16, 1, MPI_INT, WORLD))
// case late_gather 3
LATE(late_gather, MPI_Gather(&x, 1, MPI_INT, many, 1, MPI_INT, 0, WORLD))

// case late_split 3
static void late_split(void) {
    MPI_Comm part;
    if (me == 1)
        doze();
    MPI_Comm_split(WORLD, me % 2, 0, &part);
    MPI_Comm_free(&part);
}

// case late_init 3
static void late_init(void) { MPI_Barrier(WORLD); }

// case any_source 3
static void any_source(void) {
    if (me == 2)
        doze();
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, IGNORE);
    if (me == 1)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, WORLD, IGNORE);
    if (me == 2)
        MPI_Send(&x, 1, MPI_INT, 0, 1, WORLD);
    if (me == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 1, WORLD);
}

// case waitany 3
static void waitany(void) {
    MPI_Request requests[2];
    int which;
    if (me == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&many[i], 1, MPI_INT, i + 1, 2, WORLD, &requests[i]);
        MPI_Waitany(2, requests, &which, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 2, WORLD);
        MPI_Wait(&requests[1 - which], IGNORE);
    } else if (me == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 2, WORLD, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 2, WORLD);
    } else {
        doze();
        MPI_Send(&x, 1, MPI_INT, 0, 2, WORLD);
    }
}

// case collective_beside_a_receive 3
static void collective_beside_a_receive(void) {
    MPI_Request request;
    if (me == 2) {
        doze();
        MPI_Ibcast(&x, 1, MPI_INT, 2, WORLD, &request);
        MPI_Wait(&request, IGNORE);
        return;
    }
    /* Rank 0 may pass the broadcast on to 1 while it waits for 1. */
    MPI_Ibcast(&x, 1, MPI_INT, 2, WORLD, &request);
    if (me == 1) {
        MPI_Wait(&request, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 3, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 1, 3, WORLD, IGNORE);
        MPI_Wait(&request, IGNORE);
    }
}

// case probe_loop 2
static void probe_loop(void) {
    int flag = 0;
    if (me == 0) {
        doze();
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        while (!flag)
            MPI_Iprobe(0, 0, WORLD, &flag, IGNORE);
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case probes_between_work 2
static void probes_between_work(void) {
    int flag;
    MPI_Request request;
    if (me == 0) {
        MPI_Irecv(&x, 1, MPI_INT, 1, 0, WORLD, &request);
        for (double end = now() + seconds; now() < end; compute(50e-6))
            MPI_Test(&request, &flag, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
        MPI_Wait(&request, IGNORE);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    }
}

// case probes_until_a_time 2
static void probes_until_a_time(void) {
    int flag;
    if (me == 0) {
        for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
            MPI_Iprobe(1, 0, WORLD, &flag, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case naps_between_probes 2
static void naps_between_probes(void) {
    int flag;
    if (me == 0) {
        for (double end = now() + seconds; now() < end; usleep(1000))
            MPI_Iprobe(1, 0, WORLD, &flag, IGNORE);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case trickle 2
static void trickle(void) {
    for (int i = 0; i < seconds / 3; i++) {
        if (me == 0) {
            sleep(3);
            MPI_Send(&x, 1, MPI_INT, 1, i, WORLD);
        } else {
            MPI_Recv(&x, 1, MPI_INT, 0, i, WORLD, IGNORE);
        }
    }
}

// case one_finalizes_early 3
static void one_finalizes_early(void) {
    if (me == 1)
        doze();
    if (me == 1)
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    if (me == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 0, WORLD, IGNORE);
}

// case stopped 2
static void stopped(void) {
    if (me == 0) {
        pid_t rank = getpid();
        if (fork() == 0) {
            doze();
            kill(rank, SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
        wait(NULL);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

// case stopped_in_a_receive 3
static void stopped_in_a_receive(void) {
    if (me == 0) {
        pid_t rank = getpid();
        if (fork() == 0) {
            sleep(1);
            kill(rank, SIGSTOP);
            sleep(seconds - 1);
            kill(rank, SIGCONT);
            _exit(0);
        }
        MPI_Recv(&x, 1, MPI_INT, 2, 0, WORLD, IGNORE);
        wait(NULL);
        MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
    } else if (me == 1) {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    } else {
        sleep(3);
        MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    }
}

// case child 2
static void child(void) {
    if (me == 0) {
        pid_t other = fork();
        if (other == 0) {
            doze();
            _exit(0);
        }
        waitpid(other, NULL, 0);
    }
    MPI_Barrier(WORLD);
}

// case between_groups 4
static void between_groups(void) {
    MPI_Comm half, across;
    MPI_Comm_split(WORLD, me / 2, 0, &half);
    MPI_Intercomm_create(half, 0, WORLD, me < 2 ? 2 : 0, 1, &across);
    if (me == 3)
        doze();
    MPI_Barrier(across);
    if (me < 2)
        MPI_Recv(&x, 1, MPI_INT, me, 1, across, IGNORE);
    else
        MPI_Send(&x, 1, MPI_INT, me - 2, 1, across);
}

// case persistent 2
static void persistent(void) {
    MPI_Request request;
    if (me == 0)
        MPI_Recv_init(&x, 1, MPI_INT, 1, 21, WORLD, &request);
    else {
        doze();
        MPI_Send_init(&x, 1, MPI_INT, 0, 21, WORLD, &request);
    }
    MPI_Start(&request);
    MPI_Wait(&request, IGNORE);
    MPI_Request_free(&request);
}

static void *send_late(void *nobody) {
    doze();
    MPI_Send(&x, 1, MPI_INT, 1 - me, 2, WORLD);
    return nobody;
}

// case sleeping_thread 2
static void sleeping_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, send_late, NULL);
    MPI_Recv(&y, 1, MPI_INT, 1 - me, 2, WORLD, IGNORE);
    pthread_join(thread, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *send_after_a_time(void *nobody) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&never, &mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&mutex);
    MPI_Send(&x, 1, MPI_INT, 1 - me, 2, WORLD);
    return nobody;
}

// case thread_with_a_time_limit 2
static void thread_with_a_time_limit(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, send_after_a_time, NULL);
    MPI_Recv(&y, 1, MPI_INT, 1 - me, 2, WORLD, IGNORE);
    pthread_join(thread, NULL);
}

static int nothing(void *state, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return state == status;
}
static int nothing_more(void *state) { return state != NULL; }
static int no_cancel(void *state, int complete) { return state != NULL && complete; }

static void *complete_late(void *request) {
    doze();
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

// case completed_by_a_thread 1
static void completed_by_a_thread(void) {
    pthread_t thread;
    MPI_Request request;
    MPI_Grequest_start(nothing, nothing_more, no_cancel, NULL, &request);
    MPI_Request copy = request;
    pthread_create(&thread, NULL, complete_late, &copy);
    MPI_Wait(&request, IGNORE);
    pthread_join(thread, NULL);
}

// case crowd 6
static void crowd(void) {
    for (double end = now() + seconds;;) {
        int over = now() > end;
        usleep(100000 * (me + 1));
        MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, WORLD);
        MPI_Sendrecv(&x, 1, MPI_INT, (me + 1) % size, 0, &y, 1, MPI_INT, (me + size - 1) % size, 0, WORLD, IGNORE);
        if (over)
            break;
    }
}

// case sleeps_after_all 2
static void sleeps_after_all(void) {
    MPI_Barrier(WORLD);
    if (me == 0)
        doze();
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(sleeping_sender), CASE(computing_sender), CASE(sleeping_receiver_of_big), CASE(sleeping_receiver_of_ssend),
    CASE(chain), CASE(late_barrier), CASE(late_root), CASE(late_allreduce), CASE(late_long_allreduce),
    CASE(late_alltoall), CASE(late_gather), CASE(late_split), CASE(late_init), CASE(any_source),
    CASE(waitany), CASE(collective_beside_a_receive), CASE(probe_loop), CASE(probes_between_work),
    CASE(probes_until_a_time), CASE(naps_between_probes), CASE(trickle), CASE(one_finalizes_early), CASE(stopped),
    CASE(stopped_in_a_receive), CASE(child), CASE(between_groups), CASE(persistent), CASE(sleeping_thread), CASE(thread_with_a_time_limit), CASE(completed_by_a_thread), CASE(crowd),
    CASE(sleeps_after_all), };

int main(int argc, char **argv) {
    int given, threads = strstr(argv[1], "thread") != NULL;
    seconds = argc > 2 ? atoi(argv[2]) : 60;
    const char *rank = getenv("PMI_RANK");
    if (strcmp(argv[1], "late_init") == 0 && rank && atoi(rank) == 0)
        doze();
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(WORLD, &me);
    MPI_Comm_size(WORLD, &size);
    big = calloc(BIG, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
