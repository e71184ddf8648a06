/*
 * delays_metrics.c - a table of metric families, each written with all of its series in one piece.
 *
 * What had no room for its own name has the label 'other' instead of 'command' or 'cgroup', so it
 * cannot be taken for a command of that name.
 */
#include "report/delays_metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "accounts/gather.h"

#define NS_PER_S 1000000000u

static const struct {
	const char *label;
	const char *other;
} kinds[DELAYS_GATHER_BYS] = {
	[DELAYS_BY_COMMAND] = { "command", "commands" },
	[DELAYS_BY_CGROUP] = { "cgroup", "cgroups" },
};

/* Where the number of a family comes from. */
enum field {
	DELAY_NS,
	DELAY_COUNT,
	RUN_NS,
	READ_BYTES,
	WRITE_BYTES,
	PROCESSES,
	THREADS,
	UNCOUNTED
};

static const struct family {
	enum field field;
	const char *name; /* behind "holdup_command_" or "holdup_cgroup_" */
	const char *unit; /* NULL = none; the name ends in it */
	bool is_counter;
	const char *help;
} families[] = {
	{ DELAY_NS, "delay_seconds", "seconds", true,
	  "Time that tasks waited. Classes cpu and disk never overlap; the others are contained "
	  "in these or in CPU time." },
	{ DELAY_COUNT, "delays", NULL, true, "How often tasks waited." },
	{ RUN_NS, "run_seconds", "seconds", true, "Time that tasks were on a CPU." },
	{ READ_BYTES, "storage_read_bytes", "bytes", true, "Bytes read from storage." },
	{ WRITE_BYTES, "storage_written_bytes", "bytes", true, "Bytes written to storage." },
	{ PROCESSES, "processes", NULL, false, "Living processes." },
	{ THREADS, "threads", NULL, false, "Living threads." },
	{ UNCOUNTED, "uncounted_processes", NULL, false,
	  "Living processes that the kernel's delay accounting does not cover completely." },
};

/* A label value: quotes, backslashes and line ends escaped. */
static void delays_metrics_print_value(FILE *out, const char *name)
{
	AUTO_FREE char *safe = text_escaped(name);

	for (const char *at = safe; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		if (*at == '\n')
			fputs("\\n", out);
		else
			fputc(*at, out);
	}
}

static void print_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

static void family_print_head(FILE *out, const char *prefix, const struct family *family)
{
	fprintf(out, "# TYPE holdup_%s_%s %s\n", prefix, family->name,
		family->is_counter ? "counter" : "gauge");
	if (family->unit)
		fprintf(out, "# UNIT holdup_%s_%s %s\n", prefix, family->name, family->unit);
	fprintf(out, "# HELP holdup_%s_%s %s\n", prefix, family->name, family->help);
}

/* "holdup_command_delays_total{command="make"": the labels are not closed yet. */
static void begin_sample(FILE *out, enum delays_gather_by by, const struct family *family,
			 const struct delays_series *series)
{
	fprintf(out, "holdup_%s_%s%s{%s=\"", kinds[by].label, family->name,
		family->is_counter ? "_total" : "", series->name ? kinds[by].label : "other");
	delays_metrics_print_value(out, series->name ? series->name : kinds[by].other);
	fputc('"', out);
}

static uint64_t plain_number(const struct delays_series *series, enum field field)
{
	switch (field) {
	case READ_BYTES:
		return series->stats.read_bytes;
	case WRITE_BYTES:
		return series->stats.write_bytes;
	case PROCESSES:
		return series->processes;
	case THREADS:
		return series->threads;
	default:
		return series->uncounted;
	}
}

static void print_classes(FILE *out, enum delays_gather_by by, const struct family *family,
			  const struct delays_series *series)
{
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		const struct delays_delay *delay = &series->stats.delay[class];

		if (!delays_has_class(&series->stats, class))
			continue;
		begin_sample(out, by, family, series);
		fprintf(out, ",class=\"%s\"} ", delays_class_name(class));
		if (family->field == DELAY_NS)
			print_seconds(out, delay->total_ns);
		else
			fprintf(out, "%" PRIu64 "\n", delay->count);
	}
}

static void print_series(FILE *out, enum delays_gather_by by, const struct family *family,
			 const struct delays_series *series)
{
	bool is_io = family->field == READ_BYTES || family->field == WRITE_BYTES;

	if (family->field == DELAY_NS || family->field == DELAY_COUNT) {
		print_classes(out, by, family, series);
		return;
	}
	if ((is_io && !(series->stats.has & DELAYS_HAS_IO)) ||
	    (family->field == RUN_NS && !(series->stats.has & DELAYS_HAS_RUN)))
		return;
	begin_sample(out, by, family, series);
	fputs("} ", out);
	if (family->field == RUN_NS)
		print_seconds(out, series->stats.run_ns);
	else
		fprintf(out, "%" PRIu64 "\n", plain_number(series, family->field));
}

static void print_set(FILE *out, const struct delays_gather *gather, enum delays_gather_by by)
{
	const struct delays_series_set *set = &gather->sets[by];

	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		family_print_head(out, kinds[by].label, &families[i]);
		for (size_t k = 0; k < set->count; k++)
			print_series(out, by, &families[i], &set->series[k]);
		print_series(out, by, &families[i], &set->other);
	}
}

void report_delays_metrics(FILE *out, const struct delays_gather *gather)
{
	for (enum delays_gather_by by = 0; by < DELAYS_GATHER_BYS; by++)
		print_set(out, gather, by);
	fprintf(out,
		"# TYPE holdup_accounting gauge\n"
		"# HELP holdup_accounting Whether the kernel counts delays other than that of the "
		"CPU.\n"
		"holdup_accounting %d\n"
		"# TYPE holdup_ended_processes counter\n"
		"# HELP holdup_ended_processes Processes seen that exited; their time after the "
		"last query is not in the sums.\n"
		"holdup_ended_processes_total %" PRIu64 "\n"
		"# EOF\n",
		gather->before.account.state == DELAYS_ACCOUNT_ON, gather->ended);
}
