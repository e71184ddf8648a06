/*
 * verdict.c - what held a program up, as JSON: the window, the verdict and the chain of "holdup why".
 *
 *	cc verdict.c $(pkg-config --cflags --libs holdup-read) -o verdict
 *	./verdict run.holdup [TID [process]]
 *
 * Without TID: of the command that was recorded. With "process": its threads, added up. Keys and
 * values are those of "holdup why --json".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdup/read.h>

static void print_text(const char *key, const char *text)
{
	printf(", \"%s\": \"", key);
	for (; *text; text++)
		printf((unsigned char)*text < 0x20     ? "\\u%04x"
		       : *text == '"' || *text == '\\' ? "\\%c"
						       : "%c",
		       *text);
	printf("\"");
}

static void print_who(const char *key, const struct hr_who *who)
{
	printf(", \"%s\": ", key);
	if (!who->tid) {
		printf("null");
		return;
	}
	printf("{\"tid\": %" PRId32 ", \"tgid\": %" PRId32, who->tid, who->tgid);
	print_text("comm", who->comm);
	printf("}");
}

static void print_sum(const struct hr_why_sum *sum)
{
	printf("{\"window\": {\"start_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 "}", sum->start_ns,
	       sum->end_ns);
	print_who("target", &sum->target);
	printf(",\n\"wib\": {\"working_ns\": %" PRIu64 ", \"interrupted_ns\": %" PRIu64
	       ", \"blocked_ns\": %" PRIu64 ", \"uncertain_ns\": %" PRIu64 "},\n",
	       sum->working_ns, sum->interrupted_ns, sum->blocked_ns, sum->uncertain_ns);
	printf("\"lost_events\": %" PRIu64 ",\n\"verdict\": [", sum->lost_events);
}

static void print_cause(const struct hr_cause *cause)
{
	printf("\n{\"ns\": %" PRIu64 ", \"count\": %" PRIu64 ", \"longest_ns\": %" PRIu64,
	       cause->ns, cause->count, cause->longest_ns);
	print_text("kind", hr_cause_kind_name((enum hr_cause_kind)cause->kind));
	printf(", \"timed_out\": %s", cause->timed_out ? "true" : "false");
	print_text("class", hr_wait_class_name((enum hr_wait_class)cause->wait_class));
	print_who("who", &cause->who);
	print_who("kept_off", &cause->kept_off);
	print_text("what", cause->what);
	print_text("object", cause->object);
	print_text("why", cause->why);
	print_text("told", cause->told);
	printf("}");
}

static void print_hop(const struct hr_hop *hop)
{
	printf("\n{\"ns\": %" PRIu64 ", \"count\": %" PRIu64 ", \"slices\": %" PRIu64, hop->ns,
	       hop->count, hop->slices);
	print_who("who", &hop->who);
	print_who("waker", &hop->waker);
	print_text("what", hop->what);
	print_text("object", hop->object);
	print_text("woken_by", hop->woken_by);
	print_text("lock", hop->lock);
	print_who("owner", &hop->owner);
	print_text("told", hop->told);
	printf("}");
}

static int print_why(struct hr_why *why)
{
	struct hr_why_sum sum = { .struct_size = sizeof(sum) };
	struct hr_cause cause = { .struct_size = sizeof(cause) };
	struct hr_hop hop = { .struct_size = sizeof(hop) };
	int rc = hr_why_sum_get(why, &sum);

	if (rc == 0)
		print_sum(&sum);
	for (uint32_t i = 0; rc == 0 && i < hr_cause_count(why); i++) {
		rc = hr_cause_get(why, i, &cause);
		printf("%s", i ? "," : "");
		print_cause(&cause);
	}
	printf("],\n\"chain\": [");
	for (uint32_t i = 0; rc == 0 && i < hr_hop_count(why); i++) {
		rc = hr_hop_get(why, i, &hop);
		printf("%s", i ? "," : "");
		print_hop(&hop);
	}
	printf("]}\n");
	return rc;
}

int main(int argc, char **argv)
{
	struct hr_why_options options = { .struct_size = sizeof(options),
					  .end_ns = HR_LAST,
					  .thread = HR_NONE,
					  .whole_process = argc > 3 };
	struct hr_trace *trace;
	struct hr_why *why;
	char error[512];
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: verdict TRACE [TID [process]]\n");
		return 2;
	}
	if (hr_open(argv[1], NULL, &trace, error, sizeof(error)) < 0) {
		fprintf(stderr, "verdict: %s\n", error);
		return 1;
	}
	if (argc > 2)
		options.thread = hr_find_thread(trace, atoi(argv[2]), HR_LAST);
	if (argc > 2 && options.thread == HR_NONE) {
		fprintf(stderr, "verdict: no such thread: %s\n", argv[2]);
		hr_close(trace);
		return 1;
	}
	rc = hr_why_new(trace, &options, &why);
	if (rc == 0) {
		rc = print_why(why);
		hr_why_free(why);
	}
	if (rc < 0)
		fprintf(stderr, "verdict: %s\n", hr_error(trace));
	hr_close(trace);
	return rc < 0;
}
