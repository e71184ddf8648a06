/*
 * file-changes.c - pairs of processes: one polls a file, the other one changes it, each pair in another way.
 *
 * usage: file-changes FOLDER
 *
 * Each asker looks at its own file in the folder every 20 ms, by stat(), fstat(), pread() or readlink(), until that has changed.
 * Its doer computes, or sleeps, and changes it after about 600 ms. Some look at a pipe or semaphores, and some wait for
 * a pipe with a limit: then the doer writes while the asker does not wait, but for a lock. Prints "WAY ASKER DOER" for each; DOER is 0 where
 * nobody changes the file, and the asker gives up. No name of a file looks like one of the two of a rename to holdup,
 * which keeps a few bits of names.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_US	  20000u
#define BEFORE_US 600000u
#define LOOKS_MAX 500
#define GIVES_UP  40
#define CONTENT	  "0123456789"

struct way {
	const char *name;
	void (*change)(const char *path); /* NULL = nobody does */
	bool (*look)(const char *path, int fd);
	bool waits; /* to look takes as long as to sleep */
};

/* The asker does not wait for the pipe: it is 'between', or at the lock. */
struct gap {
	pthread_mutex_t lock;
	atomic_bool between;
};

static atomic_int *shared; /* memory of a file that both have mapped, */
static char *mapped;	   /* the same of who changes that */
static atomic_int word;	   /* that another process writes */
static pid_t asker;
static int ends[2], others[2]; /* pipes of a pair; nobody waits for the second one */
static int semaphores;
static struct gap *gap; /* of a pair */

static void path_of(const char *path, const char *suffix, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s%s", path, suffix);
}

/* ------------------------------------------------------------------ changes */

static void empties(const char *path)
{
	close(open(path, O_WRONLY | O_TRUNC));
}

static void truncates(const char *path)
{
	(void)!truncate(path, 0);
}

static void cuts(const char *path)
{
	int fd = open(path, O_WRONLY);

	(void)!ftruncate(fd, 0);
	close(fd);
}

static void allocates(const char *path)
{
	int fd = open(path, O_WRONLY);

	(void)!fallocate(fd, 0, 0, 4096);
	close(fd);
}

static void replaces(const char *path)
{
	char new[512];
	int fd;

	path_of(path, ".new", new, sizeof(new));
	fd = open(new, O_WRONLY | O_CREAT, 0600);
	close(fd);
	(void)!rename(new, path);
}

static void touches(const char *path)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	(void)!utimensat(AT_FDCWD, path, times, 0);
}

static void forbids(const char *path)
{
	(void)!chmod(path, 0400);
}

static void links(const char *path)
{
	char link[512], new[512];

	path_of(path, ".link", link, sizeof(link));
	path_of(path, ".next", new, sizeof(new));
	(void)!symlink("other", new);
	(void)!rename(new, link);
}

static int source(const char *path)
{
	char name[512];
	int fd;

	path_of(path, ".source", name, sizeof(name));
	fd = open(name, O_RDWR | O_CREAT, 0600);
	(void)!pwrite(fd, CONTENT CONTENT, 20, 0);
	return fd;
}

static void sends(const char *path)
{
	int from = source(path), to = open(path, O_WRONLY);

	(void)!sendfile(to, from, NULL, 20);
}

static void copies(const char *path)
{
	int from = source(path), to = open(path, O_WRONLY);

	(void)!copy_file_range(from, NULL, to, NULL, 20, 0);
}

static void splices(const char *path)
{
	int fds[2], to = open(path, O_WRONLY);

	(void)!pipe(fds);
	(void)!write(fds[1], CONTENT CONTENT, 20);
	(void)!splice(fds[0], NULL, to, NULL, 20, 0);
}

static void *ring_part(int ring, size_t bytes, uint64_t what)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		    (off_t)what);
}

