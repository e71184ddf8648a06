/* model.c - the tables' owner: errors, reading a file, freeing. */
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/metric.h"

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

int model_load(const char *path, struct model **out_model, struct model_errors *errors,
	       struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t bytes = 0;
	ssize_t got;

	if (fd < 0)
		return err_set(err, -errno, "cannot open the model %s: %s", path, strerror(errno));
	text = xmalloc(MODEL_MAX_BYTES + 1);
	while (bytes <= MODEL_MAX_BYTES &&
	       (got = read(fd, text + bytes, MODEL_MAX_BYTES + 1 - bytes)) != 0) {
		if (got < 0)
			return err_set(err, -errno, "cannot read the model %s: %s", path,
				       strerror(errno));
		bytes += (size_t)got;
	}
	return model_parse(text, bytes, out_model, errors);
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
