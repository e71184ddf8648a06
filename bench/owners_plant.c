/*
 * owners_plant.c - one thread has a lock and another one waits for it, for bench/owners.py.
 *
 *	owners_plant mutex|inode|pipe|mmap [FILE]
 *
 * Prints "TID", the holder's, when it has the lock; then the waiter's when it is about to ask for it, after a line on
 * standard input; the next line has the holder let go.
 */
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../examples/truth.h"

#define PAGE  4096u
#define BYTES (64ul << 20)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int let_go[2], faults, file, ends[2];
static char *page, *memory;
static _Atomic bool is_over;

static void say(pid_t tid)
{
	printf("%d\n", tid);
	fflush(stdout);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		exit(EXIT_FAILURE);
}

/* A page that is there once somebody said so: who reads it within a call has the locks of that call. */
static void make_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .range = { 0, PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all.range.start = (uintptr_t)page;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0 ||
	    ioctl(faults, UFFDIO_REGISTER, &all) < 0)
		skip("no right to use userfaultfd, or the kernel has none");
}

static void bring_page(void)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero) < 0)
		fail("UFFDIO_ZEROPAGE");
}

static void hold_mutex(void)
{
	pthread_mutex_lock(&mutex);
	say(gettid());
	hear(let_go[0]);
	pthread_mutex_unlock(&mutex);
}

static void ask_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void hold_inode(void)
{
	say(gettid());
	if (pwrite(file, page, PAGE, 0) < 0)
		fail("pwrite");
}

static void ask_inode(void)
{
	if (pwrite(file, "x", 1, 0) < 0)
		fail("pwrite");
}

static void hold_pipe(void)
{
	say(gettid());
	if (write(ends[1], page, PAGE) < 0)
		fail("write");
}

static void ask_pipe(void)
{
	if (write(ends[1], "x", 1) < 0)
		fail("write");
}

static void hold_mmap(void)
{
	say(gettid());
	while (!is_over) {
		if (mprotect(memory, BYTES, PROT_READ) < 0 ||
		    mprotect(memory, BYTES, PROT_READ | PROT_WRITE) < 0)
			fail("mprotect");
	}
}

static void ask_mmap(void)
{
	unsigned char is_there;

	while (!is_over) {
		if (mincore(memory, 1, &is_there) < 0)
			fail("mincore");
	}
}

static const struct kind {
	const char *name;
	void (*hold)(void), (*ask)(void);
} kinds[] = {
	{ "mutex", hold_mutex, ask_mutex },
	{ "inode", hold_inode, ask_inode },
	{ "pipe", hold_pipe, ask_pipe },
	{ "mmap", hold_mmap, ask_mmap },
};

static void *hold(void *context)
{
	const struct kind *kind = context;

	set_name("the-holder");
	kind->hold();
	return NULL;
}

static void *ask(void *context)
{
	const struct kind *kind = context;

	set_name("the-waiter");
	say(gettid());
	kind->ask();
	return NULL;
}

static void prepare(const char *path)
{
	file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || pipe(ends) < 0 || pipe(let_go) < 0)
		fail("preparing");
	(void)madvise(memory, BYTES, MADV_NOHUGEPAGE);
	memset(memory, 1, BYTES);
	make_page();
}

int main(int argc, char **argv)
{
	const struct kind *kind = kinds;
	pthread_t holder, waiter;

	while (argc > 1 && kind < kinds + sizeof(kinds) / sizeof(kinds[0]) &&
	       strcmp(kind->name, argv[1]) != 0)
		kind++;
	if (argc < 2 || kind == kinds + sizeof(kinds) / sizeof(kinds[0]))
		return EXIT_USAGE;
	prepare(argv[2]);
	pthread_create(&holder, NULL, hold, (void *)(uintptr_t)kind);
	hear(STDIN_FILENO);
	pthread_create(&waiter, NULL, ask, (void *)(uintptr_t)kind);
	hear(STDIN_FILENO);
	is_over = true;
	bring_page();
	if (write(let_go[1], "x", 1) != 1)
		fail("write");
	pthread_join(waiter, NULL);
	pthread_join(holder, NULL);
	return 0;
}
