/*
 * exit-storm.c - two processes whose children exit at once.
 *
 * usage: exit-storm COUNT [vfork|fork|exec]	COUNT children of each
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
	KIND_VFORK,
	KIND_FORK,
	KIND_EXEC
};

static void make_child(enum kind kind)
{
	pid_t child = kind == KIND_FORK ? fork() : vfork();

	if (child == 0) {
		if (kind == KIND_EXEC)
			execl("/bin/true", "true", (char *)NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	enum kind kind = KIND_VFORK;

	if (argc > 2 && strcmp(argv[2], "fork") == 0)
		kind = KIND_FORK;
	else if (argc > 2 && strcmp(argv[2], "exec") == 0)
		kind = KIND_EXEC;
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			for (long k = 0; k < count; k++)
				make_child(kind);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
