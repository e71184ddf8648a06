/* flight_on.c - pressure by the kernel's word, waits of threads by two looks at /proc. */
#include "record/flight_on.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "proc/proc.h"
#include "record/flight_count.h"
#include "record/flight_event.h"
#include "record/flight_pair.h"
#include "record/flight_unit.h"
#include "record/probe_spec.h"

#define WINDOW_MIN_US	500000u /* the kernel's limits */
#define WINDOW_MAX_US	10000000u
#define PLAIN_WINDOW_US 2000000u
#define QUEUE_MIN_NS	UINT64_C(100000000)
#define COST_PART	100u /* looking may cost one part in so many */
#define FIND_NAMES_NS	UINT64_C(1000000000)
#define PLACE_BYTES	128
#define LOOK_MIN_NS	5000000u

static const char *const resources[] = { "cpu", "memory", "io" };

/* -------------------------------------------------------------------- parse */

/* What each kind of trigger looks like. */
static const struct {
	const char *word; /* it begins with that, and with no letter behind it */
	const char *form;
} forms[] = {
	{ "psi",
	  "psi:RESOURCE>PERCENT%/WINDOW (cpu, memory or io, up to 100%, from 500ms to 10s)" },
	{ "D", "D>DURATION or D:NAME>DURATION (10ms or longer)" },
	{ "runnable", "runnable>DURATION or runnable:NAME>DURATION (10ms or longer)" },
	{ "runq", "runq>THREADS/DURATION (100ms or longer)" },
	{ "oom", "oom or oom@/CGROUP" },
	{ "event", "event:SYSTEM:NAME or event:SYSTEM:NAME:FILTER" },
	{ "pair",
	  "pair:SYSTEM:NAME->SYSTEM:NAME>DURATION (two events or points, or user:CLASS:EVENT "
	  "twice)" },
	{ "probe", "probe:/PROGRAM:FUNCTION" },
	{ "usdt", "usdt:/PROGRAM:PROVIDER:NAME" },
	{ "user", "user:CLASS:EVENT" },
	{ "model", "model:/FILE.yaml (an absolute path)" },
	{ "unit", "unit or unit:NAME (* and ? stand for any letters, .service may be left out)" },
};

static int refuse(const char *text, struct err *err)
{
	AUTO_FREE char *safe = text_escaped(text);

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t length = strlen(forms[i].word);

		if (strncmp(text, forms[i].word, length) == 0 &&
		    !isalpha((unsigned char)text[length]))
			return err_set(err, -EINVAL, "--on needs %s, got \"%s\"", forms[i].form,
				       safe);
	}
	return err_set(
		err, -EINVAL,
		"--on needs a trigger such as psi:io>10%%/1s, psi:cpu@/web.slice>50%%/2s, "
		"D>500ms, runnable:nginx>100ms, runq>8/2s, oom, unit:nginx, event:oom:mark_victim or "
		"probe:/usr/bin/x:work, got \"%s\"",
		safe);
}

/* "10%/1s" */
static bool parse_pressure(const char *text, struct flight_on *on)
{
	const char *percent = strchr(text, '%');
	AUTO_FREE char *number = percent ? xstrndup(text, (size_t)(percent - text)) : NULL;
	uint64_t part, window_ns;

	if (!percent || percent[1] != '/' || !text_parse_u64(number, &part) || part < 1 ||
	    part > 100 || !text_parse_duration(percent + 2, &window_ns))
		return false;
	on->window_us = window_ns / 1000;
	on->stall_us = on->window_us * part / 100;
	return on->window_us >= WINDOW_MIN_US && on->window_us <= WINDOW_MAX_US;
}

