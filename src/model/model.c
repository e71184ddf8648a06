/* model.c - the tables' owner: errors, reading a file, freeing. */
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/metric.h"

#define PIPE_WAIT_S 5 /* for who writes a model into a pipe, each time */

void model_errors_add(struct model_errors *errors, struct model_place place, const char *format,
		      ...)
{
	char text[400];
	va_list args;

	if (errors->count == MODEL_MAX_ERRORS) {
		errors->more++;
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	errors->items[errors->count].place = place;
	errors->items[errors->count++].text = xstrdup(text);
}

void model_errors_fini(struct model_errors *errors)
{
	for (uint32_t i = 0; i < errors->count; i++)
		free(errors->items[i].text);
	*errors = (struct model_errors){ 0 };
}

/* A file, a pipe, or a terminal where it is typed. Opening never waits; *out_waits: reading may. */
static int open_model(const char *path, bool *out_waits, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = err_set(err, -errno, "cannot open the model %s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !isatty(fd))
		rc = err_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG,
			     "the model %s is not a file but a %s", path,
			     S_ISDIR(st.st_mode) ? "folder" : "device");
	if (rc < 0) {
		mem_close_fd(&fd);
		return rc;
	}
	*out_waits = S_ISFIFO(st.st_mode);
	return fd;
}

/* A pipe to which nobody writes must not be awaited for ever. */
static int await_text(int fd, const char *path, struct err *err)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	int rc;

	do {
		rc = poll(&poll_fd, 1, PIPE_WAIT_S * 1000);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return err_set(err, -ETIMEDOUT, "the model %s is a pipe without data for %d s",
			       path, PIPE_WAIT_S);
	return rc < 0 ? err_set(err, -errno, "cannot wait for %s: %s", path, strerror(errno)) : 0;
}

static int read_model(int fd, bool waits, const char *path, char *text, struct err *err)
{
	size_t bytes = 0;
	ssize_t got = 1;

	while (bytes <= MODEL_MAX_BYTES && got != 0) {
		int rc = waits ? await_text(fd, path, err) : 0;

		if (rc < 0)
			return rc;
		got = read(fd, text + bytes, MODEL_MAX_BYTES + 1 - bytes);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "cannot read the model %s: %s", path,
				       strerror(errno));
		bytes += got < 0 ? 0 : (size_t)got;
	}
	return (int)bytes;
}

int model_load(const char *path, struct model **out_model, struct model_errors *errors,
	       struct err *err)
{
	bool waits = false;
	AUTO_CLOSE int fd = open_model(path, &waits, err);
	AUTO_FREE char *text = NULL;
	int bytes;

	if (fd < 0)
		return fd;
	text = xmalloc(MODEL_MAX_BYTES + 1);
	if (!waits) /* a terminal is read as it is typed */
		(void)fcntl(fd, F_SETFL, 0);
	bytes = read_model(fd, waits, path, text, err);
	return bytes < 0 ? bytes : model_parse(text, (size_t)bytes, out_model, errors);
}

static void free_transition(struct model_transition *transition)
{
	for (uint32_t i = 0; i < transition->set_count; i++)
		free(transition->sets[i].value.ops);
	for (uint32_t i = 0; i < transition->constraint_count; i++) {
		struct model_constraint *constraint = &transition->constraints[i];

		free(constraint->text);
		free(constraint->left.ops);
		free(constraint->right.ops);
	}
	free(transition->starts);
	free(transition->sets);
	free(transition->constraints);
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (uint32_t i = 0; i < model->state_count; i++)
		free(model->states[i].name);
	for (uint32_t i = 0; i < model->transition_count; i++)
		free_transition(&model->transitions[i]);
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		free(model->patterns[i].name);
		free(model->patterns[i].filter);
	}
	for (uint32_t i = 0; i < model->variable_count; i++)
		free(model->variables[i].name);
	for (uint32_t i = 0; i < model->metric_count; i++)
		free(model->metrics[i].argument);
	for (uint32_t i = 0; i < model->field_count; i++)
		free(model->fields[i].name);
	free(model->states);
	free(model->transitions);
	free(model->patterns);
	free(model->variables);
	free(model->metrics);
	free(model->fields);
	free(model->name);
	free(model->description);
	free(model);
}

bool model_asks_kernel(const struct model *model)
{
	for (uint32_t i = 0; i < model->metric_count; i++) {
		if (metric_row(model->metrics[i].kind)->origin != FROM_CLOCK)
			return true;
	}
	for (uint32_t i = 0; i < model->pattern_count; i++) {
		if (model->patterns[i].key == KEY_PROCESS)
			return true;
	}
	return false;
}
