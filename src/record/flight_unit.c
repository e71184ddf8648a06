/* flight_unit.c - see flight_unit.h. */
#include "record/flight_unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "record/flight_on.h"
#include "record/keeper.h"
#include "record/share.h"
#include "record/unit_bus.h"

#define LIFE_FD	 3 /* descriptors of the child: the end of a pipe, and a socket for each trigger */
#define FIRST_FD 4
#define START_MS 15000 /* it listens by then */
#define RIGHTS                                                                    \
	(GUARD_CAP(CAP_SETUID) | GUARD_CAP(CAP_SETGID) | GUARD_CAP(CAP_SETPCAP) | \
	 GUARD_CAP(CAP_KILL))

char *flight_unit_parse(const char *text)
{
	if (!*text)
		return xstrdup("*");
	return *text == ':' ? unit_pattern(text + 1) : NULL;
}

/* ------------------------------------------------------------------ the child */

struct unit_child {
	const char **patterns; /* owned array of views */
	uint64_t *before;      /* owned; of each trigger */
	size_t count;
	bool hears;
	char later[sizeof(((struct flight_unit_told *)NULL)->text)];
};

static bool send_told(size_t i, const struct flight_unit_told *told)
{
	return send(FIRST_FD + (int)i, told, sizeof(*told), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*told);
}

static void add_others(const struct unit_group *others, char *text, size_t bytes)
{
	uint64_t count = (uint64_t)others->count + others->more;
	size_t length = strlen(text);

	if (others->oom_kills)
		(void)snprintf(text + length, bytes - length,
			       "; the kernel killed %" PRIu64
			       " of its processes for want of memory",
			       others->oom_kills);
	length = strlen(text);
	if (count)
		(void)snprintf(text + length, bytes - length,
			       "; %" PRIu64 " other process%s of the unit had not ended yet", count,
			       count == 1 ? "" : "es");
}

static void on_failed(void *context, size_t i, const char *unit, const struct unit_outcome *outcome)
{
	struct unit_child *child = context;
	struct flight_unit_told told = { .kind = FLIGHT_UNIT_FAILED,
					 .pid = outcome->pid,
					 .begun_ns = outcome->begun_ns,
					 .ended_ns = outcome->ended_ns,
					 .before = child->before[i] };

	told.other_count = outcome->others.count;
	memcpy(told.others, outcome->others.pids, sizeof(told.others));
	(void)snprintf(told.text, sizeof(told.text), "unit %s failed: %s%s", unit,
		       outcome->result[0] ? outcome->result : "systemd does not say how",
		       outcome->is_retried ? "; systemd starts it again" : "");
	add_others(&outcome->others, told.text, sizeof(told.text));
	child->before[i] = send_told(i, &told) ? 0 : child->before[i] + 1;
}

/* That comes before it listens, and is said then. */
static void on_told(void *context, const char *text)
{
	struct unit_child *child = context;
	size_t length = strlen(child->later);

	(void)snprintf(child->later + length, sizeof(child->later) - length, "%s%s",
		       length ? "; " : "", text);
}

/* To all; in words to one of them. The first time there are other words. */
static void on_hears(void *context, bool hears, const char *text)
{
	struct unit_child *child = context;
	struct flight_unit_told told = { .kind = hears ? FLIGHT_UNIT_HEARS : FLIGHT_UNIT_DEAF };

	(void)snprintf(told.text, sizeof(told.text), "%s", child->hears ? text : child->later);
	child->hears = true;
	for (size_t i = 0; i < child->count; i++) {
		(void)send_told(i, &told);
		told.text[0] = '\0';
	}
}

/*
 * The kernel ends us by SIGIO when the recorder's end of the pipe is closed. Neither may the recorder kill another user's
 * process, which has given up its rights, nor the kernel for it (PR_SET_PDEATHSIG).
 */
static bool live_with_recorder(void)
{
	struct pollfd end = { .fd = LIFE_FD };

	return fcntl(LIFE_FD, F_SETOWN, getpid()) == 0 && fcntl(LIFE_FD, F_SETFL, O_ASYNC) == 0 &&
	       poll(&end, 1, 0) == 0;
}

static void child_main(void *context, uint32_t before)
{
	struct unit_child *child = context;
	const struct unit_listener listener = {
		.context = child,
		.patterns = child->patterns,
		.count = child->count,
		.failed = on_failed,
		.hears = on_hears,
		.told = on_told,
	};
	struct flight_unit_told told = { .kind = FLIGHT_UNIT_REFUSED };
	struct err err = { 0 };

	child->hears = before > 0; /* then it is told that it hears again */
	share_lower();
	(void)prctl(PR_SET_NAME, "holdup-unit");
	if (guard_caps_nobody(0, &err) == 0 && live_with_recorder())
		(void)unit_bus_run(&listener, &err);
	(void)snprintf(told.text, sizeof(told.text), "%s", err.text);
	(void)send_told(0, &told);
}