/* "io", "memory:full", "cpu@/web.slice" */
static bool parse_resource(const char *text, struct flight_on *on)
{
	const char *at = strchrnul(text, '@');
	size_t length = (size_t)(at - text);

	if (length > 5 && strncmp(at - 5, ":full", 5) == 0) {
		on->full = true;
		length -= 5;
	}
	if (*at) {
		if (at[1] != '/' || strstr(at, ".."))
			return false;
		on->cgroup = xstrdup(at + 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		if (strlen(resources[i]) == length && strncmp(resources[i], text, length) == 0) {
			on->resource = (enum flight_on_resource)i;
			return true;
		}
	}
	return false;
}

static bool parse_wait(const char *name, const char *limit, struct flight_on *on)
{
	size_t length = strcspn(name, ":");

	if (length == 1 && name[0] == 'D')
		on->kind = FLIGHT_ON_D;
	else if (length == strlen("runnable") && strncmp(name, "runnable", length) == 0)
		on->kind = FLIGHT_ON_RUNNABLE;
	else
		return false;
	if (name[length] == ':') {
		if (!name[length + 1])
			return false;
		on->comm = xstrndup(name + length + 1, 15); /* as the kernel cuts it */
	}
	return text_parse_duration(limit, &on->min_ns) && on->min_ns >= 2 * LOOK_MIN_NS;
}

/* "8/2s" */
static bool parse_queue(const char *text, struct flight_on *on)
{
	const char *slash = strchr(text, '/');
	AUTO_FREE char *number = slash ? xstrndup(text, (size_t)(slash - text)) : NULL;

	on->kind = FLIGHT_ON_RUNQ;
	return slash && text_parse_u64(number, &on->most) &&
	       text_parse_duration(slash + 1, &on->min_ns) && on->min_ns >= QUEUE_MIN_NS;
}

/* "", "@/web.slice" */
static bool parse_oom(const char *text, struct flight_on *on)
{
	on->kind = FLIGHT_ON_OOM;
	if (!*text)
		return true;
	if (text[0] != '@' || text[1] != '/' || strstr(text, ".."))
		return false;
	on->cgroup = xstrdup(text + 1);
	return true;
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (text[length] == '_' || (text[length] >= '0' && text[length] <= '9') ||
	       (text[length] >= 'a' && text[length] <= 'z') ||
	       (text[length] >= 'A' && text[length] <= 'Z'))
		length++;
	return length;
}

/* "oom:mark_victim", "block:block_rq_complete:error != 0" */
static bool parse_event(const char *text, struct flight_on *on)
{
	size_t system = word_length(text);
	const char *event = text + system + 1;
	size_t length;

	on->kind = FLIGHT_ON_EVENT;
	if (!system || text[system] != ':')
		return false;
	length = word_length(event);
	if (!length || (event[length] && (event[length] != ':' || !event[length + 1])))
		return false;
	on->event = xasprintf("%.*s/%.*s", (int)system, text, (int)length, event);
	if (event[length])
		on->filter = xstrdup(event + length + 1);
	return true;
}

/* "PROGRAM:FUNCTION", "PROGRAM:PROVIDER:NAME": no process is known in which else it would be looked for. */
static bool parse_point(const char *text, bool is_usdt, struct flight_on *on)
{
	struct probe_spec spec;
	struct err err = { 0 };
	bool is_whole = probe_spec_parse(text, is_usdt, &spec, &err) == 0 && spec.binary;

	probe_spec_fini(&spec);
	on->kind = FLIGHT_ON_EVENT;
	on->point = text;
	on->is_usdt = is_usdt;
	return is_whole;
}

/* "oom:mark_victim" becomes "oom/mark_victim". */
static char *event_path(const char *text, size_t length)
{
	size_t system = word_length(text);
	size_t event = system < length && text[system] == ':' ? word_length(text + system + 1) : 0;

	return system && event && system + 1 + event == length
		       ? xasprintf("%.*s/%.*s", (int)system, text, (int)event, text + system + 1)
		       : NULL;
}

/* "shop:paid": what a program logs. */
static bool is_logged(const char *text)
{
	size_t class = word_length(text),
	       event = text[class] == ':' ? word_length(text + class + 1) : 0;

	return class && event && !text[class + 1 + event];
}

static bool parse_logged(const char *text, struct flight_on *on)
{
	on->kind = FLIGHT_ON_LOGGED;
	on->event = xstrdup(text);
	return is_logged(text);
}

/* One of a pair: "oom/mark_victim", or a point as it is given; NULL = neither. */
static char *pair_end(const char *text, size_t length)
{
	AUTO_FREE char *end = xstrndup(text, length);
	bool is_usdt = strncmp(end, "usdt:", 5) == 0;
	struct flight_on point = { 0 };

	if (strncmp(end, "user:", 5) == 0)
		return is_logged(end + 5) ? xstrdup(end) : NULL;
	if (!is_usdt && strncmp(end, "probe:", 6) != 0)
		return event_path(text, length);
	return parse_point(end + (is_usdt ? 5 : 6), is_usdt, &point) ? xstrdup(end) : NULL;
}

/* "user:shop:begin", of both or of none of them: nobody else sees what programs log. */
static bool parse_pair_logged(struct flight_on *on)
{
	char *ends[] = { on->event, on->second };

	if (strncmp(ends[0], "user:", 5) != 0 || strncmp(ends[1], "user:", 5) != 0)
		return false;
	on->kind = FLIGHT_ON_LOGGED;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		memmove(ends[i], ends[i] + 5, strlen(ends[i] + 5) + 1);
	return true;
}

/* "sched:a->sched:b>200ms": another event, or its end is its beginning */
static bool parse_pair(const char *text, struct flight_on *on)
{
	const char *arrow = strstr(text, "->"), *limit = strrchr(text, '>');

	on->kind = FLIGHT_ON_PAIR;
	if (!arrow || limit < arrow + 2)
		return false;
	on->event = pair_end(text, (size_t)(arrow - text));
	on->second = pair_end(arrow + 2, (size_t)(limit - arrow - 2));
	if (!on->event || !on->second || strcmp(on->event, on->second) == 0)
		return false;
	if ((strncmp(on->event, "user:", 5) == 0 || strncmp(on->second, "user:", 5) == 0) &&
	    !parse_pair_logged(on))
		return false;
	return text_parse_duration(limit + 1, &on->min_ns) && on->min_ns > 0;
}

/* "/etc/shop.yaml": the recorder has no folder of its caller's. */
static bool parse_model(const char *text, struct flight_on *on)
{
	on->kind = FLIGHT_ON_MODEL;
	on->model = text;
	return text[0] == '/' && text[1];
}

/* "", ":nginx" */
static bool parse_unit(const char *text, struct flight_on *on)
{
	on->kind = FLIGHT_ON_UNIT;
	on->unit = flight_unit_parse(text);
	return on->unit;
}

static bool parse_limit(const char *text, struct flight_on *on)
{
	const char *more = strrchr(text, '>');
	AUTO_FREE char *name = more ? xstrndup(text, (size_t)(more - text)) : NULL;

	if (!more)
		return false;
	if (strncmp(name, "psi:", 4) == 0)
		return parse_resource(name + 4, on) && parse_pressure(more + 1, on);
	if (strcmp(name, "runq") == 0)
		return parse_queue(more + 1, on);
	return parse_wait(name, more + 1, on);
}

static bool parse_trigger(const char *text, struct flight_on *on)
{
	if (strncmp(text, "event:", 6) == 0)
		return parse_event(text + 6, on);
	if (strncmp(text, "pair:", 5) == 0)
		return parse_pair(text + 5, on);
	if (strncmp(text, "probe:", 6) == 0)
		return parse_point(text + 6, false, on);
	if (strncmp(text, "usdt:", 5) == 0)
		return parse_point(text + 5, true, on);
	if (strncmp(text, "user:", 5) == 0)
		return parse_logged(text + 5, on);
	if (strncmp(text, "model:", 6) == 0)
		return parse_model(text + 6, on);
	if (strncmp(text, "unit", 4) == 0)
		return parse_unit(text + 4, on);
	if (strncmp(text, "oom", 3) == 0)
		return parse_oom(text + 3, on);
	return parse_limit(text, on);
}

int flight_on_parse(const char *text, struct flight_on *out_on, struct err *err)
{
	struct flight_on on = { .text = text, .fd = -1 };

	if (!parse_trigger(text, &on)) {
		flight_on_fini(&on);
		return refuse(text, err);
	}
	*out_on = on;
	return 0;
}

void flight_on_close(struct flight_on *on)
{
	mem_close_fd(&on->fd);
	on->fd = -1;
	flight_event_close(on->tracer);
	on->tracer = NULL;
	flight_pair_close(on->pair);
	on->pair = NULL;
}

void flight_on_fini(struct flight_on *on)
{
	flight_on_close(on);
	free(on->cgroup);
	free(on->comm);
	free(on->event);
	free(on->filter);
	free(on->second);
	free(on->unit);
	on->unit = NULL;
	on->cgroup = on->comm = on->event = on->filter = on->second = NULL;
}

bool flight_on_is_pair(const struct flight_on *on)
{
	return on->second;
}

bool flight_on_is_wait(const struct flight_on *on)
{
	return on->kind == FLIGHT_ON_D || on->kind == FLIGHT_ON_RUNNABLE;
}

bool flight_on_works(const struct flight_on *on)
{
	return flight_on_is_wait(on) || (on->fd >= 0 && !on->is_deaf) || on->tracer || on->pair;
}

struct pollfd flight_on_wait(const struct flight_on *on)
{
	if (on->kind == FLIGHT_ON_EVENT)
		return (struct pollfd){ .fd = flight_event_fd(on->tracer), .events = POLLIN };
	if (on->kind == FLIGHT_ON_PAIR)
		return (struct pollfd){ .fd = on->pair ? flight_pair_fd(on->pair) : -1,
					.events = POLLIN };
	if (on->kind == FLIGHT_ON_MODEL || on->kind == FLIGHT_ON_UNIT ||
	    on->kind == FLIGHT_ON_LOGGED)
		return (struct pollfd){ .fd = on->fd, .events = POLLIN };
	return (struct pollfd){ .fd = on->kind == FLIGHT_ON_PSI ? on->fd : -1, .events = POLLPRI };
}

/* ----------------------------------------------------------------- pressure */

static int open_pressure(const struct flight_on *on)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	const char *resource = resources[on->resource];
	int fd = -1;

	if (!on->cgroup) {
		AUTO_FREE char *path = xasprintf("/proc/pressure/%s", resource);

		return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(mounts); i++) {
		AUTO_FREE char *path =
			xasprintf("%s%s/%s.pressure", mounts[i], on->cgroup, resource);

		fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	return fd;
}

static bool ask_pressure(const struct flight_on *on)
{
	AUTO_FREE char *ask = xasprintf("%s %" PRIu64 " %" PRIu64, on->full ? "full" : "some",
					on->stall_us, on->window_us);

	return write(on->fd, ask, strlen(ask) + 1) > 0;
}

/* Without CAP_SYS_RESOURCE a window is of whole 2 s, and the share of it that was asked for. */
static void widen_window(struct flight_on *on)
{
	uint64_t wider_us =
		(on->window_us + PLAIN_WINDOW_US - 1) / PLAIN_WINDOW_US * PLAIN_WINDOW_US;

	on->stall_us = on->stall_us * wider_us / on->window_us;
	on->window_us = wider_us;
}

static int pressure_open(struct flight_on *on, struct err *err)
{
	int rc;

	on->fd = open_pressure(on);
	if (on->fd < 0 && on->cgroup)
		return err_set(err, -errno,
			       "%s: there is no such cgroup, or it tells no pressure: %s", on->text,
			       strerror(errno));
	if (on->fd < 0)
		return err_set(
			err, -ENOTSUP,
			"%s: this kernel tells no pressure (CONFIG_PSI, or psi=1 at boot): %s",
			on->text, strerror(errno));
	if (ask_pressure(on))
		return 0;
	if (errno == EINVAL && on->window_us % PLAIN_WINDOW_US) {
		widen_window(on);
		if (ask_pressure(on))
			return 1;
	}
	rc = err_set(err, -errno, "%s: the kernel refuses this limit of pressure: %s", on->text,
		     strerror(errno));
	mem_close_fd(&on->fd);
	on->fd = -1;
	return rc;
}

int flight_on_open(struct flight_on *on, struct err *err)
{
	switch (on->kind) {
	case FLIGHT_ON_PSI:
		return pressure_open(on, err);
	case FLIGHT_ON_RUNQ:
	case FLIGHT_ON_OOM:
		return flight_count_open(on, err);
	case FLIGHT_ON_PAIR:
		return flight_pair_open(on->event, on->second, on->min_ns, &on->pair, err);
	case FLIGHT_ON_EVENT:
		if (on->point)
			return flight_event_open_point(on->point, on->is_usdt, &on->tracer, err);
		return flight_event_open(on->event, on->filter, &on->tracer, err);
	default:
		return 0;
	}
}

/* -------------------------------------------------------------- waits, /proc */

/* Time on a CPU and how often it came to one: "RAN WAITED SLICES". */
static bool read_runs(int proc_fd, const char *task, struct flight_seen *seen)
{
	char text[128];
	AUTO_FREE char *path = xasprintf("%s/schedstat", task);

	return proc_read(proc_fd, path, text, sizeof(text)) > 0 &&
	       sscanf(text, "%" SCNu64 " %*u %" SCNu64, &seen->ran_ns, &seen->slices) == 2;
}

enum seen_as {
	SEEN_GONE,
	SEEN_OTHERWISE, /* neither in D nor able to run; its name is told */
	SEEN_WAITS,
};

static enum seen_as read_seen(int proc_fd, const struct flight_task *task,
			      struct flight_seen *out_seen)
{
	struct flight_seen seen = { .tid = task->tid };
	struct proc_thread thread = { 0 };
	AUTO_FREE char *folder = xasprintf("%d/task/%d", task->tgid, task->tid);
	AUTO_FREE char *path = xasprintf("%s/stat", folder);
	char text[1024];

	if (proc_read(proc_fd, path, text, sizeof(text)) <= 0 || !proc_parse_stat(text, &thread))
		return SEEN_GONE;
	seen.state = thread.state;
	(void)snprintf(seen.comm, sizeof(seen.comm), "%.15s", thread.comm);
	*out_seen = seen;
	if ((thread.state != 'D' && thread.state != 'R') || !read_runs(proc_fd, folder, out_seen))
		return SEEN_OTHERWISE;
	return SEEN_WAITS;
}

/* Who asks for a look, and gets what fired. */
struct flight_ask {
	struct flight_on *ons;
	size_t count;
	bool named; /* of triggers with a name, else of those without */
	struct flight_seen *out_seen;
};

ORDER_FUNCTION(compare_seen, struct flight_seen, ORDER_UP(tid));

/* In the same wait as at the look before? Then it began there. */
static void join_seen(const struct flight_scan *scan, struct flight_seen *seen, uint64_t now_ns)
{
	const struct flight_seen *old =
		scan->count ? bsearch(seen, scan->seen, scan->count, sizeof(*seen), compare_seen)
			    : NULL;

	seen->since_ns = now_ns;
	seen->before_ns = scan->looked_ns;
	if (!old || old->state != seen->state || old->ran_ns != seen->ran_ns ||
	    old->slices != seen->slices)
		return;
	seen->since_ns = old->since_ns;
	seen->before_ns = old->before_ns;
	seen->fired = old->fired;
}

static bool is_named(const struct flight_on *ons, size_t count, const char *comm)
{
	for (size_t i = 0; i < count; i++) {
		if (flight_on_is_wait(&ons[i]) && ons[i].comm && strcmp(ons[i].comm, comm) == 0)
			return true;
	}
	return false;
}

static bool fires(const struct flight_on *on, const struct flight_seen *seen, bool named,
		  uint64_t now_ns)
{
	return on->kind == (seen->state == 'D' ? FLIGHT_ON_D : FLIGHT_ON_RUNNABLE) &&
	       now_ns - seen->since_ns >= on->min_ns && (on->comm != NULL) == named &&
	       (!named || strcmp(on->comm, seen->comm) == 0);
}

/* A look is complete: what began before it, and what fires. */
static struct flight_on *scan_end(struct flight_scan *scan, struct flight_scan *now,
				  struct flight_ask *ask)
{
	struct flight_on *fired = NULL;
	uint64_t cpu_ns = now->cost_ns;

	if (now->count)
		qsort(now->seen, now->count, sizeof(*now->seen), compare_seen);
	for (size_t i = 0; i < now->count; i++) {
		struct flight_seen *seen = &now->seen[i];

		join_seen(scan, seen, now->looked_ns);
		for (size_t k = 0; k < ask->count && !fired && !seen->fired; k++) {
			if (!fires(&ask->ons[k], seen, ask->named, now->looked_ns))
				continue;
			fired = &ask->ons[k];
			seen->fired = true;
			*ask->out_seen = *seen;
		}
	}
	free(scan->seen);
	*scan = *now;
	scan->cost_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return fired;
}

static void look_at(int proc_fd, const struct flight_task *task, struct flight_scan *now)
{
	now->seen = vec_room(now->seen, now->count, &now->cap, sizeof(*now->seen));
	now->count += read_seen(proc_fd, task, &now->seen[now->count]) == SEEN_WAITS;
}

static void look_at_process(int proc_fd, int32_t tgid, struct flight_looks *looks,
			    struct flight_scan *now, const struct flight_ask *ask)
{
	AUTO_FREE char *path = xasprintf("%d/task", tgid);
	AUTO_FREE int32_t *tids = NULL;
	int count = proc_numbers(proc_fd, path, &tids);

	for (int i = 0; i < count; i++) {
		const struct flight_task task = { tgid, tids[i] };
		struct flight_seen seen;
		enum seen_as as = read_seen(proc_fd, &task, &seen);

		if (as == SEEN_WAITS) {
			now->seen = vec_room(now->seen, now->count, &now->cap, sizeof(*now->seen));
			now->seen[now->count++] = seen;
		}
		if (as == SEEN_GONE || !is_named(ask->ons, ask->count, seen.comm))
			continue;
		looks->tasks =
			vec_room(looks->tasks, looks->count, &looks->cap, sizeof(*looks->tasks));
		looks->tasks[looks->count++] = task;
	}
}

static struct flight_scan scan_begin(void)
{
	return (struct flight_scan){ .looked_ns = clock_now_ns(),
				     .cost_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) };
}

