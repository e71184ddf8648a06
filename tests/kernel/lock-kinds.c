/*
 * lock-kinds.c - waits for kernel locks of several kinds, each with its owner known.
 *
 * usage: lock-kinds KIND|all        KIND is position, pipe, seq, unix or epoll
 *
 * A thread called lock-holder is in a call that has the lock, and needs a page which another thread brings 80 ms
 * later (userfaultfd). Meanwhile the main thread asks for that lock. Prints "KIND OWNER" before each, and with a
 * KIND of its own it brings the page only when there is a line on standard input. Exits with 77 where that is not
 * allowed.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	  4096u
#define BEFORE_US 40000u
#define HELD_US	  80000u
#define SKIP	  77

static int faults, fd, other;
static char *page;
static bool waits_for_line;

static void make_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all.range.start = (uintptr_t)page;
	all.range.len = PAGE;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0 ||
	    ioctl(faults, UFFDIO_REGISTER, &all) < 0)
		exit(SKIP);
}

static void *bring_page(void *unused)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };
	struct uffd_msg message;
	char byte;

	if (read(faults, &message, sizeof(message)) != sizeof(message))
		exit(EXIT_FAILURE);
	if (waits_for_line)
		(void)!read(STDIN_FILENO, &byte, 1);
	else
		usleep(BEFORE_US + HELD_US);
	if (ioctl(faults, UFFDIO_ZEROPAGE, &zero) < 0)
		exit(EXIT_FAILURE);
	return unused;
}

static void open_position(void)
{
	fd = open("/proc/self/exe", O_RDONLY);
}

static void open_pipe(void)
{
	int ends[2] = { -1, -1 };

	(void)!pipe(ends);
	fd = ends[1];
}

static void open_seq(void)
{
	fd = open("/proc/self/status", O_RDONLY);
}

static void open_unix(void)
{
	int ends[2] = { -1, -1 };

	(void)socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	(void)!write(ends[0], "much", 4);
	fd = ends[1];
}

static void open_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	fd = epoll_create1(0);
	other = eventfd(1, 0);
	(void)epoll_ctl(fd, EPOLL_CTL_ADD, other, &event);
}

static long do_read(void *to, size_t bytes)
{
	return read(fd, to, bytes);
}

static long do_pread(void *to, size_t bytes)
{
	return pread(fd, to, bytes, 0);
}

static long do_write(void *from, size_t bytes)
{
	return write(fd, from, bytes);
}

static long do_receive(void *to, size_t bytes)
{
	return recv(fd, to, bytes < 2 ? bytes : 2, 0);
}

static long do_epoll(void *to, size_t bytes)
{
	struct epoll_event event = { .events = EPOLLOUT };

	return bytes > 1 ? epoll_wait(fd, to, 1, -1) : epoll_ctl(fd, EPOLL_CTL_MOD, other, &event);
}

static const struct kind {
	const char *name;
	void (*open)(void);
	long (*call)(void *memory, size_t bytes);
} kinds[] = {
	{ "position", open_position, do_read }, { "pipe", open_pipe, do_write },
	{ "seq", open_seq, do_pread },		{ "unix", open_unix, do_receive },
	{ "epoll", open_epoll, do_epoll },
};

static void *hold(void *context)
{
	const struct kind *kind = context;

	prctl(PR_SET_NAME, "lock-holder");
	printf("%s %ld\n", kind->name, syscall(SYS_gettid));
	fflush(stdout);
	if (kind->call(page, PAGE) < 0)
		exit(EXIT_FAILURE);
	return NULL;
}

static void try_kind(const struct kind *kind)
{
	pthread_t holder, server;
	char byte = 'x';

	make_page();
	kind->open();
	pthread_create(&server, NULL, bring_page, NULL);
	pthread_create(&holder, NULL, hold, (void *)(uintptr_t)kind);
	usleep(BEFORE_US);
	if (kind->call(&byte, 1) < 0)
		exit(EXIT_FAILURE);
	pthread_join(holder, NULL);
	pthread_join(server, NULL);
	close(fd);
	close(faults);
	munmap(page, PAGE);
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : "all";

	waits_for_line = strcmp(wanted, "all") != 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!waits_for_line || strcmp(kinds[i].name, wanted) == 0)
			try_kind(&kinds[i]);
	}
	return 0;
}
