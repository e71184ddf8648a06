/*
 * cmd_model.c - holdup model: look at a model itself: is it one, and what does it look like?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "ask/check_feed.h"
#include "ask/model_run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "model/draw.h"
#include "model/model.h"
#include "read/read.h"
#include "report/check.h"

struct model_cmd {
	const char *output;
	bool dot;
};

static const struct opt_spec model_options[] = {
	{ "output", "FILE",
	  "Write to FILE (default: stdout); .dot and .gv files are written as DOT", opt_string,
	  offsetof(struct model_cmd, output), 'o' },
	{ "dot", NULL, "Write DOT for graphviz instead of SVG", opt_flag,
	  offsetof(struct model_cmd, dot) },
	{ 0 },
};

/* --------------------------------------------------------------------- check */

/* What is no mistake, and may not be meant. */
static void print_doubts(const struct model *model)
{
	AUTO_FREE bool *reached = xcalloc(model->state_count + 1, sizeof(bool));
	AUTO_FREE bool *left = xcalloc(model->state_count + 1, sizeof(bool));

	model_reached(model, reached);
	for (uint32_t i = 0; i < model->transition_count; i++)
		left[model->transitions[i].from] = true;
	for (uint32_t i = 0; i < model->state_count; i++) {
		const struct model_state *state = &model->states[i];
		AUTO_FREE char *safe = text_escaped(state->name);

		if (!reached[i])
			printf("  line %u: no transition leads to state \"%s\"\n",
			       state->place.line, safe);
		else if (!left[i] && !state->is_final && !state->may_end)
			printf("  line %u: no transition leaves state \"%s\", which is not final\n",
			       state->place.line, safe);
	}
}

static uint32_t constraints_of(const struct model *model)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->transition_count; i++)
		count += model->transitions[i].constraint_count;
	return count;
}

/* Names of events and fields, which only a trace knows. */
static int check_names(const struct model *model, const char *path, struct model_errors *errors,
		       struct err *err)
{
	struct trace *trace = NULL;
	struct check_feed *feed = NULL;
	const char *const *notes = NULL;
	size_t count;
	int rc = load_plain(path, &trace, err);

	if (rc == 0)
		rc = check_feed_new(trace, model, &feed, errors, err);
	if (rc == 0) {
		count = check_feed_notes(feed, &notes);
		for (size_t i = 0; i < count; i++)
			printf("  %s\n", notes[i]);
		rc = count > 0;
	}
	check_feed_free(feed);
	trace_close(trace);
	return rc;
}

/* Returns an exit status. */
static int check_model(const struct model *model, const char *path, const char *trace,
		       struct model_errors *errors, struct err *err)
{
	AUTO_FREE char *safe = text_escaped(path);
	int rc;

	printf("%s: a model; states: %u, transitions: %u, constraints: %u\n", safe,
	       model->state_count, model->transition_count, constraints_of(model));
	print_doubts(model);
	if (!trace)
		return EXIT_OK;
	rc = check_names(model, trace, errors, err);
	if (rc < 0)
		return errors->count ? EXIT_USAGE : command_fail(&cmd_model, err);
	return rc ? EXIT_FOUND : EXIT_OK;
}

/* ---------------------------------------------------------------------- draw */

static void take_seen(const struct check_result *result, uint32_t elapsed,
		      struct model_draw_seen *seen)
{
	for (uint32_t i = 0; i < result->model->transition_count; i++) {
		struct check_transition *transition = &result->transitions[i];

		seen[i].taken = transition->taken;
		seen[i].invalid = transition->count[CHECK_INVALID];
		seen[i].uncertain = transition->count[CHECK_UNCERTAIN];
		for (uint32_t j = 0; j < transition->value_count; j++) {
			struct check_stats *stats = &transition->values[j].stats;

			if (transition->values[j].variable != elapsed || !stats->count)
				continue;
			seen[i].has_time = true;
			seen[i].median_ns = check_stats_quantile(stats, 500);
			seen[i].max_ns = stats->max;
		}
	}
}

