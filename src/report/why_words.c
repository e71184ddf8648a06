/*
 * why_words.c - the sentences of a why report.
 *
 * A root reads "who did what, to what, how often, how long at most": each kind
 * has its own beginning, the rest is common.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/why_int.h"

void words_begin(struct words *words)
{
	*words = (struct words){ 0 };
	words->out = open_memstream(&words->text, &words->bytes);
	if (!words->out) {
		perror("holdup: cannot write to memory");
		abort();
	}
}

char *words_end(struct words *words)
{
	fclose(words->out);
	return words->text;
}

static void put_thread(FILE *out, const struct why_thread *thread)
{
	if (thread->tid)
		fprintf(out, "%s[%d]", thread->comm[0] ? thread->comm : "?", thread->tid);
	else
		fputs("a thread", out);
}

char *words_thread(const struct why_thread *thread)
{
	struct words words;

	words_begin(&words);
	put_thread(words.out, thread);
	return words_end(&words);
}

/* "write, /var/db/x"; either part may be missing. */
static void put_in(FILE *out, const char *what, const char *object)
{
	fputs(what[0] ? what : object[0] ? "" : "something not recorded", out);
	if (object[0])
		fprintf(out, "%s%s", what[0] ? ", " : "", object);
}

static bool is_target(const struct why *why, const struct why_thread *who)
{
	return who->tid && who->tid == why->target.tid;
}

/* Who did it, with a verb that fits both the target and another thread. */
static void put_doer(FILE *out, const struct why *why, const struct why_root *root,
		     const char *verb)
{
	if (is_target(why, &root->who)) {
		fprintf(out, "%s itself: ", verb);
		return;
	}
	put_thread(out, &root->who);
	fprintf(out, " %s: ", verb);
}

/* Roots about a CPU: the target's own wait for it, or that of a thread it waited for. */
static void put_cpu_root(FILE *out, const struct why_root *root, const char *verb,
			 const char *before_who, const char *after_who)
{
	if (root->class != WHY_RUNS)
		fputs("what it waited for was ", out);
	fputs(verb, out);
	if (root->who.tid) {
		fputs(before_who, out);
		put_thread(out, &root->who);
		fputs(after_who, out);
	}
}

static void put_hardware(FILE *out, const struct why *why, const struct why_root *root,
			 const char *name)
{
	fprintf(out, "%s: ", name);
	put_in(out, root->object, "");
	if (is_target(why, &root->who) && root->what[0]) {
		fprintf(out, ", in its own %s", root->what);
	} else if (root->who.tid) {
		fputs(", for ", out);
		put_thread(out, &root->who);
		fprintf(out, "%s%s", root->what[0] ? " in " : "", root->what);
	} else if (root->what[0]) {
		fprintf(out, ", %s", root->what);
	}
}

static void put_counts(FILE *out, const struct why_root *root)
{
	if (root->count > 1)
		fprintf(out, " (%s x, longest %s)", text_count(root->count).s,
			text_duration(root->longest_ns).s);
}

/* The target's own wait was no hold-up: say so. */
static void put_class(FILE *out, const struct why_root *root)
{
	if (root->class == WHY_ASKED)
		fputs("; it asked to sleep", out);
	else if (root->class == WHY_IDLE)
		fputs("; it was idle, waiting for work", out);
}

static void put_root(FILE *out, const struct why *why, const struct why_root *root)
{
	switch (root->kind) {
	case WHY_WORKING:
	case WHY_OTHER_THREAD:
		put_doer(out, why, root, "working");
		put_in(out, root->what, root->object);
		break;
	case WHY_LOCK:
		put_doer(out, why, root, "working with the lock held");
		put_in(out, root->what, root->object);
		break;
	case WHY_TIMER:
		put_doer(out, why, root, "sleeping until a timer");
		put_in(out, root->what, root->object);
		break;
	case WHY_CPU_QUEUE:
		put_cpu_root(out, root, "waiting for a CPU", "; ", " ran instead");
		break;
	case WHY_PREEMPTED:
		put_cpu_root(out, root, "preempted", " by ", "");
		break;
	case WHY_IRQ:
		fputs("interrupted: ", out);
		put_in(out, root->what, root->object);
		break;
	case WHY_SOFTIRQ:
		fputs("interrupted by softirq: ", out);
		put_in(out, root->what, root->object);
		break;
	case WHY_DISK:
		put_hardware(out, why, root, "disk");
		break;
	case WHY_NETWORK:
		put_hardware(out, why, root, "network");
		break;
	case WHY_IPI:
		put_hardware(out, why, root, "interrupt from another CPU");
		break;
	case WHY_UNKNOWN:
	case WHY_KIND_COUNT:
		fprintf(out, "unknown: %s", root->why[0] ? root->why : "nothing tells");
		break;
	}
}

