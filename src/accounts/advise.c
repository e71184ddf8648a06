/* advise.c - a table of rules: what must hold, and which knob that points to. */
#include "accounts/advise.h"

#include <sched.h>
#include <stdlib.h>

#include "base/mem.h"

#define IO_CLASS_IDLE	 3u
#define IO_LEVEL_DEFAULT 4u
#define BUSY_PERMILLE	 900u /* of the CPUs it may use: its threads keep them busy themselves */
#define NO_SETTING	 DELAYS_KNOBS

struct situation {
	const struct delays_row *row;
	const struct delays_knobs *knobs;
};

static bool is_narrow(const struct situation *now)
{
	return now->knobs->cpus_allowed && now->knobs->cpus_allowed < now->knobs->cpus_online;
}

static bool fills_its_cpus(const struct situation *now)
{
	const struct delays_task *task = now->row->task;
	uint32_t threads = task->is_process && task->threads ? task->threads : 1;
	uint64_t wall_ns = now->row->base_ns / threads;

	return now->knobs->cpus_allowed && threads > now->knobs->cpus_allowed &&
	       now->row->stats->run_ns / BUSY_PERMILLE * 1000 >= wall_ns * now->knobs->cpus_allowed;
}

static bool is_nice(const struct situation *now)
{
	return now->knobs->has_nice && (now->knobs->nice > 0 || now->knobs->policy == SCHED_IDLE);
}

static bool has_low_io_priority(const struct situation *now)
{
	return now->knobs->has_io_priority &&
	       (now->knobs->io_class == IO_CLASS_IDLE ||
		(now->knobs->io_class != 0 && now->knobs->io_level > IO_LEVEL_DEFAULT));
}

struct rule {
	enum delays_advice_kind kind;
	enum delays_topic topic;
	uint32_t setting; /* enum delays_knob: applies when that binds */
	bool (*applies)(
		const struct situation *now); /* NULL, without a setting: when no other does */
};

/* Those that apply when no other of their topic does come last in it. */
static const struct rule rules[] = {
	{ DELAYS_ADVICE_CPU_MAX, DELAYS_TOPIC_CPU, DELAYS_KNOB_CPU_MAX, NULL },
	{ DELAYS_ADVICE_AFFINITY, DELAYS_TOPIC_CPU, NO_SETTING, is_narrow },
	{ DELAYS_ADVICE_FEWER_THREADS, DELAYS_TOPIC_CPU, NO_SETTING, fills_its_cpus },
	{ DELAYS_ADVICE_NICE, DELAYS_TOPIC_CPU, NO_SETTING, is_nice },
	{ DELAYS_ADVICE_CPU_WEIGHT, DELAYS_TOPIC_CPU, DELAYS_KNOB_CPU_WEIGHT, NULL },
	{ DELAYS_ADVICE_FAVOUR_CPU, DELAYS_TOPIC_CPU, NO_SETTING, NULL },
	{ DELAYS_ADVICE_IO_MAX, DELAYS_TOPIC_DISK, DELAYS_KNOB_IO_MAX, NULL },
	{ DELAYS_ADVICE_IO_PRIORITY, DELAYS_TOPIC_DISK, NO_SETTING, has_low_io_priority },
	{ DELAYS_ADVICE_IO_WEIGHT, DELAYS_TOPIC_DISK, DELAYS_KNOB_IO_WEIGHT, NULL },
	{ DELAYS_ADVICE_FAVOUR_IO, DELAYS_TOPIC_DISK, NO_SETTING, NULL },
	{ DELAYS_ADVICE_MEMORY_HIGH, DELAYS_TOPIC_MEMORY, DELAYS_KNOB_MEMORY_HIGH, NULL },
	{ DELAYS_ADVICE_MEMORY_MAX, DELAYS_TOPIC_MEMORY, DELAYS_KNOB_MEMORY_MAX, NULL },
	{ DELAYS_ADVICE_FAVOUR_MEMORY, DELAYS_TOPIC_MEMORY, NO_SETTING, NULL },
};

/* What the knobs of a topic can move. Copies on write and interrupts are moved by none. */
static struct delays_delay delay_of(const struct delays_stats *stats, enum delays_topic topic)
{
	static const enum delays_class classes[][4] = {
		[DELAYS_TOPIC_CPU] = { DELAYS_CPU, DELAYS_CPU, DELAYS_CPU, DELAYS_CPU },
		[DELAYS_TOPIC_DISK] = { DELAYS_DISK, DELAYS_DISK, DELAYS_DISK, DELAYS_DISK },
		[DELAYS_TOPIC_MEMORY] = { DELAYS_SWAPIN, DELAYS_RECLAIM, DELAYS_THRASHING,
					  DELAYS_COMPACTION },
	};
	struct delays_delay longest = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(classes[topic]); i++) {
		enum delays_class class = classes[topic][i];

		if (delays_has_class(stats, class) &&
		    stats->delay[class].total_ns > longest.total_ns)
			longest = stats->delay[class];
	}
	return longest;
}

static bool advise_is_worth(const struct delays_delay *delay, uint64_t base_ns)
{
	return delay->total_ns >= DELAYS_WORTH_NS &&
	       delay->total_ns >= base_ns / DELAYS_WORTH_SHARE;
}

static bool rule_applies(const struct rule *rule, const struct situation *now, size_t of_topic)
{
	if (rule->setting < DELAYS_KNOBS)
		return now->knobs->settings[rule->setting].binds;
	return rule->applies ? rule->applies(now) : of_topic == 0;
}

static size_t advise_topic(const struct situation *now, enum delays_topic topic,
			   struct delays_advice *out_advice)
{
	struct delays_delay delay = delay_of(now->row->stats, topic);
	size_t count = 0;

	if (!advise_is_worth(&delay, now->row->base_ns))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct rule *rule = &rules[i];
		bool of_cgroup = rule->setting < DELAYS_KNOBS;

		if (rule->topic != topic || !rule_applies(rule, now, count))
			continue;
		out_advice[count] = (struct delays_advice){
			.kind = rule->kind,
			.topic = topic,
			.held_back = of_cgroup || rule->applies,
			.at_most_ns = delay.total_ns,
			.count = delay.count,
			.setting = of_cgroup ? &now->knobs->settings[rule->setting] : NULL,
		};
		count++;
	}
	return count;
}

/* The longest delay first, then in order of the rules. */
static int by_delay(const void *a, const void *b)
{
	const struct delays_advice *left = a, *right = b;

	if (left->at_most_ns != right->at_most_ns)
		return left->at_most_ns > right->at_most_ns ? -1 : 1;
	return (int)left->kind - (int)right->kind;
}

size_t delays_advise(const struct delays_row *row, const struct delays_knobs *knobs,
		     struct delays_advice *out_advice)
{
	const struct situation now = { row, knobs };
	size_t count = 0;

	if (knobs->is_kernel)
		return 0;
	for (enum delays_topic topic = 0; topic < DELAYS_TOPICS; topic++)
		count += advise_topic(&now, topic, out_advice + count);
	qsort(out_advice, count, sizeof(*out_advice), by_delay);
	return count;
}