static bool model_ends_in(const char *text, const char *end)
{
	size_t bytes = strlen(text), end_bytes = strlen(end);

	return bytes > end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

static int write_picture(const struct model_cmd *cmd, const struct model_draw *draw,
			 struct err *err)
{
	struct output output = { .fd = -1 };
	FILE *out = stdout;
	bool is_dot = cmd->dot || (cmd->output && (model_ends_in(cmd->output, ".dot") ||
						   model_ends_in(cmd->output, ".gv")));
	int rc = 0;

	if (cmd->output) {
		rc = output_begin(cmd->output, &output, err);
		out = rc < 0 ? NULL : output_stream(&output);
		if (rc == 0 && !out)
			rc = err_set(err, -errno, "cannot write to %s: %s", cmd->output,
				     strerror(errno));
		if (rc < 0)
			return output_end(&output, rc, err);
	}
	if (is_dot)
		model_draw_dot(out, draw);
	else
		rc = model_draw_svg(out, draw, err);
	if (out != stdout && (ferror(out) | fclose(out)) && rc == 0)
		rc = err_set(err, -EIO, "cannot write to %s: %s", cmd->output, strerror(errno));
	return output_end(&output, rc, err);
}

/* Returns an exit status. */
static int draw_model(const struct model_cmd *cmd, struct model *model, const char *trace,
		      struct model_errors *errors, struct err *err)
{
	struct model_run measured = { 0 };
	struct model_draw draw = { .model = model };
	AUTO_FREE struct model_draw_seen *seen = NULL;
	int rc = 0;

	if (trace) {
		uint32_t elapsed = model_measure_elapsed(model);

		const struct model_run_opts opts = { .load = load_opts_shown(0) };

		rc = load_begin(trace, err);
		if (rc == 0)
			rc = model_run_trace(trace, &opts, model, &measured, errors, err);
		seen = xcalloc(model->transition_count + 1u, sizeof(*seen));
		if (rc == 0)
			take_seen(check_result(measured.check), elapsed, seen);
		draw.seen = seen;
	}
	if (rc == 0)
		rc = write_picture(cmd, &draw, err);
	model_run_fini(&measured);
	if (rc < 0)
		return errors->count ? EXIT_USAGE : command_fail(&cmd_model, err);
	return EXIT_OK;
}

/* --------------------------------------------------------------------- whole */

static int model_check_usage(const struct model_cmd *cmd, char **words, int count, struct err *err)
{
	bool is_draw = count && strcmp(words[0], "draw") == 0;

	if (!is_draw && !(count && strcmp(words[0], "check") == 0))
		return opts_unknown_word(count ? words[0] : NULL, "draw|check", err);
	if (count < 2)
		return err_set(err, -EINVAL, "no MODEL given");
	if (count > 3)
		return err_set(err, -EINVAL, "expected one model and at most one trace");
	if (!is_draw && (cmd->output || cmd->dot))
		return err_set(err, -EINVAL, "--output and --dot need draw");
	return 0;
}

static int model_run_over(int argc, char **argv)
{
	struct model_cmd cmd = { 0 };
	struct model_errors errors = { 0 };
	struct model *model = NULL;
	struct err err = { 0 };
	int status, first = opts_parse(model_options, &cmd, argc, argv, &err);
	char **words = argv + first;
	int rc = first < 0 ? first : model_check_usage(&cmd, words, argc - first, &err);

	if (rc < 0)
		return command_usage(&cmd_model, rc, &err);
	reading_writes(cmd.output);
	rc = model_load(words[1], &model, &errors, &err);
	if (rc < 0)
		status = errors.count ? EXIT_USAGE : command_fail(&cmd_model, &err);
	else if (strcmp(words[0], "draw") == 0)
		status = draw_model(&cmd, model, argc - first > 2 ? words[2] : NULL, &errors, &err);
	else
		status = check_model(model, words[1], argc - first > 2 ? words[2] : NULL, &errors,
				     &err);
	report_mistakes(stderr, words[1], &errors);
	model_errors_fini(&errors);
	model_free(model);
	return status;
}

const struct command cmd_model = {
	.name = "model",
	.args = "[OPTIONS] draw MODEL [TRACE] | check MODEL [TRACE]",
	.summary = "Draw a model or check it for mistakes",
	.options = model_options,
	.details =
		"draw writes the states and transitions as SVG or DOT; with a trace, also how\n"
		"often each transition was taken, how long it took, and how many constraints were\n"
		"violated. check reports mistakes in the model; with a trace, also events and\n"
		"fields that the trace lacks.\n"
		"\n"
		"Exit status: 0 done, 1 the trace lacks something, 2 wrong usage or a mistake in\n"
		"the model, 3 reading or writing failed.\n"
		"\n"
		"  holdup model draw -o shop.svg shop.yaml run.holdup\n"
		"  holdup model check shop.yaml\n",
	.only_reads = true,
	.run = model_run_over,
};
