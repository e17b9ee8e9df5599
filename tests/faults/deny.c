/* deny NUMBER... -- PROGRAM ARGUMENTS: runs a program whose system calls with these numbers fail with EPERM, as the
 * sandboxes of containers have it. `docker` in the place of a number: those that Docker's default profile denies to
 * processes without the rights of an administrator. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 128, NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP };

static const int docker[] = {
    SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_adjtime, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init,
    SYS_finit_module, SYS_get_mempolicy, SYS_init_module, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup,
    SYS_kcmp, SYS_kexec_file_load, SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_mount, SYS_move_pages,
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_perf_event_open, SYS_pivot_root, SYS_quotactl, SYS_reboot,
    SYS_request_key, SYS_set_mempolicy, SYS_sethostname, SYS_setdomainname, SYS_setns, SYS_settimeofday, SYS_swapoff,
    SYS_swapon, SYS_syslog, SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_vhangup,
#ifdef SYS_fsopen
    SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_move_mount, SYS_open_tree,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
    SYS_process_madvise,
#endif
#ifdef SYS_ioperm
    SYS_ioperm, SYS_iopl, SYS_sysfs, SYS_uselib, SYS_ustat,
#endif
};

static struct sock_filter filter[2 * MOST + 16];
static unsigned short length;

static void add(struct sock_filter line)
{
    if (length < sizeof filter / sizeof *filter)
        filter[length++] = line;
}

static void refuse(int number, int error)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

static void as_docker(void)
{
    for (unsigned at = 0; at < sizeof docker / sizeof *docker; at++)
        refuse(docker[at], EPERM);
#ifdef SYS_clone3
    refuse(SYS_clone3, ENOSYS); /* its flags cannot be seen, so libraries have to take clone */
#endif
    /* clone may make no namespaces; the number is loaded again behind it. */
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

int main(int argc, char **argv)
{
    int next = 1;
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (; next < argc && strcmp(argv[next], "--") != 0 && next <= 16; next++)
        if (strcmp(argv[next], "docker") == 0)
            as_docker();
        else
            refuse(atoi(argv[next]), EPERM);
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
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
