/*
 * Records of every version, made from tables of offsets that were written down from the kernel's
 * headers, not from stats.c: each field gets a value of its own, and must come back.
 */
#include "accounts/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

/* Where a version has what, as the header of a kernel of that version lays it out. */
struct layout {
	uint16_t version;
	uint16_t bytes;
	uint16_t cpu, disk, swapin, run_real, run, name, uid, tid, life, rss, read_chars;
	uint16_t read_bytes, voluntary, reclaim, thrashing, birth, compaction, tgid, cow, irq;
	uint16_t cpu_max, irq_min;
};

/* 0 = it has not. */
static const struct layout
	layouts[] = {
		{ 1, 72, 8, 24, 40, 56, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 2,   240, 16, 32, 48, 64,  72, 80, 116, 124, 136, 192,
		  208, 0,   0,	0,  0,	132, 0,	 0,  0,	  0,   0,   0 },
		{ 3,   264, 16, 32, 48, 64,  72, 80, 116, 124, 136, 192,
		  208, 240, 0,	0,  0,	132, 0,	 0,  0,	  0,   0,   0 },
		{ 4,   272, 16, 32, 48, 64,  72, 80, 120, 128, 144, 200,
		  216, 248, 0,	0,  0,	136, 0,	 0,  0,	  0,   0,   0 },
		{ 5,   288, 16,	 32, 48, 64,  72, 80, 120, 128, 144, 200,
		  216, 248, 272, 0,  0,	 136, 0,  0,  0,   0,	0,   0 },
		{ 6,   312, 16,	 32, 48, 64,  72, 80, 120, 128, 144, 200,
		  216, 248, 272, 0,  0,	 136, 0,  0,  0,   0,	0,   0 },
		{ 7,   328, 16,	 32,  48, 64,  72, 80, 120, 128, 144, 200,
		  216, 248, 272, 312, 0,  136, 0,  0,  0,   0,	 0,   0 },
		{ 8,   328, 16,	 32,  48, 64,  72, 80, 120, 128, 144, 200,
		  216, 248, 272, 312, 0,  136, 0,  0,  0,   0,	 0,   0 },
		{ 9,   344, 16,	 32,  48,  64,	72, 80, 120, 128, 144, 200,
		  216, 248, 272, 312, 328, 136, 0,  0,	0,   0,	  0,   0 },
		{ 10,  352, 16,	 32,  48,  64,	72, 80, 120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 0,  0,	0,   0,	  0,   0 },
		{ 11,  368, 16,	 32,  48,  64,	72,  80, 120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 0,	 0,   0,   0,	0 },
		{ 12,  400, 16,	 32,  48,  64,	72,  80,  120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 368, 0,   0,   0,	 0 },
		{ 13,  416, 16,	 32,  48,  64,	72,  80,  120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 368, 400, 0,   0,	 0 },
		{ 14,  432, 16,	 32,  48,  64,	72,  80,  120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 368, 400, 416, 0,	 0 },
		{ 15,  560, 16,	 48,  80,  112, 120, 128, 168, 176, 192, 248,
		  264, 296, 320, 360, 392, 424, 432, 464, 496, 528, 32,	 552 },
		{ 16,  560, 16,	 32,  48,  64,	72,  80,  120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 368, 400, 416, 432, 552 },
		{ 17,  688, 16,	 32,  48,  64,	72,  80,  120, 128, 144, 200,
		  216, 248, 272, 312, 328, 344, 352, 368, 400, 416, 432, 552 },
	};

struct record {
	uint8_t bytes[1024];
};

static void put(struct record *record, uint16_t at, uint64_t value, size_t bytes)
{
	if (at)
		memcpy(record->bytes + at, &value, bytes);
}

static void put_pair(struct record *record, uint16_t at, uint64_t count, uint64_t total)
{
	put(record, at, count, 8);
	if (at)
		put(record, (uint16_t)(at + 8), total, 8);
}

static struct record made(const struct layout *layout)
{
	struct record record = { 0 };

