/* flight_logged.c - the recorder's side of it. */
#include "cli/flight_logged.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/flight_logged_look.h"
#include "record/flight.h"
#include "record/flight_on.h"
#include "report/flight.h"

static size_t count_triggers(const struct flight_on *ons, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += ons[i].kind == FLIGHT_ON_LOGGED;
	return found;
}

/* A pipe of each trigger: the recorder waits at the one end, 'looking' has the other. */
static int make_pipes(struct flight_logged_looking *looking, struct flight_on *ons, size_t count,
		      struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		int fds[2];

		if (ons[i].kind != FLIGHT_ON_LOGGED)
			continue;
		if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
			return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
		ons[i].fd = fds[0];
		flight_logged_looking_add(looking, &ons[i], fds[1]);
	}
	return 0;
}

int flight_logged_start(struct flight_logged *logged, struct flight_on *ons, size_t count,
			struct err *err)
{
	struct flight_logged_looking looking = { 0 };
	struct flight_logged_counts *counts;
	pid_t recorder = getpid();
	int rc;

	if (!count_triggers(ons, count))
		return 0;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		return err_set(err, -errno, "cannot share memory: %s", strerror(errno));
	logged->counts = counts;
	rc = make_pipes(&looking, ons, count, err);
	if (rc == 0)
		logged->pid = fork();
	if (rc == 0 && logged->pid == 0)
		flight_logged_look(&looking, counts, recorder);
	if (logged->pid < 0)
		rc = err_set(err, -errno, "cannot fork: %s", strerror(errno));
	logged->pid = logged->pid > 0 ? logged->pid : 0;
	flight_logged_looking_fini(&looking);
	return rc;
}

bool flight_logged_is_sane(const struct flight_logged_message *message, uint64_t now_ns)
{
	return message->pid > 0 && message->tid >= 0 && message->count > 0 &&
	       message->count <= UINT32_MAX && message->first_ns <= now_ns &&
	       message->second_ns <= now_ns &&
	       (!message->second_ns || message->second_ns >= message->first_ns);
}

int flight_logged_take(int fd, struct flight_logged_message *out_message)
{
	ssize_t got;

	while ((got = read(fd, out_message, sizeof(*out_message))) ==
	       (ssize_t)sizeof(*out_message)) {
		out_message->comm[sizeof(out_message->comm) - 1] = '\0';
		if (flight_logged_is_sane(out_message, clock_now_ns()))
			return 1;
	}
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

char *flight_logged_text(const struct flight_on *on, const struct flight_logged_message *message)
{
	uint64_t end_ns = message->second_ns ? message->second_ns : clock_now_ns();
	AUTO_FREE char *thread =
		message->tid ? xasprintf("thread %d (%s) of ", message->tid, message->comm)
			     : xstrdup("");
	AUTO_FREE char *process =
		message->tid ? xasprintf("process %d", message->pid)
			     : xasprintf("process %d (%s)", message->pid, message->comm);

	if (!flight_on_is_pair(on))
		return xasprintf("%s: %s%s", on->text, thread, process);
	return xasprintf("%s: %s%s, %s%s", on->text, thread, process,
			 text_duration(end_ns - message->first_ns).s,
			 message->second_ns ? "" : " and not over");
}

const struct flight_logged_row *flight_logged_tell(const struct flight_logged *logged,
						   struct flight_logged_row *row)
{
	const struct flight_logged_counts *counts = logged->counts;

	if (!counts)
		return NULL;
	*row = (struct flight_logged_row){
		.programs = counts->programs,
		.look_ns = counts->look_ns,
		.lost = counts->lost,
		.unread = counts->unread,
		.other_time = counts->other_time,
		.no_room = counts->no_room,
	};
	return row;
}

void flight_logged_note(const struct flight_logged *logged, struct flight *flight)
{
	int32_t reader = logged->counts ? logged->counts->reader : 0;

	if (logged->pid)
		flight_note_helper(flight, logged->pid);
	if (reader)
		flight_note_helper(flight, reader);
}

uint64_t flight_logged_cpu_ns(const struct flight_logged *logged)
{
	return logged->counts ? logged->counts->cpu_ns : 0;
}

void flight_logged_end(struct flight_logged *logged)
{
	if (logged->pid) {
		(void)kill(logged->pid, SIGKILL); /* not reaped yet; its child ends with it */
		(void)child_await(logged->pid);
	}
	if (logged->counts)
		(void)munmap((void *)(uintptr_t)logged->counts,
			     sizeof(*logged->counts)); /* cannot fail */
	*logged = (struct flight_logged){ 0 };
}
