/*
 * stats.c - struct taskstats by version.
 *
 *	version 1	Linux 2.6.18	delays of CPU, disk, swap-in
 *	2		2.6.19	a new head, names and times, memory, calls
 *	3		2.6.20	bytes of storage
 *	4		2.6.22	the same, ids moved by four bytes and times by eight
 *	5		2.6.23	switches
 *	6		2.6.24	scaled times, which nothing fills any more
 *	7, 8		2.6.28	reclaim
 *	9		4.20	thrashing
 *	10		5.10	a birth of 64 bits
 *	11		5.17	compaction
 *	12		5.19	process id, its time, its program
 *	13		6.0	copy-on-write
 *	14		6.5	interrupts
 *	15		6.14	max and min in the middle, so that all else moved
 *	16		6.16	max and min at the end, the rest as in 14
 *	17		7.0	when each max was
 *
 * So there are four layouts. Offsets are those of 64-bit kernels, and of 32-bit ones from
 * version 4 on.
 */
#include "accounts/stats.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define NONE 0xffffu

enum layout {
	LAYOUT_1,
	LAYOUT_2, /* versions 2 and 3 */
	LAYOUT_4, /* 4 to 14, and again from 16 on */
	LAYOUT_15,
	LAYOUTS,
};

struct field {
	uint16_t to; /* in struct delays_stats */
	uint8_t to_bytes;
	uint8_t bytes;	/* in the record */
	uint16_t since; /* version */
	uint16_t at[LAYOUTS];
	uint32_t has;
};

#define TO(field) offsetof(struct delays_stats, field), sizeof(((struct delays_stats *)NULL)->field)

static const struct field fields[] = {
	{ TO(exit_status), 4, 2, { NONE, 4, 4, 4 }, 0 },
	{ TO(flags), 1, 2, { NONE, 8, 8, 8 }, 0 },
	{ TO(nice), 1, 2, { NONE, 9, 9, 9 }, 0 },
	{ TO(run_real_ns), 8, 1, { 56, 64, 64, 112 }, DELAYS_HAS_REAL },
	{ TO(run_ns), 8, 1, { 64, 72, 72, 120 }, DELAYS_HAS_RUN },
	{ TO(policy), 1, 2, { NONE, 112, 112, 160 }, 0 },
	{ TO(uid), 4, 2, { NONE, 116, 120, 168 }, 0 },
	{ TO(tid), 4, 2, { NONE, 124, 128, 176 }, 0 },
	{ TO(ppid), 4, 2, { NONE, 128, 132, 180 }, 0 },
	{ TO(birth_s), 4, 2, { NONE, 132, 136, 184 }, 0 },
	{ TO(life_us), 8, 2, { NONE, 136, 144, 192 }, DELAYS_HAS_BASIC },
	{ TO(user_us), 8, 2, { NONE, 144, 152, 200 }, 0 },
	{ TO(system_us), 8, 2, { NONE, 152, 160, 208 }, 0 },
	{ TO(minor_faults), 8, 2, { NONE, 160, 168, 216 }, 0 },
	{ TO(major_faults), 8, 2, { NONE, 168, 176, 224 }, 0 },
	{ TO(peak_rss_kb), 8, 2, { NONE, 192, 200, 248 }, 0 },
	{ TO(peak_vm_kb), 8, 2, { NONE, 200, 208, 256 }, DELAYS_HAS_MEMORY },
	{ TO(read_chars), 8, 2, { NONE, 208, 216, 264 }, 0 },
	{ TO(write_chars), 8, 2, { NONE, 216, 224, 272 }, 0 },
	{ TO(read_calls), 8, 2, { NONE, 224, 232, 280 }, 0 },
	{ TO(write_calls), 8, 2, { NONE, 232, 240, 288 }, DELAYS_HAS_CALLS },
	{ TO(read_bytes), 8, 3, { NONE, 240, 248, 296 }, 0 },
	{ TO(write_bytes), 8, 3, { NONE, 248, 256, 304 }, 0 },
	{ TO(cancelled_bytes), 8, 3, { NONE, 256, 264, 312 }, DELAYS_HAS_IO },
	{ TO(voluntary), 8, 5, { NONE, NONE, 272, 320 }, 0 },
	{ TO(involuntary), 8, 5, { NONE, NONE, 280, 328 }, DELAYS_HAS_SWITCHES },
	{ TO(birth_s), 8, 10, { NONE, NONE, 344, 424 }, 0 },
	{ TO(tgid), 4, 12, { NONE, NONE, 368, 464 }, DELAYS_HAS_TGID },
};

/* Count, then total; max and min somewhere else. */
struct class_field {
	uint16_t since;	      /* version */
	uint16_t at[LAYOUTS]; /* of the count; the total follows */
	uint16_t range_at;    /* of the max, in LAYOUT_4 from version 16 on; the min follows */
};