static void by_ring(const char *path)
{
	struct io_uring_params params = { 0 };
	int to = open(path, O_WRONLY), ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	char *queue =
		ring_part(ring, params.sq_off.array + params.sq_entries * 4u, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry =
		ring_part(ring, params.sq_entries * sizeof(*entry), IORING_OFF_SQES);

	if (ring < 0)
		return;
	entry->opcode = IORING_OP_WRITE;
	entry->fd = to;
	entry->addr = (uintptr_t)CONTENT CONTENT;
	entry->len = 20;
	*(unsigned *)(void *)(queue + params.sq_off.array) = 0;
	atomic_store((_Atomic unsigned *)(void *)(queue + params.sq_off.tail), 1);
	(void)syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void by_mapping(const char *path)
{
	(void)path;
	mapped[0] = '!';
}

static void in_shared_memory(const char *path)
{
	(void)path;
	*(atomic_int *)(void *)mapped = 1;
}

static void from_outside(const char *path)
{
	int one = 1;
	struct iovec ours = { &one, sizeof(one) };
	struct iovec theirs = { &word, sizeof(word) };

	(void)path;
	(void)!process_vm_writev(asker, &ours, 1, &theirs, 1, 0);
}

static void puts_in(const char *path)
{
	(void)path;
	(void)!write(ends[1], "x", 1);
}

static void raises(const char *path)
{
	struct sembuf up = { .sem_op = 1 };

	(void)path;
	(void)semop(semaphores, &up, 1);
}

static void puts_in_between(const char *path)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	(void)path;
	(void)pthread_mutex_lock(&gap->lock);
	while (!gap->between)
		(void)nanosleep(&pause, NULL);
	(void)!write(others[1], "y", 1);
	(void)!write(ends[1], "x", 1);
	(void)pthread_mutex_unlock(&gap->lock);
}

/* -------------------------------------------------------------------- looks */

static bool has_other_size(const char *path, int fd)
{
	struct stat now;

	(void)fd;
	return stat(path, &now) == 0 && now.st_size != (off_t)strlen(CONTENT);
}

static bool has_other_size_there(const char *path, int fd)
{
	struct stat now;

	(void)path;
	return fstat(fd, &now) == 0 && now.st_size != (off_t)strlen(CONTENT);
}

static bool is_old(const char *path, int fd)
{
	struct stat now;

	(void)fd;
	return stat(path, &now) == 0 && now.st_mtime == 1;
}

static bool is_read_only(const char *path, int fd)
{
	struct stat now;

	(void)fd;
	return stat(path, &now) == 0 && !(now.st_mode & S_IWUSR);
}

static bool links_elsewhere(const char *path, int fd)
{
	char link[512], target[16] = "";

	(void)fd;
	path_of(path, ".link", link, sizeof(link));
	return readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, "other") == 0;
}

static bool reads_other(const char *path, int fd)
{
	char byte = '0';

	(void)path;
	return pread(fd, &byte, 1, 0) == 1 && byte != '0';
}

static bool is_set(const char *path, int fd)
{
	(void)path, (void)fd;
	return *shared == 1;
}

static bool word_is_set(const char *path, int fd)
{
	(void)path, (void)fd;
	return word;
}

static bool has_bytes(const char *path, int fd)
{
	int bytes = 0;

	(void)path, (void)fd;
	return ioctl(ends[0], FIONREAD, &bytes) == 0 && bytes;
}

static bool is_raised(const char *path, int fd)
{
	(void)path, (void)fd;
	return semctl(semaphores, 0, GETVAL) > 0;
}

/* Behind a time-out: what a program does between two waits, and what comes meanwhile the next one finds. */
static bool found_or_passed(int found)
{
	char byte;

	if (found > 0)
		return read(ends[0], &byte, 1) == 1;
	gap->between = true;
	(void)pthread_mutex_lock(&gap->lock);
	(void)pthread_mutex_unlock(&gap->lock);
	gap->between = false;
	return false;
}

static bool polls(const char *path, int fd)
{
	struct pollfd in = { .fd = ends[0], .events = POLLIN };

	(void)path, (void)fd;
	return found_or_passed(poll(&in, 1, LOOK_US / 1000));
}

