/*
 * cmd_learn.c - holdup learn: good runs become a model.
 *
 * Every trace is read twice: first the order of its events makes the machine; then a model of
 * that machine is run over it by the engine of check, so what is measured is what check measures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check.h"
#include "analyse/check/learn.h"
#include "ask/learn_feed.h"
#include "ask/model_run.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/opts.h"
#include "cli/output.h"
#include "cli/reading.h"
#include "model/model.h"
#include "read/read.h"
#include "report/learn.h"
#include "timeline/timeline.h"

#define MARGIN	 25	 /* percent */
#define FLOOR_NS 1000000 /* a tick, another thread's or a hypervisor's turn */

struct learn_cmd {
	const char *output, *key;
	struct opt_strings events, begins;
	uint32_t margin;
	uint64_t floor_ns;
};

static const struct opt_spec learn_options[] = {
	{ "output", "MODEL", "Write the model to MODEL (default: stdout)", opt_string,
	  offsetof(struct learn_cmd, output), 'o' },
	{ "from-events", "SET",
	  "Learn from these events, such as shop,sched_switch,syscall:open* (default: user-space "
	  "events)",
	  opt_strings, offsetof(struct learn_cmd, events) },
	{ "key", "KEY",
	  "Separate instances by thread, process, cpu, all or a field (default thread)", opt_string,
	  offsetof(struct learn_cmd, key) },
	{ "begin", "EVENTS", "Start instances with these events", opt_strings,
	  offsetof(struct learn_cmd, begins) },
	{ "margin", "PERCENT", "Widen each limit by PERCENT % (default 25)", opt_u32,
	  offsetof(struct learn_cmd, margin) },
	{ "floor", "TIME", "Widen each time limit by TIME (default 1ms)", opt_duration,
	  offsetof(struct learn_cmd, floor_ns) },
	{ 0 },
};

/* Names separated by commas. */
struct words {
	char **items; /* owned */
	size_t count, cap;
};

struct learning {
	const struct learn_cmd *cmd;
	char **traces;
	size_t trace_count;
	struct words events, begins; /* owned */
	struct learn *learn;	     /* owned */
	struct model *model;	     /* owned; what is measured */
	size_t no_kernel;	     /* traces without events of the kernel */
};

static void words_fini(struct words *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static void learn_add_name(struct words *names, char *name)
{
	names->items = vec_room(names->items, names->count, &names->cap, sizeof(char *));
	names->items[names->count++] = name;
}

/*
 * "shop,sched:*": a word without a colon is a system as well as an event. 'both' = false: it is an
 * event only.
 */
static void split_names(const struct opt_strings *texts, bool both, struct words *names)
{
	for (size_t i = 0; i < texts->count; i++) {
		const char *at = texts->items[i];

		while (*at) {
			size_t bytes = strcspn(at, ",");

			if (bytes) {
				learn_add_name(names, xstrndup(at, bytes));
				if (both && !memchr(at, ':', bytes))
					learn_add_name(names, xasprintf("%.*s:*", (int)bytes, at));
			}
			at += bytes + (at[bytes] == ',');
		}
	}
}

static void learning_fini(struct learning *learning)
{
	words_fini(&learning->events);
	words_fini(&learning->begins);
	learn_free(learning->learn);
	model_free(learning->model);
}

/* ------------------------------------------------------------------- machine */

static int learn_order(struct learning *learning, const char *path, struct err *err)
{
	struct learn_wants wants = {
		.events = (const char *const *)learning->events.items,
		.event_count = learning->events.count,
		.key = learning->cmd->key,
	};
	struct loaded loaded = { 0 };
	struct trace *trace = NULL;
	int rc;

	if (strcmp(wants.key, "process") == 0)
		rc = load_trace(path, 0, &loaded, err);
	else
		rc = load_plain(path, &trace, err);
	if (rc == 0)
		rc = learn_feed_trace(trace ? trace : loaded.trace, loaded.timeline, &wants,
				      learning->learn, err);
	trace_close(trace);
	if (loaded.trace)
		loaded_fini(&loaded);
	return rc < 0 ? err_wrap(err, "learning from %s", path) : 0;
}

static int nothing_seen(const struct learning *learning, struct err *err)
{
	if (learning->events.count)
		return err_set(err, -ENOENT,
			       "the trace%s has none of the events of --from-events%s",
			       learning->trace_count == 1 ? "" : "s",
			       strcmp(learning->cmd->key, "thread") == 0
				       ? ""
				       : ", or none of them has the key");
	return err_set(err, -ENOENT,
		       "no user-space event is in the trace%s (record with libholdup, --probe or "
		       "--usdt), or none has the key; --from-events chooses others",
		       learning->trace_count == 1 ? "" : "s");
}

/* The text of the model, which is made sure to be one. */
static char *write_model(struct learning *learning, bool is_measuring, struct model **out_model,
			 struct err *err)
{
	struct report_learn report = {
		.learn = learning->learn,
		.name = "learned",
		.key = learning->cmd->key,
		.margin = learning->cmd->margin / 100.0,
		.is_measuring = is_measuring,
	};
	struct model_errors errors = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	report_learn(out, &report);
	if (fclose(out) != 0 || model_parse(text, bytes, out_model, &errors) < 0) {
		(void)err_set(err, -E2BIG, "the learned model is not valid: %s",
			      errors.count ? errors.items[0].text : strerror(errno));
		free(text);
		text = NULL;
	}
	model_errors_fini(&errors);
	return text;
}

static int learn_machine(struct learning *learning, struct err *err)
{
	AUTO_FREE char *text = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < learning->trace_count; i++)
		rc = learn_order(learning, learning->traces[i], err);
	if (rc == 0 && !learn_result(learning->learn)->events)
		rc = nothing_seen(learning, err);
	if (rc == 0)
		rc = learn_finish(learning->learn, (const char *const *)learning->begins.items,
				  learning->begins.count, err);
	if (rc < 0)
		return rc;
	text = write_model(learning, true, &learning->model, err);
	return text ? 0 : -E2BIG;
}

