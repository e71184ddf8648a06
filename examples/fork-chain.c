/*
 * fork-chain.c - eight processes; each one starts the next and waits for it.
 *
 * Every link is a fork and an exec of this same program with --link N FD, FD being
 * the memory in which the last link leaves what it measured.
 */
#include "truth.h"

#define LINKS 8

enum {
	COMPUTE
};

static const struct example example = {
	.name = "fork-chain",
	.shows = "Eight processes: each forks, executes the next one and waits for it.\n"
		 "The last one sleeps for 400 ms. The answer is the last one's sleep.",
	.variants =
		(const struct variant[]){
			[COMPUTE] = { "--compute",
				      "the last process computes instead of sleeping" },
			{ NULL, NULL },
		},
};

static void last_link(const struct run *run, struct root *root)
{
	uint64_t ns = run_ms(run, 400);

	root_set(root, run_has(run, COMPUTE) ? burn(ns) : nap(ns));
}

/* Start link 'link' and wait for it. */
static void next_link(const struct run *run, int link, int fd)
{
	char link_text[12], fd_text[12], scale_text[32];
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid > 0) {
		wait_for(pid);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(link_text, sizeof(link_text), "%d", link);
	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	snprintf(scale_text, sizeof(scale_text), "%g", run->scale);
	execl("/proc/self/exe", "fork-chain", "--link", link_text, fd_text, "--scale", scale_text,
	      run_has(run, COMPUTE) ? "--compute" : NULL, NULL);
	fail("execl");
}

static struct root *root_map(int fd)
{
	void *memory = mmap(NULL, sizeof(struct root), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

/* argv is: --link N FD and the options of the whole chain. */
static int be_link(int argc, char **argv)
{
	int link = atoi(argv[2]), fd = atoi(argv[3]);
	struct run run = run_begin(&example, argc - 3, argv + 3);
	char comm[16];

	snprintf(comm, sizeof(comm), "link-%d", link);
	set_name(comm);
	if (link == LINKS)
		last_link(&run, root_map(fd));
	else
		next_link(&run, link + 1, fd);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct run run;
	uint64_t start_ns;
	int fd;

	if (argc > 3 && strcmp(argv[1], "--link") == 0)
		return be_link(argc, argv);

	run = run_begin(&example, argc, argv);
	fd = memfd_create("fork-chain", 0);
	if (fd < 0 || ftruncate(fd, sizeof(struct root)) < 0)
		fail("memfd_create");
	start_ns = now_ns();
	next_link(&run, 2, fd);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = run_has(&run, COMPUTE) ? "other_thread" : "timer",
				     .root = *root_map(fd),
				     .what = "the last of eight processes",
			     });
}