	put(&record, layout->name, 0x6d616b65, 4); /* "ekam" */
	put_pair(&record, layout->cpu, 1, 101);
	put_pair(&record, layout->disk, 2, 102);
	put_pair(&record, layout->swapin, 3, 103);
	put_pair(&record, layout->reclaim, 4, 104);
	put_pair(&record, layout->thrashing, 5, 105);
	put_pair(&record, layout->compaction, 6, 106);
	put_pair(&record, layout->cow, 7, 107);
	put_pair(&record, layout->irq, 8, 108);
	put(&record, layout->run_real, 201, 8);
	put(&record, layout->run, 202, 8);
	put(&record, layout->uid, 1000, 4);
	put(&record, layout->tid, 77, 4);
	put(&record, layout->life, 203, 8);
	put(&record, layout->rss, 204, 8);
	put(&record, layout->read_chars, 205, 8);
	put(&record, layout->read_bytes, 206, 8);
	put(&record, layout->voluntary, 207, 8);
	put(&record, layout->birth, 208, layout->version < 10 ? 4 : 8);
	put(&record, layout->tgid, 70, 4);
	put(&record, layout->cpu_max, 99, 8);
	put(&record, layout->irq_min, 9, 8);
	memcpy(record.bytes, &layout->version, sizeof(layout->version));
	return record;
}

static void check_class(const struct delays_stats *stats, enum delays_class class, uint16_t at)
{
	assert_int_equal(delays_has_class(stats, class), at != 0);
	assert_int_equal(stats->delay[class].count, at ? class + 1 : 0);
	assert_int_equal(stats->delay[class].total_ns, at ? class + 101 : 0);
}

static void check_classes(const struct delays_stats *stats, const struct layout *layout)
{
	check_class(stats, DELAYS_CPU, layout->cpu);
	check_class(stats, DELAYS_DISK, layout->disk);
	check_class(stats, DELAYS_SWAPIN, layout->swapin);
	check_class(stats, DELAYS_RECLAIM, layout->reclaim);
	check_class(stats, DELAYS_THRASHING, layout->thrashing);
	check_class(stats, DELAYS_COMPACTION, layout->compaction);
	check_class(stats, DELAYS_COW, layout->cow);
	check_class(stats, DELAYS_IRQ, layout->irq);
	assert_int_equal(stats->ranges, layout->cpu_max ? 0xff : 0);
	assert_int_equal(stats->delay[DELAYS_CPU].max_ns, layout->cpu_max ? 99 : 0);
	assert_int_equal(stats->delay[DELAYS_IRQ].min_ns, layout->irq_min ? 9 : 0);
}

static void every_version_is_decoded_by_its_own_layout(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		const struct layout *layout = &layouts[i];
		struct record record = made(layout);
		struct delays_stats stats;

		print_message("# version %u\n", layout->version);
		assert_int_equal(delays_stats_decode(record.bytes, layout->bytes, &stats, NULL), 0);
		check_classes(&stats, layout);
		assert_int_equal(stats.run_real_ns, 201);
		assert_int_equal(stats.run_ns, 202);
		assert_string_equal(stats.name, layout->name ? "ekam" : "");
		assert_int_equal(stats.uid, layout->uid ? 1000 : 0);
		assert_int_equal(stats.tid, layout->tid ? 77 : 0);
		assert_int_equal(stats.life_us, layout->life ? 203 : 0);
		assert_int_equal(stats.peak_rss_kb, layout->rss ? 204 : 0);
		assert_int_equal(stats.read_chars, layout->read_chars ? 205 : 0);
		assert_int_equal(stats.read_bytes, layout->read_bytes ? 206 : 0);
		assert_int_equal(stats.voluntary, layout->voluntary ? 207 : 0);
		assert_int_equal(stats.birth_s, layout->birth ? 208 : 0);
		assert_int_equal(stats.tgid, layout->tgid ? 70 : 0);
		assert_int_equal(!!(stats.has & DELAYS_HAS_IO), layout->read_bytes != 0);
		assert_int_equal(!!(stats.has & DELAYS_HAS_SWITCHES), layout->voluntary != 0);
		assert_int_equal(!!(stats.has & DELAYS_HAS_TGID), layout->tgid != 0);
	}
}