static const struct class_field class_fields[DELAYS_CLASSES] = {
	[DELAYS_CPU] = { 1, { 8, 16, 16, 16 }, 432 },
	[DELAYS_DISK] = { 1, { 24, 32, 32, 48 }, 448 },
	[DELAYS_SWAPIN] = { 1, { 40, 48, 48, 80 }, 464 },
	[DELAYS_RECLAIM] = { 7, { NONE, NONE, 312, 360 }, 480 },
	[DELAYS_THRASHING] = { 9, { NONE, NONE, 328, 392 }, 496 },
	[DELAYS_COMPACTION] = { 11, { NONE, NONE, 352, 432 }, 512 },
	[DELAYS_COW] = { 13, { NONE, NONE, 400, 496 }, 528 },
	[DELAYS_IRQ] = { 14, { NONE, NONE, 416, 528 }, 544 },
};

#define NAME_SINCE 2
static const uint16_t name_at[LAYOUTS] = { NONE, 80, 80, 128 };

static const uint16_t version_bytes[DELAYS_VERSION_LAST + 1] = {
	0, 72, 240, 264, 272, 288, 312, 328, 328, 344, 352, 368, 400, 416, 432, 560, 560, 688,
};

static const char *const class_names[DELAYS_CLASSES] = {
	"cpu", "disk", "swapin", "reclaim", "thrashing", "compaction", "cow", "irq",
};

static const char *const class_words[DELAYS_CLASSES] = {
	"waiting for a CPU", "waiting for disk",  "swapping in",      "reclaiming memory",
	"thrashing",	     "compacting memory", "copying on write", "interrupted",
};

const char *delays_class_name(enum delays_class class)
{
	return class_names[class];
}

const char *delays_class_words(enum delays_class class)
{
	return class_words[class];
}

static enum layout stats_layout_of(uint32_t version)
{
	if (version == 1)
		return LAYOUT_1;
	if (version < 4)
		return LAYOUT_2;
	return version == 15 ? LAYOUT_15 : LAYOUT_4;
}

static uint64_t stats_number_at(const uint8_t *record, size_t at, size_t bytes)
{
	uint64_t value = 0;
	uint32_t word;

	if (bytes == 1)
		return record[at];
	if (bytes == 4) {
		memcpy(&word, record + at, sizeof(word));
		return word;
	}
	memcpy(&value, record + at, sizeof(value));
	return value;
}

static void stats_put_number(struct delays_stats *stats, const struct field *field, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	if (field->to_bytes == sizeof(word))
		memcpy((uint8_t *)stats + field->to, &word, sizeof(word));
	else
		memcpy((uint8_t *)stats + field->to, &value, sizeof(value));
}

static void decode_class(const uint8_t *record, uint32_t version, enum delays_class class,
			 struct delays_stats *stats)
{
	const struct class_field *field = &class_fields[class];
	enum layout layout = stats_layout_of(version);
	struct delays_delay *delay = &stats->delay[class];
	size_t at = field->at[layout];

	if (version < field->since || at == NONE)
		return;
	delay->count = stats_number_at(record, at, 8);
	delay->total_ns = stats_number_at(record, at + 8, 8);
	stats->classes |= 1u << class;
	if (version < 15)
		return;
	at = layout == LAYOUT_15 ? at + 16 : field->range_at;
	delay->max_ns = stats_number_at(record, at, 8);
	delay->min_ns = stats_number_at(record, at + 8, 8);
	stats->ranges |= 1u << class;
}

static void decode_fields(const uint8_t *record, uint32_t version, struct delays_stats *stats)
{
	enum layout layout = stats_layout_of(version);

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct field *field = &fields[i];

		if (version < field->since || field->at[layout] == NONE)
			continue;
		stats_put_number(stats, field,
				 stats_number_at(record, field->at[layout], field->bytes));
		stats->has |= field->has;
	}
	if (stats->nice > INT8_MAX) /* it is a signed byte */
		stats->nice -= UINT8_MAX + 1;
	if (version >= NAME_SINCE)
		memcpy(stats->name, record + name_at[layout], DELAYS_NAME_BYTES - 1);
}

int delays_stats_decode(const void *record, size_t bytes, struct delays_stats *out_stats,
			struct err *err)
{
	uint16_t version;
	size_t needed;

