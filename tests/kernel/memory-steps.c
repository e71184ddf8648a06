/*
 * memory-steps.c - grow and shrink between pairs of getppid(), and say by how much.
 *
 * usage: memory-steps COUNT
 * Prints a line for each step: bytes by which its resident memory grew, as /proc/self/smaps_rollup
 * has it, which the kernel finds by walking page tables; the counters that events tell of are
 * others.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096u
#define PAGES 512u
#define KINDS 6u

static char text[4096];
static long grown[1000];
static char *area;

static long resident(void)
{
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t bytes = read(fd, text, sizeof(text) - 1);
	const char *rss;

	close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	rss = strstr(text, "\nRss:");
	return rss ? strtol(rss + 5, NULL, 10) * 1024 : -1;
}

static void *touch(void *unused)
{
	(void)unused;
	memset(area, 1, (size_t)(1 + rand() % PAGES) * PAGE);
	return NULL;
}

static void in_another_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, touch, NULL) == 0)
		pthread_join(thread, NULL);
}

/* Its memory is not ours. */
static void in_a_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		touch(NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void map_a_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	/* Stays: it is what grows. */
	(void)mmap(NULL, PAGE * (1 + (size_t)rand() % 3), PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
		   0);
	close(fd);
}

static void share(void)
{
	size_t bytes = PAGE * (1 + (size_t)rand() % 20);

	memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1,
	       bytes);
}

static void step(unsigned kind)
{
	switch (kind) {
	case 0:
		touch(NULL);
		break;
	case 1:
		madvise(area, (size_t)(1 + rand() % PAGES) * PAGE, MADV_DONTNEED);
		break;
	case 2:
		in_another_thread();
		break;
	case 3:
		in_a_child();
		break;
	case 4:
		map_a_file();
		break;
	default:
		share();
		break;
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	if (count > 1000)
		count = 1000;
	memset(grown, 0xff, sizeof(grown));
	area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Once, so that what it takes the first time is there. */
	for (unsigned i = 0; i < KINDS; i++)
		step(i);
	resident();
	for (unsigned i = 0; i < count; i++) {
		long before = resident();

		(void)getppid();
		step((unsigned)rand() % KINDS);
		(void)getppid();
		grown[i] = resident() - before;
	}
	for (unsigned i = 0; i < count; i++)
		printf("%ld\n", grown[i]);
	return 0;
}