static void a_record_shorter_than_its_version_is_refused(void **unused)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		struct record record = made(&layouts[i]);
		struct delays_stats stats;
		struct err err = { 0 };

		for (size_t bytes = 0; bytes < layouts[i].bytes; bytes++)
			assert_true(delays_stats_decode(record.bytes, bytes, &stats, &err) < 0);
		assert_non_null(strstr(err.text, "taskstats"));
	}
}

static void a_version_of_the_future_is_read_as_the_last_one(void **unused)
{
	struct layout layout = layouts[ARRAY_LEN(layouts) - 1];
	struct delays_stats stats;
	struct record record;

	layout.version = 40;
	record = made(&layout);
	assert_int_equal(delays_stats_decode(record.bytes, 900, &stats, NULL), 0);
	check_classes(&stats, &layout);
	assert_int_equal(stats.version, 40);
	assert_true(delays_stats_decode(record.bytes, 687, &stats, NULL) < 0);
}

static void version_zero_is_no_record(void **unused)
{
	struct record record = { 0 };
	struct delays_stats stats;

	assert_true(delays_stats_decode(record.bytes, 560, &stats, NULL) < 0);
}

static void sums_add_up_and_keep_the_extremes(void **unused)
{
	struct delays_stats sum = { 0 }, one = { .classes = 1, .ranges = 1, .run_ns = 5 };

	one.delay[DELAYS_CPU] = (struct delays_delay){ 2, 100, 80, 20 };
	delays_stats_add(&sum, &one);
	one.delay[DELAYS_CPU] = (struct delays_delay){ 1, 10, 10, 10 };
	delays_stats_add(&sum, &one);
	one.delay[DELAYS_CPU] = (struct delays_delay){ 0, 0, 0, 0 };
	delays_stats_add(&sum, &one);
	assert_int_equal(sum.delay[DELAYS_CPU].count, 3);
	assert_int_equal(sum.delay[DELAYS_CPU].total_ns, 110);
	assert_int_equal(sum.delay[DELAYS_CPU].max_ns, 80);
	assert_int_equal(sum.delay[DELAYS_CPU].min_ns, 10);
	assert_int_equal(sum.run_ns, 15);
	one.run_ns = UINT64_MAX;
	delays_stats_add(&sum, &one);
	assert_true(sum.run_ns == UINT64_MAX);
}

static void what_counted_backwards_is_no_difference(void **unused)
{
	struct delays_stats before = { .run_ns = 10, .voluntary = 7 };
	struct delays_stats after = { .run_ns = 25, .voluntary = 3 }, delta;

	delays_stats_since(&before, &after, &delta);
	assert_int_equal(delta.run_ns, 15);
	assert_int_equal(delta.voluntary, 0);
}

static void a_wait_longer_than_its_life_is_taken_out(void **unused)
{
	struct delays_stats stats = { .classes = 3, .ranges = 3 };

	stats.delay[DELAYS_CPU] = (struct delays_delay){ 2, 900, 800, 100 };
	stats.delay[DELAYS_DISK] = (struct delays_delay){ 1, 5000000000, 5000000000, 5000000000 };
	delays_stats_check(&stats, 1000000000, true);
	assert_int_equal(stats.classes, 1);
	assert_int_equal(stats.impossible, 2);
	assert_int_equal(stats.delay[DELAYS_DISK].total_ns, 0);
	assert_int_equal(stats.delay[DELAYS_CPU].total_ns, 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_decoded_by_its_own_layout),
		cmocka_unit_test(a_record_shorter_than_its_version_is_refused),
		cmocka_unit_test(a_version_of_the_future_is_read_as_the_last_one),
		cmocka_unit_test(version_zero_is_no_record),
		cmocka_unit_test(sums_add_up_and_keep_the_extremes),
		cmocka_unit_test(what_counted_backwards_is_no_difference),
		cmocka_unit_test(a_wait_longer_than_its_life_is_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
