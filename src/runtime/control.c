/*
 * control.c - the file by which others see and steer the process: holdup user, holdup record.
 *
 * It is called PID-NAMESPACE.control, in a folder of the user's own in memory, and is mapped over
 * holdup_state_.control: so the mask that each event looks at is the one that others write.
 * Processes of several pid namespaces may share the folder, and have one number.
 * Where there is no such folder, the memory stays the process's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/probe_int.h"
#include "runtime/text.h"

struct holdup_state_ holdup_state_;

/* A folder that only this user can have made. */
static bool control_is_ours(const char *dir)
{
	struct stat stat;

	return lstat(dir, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_uid == geteuid() &&
	       !(stat.st_mode & 022);
}

/*
 * What this user is called where its namespace was made, for a root of its own among others: by
 * lines "INSIDE OUTSIDE COUNT".
 */
static uint64_t outer_uid(void)
{
	char map[1024];
	int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, map, sizeof(map) - 1);
	uint64_t uid = geteuid(), word[3];
	char *at = map;

	if (fd >= 0)
		(void)close(fd);
	map[got > 0 ? got : 0] = '\0';
	while (*at) {
		for (int i = 0; i < 3; i++)
			word[i] = strtoull(at, &at, 10);
		if (uid >= word[0] && uid - word[0] < word[2])
			return word[1] + (uid - word[0]);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return uid;
}

static bool make_place(const char *place, uint64_t uid, char *out_dir, size_t size)
{
	struct text text;

	text_begin(&text, out_dir, size);
	text_add(&text, place);
	text_number(&text, uid);
	(void)mkdir(out_dir, 0700);
	return !text.cut && control_is_ours(out_dir);
}

bool control_runtime_dir(char *out_dir, size_t size)
{
	static const char *const places[] = { "/dev/shm/holdup-", "/tmp/holdup-" };
	const char *given = secure_getenv("HOLDUP_RUNTIME_DIR");
	struct text text;

	if (given && given[0] == '/') {
		text_begin(&text, out_dir, size);
		text_add(&text, given);
		(void)mkdir(out_dir, 0700);
		return !text.cut && control_is_ours(out_dir);
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (make_place(places[i], geteuid(), out_dir, size))
			return true;
	}
	/* It is another one's of that number. */
	if (outer_uid() != geteuid() && make_place(places[0], outer_uid(), out_dir, size))
		return true;
	out_dir[0] = '\0';
	return false;
}

/* Field 22 of /proc/PID/stat; its second field is a name that may hold anything but a ')' last. */
static uint64_t start_of_process(void)
{
	char line[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	const char *at;
	uint64_t start = 0;

	if (fd >= 0)
		(void)close(fd);
	line[got > 0 ? got : 0] = '\0';
	at = strrchr(line, ')');
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		start = start * 10 + (uint64_t)(*at - '0');
	return start;
}

static void read_comm(char *out_comm, size_t size)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, out_comm, size - 1);

	if (fd >= 0)
		(void)close(fd);
	out_comm[got > 0 ? got : 0] = '\0';
	out_comm[strcspn(out_comm, "\n")] = '\0';
	if (!out_comm[0])
		memcpy(out_comm, "unknown", 8);
}

static size_t mapped_bytes(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (sizeof(struct holdup_control_) + page - 1) / page * page;
}

/* The number of its pid namespace; 0 when it cannot be told. */
static uint64_t pid_namespace(void)
{
	struct stat stat_ns;

	return stat("/proc/self/ns/pid", &stat_ns) == 0 ? stat_ns.st_ino : 0;
}

/* A file that holds 'first'; -1 when there is none to be had. */
static int make_file(const struct holdup_control_ *first)
{
	struct text text;
	int fd;

	if (!probe.runtime[0])
		return -1;
	text_begin(&text, probe.control_path, sizeof(probe.control_path));
	text_add(&text, probe.runtime);
	text_add(&text, "/");
	text_number(&text, (uint64_t)probe.pid);
	text_add(&text, "-");
	text_number(&text, pid_namespace());
	text_add(&text, ".control");
	(void)unlink(probe.control_path); /* of an earlier program of this process */
	fd = open(probe.control_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (posix_fallocate(fd, 0, (off_t)mapped_bytes()) == 0 &&
	    pwrite(fd, first, sizeof(*first), 0) == (ssize_t)sizeof(*first))
		return fd;
	(void)close(fd);
	(void)unlink(probe.control_path);
	return -1;
}

/* What the memory holds, as it begins in this process. */
static void fill_first(struct holdup_control_ *first)
{
	memcpy(first, &holdup_state_.control, sizeof(*first));
	first->magic = 0;
	first->pid = probe.pid;
	first->abi = HOLDUP_ABI_;
	first->pid_start = start_of_process();
	read_comm(first->comm, sizeof(first->comm));
	first->trace[0] = '\0';
}

/* In a child of fork(), the memory is still its parent's: nothing is written there. */
void control_begin(void)
{
	struct holdup_control_ *control = &holdup_state_.control, *first;
	int fd;

	probe.control_fd = -1;
	first = mmap(NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (first == MAP_FAILED)
		return;
	fill_first(first);
	fd = make_file(first);
	if (fd >= 0 && mmap(control, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    fd, 0) == MAP_FAILED) {
		(void)unlink(probe.control_path);
		(void)close(fd);
		fd = -1;
	}
	if (fd >= 0)
		(void)munmap(first, mapped_bytes());
	else if (mremap(first, mapped_bytes(), mapped_bytes(), MREMAP_MAYMOVE | MREMAP_FIXED,
			control) == MAP_FAILED)
		return;
	probe.control_fd = fd;
	/* Last: whoever sees it sees the rest. */
	__atomic_store_n(&control->magic, USER_CONTROL_MAGIC, __ATOMIC_RELEASE);
}

void control_end(void)
{
	if (probe.control_fd < 0)
		return;
	(void)unlink(probe.control_path);
	(void)close(probe.control_fd);
	probe.control_fd = -1;
}

void control_lock(void)
{
	while (probe.control_fd >= 0 && flock(probe.control_fd, LOCK_EX) < 0 && errno == EINTR)
		;
}

void control_unlock(void)
{
	if (probe.control_fd >= 0)
		(void)flock(probe.control_fd, LOCK_UN);
}

int control_ask(struct holdup_control_ *control, const char *dir, enum holdup_mode mode,
		uint64_t cpu_bytes)
{
	char whole[HOLDUP_TEXT_] = "", here[HOLDUP_TEXT_];
	struct text text;

	text_begin(&text, whole, sizeof(whole));
	if (dir && dir[0] != '/') { /* the process may go elsewhere */
		if (!getcwd(here, sizeof(here)))
			return -errno;
		text_add(&text, here);
		text_add(&text, "/");
	}
	text_add(&text, dir ? dir : "");
	if (text.cut)
		return -ENAMETOOLONG;
	memcpy(control->dir, whole, sizeof(whole));
	control->mode = mode;
	control->cpu_bytes = cpu_bytes;
	__atomic_store_n(&control->session, ++control->asked << HOLDUP_TURN_, __ATOMIC_RELEASE);
	return 0;
}
