/* inode-lock.c - two processes write to one file, of which one is slow within write(). */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "truth.h"

static const struct example example = {
	.name = "inode-lock",
	.shows =
		"A process writes a page to a file, while it has the lock of that inode, i_rwsem. The page\n"
		"is not there yet: another thread of it computes for 300 ms before it brings it\n"
		"(userfaultfd). This program writes to the same file. The answer is that thread,\n"
		"through the process that has the lock.",
};

struct shared {
	struct root root;
	pid_t holder;
};

struct server {
	const struct run *run;
	struct shared *shared;
	int faults;
	char *page;
	size_t bytes;
};

/* Skips where the user may not, or the kernel has none. */
static int register_page(char *page, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)page, bytes },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0 ||
	    ioctl(faults, UFFDIO_REGISTER, &all) < 0)
		skip("no right to use userfaultfd, or the kernel has none");
	return faults;
}

static void *serve(void *context)
{
	struct server *server = context;
	struct uffd_msg message;
	struct uffdio_zeropage zero = { .range = { (uintptr_t)server->page, server->bytes } };

	set_name("page-server");
	if (read(server->faults, &message, sizeof(message)) != sizeof(message))
		fail("read of userfaultfd");
	root_set(&server->shared->root, burn(run_ms(server->run, 300)));
	if (ioctl(server->faults, UFFDIO_ZEROPAGE, &zero) < 0)
		fail("UFFDIO_ZEROPAGE");
	return NULL;
}

static void hold(const struct run *run, struct shared *shared, int file)
{
	struct server server = { .run = run,
				 .shared = shared,
				 .bytes = (size_t)sysconf(_SC_PAGESIZE) };
	pthread_t thread;

	server.page = mmap(NULL, server.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (server.page == MAP_FAILED)
		fail("mmap");
	server.faults = register_page(server.page, server.bytes);
	if (pthread_create(&thread, NULL, serve, &server) != 0)
		fail("pthread_create");
	shared->holder = getpid();
	if (pwrite(file, server.page, server.bytes, 0) < 0)
		fail("pwrite");
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct shared *shared = share(sizeof(*shared));
	int file = memfd_create("inode-lock", MFD_CLOEXEC);
	uint64_t start_ns, end_ns;
	char note[96];
	int status;
	pid_t pid;

	if (file < 0)
		fail("memfd_create");
	pid = fork_named("inode-holder");
	if (pid == 0) {
		hold(&run, shared, file);
		_exit(0);
	}
	(void)nap(run_ms(&run, 20)); /* it is in write() then */
	start_ns = now_ns();
	if (pwrite(file, "x", 1, 0) != 1)
		fail("pwrite");
	end_ns = now_ns();
	if (waitpid(pid, &status, 0) < 0)
		fail("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
		exit(EXIT_SKIP);
	snprintf(note, sizeof(note), "inode lock (i_rwsem) of /memfd:inode-lock held by %d",
		 shared->holder);
	/* The page was asked for before this program asked for the lock. */
	shared->root.ns = end_ns - start_ns < shared->root.ns ? end_ns - start_ns : shared->root.ns;
	return run_end(&run,
		       &(struct truth){
			       .start_ns = start_ns,
			       .end_ns = end_ns,
			       .kind = "other_thread",
			       .also = "lock",
			       .root = shared->root,
			       .error_ns = 2 * NS_PER_MS,
			       .what = "the page that the holder of the inode's lock needs is made",
			       .note = note,
		       });
}
