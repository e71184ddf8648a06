/* flight_logged.c - the recorder's side of it. */
#include "cli/flight_logged.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/flight_logged_look.h"
#include "cli/flight_run.h"
#include "record/flight_on.h"
#include "record/keeper.h"
#include "report/flight.h"

#define COST_PART UINT64_C(20)
#define SHARES	  UINT64_C(2) /* of the half of a budget: the looks, and the search for programs */

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

/* What the keeper has. */
struct job {
	struct flight_logged_looking *looking;
	struct flight_logged_counts *counts;
};

static void run_looker(void *context, uint32_t before)
{
	const struct job *job = context;

	(void)before;
	flight_logged_look(job->looking, job->counts, getppid());
}

static void tell_all(const struct job *job, const struct flight_logged_message *message)
{
	for (size_t i = 0; i < job->looking->count; i++)
		(void)!write(job->looking->fds[i], message, sizeof(*message)); /* or it is full */
}

static void looker_begun(void *context, pid_t pid)
{
	const struct job *job = context;
	const struct flight_logged_message message = { .kind = FLIGHT_LOGGED_LOOKS, .pid = pid };

	tell_all(job, &message);
}

static void looker_ended(void *context, int status, unsigned int pause_s, bool is_told)
{
	const struct job *job = context;
	const struct flight_logged_message message = { .kind = FLIGHT_LOGGED_ENDED,
						       .tid = status,
						       .count = is_told ? 0 : pause_s };

	job->counts->programs = 0;
	job->counts->reader = 0;
	tell_all(job, &message);
}

uint64_t flight_logged_cost_part(uint32_t budget_ppm, uint64_t cpus)
{
	uint64_t part = budget_ppm ? 2 * SHARES * UINT64_C(1000000) / (budget_ppm * cpus) : 0;

	return part > COST_PART ? part : COST_PART;
}

static uint64_t online_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (uint64_t)cpus : 1;
}

int flight_logged_start(struct flight_logged *logged, const struct flight_run_opts *opts,
			struct err *err)
{
	struct flight_logged_looking looking = { .cost_part = flight_logged_cost_part(
							 opts->budget_ppm, online_cpus()) };
	struct flight_logged_counts *counts;
	struct job job = { .looking = &looking };
	struct keeper keeper = { .name = "holdup-logged-k",
				 .context = &job,
				 .run = run_looker,
				 .begun = looker_begun,
				 .ended = looker_ended,
				 .rights = FLIGHT_LOGGED_RIGHTS | GUARD_CAP(CAP_SETPCAP),
				 .end_signal = SIGKILL };
	int rc;

	if (!count_triggers(opts->ons, opts->on_count))
		return 0;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		return err_set(err, -errno, "cannot share memory: %s", strerror(errno));
	logged->counts = counts;
	job.counts = counts;
	rc = make_pipes(&looking, opts->ons, opts->on_count, err);
	keeper.fds = looking.fds;
	keeper.fd_count = looking.count;
	if (rc == 0)
		rc = logged->pid = keeper_start(&keeper, err);
	logged->pid = logged->pid > 0 ? logged->pid : 0;
	flight_logged_looking_fini(&looking);
	return rc < 0 ? rc : 0;
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
		if (out_message->kind != FLIGHT_LOGGED_FIRED ||
		    flight_logged_is_sane(out_message, clock_now_ns()))
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
	keeper_note(logged->pid, flight);
}

uint64_t flight_logged_cpu_ns(const struct flight_logged *logged)
{
	return logged->counts ? logged->counts->cpu_ns : 0;
}

void flight_logged_end(struct flight_logged *logged)
{
	keeper_end(logged->pid);
	if (logged->counts)
		(void)munmap((void *)(uintptr_t)logged->counts,
			     sizeof(*logged->counts)); /* cannot fail */
	*logged = (struct flight_logged){ 0 };
}
