/* Programs that are slow, but alive, by what MPI does not see: signal handlers, memory that they share by themselves,
 * clocks and pipes. slow_unseen CASE SECONDS. Comments as in slow.c. */

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int me, seconds;
static int x, y;
static volatile double sum;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static sem_t semaphore;
static volatile sig_atomic_t alarmed;

static void wake(int signal) {
    (void)signal;
    alarmed = 1;
    sem_post(&semaphore);
}

static void *send_when_woken(void *nobody) {
    while (sem_wait(&semaphore) != 0) {
    }
    MPI_Send(&x, 1, MPI_INT, 1 - me, 2, WORLD);
    return nobody;
}

// case thread_woken_by_a_handler 2
static void thread_woken_by_a_handler(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    signal(SIGALRM, wake);
    alarm(seconds);
    pthread_create(&thread, NULL, send_when_woken, NULL);
    MPI_Recv(&y, 1, MPI_INT, 1 - me, 2, WORLD, IGNORE);
    pthread_join(thread, NULL);
}

/* Probes in vain until something else says that it is enough, with naps or without; then the ranks meet. */
static void probe_until(volatile sig_atomic_t *enough, int nap) {
    int flag;
    while (!*enough) {
        MPI_Iprobe(1 - me, 0, WORLD, &flag, IGNORE);
        if (nap)
            usleep(nap);
    }
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - me, 1, &y, 1, MPI_INT, 1 - me, 1, WORLD, IGNORE);
}

// case probes_until_a_handler 2
static void probes_until_a_handler(void) {
    signal(SIGALRM, wake);
    alarm(seconds);
    probe_until(&alarmed, 0);
}

// case naps_until_a_handler 2
static void naps_until_a_handler(void) {
    signal(SIGALRM, wake);
    alarm(seconds);
    probe_until(&alarmed, 10000);
}

/* Memory that a child of this rank writes to after some time. */
static volatile sig_atomic_t *told_by_a_child(void) {
    volatile sig_atomic_t *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fork() == 0) {
        sleep(seconds);
        *told = 1;
        _exit(0);
    }
    return told;
}

// case probes_beside_shared_memory 2
static void probes_beside_shared_memory(void) {
    probe_until(told_by_a_child(), 0);
    wait(NULL);
}

// case naps_beside_shared_memory 2
static void naps_beside_shared_memory(void) {
    probe_until(told_by_a_child(), 10000);
    wait(NULL);
}

// case naps_for_a_pipe 2
static void naps_for_a_pipe(void) {
    int ends[2], flag;
    if (pipe(ends) != 0)
        abort();
    if (fork() == 0) {
        sleep(seconds);
        _exit(0);
    }
    close(ends[1]);
    struct pollfd input = {.fd = ends[0], .events = POLLIN};
    while (poll(&input, 1, 10) == 0)
        MPI_Iprobe(1 - me, 0, WORLD, &flag, IGNORE);
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - me, 1, &y, 1, MPI_INT, 1 - me, 1, WORLD, IGNORE);
    wait(NULL);
}

// case naps_with_a_heartbeat 2
static void naps_with_a_heartbeat(void) {
    int flag;
    for (int beats = 0; beats < seconds / 10; beats++) {
        for (double end = now() + 10; now() < end; usleep(10000))
            MPI_Iprobe(1 - me, 0, WORLD, &flag, IGNORE);
        MPI_Sendrecv(&x, 1, MPI_INT, 1 - me, 1, &y, 1, MPI_INT, 1 - me, 1, WORLD, IGNORE);
    }
}

// case naps_for_one_that_sleeps 3
static void naps_for_one_that_sleeps(void) {
    int flag = 0;
    if (me == 2) {
        sleep(seconds);
        for (int i = 0; i < 2; i++)
            MPI_Send(&x, 1, MPI_INT, i, 0, WORLD);
        return;
    }
    for (; !flag; usleep(10000))
        MPI_Iprobe(2, 0, WORLD, &flag, IGNORE);
    MPI_Recv(&x, 1, MPI_INT, 2, 0, WORLD, IGNORE);
}

// case work_between_tests 2
static void work_between_tests(void) {
    int flag;
    for (double end = now() + seconds; now() < end;) {
        MPI_Iprobe(1 - me, 0, WORLD, &flag, IGNORE);
        for (double pause = now() + 0.01; now() < pause;)
            for (int i = 0; i < 1000; i++)
                sum += i;
    }
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    CASE(thread_woken_by_a_handler), CASE(probes_until_a_handler), CASE(naps_until_a_handler),
    CASE(probes_beside_shared_memory), CASE(naps_beside_shared_memory), CASE(naps_for_a_pipe),
    CASE(naps_with_a_heartbeat), CASE(naps_for_one_that_sleeps), CASE(work_between_tests),
};

int main(int argc, char **argv) {
    int given, threads = strstr(argv[1], "thread") != NULL;
    seconds = argc > 2 ? atoi(argv[2]) : 60;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(WORLD, &me);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            cases[i].run();
    MPI_Finalize();
    return 0;
}
