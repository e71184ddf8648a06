/* flight_model.c - see flight_model.h. */
#include "cli/flight_model.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/rights.h"
#include "cli/watch_flight.h"
#include "model/model.h"
#include "record/flight_on.h"
#include "record/keeper.h"
#include "report/check.h"

#define SELF   "/proc/self/exe"
#define PIPE   3 /* descriptor of the child */
#define END_MS 5000

/* ------------------------------------------------------------------- the model */

static int load(const char *path, struct model **out_model, struct err *err)
{
	struct model_errors errors = { 0 };
	int rc = rights_load_model(path, out_model, &errors, err);

	if (rc < 0 && errors.count) {
		report_mistakes(stderr, path, &errors);
		rc = err_set(err, -EINVAL, "%s is no model that can be watched", path);
	}
	model_errors_fini(&errors);
	return rc;
}

/* What threads did, calls, and events whose group is not told may need any event of the kernel. */
static bool needs_all(const struct model *model)
{
	bool needs = model_asks_kernel(model);

	for (uint32_t i = 0; i < model->pattern_count && !needs; i++)
		needs = model->patterns[i].take != TAKE_EVENT ||
			!strchr(model->patterns[i].name, ':');
	return needs;
}

/* Has the kernel such an event? It also counts where that cannot be told. */
static bool is_kernels(const char *name)
{
	size_t length = strcspn(name, ":");
	AUTO_FREE char *path =
		name[length] ? xasprintf("/sys/kernel/tracing/events/%.*s", (int)length, name)
			     : NULL;

	return !path || strpbrk(name, "*?") || access(path, F_OK) == 0 ||
	       access("/sys/kernel/tracing/events", F_OK) != 0;
}

/* Programs' own events are recorded of the processes of --pid alone, and here there are none. */
static int refuse_programs(const char *path, const struct model *model, struct err *err)
{
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		const struct model_pattern *pattern = &model->patterns[i];

		if (pattern->take == TAKE_EVENT && !is_kernels(pattern->name))
			return err_set(err, -EINVAL,
				       "%s:%u:%u: the kernel has no events of \"%s\"; of a "
				       "program's own events, holdup watch --flight -p PID tells "
				       "the flight recorder",
				       path, pattern->place.line, pattern->place.column,
				       pattern->name);
	}
	return 0;
}

int flight_model_check(const char *path, struct err *err)
{
	struct model *model = NULL;
	int rc = load(path, &model, err);

	if (rc == 0)
		rc = refuse_programs(path, model, err);
	model_free(model);
	return rc;
}

/* As --events takes it, to be freed. */
static char *events_of(const struct model *model, const char *events)
{
	char *text;

	if (needs_all(model))
		return xstrdup("full");
	text = xstrdup(events && strcmp(events, "lean") != 0 ? events : "core");
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		char *more;

		more = xasprintf("%s,%s", text, model->patterns[i].name);
		free(text);
		text = more;
	}
	return text;
}

/* ------------------------------------------------------------------ the child */

/* What a keeper has: it is copied as it begins. */
struct job {
	const char *path, *events; /* views */
};

static void exec_watch(void *context, uint32_t before)
{
	const struct job *job = context;
	const char *const args[] = { "holdup", "watch",	    "--flight", "--no-why",
				     "-e",     job->events, job->path,	NULL };

	(void)before;
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)fcntl(PIPE, F_SETFD, 0);
	(void)setenv(WATCH_FLIGHT_FD, "3", 1);
	execv(SELF, (char *const *)(uintptr_t)args);
	_exit(127);
}

static void tell_begin(void *context, pid_t pid)
{
	(void)context;
	(void)dprintf(PIPE, "=%d\n", (int)pid);
}

static void tell_end(void *context, int status, unsigned int pause_s, bool is_told)
{
	AUTO_FREE char *how = keeper_how(status);

	(void)context;
	(void)dprintf(PIPE, "-%s\n", is_told ? "" : how);
	if (!is_told)
		(void)dprintf(PIPE, "!holdup watch %s%s; the next one in %u s\n", how,
			      WIFSIGNALED(status) ? ""
						  : ": see what holdup watch says of this model",
			      pause_s);
}

/* ---------------------------------------------------------------- the recorder */

static int start_one(struct flight_model *model, const char *events, struct err *err)
{
	int fds[2];
	struct job job = { model->on->model, events };
	struct keeper keeper = { .name = "holdup-model",
				 .context = &job,
				 .run = exec_watch,
				 .begun = tell_begin,
				 .ended = tell_end,
				 .fds = &fds[1],
				 .fd_count = 1,
				 .end_signal = SIGTERM };
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = keeper_start(&keeper, err);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return pid;
	}
	model->keeper = pid;
	model->fd = model->on->fd = fds[0];
	return 0;
}

