/* Runs a command under a filter for one system call, as sandboxes have them: the call fails with a
 * number of an error, or ends the process ("kill").
 * usage: refuse NUMBER ERROR|kill PROGRAM [ARGUMENT...] */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 124;
	unsigned answer = strcmp(argv[2], "kill") ? SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])
						  : SECCOMP_RET_KILL_PROCESS;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 125;
	execvp(argv[3], argv + 3);
	return 126;
}