/* -------------------------------------------------------------------- values */

static int learn_measure(struct learning *learning, const char *path, struct err *err)
{
	struct model_errors errors = { 0 }; /* there are no filters to be wrong */
	struct model_run measured = { 0 };
	const struct model_run_opts opts = { .load = load_opts_shown(0) };
	int rc = load_begin(path, err);

	if (rc == 0)
		rc = model_run_trace(path, &opts, learning->model, &measured, &errors, err);
	if (rc == 0) {
		learning->no_kernel += !model_run_has_kernel(&measured);
		learn_take_values(learning->learn, check_result(measured.check));
	}
	model_run_fini(&measured);
	model_errors_fini(&errors);
	return rc < 0 ? err_wrap(err, "measuring %s", path) : 0;
}

/* --------------------------------------------------------------------- whole */

static void tell_notes(const struct learning *learning)
{
	const struct learned *learned = learn_result(learning->learn);

	if (learned->holes)
		fprintf(stderr,
			"holdup learn: events were lost %s time%s: orders across that were not "
			"learned\n",
			text_count(learned->holes).s, learned->holes == 1 ? "" : "s");
	if (learned->cut)
		fprintf(stderr,
			"holdup learn: %s sequence%s did not begin as most do, and count as cut "
			"off "
			"(--begin names what they begin with)\n",
			text_count(learned->cut).s, learned->cut == 1 ? "" : "s");
	if (learning->no_kernel)
		fprintf(stderr,
			"holdup learn: %zu of %zu traces have no events of the kernel: of those "
			"only "
			"times were learned\n",
			learning->no_kernel, learning->trace_count);
	if (learned->traces < 5)
		fprintf(stderr,
			"holdup learn: %s trace%s: runs may differ more than the spans within "
			"one; 20 "
			"tell more\n",
			text_count(learned->traces).s, learned->traces == 1 ? "" : "s");
}

static int learn_put_text(FILE *out, const char *path, const char *text, struct err *err)
{
	if (fputs(text, out) < 0 || fflush(out) != 0)
		return err_set(err, -EIO, "cannot write to %s: %s", path, strerror(errno));
	return 0;
}

