/* lock-then-disk.c - a thread waits for a mutex whose holder waits for a disk. */
#include "cold.h"

static const struct example example = {
	.name = "lock-then-disk",
	.shows = "A thread holds a mutex while it reads a file from the disk, past the page\n"
		 "cache, for 200 ms. The main thread waits for the mutex. The answer is the disk.",
	.wants_dir = true,
};

struct holder {
	const struct run *run;
	int fd;
	pthread_mutex_t mutex;
	pthread_barrier_t held;
	struct root root;
	struct spent spent; /* by the reads */
};

/* Read for 'ns'; returns where this thread's time went meanwhile. */
static struct spent read_cold(int fd, uint64_t ns)
{
	uint64_t *block = new_block();
	struct spent mark = spent_mark();

	for (uint64_t off = 0; now_ns() - mark.wall_ns < ns; off += COLD_BLOCK) {
		off %= COLD_BYTES;
		if (off == 0)
			posix_fadvise(fd, 0, COLD_BYTES, POSIX_FADV_DONTNEED);
		if (pread(fd, block, COLD_BLOCK, (off_t)off) != COLD_BLOCK)
			fail("pread");
	}
	free(block);
	return spent_since(mark);
}

static void *hold(void *context)
{
	struct holder *holder = context;

	set_name("disk-reader");
	pthread_mutex_lock(&holder->mutex);
	pthread_barrier_wait(&holder->held);
	holder->spent = read_cold(holder->fd, run_ms(holder->run, 200));
	root_set(&holder->root, spent_blocked_ns(holder->spent));
	pthread_mutex_unlock(&holder->mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct spent mark = spent_mark();
	struct holder holder = { .run = &run, .mutex = PTHREAD_MUTEX_INITIALIZER };
	uint64_t start_ns, end_ns, setup_ns;
	pthread_t thread;

	holder.fd = cold_open(&run, O_DIRECT);
	setup_ns = spent_blocked_ns(spent_since(mark)); /* for the disk, too */
	pthread_barrier_init(&holder.held, NULL, 2);
	pthread_create(&thread, NULL, hold, &holder);
	pthread_barrier_wait(&holder.held);
	start_ns = now_ns();
	pthread_mutex_lock(&holder.mutex);
	end_ns = now_ns();
	pthread_mutex_unlock(&holder.mutex);
	pthread_join(thread, NULL);
	holder.root.ns += setup_ns;
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "disk",
				     .root = holder.root,
				     .error_ns = spent_error_ns(holder.spent),
				     .what = "reads of the mutex holder",
			     });
}