/* In the keeper. */
static void on_ended(void *context, int status, unsigned int pause_s, bool is_told)
{
	struct unit_child *child = context;
	AUTO_FREE char *how = keeper_how(status);
	struct flight_unit_told told = { .kind = FLIGHT_UNIT_DEAF };

	if (!is_told)
		(void)snprintf(
			told.text, sizeof(told.text),
			"who listens to systemd %s: failures of units are not seen; the next one in "
			"%u s",
			how, pause_s);
	for (size_t i = 0; i < child->count; i++) {
		(void)send_told(i, &told);
		told.text[0] = '\0';
	}
}

/* --------------------------------------------------------------- the recorder */

/* The child listens, or says why it does not. */
static int await_child(struct flight_units *units, const struct flight_on *first, struct err *err)
{
	uint64_t until_ns = clock_now_ns() + (uint64_t)START_MS * 1000000;
	struct pollfd wait = { .fd = first->fd, .events = POLLIN };
	struct flight_unit_told told;

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		int rc;

		if (now_ns >= until_ns ||
		    poll(&wait, 1, (int)((until_ns - now_ns) / 1000000) + 1) == 0)
			return err_set(err, -ETIMEDOUT, "%s: systemd does not answer", first->text);
		rc = flight_unit_take(first, &told);
		if (rc < 0 || (rc > 0 && told.kind == FLIGHT_UNIT_REFUSED))
			return err_set(err, -ENOTCONN, "%s: %s", first->text,
				       rc > 0 ? told.text : "who would watch it has ended");
		if (rc > 0 && told.kind == FLIGHT_UNIT_HEARS) {
			memcpy(units->text, told.text, sizeof(units->text));
			return 0;
		}
	}
}

static int open_descriptors(struct flight_units *units, struct flight_on *ons, size_t count,
			    struct unit_child *child, int *fds, struct err *err)
{
	int life[2];

	if (pipe2(life, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	fds[0] = life[0];
	units->life_fd = life[1];
	for (size_t i = 0; i < count; i++) {
		int pair[2];

		if (ons[i].kind != FLIGHT_ON_UNIT)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
		ons[i].fd = pair[0];
		child->patterns[child->count++] = ons[i].unit;
		fds[child->count] = pair[1];
	}
	return 0;
}

static int start_keeper(struct flight_units *units, struct unit_child *child, int *fds,
			struct err *err)
{
	const struct keeper keeper = { .name = "holdup-unit-k",
				       .context = child,
				       .run = child_main,
				       .ended = on_ended,
				       .fds = fds,
				       .fd_count = child->count + 1,
				       .rights = RIGHTS,
				       .end_signal = SIGKILL };
	pid_t pid = keeper_start(&keeper, err);

	if (pid < 0)
		return pid;
	units->pid = pid;
	return 0;
}

static const struct flight_on *first_unit(const struct flight_on *ons, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ons[i].kind == FLIGHT_ON_UNIT)
			return &ons[i];
	}
	return NULL;
}

int flight_units_start(struct flight_units *units, struct flight_on *ons, size_t count,
		       struct err *err)
{
	const struct flight_on *first = first_unit(ons, count);
	AUTO_FREE const char **patterns = xcalloc(count + 1, sizeof(*patterns));
	AUTO_FREE uint64_t *before = xcalloc(count + 1, sizeof(*before));
	AUTO_FREE int *fds = xcalloc(count + 1, sizeof(*fds)); /* the child's */
	struct unit_child child = { .patterns = patterns, .before = before };
	int rc;

	if (!first)
		return 0;
	if (!unit_bus_is_built())
		return err_set(
			err, -ENOTSUP,
			"%s: holdup was built without libsystemd, by which systemd is asked; build it "
			"with libsystemd-dev",
			first->text);
	rc = open_descriptors(units, ons, count, &child, fds, err);
	if (rc == 0)
		rc = start_keeper(units, &child, fds, err);
	for (size_t i = 0; i <= child.count; i++)
		mem_close_fd(&fds[i]);
	return rc == 0 ? await_child(units, first, err) : rc;
}

int flight_unit_take(const struct flight_on *on, struct flight_unit_told *out_told)
{
	ssize_t got = recv(on->fd, out_told, sizeof(*out_told), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != (ssize_t)sizeof(*out_told))
		return -1;
	out_told->text[sizeof(out_told->text) - 1] = '\0';
	if (out_told->other_count > UNIT_GROUP_PIDS)
		out_told->other_count = 0;
	return 1;
}

void flight_units_end(struct flight_units *units)
{
	mem_close_fd(&units->life_fd);
	keeper_end(units->pid);
	*units = FLIGHT_UNITS_NONE;
}