static struct flight_on *look_at_all(int proc_fd, struct flight_looks *looks,
				     struct flight_ask *ask)
{
	struct flight_scan now = scan_begin();
	AUTO_FREE int32_t *tgids = NULL;
	int count = proc_numbers(proc_fd, ".", &tgids);

	looks->count = 0;
	for (int i = 0; i < count; i++)
		look_at_process(proc_fd, tgids[i], looks, &now, ask);
	return scan_end(&looks->all, &now, ask);
}

static struct flight_on *look_at_named(int proc_fd, struct flight_looks *looks,
				       struct flight_ask *ask)
{
	struct flight_scan now = scan_begin();

	for (size_t i = 0; i < looks->count; i++)
		look_at(proc_fd, &looks->tasks[i], &now);
	return scan_end(&looks->named, &now, ask);
}

static uint64_t due_ns(const struct flight_looks *looks, const struct flight_on *ons, size_t count,
		       bool named)
{
	const struct flight_scan *scan = named ? &looks->named : &looks->all;
	uint64_t every_ns = flight_looks_every_ns(looks, ons, count, named);

	return every_ns == UINT64_MAX ? UINT64_MAX : scan->looked_ns + every_ns;
}

struct flight_on *flight_looks_take(struct flight_looks *looks, struct flight_on *ons, size_t count,
				    struct flight_seen *out_seen)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flight_ask ask = { .ons = ons, .count = count, .out_seen = out_seen };
	struct flight_on *fired = NULL;

	if (proc_fd >= 0 && clock_now_ns() >= due_ns(looks, ons, count, false))
		fired = look_at_all(proc_fd, looks, &ask);
	ask.named = true;
	if (proc_fd >= 0 && !fired && clock_now_ns() >= due_ns(looks, ons, count, true))
		fired = look_at_named(proc_fd, looks, &ask);
	return fired;
}

