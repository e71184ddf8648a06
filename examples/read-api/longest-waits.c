/*
 * longest-waits.c - the ten longest waits of a thread, who ended them, and its states in one row.
 *
 *	cc longest-waits.c $(pkg-config --cflags --libs holdup-read) -o longest-waits
 *	./longest-waits run.holdup [TID]
 *
 * Without TID: the main thread of the command that was recorded. The row has 60 columns from the
 * thread's birth to its death: # it works, i it could run but is interrupted or has no CPU,
 * . it is blocked, ? nobody can tell.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdup/read.h>

#define LONGEST 10
#define COLUMNS 60

static uint64_t wait_ns(const struct hr_wait *wait)
{
	return wait->woken_ns - wait->begin_ns;
}

/* Keep 'wait' in its place among the longest, which are sorted. Returns how many there are. */
static int keep(struct hr_wait *longest, int count, const struct hr_wait *wait)
{
	int at = count < LONGEST ? count : LONGEST - 1;

	if (count == LONGEST && wait_ns(wait) <= wait_ns(&longest[at]))
		return count;
	for (; at > 0 && wait_ns(wait) > wait_ns(&longest[at - 1]); at--)
		longest[at] = longest[at - 1];
	longest[at] = *wait;
	return count < LONGEST ? count + 1 : LONGEST;
}

static void print_wait(struct hr_trace *trace, const struct hr_wait *wait)
{
	const struct hr_actor *waker = &wait->waker;

	printf("%11.3f ms  %s", (double)wait_ns(wait) / 1e6, hr_state_text(trace, wait->in));
	if (*wait->object)
		printf(" (%s)", wait->object);
	printf(", ended by");
	if (waker->kind == HR_ACTOR_THREAD)
		printf(" %s[%" PRId32 "] in", hr_thread_comm(trace, waker->thread),
		       hr_thread_tid(trace, waker->thread));
	printf(" %s\n",
	       waker->kind == HR_ACTOR_NONE ? "something unknown" : hr_actor_text(trace, waker));
}

static int print_waits(struct hr_trace *trace, uint32_t thread)
{
	struct hr_wait longest[LONGEST], wait = { .struct_size = sizeof(wait) };
	struct hr_waits *waits;
	int count = 0;
	int rc = hr_waits_new(trace, thread, hr_begin_ns(trace), hr_end_ns(trace), &waits);

	if (rc < 0)
		return rc;
	while ((rc = hr_waits_next(waits, &wait)) > 0) {
		if (wait.woken_ns) /* else nobody ended it */
			count = keep(longest, count, &wait);
	}
	hr_waits_free(waits);
	for (int i = 0; rc == 0 && i < count; i++)
		print_wait(trace, &longest[i]);
	return rc;
}

static int print_row(struct hr_trace *trace, uint32_t thread)
{
	static const char letters[] = " #i.?"; /* in the order of enum hr_group */
	uint64_t birth_ns = hr_thread_birth_ns(trace, thread);
	uint64_t death_ns = hr_thread_death_ns(trace, thread);
	uint64_t states[COLUMNS];
	int rc = hr_columns(trace, thread, birth_ns, death_ns, COLUMNS, states);

	if (rc < 0)
		return rc;
	putchar('|');
	for (int i = 0; i < COLUMNS; i++)
		putchar(letters[hr_state_group(states[i])]);
	printf("| %.3f ms\n", (double)(death_ns - birth_ns) / 1e6);
	return 0;
}

static int print_thread(struct hr_trace *trace, uint32_t thread)
{
	int rc;

	printf("%s[%" PRId32 "]\n", hr_thread_comm(trace, thread), hr_thread_tid(trace, thread));
	rc = print_waits(trace, thread);
	return rc < 0 ? rc : print_row(trace, thread);
}

int main(int argc, char **argv)
{
	struct hr_trace *trace;
	char error[512];
	uint32_t thread;
	int rc;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: longest-waits TRACE [TID]\n");
		return 2;
	}
	if (hr_open(argv[1], NULL, &trace, error, sizeof(error)) < 0) {
		fprintf(stderr, "longest-waits: %s\n", error);
		return 1;
	}
	thread = argc > 2 ? hr_find_thread(trace, (int32_t)strtol(argv[2], NULL, 10), HR_LAST)
			  : hr_command_thread(trace);
	if (thread == HR_NONE) {
		fprintf(stderr, "longest-waits: there is no such thread in %s\n", argv[1]);
		rc = 1;
	} else {
		rc = print_thread(trace, thread);
		if (rc < 0)
			fprintf(stderr, "longest-waits: %s\n", hr_error(trace));
	}
	hr_close(trace);
	return rc ? 1 : 0;
}
