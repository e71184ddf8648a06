/* ring-polled.c - a request of io_uring waits for a pipe, and a thread of the kernel polls for it. */
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "truth.h"

static const struct example example = {
	.name = "ring-polled",
	.shows =
		"A program reads a pipe through io_uring, with a thread of the kernel that polls for\n"
		"its requests (SQPOLL). Another process sleeps for 300 ms and writes to the pipe.\n"
		"The answer is that process, and not the thread that polls.",
};

struct ring {
	int fd;
	uint32_t *tail, *mask, *array, *flags;
	struct io_uring_sqe *sqes;
};

static void *ring_map(int fd, size_t bytes, off_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

static struct ring ring_open(void)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 2000 };
	struct ring ring = { .fd = (int)syscall(SYS_io_uring_setup, 8, &params) };
	char *queue;

	if (ring.fd < 0)
		skip("no io_uring here");
	queue = ring_map(ring.fd, params.sq_off.array + params.sq_entries * sizeof(uint32_t),
			 IORING_OFF_SQ_RING);
	ring.tail = (uint32_t *)(queue + params.sq_off.tail);
	ring.mask = (uint32_t *)(queue + params.sq_off.ring_mask);
	ring.array = (uint32_t *)(queue + params.sq_off.array);
	ring.flags = (uint32_t *)(queue + params.sq_off.flags);
	ring.sqes = ring_map(ring.fd, params.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);
	return ring;
}

/* Read a byte of 'fd' through the ring, and wait for it. */
static void ring_read(struct ring *ring, int fd, char *to)
{
	uint32_t at = *ring->tail & *ring->mask;

	ring->sqes[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = fd, .addr = (uint64_t)(uintptr_t)to, .len = 1
	};
	ring->array[at] = at;
	/* The kernel reads what is above once it sees this. */
	__atomic_store_n(ring->tail, *ring->tail + 1, __ATOMIC_RELEASE);
	if (__atomic_load_n(ring->flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
		(void)syscall(SYS_io_uring_enter, ring->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	if (syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		fail("io_uring_enter");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct root *root = share(sizeof(*root));
	struct ring ring = ring_open();
	uint64_t start_ns, end_ns;
	char byte = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		fail("pipe");
	start_ns = now_ns();
	pid = fork_named("pipe-writer");
	if (pid == 0) {
		root_set(root, nap(run_ms(&run, 300)));
		if (write(ends[1], "x", 1) != 1)
			_exit(1);
		_exit(0);
	}
	ring_read(&ring, ends[0], &byte);
	end_ns = now_ns();
	wait_for(pid);
	close(ring.fd);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = "timer",
				     .root = *root,
				     .what = "the sleep of the process that writes to the pipe",
			     });
}
