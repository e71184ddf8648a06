/* mmap-lock.c - threads of one process are in each other's way, in the kernel. */
#include "truth.h"

static const struct example example = {
	.name = "mmap-lock",
	.shows =
		"A thread changes the protection of 64 MiB of small pages, over and over for 600 ms. Each\n"
		"time it has the lock of the address space, mmap_lock, for writing. This program asks\n"
		"for one page whether it is in memory, mincore(), which needs the lock, too. The\n"
		"answer is the other thread, in mprotect().",
};

#define BYTES (64ul << 20)

struct shared {
	const struct run *run;
	char *memory;
	_Atomic bool is_begun, is_over;
	struct root root;
};

static void change(struct shared *shared, int protection)
{
	if (mprotect(shared->memory, BYTES, protection) < 0)
		fail("mprotect");
}

static void *hold(void *context)
{
	struct shared *shared = context;
	uint64_t end_ns = now_ns() + run_ms(shared->run, 600);

	set_name("mm-holder");
	pin(last_cpu());
	root_set(&shared->root, 0);
	shared->is_begun = true;
	while (now_ns() < end_ns) {
		change(shared, PROT_READ);
		change(shared, PROT_READ | PROT_WRITE);
	}
	shared->is_over = true;
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	int own_cpu = last_cpu() - 1;
	struct shared shared = { .run = &run };
	struct spent spent = { 0 };
	uint64_t start_ns, end_ns;
	unsigned char is_there;
	pthread_t thread;

	shared.memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shared.memory == MAP_FAILED)
		fail("mmap");
	(void)madvise(shared.memory, BYTES,
		      MADV_NOHUGEPAGE); /* then it is faster, and the lock held shorter */
	memset(shared.memory, 1, BYTES);
	/* Nobody else's work is in the way, and each has a CPU: who spins does not wait. */
	if (own_cpu < 0)
		skip("it needs two CPUs");
	go_fifo(1);
	if (pthread_create(&thread, NULL, hold, &shared) != 0)
		fail("pthread_create");
	while (!shared.is_begun)
		sched_yield();
	pin(own_cpu);
	start_ns = now_ns();
	spent = spent_mark();
	while (!shared.is_over) {
		if (mincore(shared.memory, 1, &is_there) < 0)
			fail("mincore");
	}
	spent = spent_since(spent);
	end_ns = now_ns();
	shared.root.ns = spent_blocked_ns(spent);
	pthread_join(thread, NULL);
	return run_end(&run,
		       &(struct truth){
			       .start_ns = start_ns,
			       .end_ns = end_ns,
			       .kind = "lock",
			       .root = shared.root,
			       .error_ns = spent_error_ns(spent),
			       .what = "a thread in mprotect() has the lock of the address space",
			       .note = "address space lock (mmap_lock) of mmap-lock",
		       });
}
