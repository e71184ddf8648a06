/* exit-storm.c - two processes that vfork children which exit at once: exit-storm COUNT each. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void fork_child(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;

	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			for (long k = 0; k < count; k++)
				fork_child();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