char *words_root(const struct why *why, const struct why_root *root)
{
	struct words words;

	words_begin(&words);
	put_root(words.out, why, root);
	put_counts(words.out, root);
	put_class(words.out, root);
	return words_end(&words);
}

char *words_hop(const struct why *why, size_t index)
{
	const struct why_hop *hop = &why->chain[index];
	struct words words;

	words_begin(&words);
	for (size_t i = 0; i < index && i < 16; i++)
		fputs("  ", words.out);
	if (hop->who.tid) {
		put_thread(words.out, &hop->who);
		fputs(hop->woken_by[0] ? " waited in " : " ", words.out);
	}
	put_in(words.out, hop->what, hop->object);
	if (hop->woken_by[0])
		fprintf(words.out, "; woken by %s", hop->woken_by);
	if (index + 1 == why->chain_count)
		fputs("  <- root", words.out);
	return words_end(&words);
}

static const char *const waker_words[] = {
	[WHY_WAKER_THREAD] = "",
	[WHY_WAKER_TIMER] = "a timer",
	[WHY_WAKER_DISK] = "the disk",
	[WHY_WAKER_NETWORK] = "the network",
	[WHY_WAKER_IRQ] = "an interrupt",
	[WHY_WAKER_SOFTIRQ] = "a softirq",
	[WHY_WAKER_IPI] = "an interrupt from another CPU",
	[WHY_WAKER_SIGNAL] = "a signal",
	[WHY_WAKER_WORK] = "queued kernel work",
};

static void put_waker(FILE *out, const struct why_wait *wait)
{
	bool by_thread = wait->waker == WHY_WAKER_THREAD;

	if (wait->waker == WHY_WAKER_NONE) {
		fputs("still waiting at the end", out);
		return;
	}
	if (wait->waker >= ARRAY_LEN(waker_words) || !waker_words[wait->waker]) {
		fputs("how it ended was not recorded", out);
		return;
	}
	fprintf(out, "woken by %s", waker_words[wait->waker]);
	if (by_thread)
		put_thread(out, &wait->woken_by);
	if (wait->waker_name[0])
		fprintf(out, " (%s)", wait->waker_name);
	if (!by_thread && wait->woken_by.tid) {
		fputs(" from ", out);
		put_thread(out, &wait->woken_by);
	}
	if (wait->waker_state[0])
		fprintf(out, " in %s", wait->waker_state);
}

char *words_waker(const struct why_wait *wait)
{
	struct words words;

	words_begin(&words);
	put_waker(words.out, wait);
	return words_end(&words);
}

char *words_wait(const struct why_wait *wait)
{
	struct words words;

	words_begin(&words);
	put_thread(words.out, &wait->who);
	fputs(" waited in ", words.out);
	put_in(words.out, wait->in, wait->object);
	fputs("; ", words.out);
	put_waker(words.out, wait);
	if (wait->class == WHY_ASKED)
		fputs("; it asked to sleep", words.out);
	else if (wait->class == WHY_IDLE)
		fputs("; idle, waiting for work", words.out);
	return words_end(&words);
}

/* Prints the ancestors of 'line' first. */
static void put_line(FILE *out, const struct why *why, uint32_t line)
{
	uint32_t depth = why->lines[line].depth;

	for (uint32_t up = line; depth > 0 && up-- > 0;) {
		if (why->lines[up].depth + 1 == depth) {
			put_line(out, why, up);
			fputs(" > ", out);
			break;
		}
	}
	fputs(why->lines[line].name, out);
}

char *words_line(const struct why *why, uint32_t line)
{
	struct words words;

	words_begin(&words);
	put_line(words.out, why, line);
	return words_end(&words);
}