uint64_t flight_looks_every_ns(const struct flight_looks *looks, const struct flight_on *ons,
			       size_t count, bool named)
{
	uint64_t cost_ns = named ? looks->named.cost_ns : looks->all.cost_ns;
	uint64_t every_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t wish_ns = ons[i].min_ns / 2;

		if (!flight_on_is_wait(&ons[i]) || (named && !ons[i].comm))
			continue;
		if (!named && ons[i].comm)
			wish_ns = FIND_NAMES_NS;
		every_ns = wish_ns < every_ns ? wish_ns : every_ns;
	}
	return every_ns < COST_PART * cost_ns ? COST_PART * cost_ns : every_ns;
}

uint64_t flight_looks_next_ns(const struct flight_looks *looks, const struct flight_on *ons,
			      size_t count)
{
	uint64_t all_ns = due_ns(looks, ons, count, false);
	uint64_t named_ns = due_ns(looks, ons, count, true);

	return all_ns < named_ns ? all_ns : named_ns;
}

bool flight_seen_waits(const struct flight_seen *seen)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* /proc/TID is there for each thread, though it is not listed. */
	const struct flight_task task = { seen->tid, seen->tid };
	struct flight_seen now;

	return proc_fd >= 0 && read_seen(proc_fd, &task, &now) == SEEN_WAITS &&
	       now.state == seen->state && now.ran_ns == seen->ran_ns && now.slices == seen->slices;
}

char *flight_seen_place(const struct flight_seen *seen)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *path = xasprintf("%d/wchan", seen->tid);
	char text[PLACE_BYTES];

	if (seen->state != 'D' || proc_fd < 0 ||
	    proc_read(proc_fd, path, text, sizeof(text)) <= 0 || text[0] == '0' ||
	    !flight_seen_waits(seen))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text[0] ? xstrdup(text) : NULL;
}

void flight_looks_fini(struct flight_looks *looks)
{
	free(looks->all.seen);
	free(looks->named.seen);
	free(looks->tasks);
	*looks = (struct flight_looks){ 0 };
}