	if (bytes < sizeof(version))
		return err_set(err, -EBADMSG, "a taskstats record of %zu bytes has no version",
			       bytes);
	memcpy(&version, record, sizeof(version));
	needed = version_bytes[version < DELAYS_VERSION_LAST ? version : DELAYS_VERSION_LAST];
	if (version == 0)
		return err_set(err, -EBADMSG, "a taskstats record has version 0");
	if (bytes < needed)
		return err_set(err, -EBADMSG,
			       "a taskstats record of version %u has %zu bytes, not %zu", version,
			       bytes, needed);
	memset(out_stats, 0, sizeof(*out_stats));
	out_stats->version = version;
	decode_fields(record, version, out_stats);
	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++)
		decode_class(record, version, class, out_stats);
	return 0;
}

#define LIFE_SLACK_NS 20000000u /* lives are told in us, and by another clock than waits */

void delays_stats_check(struct delays_stats *stats, uint64_t life_ns, bool is_sum)
{
	uint64_t most_ns = life_ns + LIFE_SLACK_NS;

	for (enum delays_class class = 0; class < DELAYS_CLASSES; class ++) {
		struct delays_delay *delay = &stats->delay[class];
		uint32_t bit = 1u << class;
		bool is_long = (stats->ranges & bit) && delay->max_ns > most_ns;

		if (!(stats->classes & bit) || !(is_long || (!is_sum && delay->total_ns > most_ns)))
			continue;
		*delay = (struct delays_delay){ 0 };
		stats->classes &= ~bit;
		stats->ranges &= ~bit;
		stats->impossible |= bit;
	}
}

/* ------------------------------------------------------------------ arithmetic */

/* Fields that count up, and whose difference over a time has a meaning. */
static const uint16_t counters[] = {
	offsetof(struct delays_stats, run_ns),	     offsetof(struct delays_stats, run_real_ns),
	offsetof(struct delays_stats, life_us),	     offsetof(struct delays_stats, user_us),
	offsetof(struct delays_stats, system_us),    offsetof(struct delays_stats, minor_faults),
	offsetof(struct delays_stats, major_faults), offsetof(struct delays_stats, read_chars),
	offsetof(struct delays_stats, write_chars),  offsetof(struct delays_stats, read_calls),
	offsetof(struct delays_stats, write_calls),  offsetof(struct delays_stats, read_bytes),
	offsetof(struct delays_stats, write_bytes),  offsetof(struct delays_stats, cancelled_bytes),
	offsetof(struct delays_stats, voluntary),    offsetof(struct delays_stats, involuntary),
};

static uint64_t *stats_counter(struct delays_stats *stats, size_t i)
{
	return (uint64_t *)((uint8_t *)stats + counters[i]);
}

static uint64_t counter_of(const struct delays_stats *stats, size_t i)
{
	return *(const uint64_t *)((const uint8_t *)stats + counters[i]);
}

static uint64_t stats_sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void stats_add_delay(struct delays_delay *sum, const struct delays_delay *more)
{
	if (more->count && (!sum->count || more->min_ns < sum->min_ns))
		sum->min_ns = more->min_ns;
	if (more->max_ns > sum->max_ns)
		sum->max_ns = more->max_ns;
	sum->count = stats_sum_of(sum->count, more->count);
	sum->total_ns = stats_sum_of(sum->total_ns, more->total_ns);
}

void delays_stats_add(struct delays_stats *sum, const struct delays_stats *more)
{
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		*stats_counter(sum, i) = stats_sum_of(*stats_counter(sum, i), counter_of(more, i));
	for (size_t i = 0; i < DELAYS_CLASSES; i++)
		stats_add_delay(&sum->delay[i], &more->delay[i]);
	if (more->peak_rss_kb > sum->peak_rss_kb)
		sum->peak_rss_kb = more->peak_rss_kb;
	if (more->peak_vm_kb > sum->peak_vm_kb)
		sum->peak_vm_kb = more->peak_vm_kb;
	sum->classes |= more->classes;
	sum->ranges |= more->ranges;
	sum->has |= more->has;
	sum->impossible |= more->impossible;
	if (more->version > sum->version)
		sum->version = more->version;
}

static uint64_t stats_since(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

void delays_stats_since(const struct delays_stats *before, const struct delays_stats *after,
			struct delays_stats *out)
{
	struct delays_stats delta = *after;

	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		*stats_counter(&delta, i) =
			stats_since(counter_of(before, i), counter_of(after, i));
	for (size_t i = 0; i < DELAYS_CLASSES; i++) {
		const struct delays_delay *from = &before->delay[i], *to = &after->delay[i];

		delta.delay[i] = (struct delays_delay){
			.count = stats_since(from->count, to->count),
			.total_ns = stats_since(from->total_ns, to->total_ns),
		};
	}
	delta.ranges = 0;
	*out = delta;
}

bool delays_stats_counted(const struct delays_stats *stats)
{
	for (enum delays_class class = DELAYS_CPU + 1; class < DELAYS_CLASSES; class ++) {
		if (delays_has_class(stats, class) && stats->delay[class].count)
			return true;
	}
	return false;
}
