/* cmd_doctor.c - holdup doctor: what this system can record. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/doctor_apps.h"
#include "cli/opts.h"
#include "cli/pager.h"
#include "record/record.h"
#include "report/table.h"
#include "report/vocabulary.h"

struct doctor_cmd {
	bool json;
	struct opt_strings apps;
	struct opt_pids pids;
};

static const struct opt_spec doctor_options[] = {
	{ "json", NULL, "Print JSON", opt_flag, offsetof(struct doctor_cmd, json) },
	{ "app", "auto|PROGRAM|FILE", "List the known points of running programs instead",
	  opt_strings, offsetof(struct doctor_cmd, apps) },
	{ "pid", "PID", "Include this process; needs --app; repeat for more", opt_pids,
	  offsetof(struct doctor_cmd, pids), 'p' },
	{ 0 },
};

struct state_row {
	const char *word; /* in JSON and text */
	int status;	  /* exit status when it is the worst */
};

static const struct state_row states[] = {
	[CHECK_OK] = { "ok", EXIT_OK },
	[CHECK_DEGRADED] = { "degraded", EXIT_FOUND },
	[CHECK_FATAL] = { "fatal", EXIT_FAIL },
};

static size_t count_state(const struct doctor *doctor, enum check_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->checks[i].state == state;
	return count;
}

static enum check_state worst_of(const struct doctor *doctor)
{
	if (count_state(doctor, CHECK_FATAL) > 0)
		return CHECK_FATAL;
	return count_state(doctor, CHECK_DEGRADED) > 0 ? CHECK_DEGRADED : CHECK_OK;
}

/* The first fatal check is the reason: the others often follow from it. */
static void doctor_print_conclusion(const struct doctor *doctor)
{
	size_t degraded = count_state(doctor, CHECK_DEGRADED);

	switch (worst_of(doctor)) {
	case CHECK_OK:
		puts("Recording works, without limitations.");
		return;
	case CHECK_DEGRADED:
		printf("Recording works, with %zu limitation%s.\n", degraded,
		       degraded == 1 ? " is" : "s are");
		return;
	case CHECK_FATAL:
		break;
	}
	for (size_t i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];

		if (check->state == CHECK_FATAL) {
			printf("Recording does not work here: %s: %s.\n", check->name,
			       check->found);
			return;
		}
	}
}

static void doctor_add_row(struct table *table, const char *state, const char *name,
			   const char *label, const char *text)
{
	if (!text || !text[0])
		return;
	table_cell(table, "%s", state);
	table_cell(table, "%s", name);
	table_cell(table, "%s%s", label, text);
}

static void add_check(struct table *table, const struct check *check)
{
	const char *found = check->found && check->found[0] ? check->found : "-";

	doctor_add_row(table, states[check->state].word, check->name, "", found);
	doctor_add_row(table, "", "", "  lost without it: ", check->lost);
	doctor_add_row(table, "", "", "  to enable it: ", check->command);
}

/* The worst first. */
static void doctor_print_text(const struct doctor *doctor)
{
	struct table table = { 0 };

	table_column(&table, "", TABLE_LEFT);
	table_column(&table, "", TABLE_LEFT);
	table_column(&table, "", TABLE_TEXT);
	for (int state = CHECK_FATAL; state >= CHECK_OK; state--) {
		for (size_t i = 0; i < doctor->count; i++) {
			if ((int)doctor->checks[i].state == state)
				add_check(&table, &doctor->checks[i]);
		}
	}
	doctor_print_conclusion(doctor);
	putchar('\n');
	table_print(&table, stdout);
	table_fini(&table);
}

static void doctor_print_json(const struct doctor *doctor)
{
	struct json json = { .out = stdout };
	struct utsname kernel;

	report_json_begin(&json, NULL, "doctor");
	if (uname(&kernel) == 0) {
		json_print_string(&json, "kernel", kernel.release);
		json_print_string(&json, "arch", kernel.machine);
	}
	json_print_string(&json, "state", states[worst_of(doctor)].word);
	json_begin_array(&json, "checks");
	for (size_t i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];

		json_begin_object(&json, NULL);
		json_print_string(&json, "state", states[check->state].word);
		json_print_string(&json, "name", check->name);
		json_print_string(&json, "found", check->found);
		json_print_string(&json, "lost", check->lost);
		json_print_string(&json, "command", check->command);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	json_fini(&json);
}

static int examine(const struct doctor_cmd *cmd)
{
	struct doctor doctor = { 0 };
	int status;

	doctor_run(&doctor);
	pager_begin();
	if (cmd->json)
		doctor_print_json(&doctor);
	else
		doctor_print_text(&doctor);
	status = states[worst_of(&doctor)].status;
	doctor_fini(&doctor);
	return status;
}

static int run_doctor(int argc, char **argv)
{
	struct doctor_cmd cmd = { 0 };
	struct err err = { 0 };
	int first = opts_parse(doctor_options, &cmd, argc, argv, &err);
	int status = EXIT_OK;

	if (first >= 0 && first < argc)
		first = err_set(&err, -1, "no operands are expected");
	if (first >= 0 && cmd.apps.count && cmd.json)
		first = err_set(&err, -1, "--app cannot print JSON");
	if (first < 0)
		status = command_usage(&cmd_doctor, first, &err);
	else if (!cmd.apps.count)
		status = examine(&cmd);
	else if (doctor_apps(&cmd.apps, &cmd.pids, &err) < 0)
		status = command_fail(&cmd_doctor, &err);
	free(cmd.apps.items);
	free(cmd.pids.pids);
	return status;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.args = "[OPTIONS]",
	.summary = "Check what this system can record and what is missing",
	.options = doctor_options,
	.details =
		"Changes nothing. Exit status: 0 recording works without limitations, 1 recording\n"
		"works with limitations, 2 wrong usage, 3 recording does not work.\n",
	.prints_report = true,
	.run = run_doctor,
};
