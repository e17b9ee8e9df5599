/* deny NUMBER... -- PROGRAM ARGUMENTS: runs a program whose system calls with these numbers fail with EPERM, as the
 * sandboxes of containers have it. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 16 };

int main(int argc, char **argv)
{
    struct sock_filter filter[1 + 2 * MOST + 1];
    unsigned short length = 0;
    int next = 1;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; next < argc && strcmp(argv[next], "--") != 0 && next <= MOST; next++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(argv[next]), 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (next >= argc - 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("deny");
        return 77;
    }
    execvp(argv[next + 1], argv + next + 1);
    perror(argv[next + 1]);
    return 127;
}
