/* flight_count.c - see flight_count.h. */
#include "record/flight_count.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/keyed.h"
#include "base/mem.h"
#include "record/flight_on.h"

#define LOOKS	    10u /* in the time of runq */
#define OOM_LOOK_NS UINT64_C(500000000)
#define COST_PART   100u
#define FILE_BYTES  16384u /* more than /proc/vmstat has */

static bool is_count(const struct flight_on *on)
{
	return on->fd >= 0 && (on->kind == FLIGHT_ON_RUNQ || on->kind == FLIGHT_ON_OOM);
}

static bool read_text(int fd, char text[FILE_BYTES])
{
	ssize_t got = pread(fd, text, FILE_BYTES - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* --------------------------------------------------------------------- open */

static int open_cgroup(const char *cgroup)
{
	static const char *const files[][2] = {
		{ "/sys/fs/cgroup", "memory.events" },
		{ "/sys/fs/cgroup/unified", "memory.events" },
		{ "/sys/fs/cgroup/memory", "memory.oom_control" },
	};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(files); i++) {
		AUTO_FREE char *path = xasprintf("%s%s/%s", files[i][0], cgroup, files[i][1]);

		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static int open_file(const struct flight_on *on)
{
	if (on->kind == FLIGHT_ON_RUNQ)
		return open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	return on->cgroup ? open_cgroup(on->cgroup) : open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
}

int flight_count_open(struct flight_on *on, struct err *err)
{
	char text[FILE_BYTES];
	bool is_good;

	on->fd = open_file(on);
	is_good = on->fd >= 0 && read_text(on->fd, text) &&
		  (on->kind == FLIGHT_ON_RUNQ || keyed_find_u64(text, "oom_kill", &on->kills));
	if (is_good)
		return 0;
	mem_close_fd(&on->fd);
	on->fd = -1;
	return err_set(err, -ENOTSUP, "%s: %s", on->text,
		       on->cgroup ? "there is no such cgroup, or it does not count these"
				  : "this kernel does not count these");
}

/* -------------------------------------------------------------------- looks */

static uint64_t every_ns(const struct flight_on *on)
{
	uint64_t wish_ns = on->kind == FLIGHT_ON_RUNQ ? on->min_ns / LOOKS : OOM_LOOK_NS;

	return wish_ns < COST_PART * on->cost_ns ? COST_PART * on->cost_ns : wish_ns;
}

uint64_t flight_count_next_ns(const struct flight_on *ons, size_t count)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t due_ns = ons[i].looked_ns + every_ns(&ons[i]);

		if (is_count(&ons[i]) && due_ns < next_ns)
			next_ns = due_ns;
	}
	return next_ns;
}

bool flight_count_parse_running(const char *text, uint64_t *out_running)
{
	uint64_t running;

	if (sscanf(text, "%*f %*f %*f %" SCNu64 "/", &running) != 1)
		return false;
	*out_running = running ? running - 1 : 0;
	return true;
}

bool flight_count_is_long(struct flight_on *on, uint64_t running, uint64_t now_ns)
{
	if (running <= on->most) {
		on->over_ns = 0;
		return false;
	}
	if (!on->over_ns)
		on->over_ns = now_ns;
	if (now_ns - on->over_ns < on->min_ns)
		return false;
	on->over_ns = 0;
	return true;
}

static char *look_at_queue(struct flight_on *on, const char *text, uint64_t now_ns)
{
	uint64_t running;

	if (!flight_count_parse_running(text, &running) ||
	    !flight_count_is_long(on, running, now_ns))
		return NULL;
	return xasprintf("%s: %" PRIu64 " threads run or can run", on->text, running);
}

static char *look_at_kills(struct flight_on *on, const char *text)
{
	uint64_t kills, before = on->kills;

	if (!keyed_find_u64(text, "oom_kill", &kills) || kills == before)
		return NULL;
	on->kills = kills;
	if (kills < before)
		return NULL;
	return xasprintf("%s: the kernel killed %" PRIu64 " process%s for want of memory", on->text,
			 kills - before, kills - before == 1 ? "" : "es");
}

/* NULL: it does not fire. */
static char *look(struct flight_on *on, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	char text[FILE_BYTES];
	char *why = NULL;

	on->looked_ns = now_ns;
	if (read_text(on->fd, text)) {
		why = on->kind == FLIGHT_ON_RUNQ ? look_at_queue(on, text, now_ns)
						 : look_at_kills(on, text);
	} else { /* the cgroup is gone */
		mem_close_fd(&on->fd);
		on->fd = -1;
	}
	on->cost_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return why;
}

struct flight_on *flight_count_take(struct flight_on *ons, size_t count, uint64_t now_ns,
				    char **out_why)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_count(&ons[i]) || now_ns < ons[i].looked_ns + every_ns(&ons[i]))
			continue;
		*out_why = look(&ons[i], now_ns);
		if (*out_why)
			return &ons[i];
	}
	return NULL;
}