static bool selects(const char *path, int fd)
{
	struct timeval limit = { .tv_usec = LOOK_US };
	fd_set in;

	(void)path, (void)fd;
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	return found_or_passed(select(ends[0] + 1, &in, NULL, NULL, &limit));
}

static const struct way ways[] = {
	{ "opens-empty", empties, has_other_size },
	{ "truncate", truncates, has_other_size },
	{ "ftruncate", cuts, has_other_size_there },
	{ "fallocate", allocates, has_other_size },
	{ "replaces", replaces, has_other_size },
	{ "utimensat", touches, is_old },
	{ "chmod", forbids, is_read_only },
	{ "symlink", links, links_elsewhere },
	{ "sendfile", sends, has_other_size },
	{ "copy_file_range", copies, has_other_size },
	{ "splice", splices, has_other_size },
	{ "io_uring", by_ring, has_other_size },
	{ "mapping", by_mapping, reads_other },
	{ "shared-memory", in_shared_memory, is_set },
	{ "process_vm_writev", from_outside, word_is_set },
	{ "fionread", puts_in, has_bytes },
	{ "semctl", raises, is_raised },
	{ "next-poll", puts_in_between, polls, true },
	{ "next-select", puts_in_between, selects, true },
	{ "no-poll", NULL, polls, true },
	{ "nobody", NULL, has_other_size },
	{ "nobody-but-mapped", NULL, reads_other },
};

/* ------------------------------------------------------------------- a pair */

static void pause_us(unsigned us)
{
	struct timespec pause = { .tv_nsec = us * 1000L };

	(void)nanosleep(&pause, NULL);
}

static void *map_file(const char *path, int prot)
{
	int fd = open(path, O_RDWR);
	void *at = mmap(NULL, 4096, prot, MAP_SHARED, fd, 0);

	close(fd);
	return at;
}

static void do_it(const struct way *way, const char *path)
{
	(void)prctl(PR_SET_NAME, "doer");
	if (strstr(way->name, "map") || strstr(way->name, "memory"))
		mapped = map_file(path, PROT_READ | PROT_WRITE);
	pause_us(BEFORE_US);
	if (way->change)
		way->change(path);
	pause_us(3 * LOOK_US);
	_exit(EXIT_SUCCESS);
}

static void ask(const struct way *way, const char *path)
{
	int fd = open(path, O_RDONLY);
	int looks = way->change ? LOOKS_MAX : GIVES_UP;

	(void)prctl(PR_SET_NAME, "asker");
	if (strcmp(way->name, "shared-memory") == 0)
		shared = map_file(path, PROT_READ);
	for (int i = 0; i < looks && !way->look(path, fd); i++) {
		if (!way->waits)
			pause_us(LOOK_US);
	}
	/* It goes on with something else. */
	fd = open("/dev/null", O_WRONLY);
	(void)!write(fd, "done", 4);
	_exit(EXIT_SUCCESS);
}

static void share(void)
{
	pthread_mutexattr_t attr;

	gap = mmap(NULL, sizeof(*gap), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutex_init(&gap->lock, &attr);
	(void)!pipe(ends);
	(void)!pipe(others);
}

static void begin_pair(const struct way *way, const char *folder)
{
	char path[400];
	pid_t doer;
	int fd;

	snprintf(path, sizeof(path), "%s/of-%s", folder, way->name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	(void)!write(fd, CONTENT, strlen(CONTENT));
	close(fd);
	if (way->look == links_elsewhere) {
		char link[512];

		path_of(path, ".link", link, sizeof(link));
		(void)!symlink(path, link);
	}
	share();
	asker = fork();
	if (asker == 0)
		ask(way, path);
	doer = fork();
	if (doer == 0)
		do_it(way, path);
	printf("%s %d %d\n", way->name, asker, way->change ? doer : 0);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		begin_pair(&ways[i], argv[1]);
	while (wait(NULL) > 0)
		;
	(void)semctl(semaphores, 0, IPC_RMID);
	return 0;
}
