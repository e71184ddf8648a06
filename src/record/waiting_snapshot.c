/* waiting_snapshot.c - see waiting_snapshot.h. */
#include "record/waiting_snapshot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "proc/proc.h"
#include "record/waiting.h"
#include "store/manifest.h"

#define LOOK_NS	    UINT64_C(1000000000) /* then it ends with what it has */
#define LIMIT_NS    UINT64_C(1500000000) /* the snapshot waits so long, from the begin */
#define CPU_SECONDS 2
#define BYTES_MAX   (8u << 20)
#define NAMED	    "whom threads waited for as the snapshot was taken"

static void __attribute__((noreturn)) look(const struct waiting_snapshot *looking, uint64_t end_ns)
{
	const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };
	FILE *out = fdopen(looking->out_fd, "w");

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CPU, &limit);
	if (!out)
		_exit(1);
	waiting_look_at_all(out, end_ns, looking->begun_ns + LOOK_NS, looking->seen);
	_exit(fclose(out) == 0 ? 0 : 1);
}

void waiting_snapshot_begin(struct waiting_snapshot *looking, uint64_t end_ns)
{
	*looking = WAITING_SNAPSHOT_NONE;
	if (!proc_is_outermost()) /* we know other numbers than the events */
		return;
	looking->begun_ns = clock_now_ns();
	looking->out_fd = memfd_create("holdup-waits", MFD_CLOEXEC);
	if (looking->out_fd < 0)
		return;
	looking->seen = mmap(NULL, sizeof(*looking->seen), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (looking->seen == MAP_FAILED) {
		looking->seen = NULL;
		return;
	}
	looking->pid = fork();
	if (looking->pid == 0)
		look(looking, end_ns);
	if (looking->pid < 0)
		looking->pid = 0;
}

/* Whether it ended by itself, and all was written. */
static bool await_look(const struct waiting_snapshot *looking)
{
	uint64_t until_ns = looking->begun_ns + LIMIT_NS, now_ns = clock_now_ns();
	AUTO_CLOSE int pidfd = pidfd_open(looking->pid, 0);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int wait_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0;
	int status;

	if (pidfd < 0 || poll(&end, 1, wait_ms) <= 0)
		(void)kill(looking->pid, SIGKILL); /* our child, not reaped yet */
	status = child_await(looking->pid);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void append(int from_fd, int kernel_fd)
{
	AUTO_CLOSE int fd =
		openat(kernel_fd, "dump.jsonl", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	off_t bytes = lseek(from_fd, 0, SEEK_END);
	AUTO_FREE char *text = bytes > 0 && bytes <= BYTES_MAX ? xmalloc((size_t)bytes) : NULL;

	if (fd >= 0 && text && file_read_at(from_fd, 0, text, (size_t)bytes) == (size_t)bytes)
		(void)file_write(fd, text, (size_t)bytes); /* a cut line is damage of that line */
}

static void note_cut(const struct waiting_seen *seen, struct manifest *manifest)
{
	AUTO_FREE char *why =
		xasprintf("%" PRIu64 " of %" PRIu64
			  " threads were looked at; its time and their number are limited",
			  seen->looked, seen->looked + seen->skipped);

	if (seen->skipped)
		manifest_add_missing(manifest, NAMED, why);
}

void waiting_snapshot_end(struct waiting_snapshot *looking, int kernel_fd,
			  struct manifest *manifest)
{
	bool is_whole = looking->pid && await_look(looking);

	if (is_whole && manifest) {
		append(looking->out_fd, kernel_fd);
		note_cut(looking->seen, manifest);
	} else if (looking->pid && manifest) {
		manifest_add_missing(manifest, NAMED, "to look at the threads took too long");
	}
	if (looking->seen)
		(void)munmap(looking->seen, sizeof(*looking->seen));
	mem_close_fd(&looking->out_fd);
	*looking = WAITING_SNAPSHOT_NONE;
}
