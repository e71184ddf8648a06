/* sysv-sem.c - a program waits for a System V semaphore. */
#include <sys/ipc.h>
#include <sys/sem.h>

#include "truth.h"

static const struct example example = {
	.name = "sysv-sem",
	.shows = "A program waits in semop() for a semaphore. Another process computes for 300 ms\n"
		 "and raises it. The answer is that process.",
};

static void sem_add(int id, short amount)
{
	struct sembuf op = { .sem_op = amount };

	if (semop(id, &op, 1) < 0)
		fail("semop");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	int id = semget(IPC_PRIVATE, 1, 0600);
	uint64_t start_ns = now_ns(), end_ns;
	pid_t pid = fork_named("sem-raiser");

	if (id < 0)
		fail("semget");
	if (pid == 0) {
		root_set(root, burn(run_ms(&run, 300)));
		sem_add(id, 1);
		_exit(0);
	}
	sem_add(id, -1);
	end_ns = now_ns();
	wait_for(pid);
	semctl(id, 0, IPC_RMID);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "other_thread",
				     .also = "lock",
				     .root = *root,
				     .what = "the process that raises the semaphore",
			     });
}