int flight_models_start(struct flight_models *models, struct flight_on *ons, size_t count,
			const char *events, struct err *err)
{
	int rc = 0;

	models->items = xcalloc(count + 1, sizeof(*models->items));
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct flight_model *item = &models->items[models->count];
		AUTO_FREE char *needed = NULL;
		struct model *model = NULL;

		if (ons[i].kind != FLIGHT_ON_MODEL)
			continue;
		rc = load(ons[i].model, &model, err);
		if (rc < 0)
			return rc;
		needed = events_of(model, events);
		model_free(model);
		*item = (struct flight_model){ .on = &ons[i], .fd = -1 };
		rc = start_one(item, needed, err);
		models->count += rc == 0;
	}
	return rc;
}

struct flight_model *flight_models_find(const struct flight_models *models,
					const struct flight_on *on)
{
	for (size_t i = 0; i < models->count; i++) {
		if (models->items[i].on == on)
			return &models->items[i];
	}
	return NULL;
}

int flight_model_read(struct flight_model *model)
{
	ssize_t got;

	if (model->bytes == sizeof(model->text))
		model->bytes = 0; /* no line is as long */
	got = read(model->fd, model->text + model->bytes, sizeof(model->text) - model->bytes);
	if (got > 0)
		model->bytes += (size_t)got;
	return got == 0 ? -1 : 0;
}

bool flight_model_parse_line(char *line, struct flight_model_line *out_line)
{
	char *blank = strchr(line, ' ');
	uint64_t number;

	*out_line = (struct flight_model_line){ .text = line + 1 };
	if (line[0] == '!') {
		out_line->kind = FLIGHT_MODEL_TOLD;
		return true;
	}
	if (line[0] == '-') {
		out_line->kind = FLIGHT_MODEL_ENDED;
		return true;
	}
	if (line[0] == '=') {
		out_line->kind = FLIGHT_MODEL_BEGUN;
		if (!text_parse_u64(line + 1, &number) || !number || number > INT32_MAX)
			return false;
		out_line->pid = (int32_t)number;
		return true;
	}
	if (!blank || !blank[1])
		return false;
	*blank = '\0';
	out_line->kind = FLIGHT_MODEL_VIOLATION;
	out_line->text = blank + 1;
	return text_parse_u64(line, &out_line->before);
}

/* What is taken moves behind the rest, where it stays until more is read. */
bool flight_model_next(struct flight_model *model, struct flight_model_line *out_line)
{
	static char line[sizeof(model->text)];
	char *end;

	while ((end = memchr(model->text, '\n', model->bytes))) {
		size_t length = (size_t)(end - model->text) + 1;

		memcpy(line, model->text, length);
		line[length - 1] = '\0';
		model->bytes -= length;
		memmove(model->text, model->text + length, model->bytes);
		if (flight_model_parse_line(line, out_line)) {
			if (out_line->kind == FLIGHT_MODEL_BEGUN)
				model->pid = out_line->pid;
			return true;
		}
	}
	return false;
}

uint64_t flight_models_cpu_ns(const struct flight_models *models)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < models->count; i++)
		sum_ns += keeper_cpu_ns(models->items[i].keeper);
	return sum_ns;
}

void flight_models_note(const struct flight_models *models, struct flight *flight)
{
	for (size_t i = 0; i < models->count; i++)
		keeper_note(models->items[i].keeper, flight);
}

/* Its end of the pipe is closed when the last of them has ended. */
static void await_end(struct flight_model *model)
{
	struct pollfd wait = { .fd = model->fd, .events = POLLIN };
	uint64_t until_ns = clock_now_ns() + (uint64_t)END_MS * 1000000;

	while (clock_now_ns() < until_ns && poll(&wait, 1, END_MS) > 0) {
		if (read(model->fd, model->text, sizeof(model->text)) == 0)
			break;
	}
}

void flight_models_end(struct flight_models *models)
{
	for (size_t i = 0; i < models->count; i++) {
		if (models->items[i].keeper)
			(void)kill(models->items[i].keeper, SIGTERM); /* all at once */
	}
	for (size_t i = 0; i < models->count; i++) {
		struct flight_model *model = &models->items[i];

		if (model->keeper)
			(void)child_await(model->keeper);
		if (model->on->fd >= 0)
			await_end(model);
	}
	free(models->items); /* their pipes are closed with the triggers */
	*models = (struct flight_models){ 0 };
}