static int write_text(const char *path, const char *text, struct err *err)
{
	struct output output = { .fd = -1 };
	FILE *out;
	int rc;

	if (!path)
		return learn_put_text(stdout, "standard output", text, err);
	rc = output_begin(path, &output, err);
	if (rc < 0)
		return rc;
	out = output_stream(&output);
	rc = out ? learn_put_text(out, path, text, err)
		 : err_set(err, -errno, "cannot write to %s: %s", path, strerror(errno));
	if (out && fclose(out) != 0 && rc == 0)
		rc = err_set(err, -EIO, "cannot write to %s: %s", path, strerror(errno));
	return output_end(&output, rc, err);
}

static int learn_all(struct learning *learning, struct err *err)
{
	const struct learned *learned;
	AUTO_FREE char *text = NULL;
	struct model *model = NULL;
	uint64_t limits = 0;
	int rc = learn_machine(learning, err);

	for (size_t i = 0; rc == 0 && i < learning->trace_count; i++)
		rc = learn_measure(learning, learning->traces[i], err);
	if (rc < 0)
		return rc;
	learn_limits(learning->learn,
		     &(struct learn_slack){ .margin = learning->cmd->margin / 100.0,
					    .floor_ns = (double)learning->cmd->floor_ns });
	text = write_model(learning, false, &model, err);
	if (!text)
		return -EINVAL;
	for (uint32_t i = 0; i < model->transition_count; i++)
		limits += model->transitions[i].constraint_count;
	model_free(model);
	rc = write_text(learning->cmd->output, text, err);
	if (rc < 0)
		return rc;
	tell_notes(learning);
	learned = learn_result(learning->learn);
	if (learning->cmd->output) {
		AUTO_FREE char *safe = text_escaped(learning->cmd->output);

		printf("%s: %u states, %u transitions and %s limits, from %s instances in %s "
		       "trace%s.\n",
		       safe, learned->state_count, learned->transition_count, text_count(limits).s,
		       text_count(learned->instances).s, text_count(learned->traces).s,
		       learned->traces == 1 ? "" : "s");
	}
	return 0;
}

static int parse_and_learn(struct learn_cmd *cmd, int argc, char **argv)
{
	struct learning learning = { .cmd = cmd };
	struct err err = { 0 };
	int rc, first = opts_parse(learn_options, cmd, argc, argv, &err);

	if (first < 0)
		return command_usage(&cmd_learn, first, &err);
	if (argc == first)
		return command_usage(&cmd_learn, err_set(&err, -EINVAL, "no TRACE given"), &err);
	if (cmd->margin > 10000)
		return command_usage(&cmd_learn,
				     err_set(&err, -EINVAL, "--margin is at most 10000 percent"),
				     &err);
	learning.traces = argv + first;
	learning.trace_count = (size_t)(argc - first);
	for (size_t i = 0; i < learning.trace_count; i++)
		reading_indexes(learning.traces[i]);
	reading_writes(cmd->output);
	split_names(&cmd->events, true, &learning.events);
	split_names(&cmd->begins, false, &learning.begins);
	learning.learn = learn_new();
	rc = learn_all(&learning, &err);
	learning_fini(&learning);
	return rc < 0 ? command_fail(&cmd_learn, &err) : EXIT_OK;
}

static int run_learn(int argc, char **argv)
{
	struct learn_cmd cmd = { .key = "thread", .margin = MARGIN, .floor_ns = FLOOR_NS };
	int status = parse_and_learn(&cmd, argc, argv);

	free(cmd.events.items);
	free(cmd.begins.items);
	return status;
}

const struct command cmd_learn = {
	.name = "learn",
	.args = "[OPTIONS] TRACE...",
	.summary = "Learn a model from traces of good runs",
	.options = learn_options,
	.details =
		"The order of the events of each thread (or --key) becomes states and\n"
		"transitions; measured times and counts become limits. Each limit stands beside\n"
		"the values seen. The model is a text to read and edit: see holdup-model(5).\n"
		"\n"
		"By default, user-space events are used: those of libholdup, probes and USDT.\n"
		"--from-events chooses others.\n"
		"\n"
		"Exit status: 0 learned, 2 wrong usage, 3 a trace could not be read or has none\n"
		"of the events.\n"
		"\n"
		"  holdup learn -o shop.yaml good-*.holdup\n"
		"  holdup check shop.yaml run.holdup\n",
	.only_reads = true,
	.run = run_learn,
};
