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
#include "proc/proc.h"
#include "record/flight.h"
#include "record/flight_on.h"
#include "report/check.h"

#define SELF	     "/proc/self/exe"
#define PIPE	     3 /* descriptor of the child */
#define BACK_OFF_S   1u
#define BACK_OFF_MAX 60u
#define LASTED_NS    UINT64_C(60000000000) /* that long it worked: the next pause is short again */
#define END_MS	     5000
#define DEEP	     4	/* children of children */
#define NOTED_MOST   12 /* processes that a snapshot is told of */

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

/* ------------------------------------------------------------------ the broker */

static void __attribute__((noreturn)) exec_watch(const char *path, const char *events)
{
	const char *const args[] = { "holdup", "watch", "--flight", "--no-why",
				     "-e",     events,	path,	    NULL };

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	child_reset_signals();
	(void)setenv(WATCH_FLIGHT_FD, "3", 1);
	execv(SELF, (char *const *)(uintptr_t)args);
	_exit(127);
}

static void tell_end(int status, unsigned int pause_s)
{
	if (WIFSIGNALED(status))
		(void)dprintf(PIPE, "!holdup watch was ended by signal %d; the next one in %u s\n",
			      WTERMSIG(status), pause_s);
	else
		(void)dprintf(PIPE,
			      "!holdup watch ended with status %d: see what holdup watch says of "
			      "this model; the next one in %u s\n",
			      WEXITSTATUS(status), pause_s);
}

static void __attribute__((noreturn)) broker(const char *path, const char *events)
{
	unsigned int pause_s = BACK_OFF_S;

	for (;;) {
		uint64_t begun_ns = clock_now_ns();
		pid_t pid = fork();
		int status;

		if (pid == 0)
			exec_watch(path, events);
		if (pid > 0)
			(void)dprintf(PIPE, "=%d\n", (int)pid);
		status = pid > 0 ? child_await(pid) : 0;
		if (clock_now_ns() - begun_ns >= LASTED_NS)
			pause_s = BACK_OFF_S;
		tell_end(status < 0 ? 0 : status, pause_s);
		(void)sleep(pause_s);
		pause_s = pause_s * 2 < BACK_OFF_MAX ? pause_s * 2 : BACK_OFF_MAX;
	}
}

/* Nothing of the recorder's stays open: neither its lock nor its folders. */
static void __attribute__((noreturn))
broker_main(int fd, pid_t recorder, const char *path, const char *events)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int high = fcntl(fd, F_DUPFD, 16);

	for (int i = 0; i < PIPE; i++)
		(void)dup2(null_fd, i);
	if (dup2(high, PIPE) < 0 || close_range(PIPE + 1, ~0u, 0) < 0)
		_exit(1);
	child_reset_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)prctl(PR_SET_NAME, "holdup-model");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != recorder)
		_exit(1);
	broker(path, events);
}

/* ---------------------------------------------------------------- the recorder */

static int start_one(struct flight_model *model, const char *events, struct err *err)
{
	pid_t recorder = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	model->broker = fork();
	if (model->broker == 0)
		broker_main(fds[1], recorder, model->on->model, events);
	close(fds[1]);
	if (model->broker > 0) {
		model->fd = model->on->fd = fds[0];
		return 0;
	}
	model->broker = 0;
	close(fds[0]);
	return err_set(err, -EAGAIN, "cannot fork");
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

/* 'pid' and what it has begun; at most 'most' of them. Returns how many. */
static size_t find_processes(int32_t pid, int deep, int32_t *pids, size_t most)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/task/%d/children", pid, pid);
	AUTO_FILE FILE *file = deep > 0 ? fopen(path, "re") : NULL;
	size_t count = 0;
	int32_t child;

	if (most)
		pids[count++] = pid;
	while (file && count < most && fscanf(file, "%d", &child) == 1)
		count += find_processes(child, deep - 1, pids + count, most - count);
	return count;
}

/* Its own, and of those that it has waited for. */
static uint64_t cpu_ns_of(int32_t pid)
{
	AUTO_FREE char *path = xasprintf("/proc/%d/stat", pid);
	unsigned long user, system, user_of, system_of;
	char text[1024], *behind;

	if (proc_read(AT_FDCWD, path, text, sizeof(text)) <= 0 || !(behind = strrchr(text, ')')) ||
	    sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
		   &user, &system, &user_of, &system_of) != 4)
		return 0;
	return (uint64_t)(user + system + user_of + system_of) *
	       (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t flight_models_cpu_ns(const struct flight_models *models)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < models->count; i++) {
		int32_t pids[NOTED_MOST];
		size_t count = find_processes(models->items[i].broker, DEEP, pids, ARRAY_LEN(pids));

		for (size_t k = 0; k < count && models->items[i].broker; k++)
			sum_ns += cpu_ns_of(pids[k]);
	}
	return sum_ns;
}

void flight_models_note(const struct flight_models *models, struct flight *flight)
{
	for (size_t i = 0; i < models->count; i++) {
		int32_t pids[NOTED_MOST];
		size_t count = find_processes(models->items[i].broker, DEEP, pids, ARRAY_LEN(pids));

		for (size_t k = 0; k < count && models->items[i].broker; k++)
			flight_note_helper(flight, pids[k]);
	}
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
		if (models->items[i].broker)
			(void)kill(models->items[i].broker, SIGTERM); /* its child ends with it */
	}
	for (size_t i = 0; i < models->count; i++) {
		struct flight_model *model = &models->items[i];

		if (model->broker)
			(void)child_await(model->broker);
		if (model->on->fd >= 0)
			await_end(model);
	}
	free(models->items); /* their pipes are closed with the triggers */
	*models = (struct flight_models){ 0 };
}
