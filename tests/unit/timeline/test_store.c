/*
 * test_store.c - a timeline on disk says what the same timeline in memory says.
 *
 * Random traces, with holes and without, go through the engine twice: into memory, and
 * into a store with chunks of a few entries, so that amending brings chunks back all
 * the time. Then every entry, wait, wake-up and sum is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "random_trace.h"
#include "stored.h"
#include "timeline/index.h"
#include "timeline/totals.h"
#include "told.h"

static const struct index_key key = { "a key, 16 bytes" };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 7;
}

static void same_track(const struct timeline *a, const struct track *x, const struct timeline *b,
		       const struct track *y)
{
	struct tl_iter left, right;
	struct tl_interval in, on;

	assert_int_equal(x->count, y->count);
	assert_true(track_last_time(x) == track_last_time(y));
	tl_iter_begin(&left, a, x, 0, UINT64_MAX);
	tl_iter_begin(&right, b, y, 0, UINT64_MAX);
	for (uint32_t i = 0; i < x->count; i++) {
		assert_true(tl_iter_entry(&left, &in));
		assert_true(tl_iter_entry(&right, &on));
		if (in.start_ns != on.start_ns || in.end_ns != on.end_ns || in.word != on.word)
			fail_msg("track %x entry %u of %u: %llu-%llu %x is %llu-%llu %x", x->id, i,
				 x->count, (unsigned long long)in.start_ns,
				 (unsigned long long)in.end_ns, in.word,
				 (unsigned long long)on.start_ns, (unsigned long long)on.end_ns,
				 on.word);
	}
	assert_false(tl_iter_entry(&right, &on));
}

static void same_actor(const struct actor *x, const struct actor *y)
{
	assert_int_equal(x->time_ns, y->time_ns);
	assert_int_equal(x->slot, y->slot);
	assert_int_equal(x->word, y->word);
	assert_int_equal(x->below, y->below);
	assert_int_equal(x->name, y->name);
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->signal, y->signal);
}

static void same_waits(const struct timeline *a, const struct timeline *b, uint32_t slot)
{
	assert_int_equal(a->threads[slot]->wait_count, b->threads[slot]->wait_count);
	for (uint32_t i = 0; i < a->threads[slot]->wait_count; i++) {
		struct wait x, y;

		timeline_wait(a, slot, i, &x);
		timeline_wait(b, slot, i, &y);
		assert_int_equal(x.begin_ns, y.begin_ns);
		assert_int_equal(x.woken_ns, y.woken_ns);
		assert_int_equal(x.in, y.in);
		assert_int_equal(x.object, y.object);
		assert_int_equal(x.stack, y.stack);
		assert_int_equal(x.fd, y.fd);
		assert_int_equal(x.flags, y.flags);
		same_actor(&x.waker, &y.waker);
		same_actor(&x.origin, &y.origin);
	}
}

static void same_edges(const struct timeline *a, const struct timeline *b, uint32_t slot,
		       uint64_t from, uint64_t to)
{
	struct tl_edge_iter left, right;
	struct tl_edge x, y;

	tl_edges_begin(&left, a, slot, from, to);
	tl_edges_begin(&right, b, slot, from, to);
	while (tl_edges_next(&left, &x)) {
		assert_true(tl_edges_next(&right, &y));
		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_false(tl_edges_next(&right, &y));
}

static void same_totals(const struct timeline *a, const struct timeline *b, uint32_t slot,
			uint64_t from, uint64_t to)
{
	struct totals x = { 0 }, y = { 0 };

	timeline_totals(a, slot, from, to, &x);
	timeline_totals(b, slot, from, to, &y);
	assert_int_equal(x.count, y.count);
	for (uint32_t i = 0; i < x.count; i++) {
		assert_int_equal(x.rows[i].key, y.rows[i].key);
		assert_int_equal(x.rows[i].ns, y.rows[i].ns);
		assert_int_equal(x.rows[i].count, y.rows[i].count);
		assert_int_equal(x.rows[i].max_ns, y.rows[i].max_ns);
	}
	assert_int_equal(totals_ns(&y, TOTAL_STATE), to > from ? to - from : 0);
	totals_fini(&x);
	totals_fini(&y);
}

/* Each kind of word and of wait is a class of its own. */
static void make_classes(struct tl_classes *classes)
{
	for (uint8_t i = 0; i < WORD_KIND_COUNT; i++)
		classes->of_word[i] = i;
	for (uint8_t i = 0; i < WAIT_KIND_COUNT; i++)
		classes->of_wait[i] = (uint8_t)(WORD_KIND_COUNT + i);
}

static void sum_classes(const struct timeline *tl, uint32_t slot, uint64_t to_ns, uint64_t *out_ns)
{
	struct totals totals = { 0 };

	memset(out_ns, 0, TL_CLASSES * sizeof(*out_ns));
	timeline_totals(tl, slot, tl->origin_ns, to_ns, &totals);
	for (uint32_t i = 0; i < totals.count; i++) {
		uint64_t of = totals.rows[i].key;

		if (total_kind(of) == TOTAL_WAIT)
			out_ns[WORD_KIND_COUNT + total_b(of)] += totals.rows[i].ns;
		else if (total_kind(of) == TOTAL_STATE && word_kind(total_a(of)) != WORD_BLOCKED)
			out_ns[word_kind(total_a(of))] += totals.rows[i].ns;
	}
	totals_fini(&totals);
}

static void add_classes(struct tl_classed *classed, uint64_t at_ns, uint64_t *sums)
{
	uint64_t ns[TL_CLASSES];

	for (uint32_t bits = tl_classed_take(classed, at_ns, ns); bits; bits &= bits - 1)
		sums[__builtin_ctz(bits)] += ns[__builtin_ctz(bits)];
}

/* Until then the state of that class goes on. */
static void check_pace(const struct timeline *tl, uint32_t slot, struct tl_classed *classed,
		       uint64_t at_ns)
{
	enum word_kind kind = word_kind(timeline_state_at(tl, slot, at_ns));
	struct tl_classed_pace pace;

	if (!tl_classed_pace(classed, &pace))
		return;
	assert_true(pace.since_ns < at_ns && pace.until_ns >= at_ns);
	if (pace.until_ns > at_ns)
		assert_int_equal(pace.in_class < WORD_KIND_COUNT ? pace.in_class : WORD_BLOCKED,
				 kind);
}

/* Sums by class go forward as the totals of windows from the origin say. */
static void same_classes(const struct timeline *a, const struct timeline *b, uint32_t slot,
			 uint64_t *random)
{
	uint64_t in_memory[TL_CLASSES] = { 0 }, in_store[TL_CLASSES] = { 0 }, ns[TL_CLASSES];
	uint64_t at = a->origin_ns, step = (a->end_ns - a->origin_ns) / 20 + 1;
	struct tl_classed *left, *right;
	static struct tl_classes classes;

	make_classes(&classes);
	left = tl_classed_new(a, slot, &classes);
	right = tl_classed_new(b, slot, &classes);
	while (at <= a->end_ns) {
		sum_classes(a, slot, at, ns);
		add_classes(left, at, in_memory);
		add_classes(right, at, in_store);
		assert_memory_equal(in_memory, ns, sizeof(ns));
		assert_memory_equal(in_store, ns, sizeof(ns));
		check_pace(a, slot, left, at);
		check_pace(b, slot, right, at);
		at += next_random(random) % step;
		at += next_random(random) % 8 == 0; /* now and then the same again */
	}
	tl_classed_free(left);
	tl_classed_free(right);
}

static bool lies_in_stretch(const struct track *track, uint64_t least, uint64_t start, uint64_t end)
{
	uint64_t from, to = 0;

	while (track_stretch(track, least, to, end + 1, &from, &to)) {
		if (from <= start && end <= to)
			return true;
	}
	return false;
}

/* No interval that is long enough is left out. */
static void check_stretches(const struct timeline *tl, const struct track *track, uint64_t least)
{
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, tl, track, tl->origin_ns, tl->end_ns);
	while (tl_iter_next(&iter, &in)) {
		uint64_t start = in.start_ns - tl->origin_ns, end = in.end_ns - tl->origin_ns;

		if (end - start < least)
			continue;
		if (!lies_in_stretch(track, least, start, end))
			fail_msg("track %x: %llu to %llu is in no stretch of %llu", track->id,
				 (unsigned long long)start, (unsigned long long)end,
				 (unsigned long long)least);
	}
}

static void same_columns(const struct timeline *a, const struct timeline *b, uint32_t slot,
			 uint64_t from, uint64_t to)
{
	uint32_t x[17], y[17];

	timeline_columns(a, slot, from, to, 17, x);
	timeline_columns(b, slot, from, to, 17, y);
	assert_memory_equal(x, y, sizeof(x));
}

static void same_windows(const struct timeline *a, const struct timeline *b, uint64_t *random)
{
	uint64_t span = a->end_ns - a->origin_ns + 1;
	uint64_t from = a->origin_ns + next_random(random) % span;
	uint64_t to = from + next_random(random) % (a->end_ns - from + 1);

	for (uint32_t slot = 0; slot < a->thread_count; slot++) {
		same_totals(a, b, slot, from, to);
		same_columns(a, b, slot, from, to);
		same_edges(a, b, slot, from, to);
		assert_int_equal(timeline_state_at(a, slot, from),
				 timeline_state_at(b, slot, from));
	}
	for (uint32_t cpu = 0; cpu < a->cpu_count; cpu++)
		assert_int_equal(timeline_running_at(a, cpu, from),
				 timeline_running_at(b, cpu, from));
}

static void same_limits(const struct timeline *a, const struct timeline *b, uint32_t slot)
{
	const struct tl_thread *x = a->threads[slot], *y = b->threads[slot];

	assert_int_equal(x->limit_count, y->limit_count);
	for (size_t i = 0; i < x->limit_count; i++) {
		assert_int_equal(x->limits[i].start_ns, y->limits[i].start_ns);
		assert_int_equal(x->limits[i].end_ns, y->limits[i].end_ns);
		assert_string_equal(timeline_name(a, x->limits[i].name),
				    timeline_name(b, y->limits[i].name));
	}
}

static void same_timeline(const struct timeline *a, const struct timeline *b, uint64_t seed)
{
	uint64_t random = seed * 77 + 5;

	assert_int_equal(a->thread_count, b->thread_count);
	assert_int_equal(a->cpu_count, b->cpu_count);
	assert_int_equal(a->gap_count, b->gap_count);
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->lost_events, b->lost_events);
	for (uint32_t slot = 0; slot < a->thread_count; slot++) {
		assert_int_equal(a->threads[slot]->tid, b->threads[slot]->tid);
		assert_int_equal(a->threads[slot]->birth_ns, b->threads[slot]->birth_ns);
		assert_int_equal(a->threads[slot]->death_ns, b->threads[slot]->death_ns);
		assert_int_equal(a->threads[slot]->parent, b->threads[slot]->parent);
		assert_string_equal(timeline_comm(a, slot), timeline_comm(b, slot));
		same_track(a, &a->threads[slot]->track, b, &b->threads[slot]->track);
		same_waits(a, b, slot);
		same_edges(a, b, slot, 0, UINT64_MAX);
		same_limits(a, b, slot);
	}
	for (uint32_t cpu = 0; cpu < a->cpu_count; cpu++)
		same_track(a, a->cpus[cpu], b, b->cpus[cpu]);
	for (int i = 0; i < 10; i++)
		same_windows(a, b, &random);
	for (uint32_t slot = 0; slot < a->thread_count; slot++)
		same_classes(a, b, slot, &random);
	for (uint32_t slot = 0; slot < a->thread_count; slot++) {
		check_stretches(a, &a->threads[slot]->track, 1 + next_random(&random) % 5000);
		check_stretches(b, &b->threads[slot]->track, 1 + next_random(&random) % 5000);
	}
	assert_null(timeline_damage(b));
}

/* Events of one CPU are taken out, and a hole says so. */
static void cut_hole(struct text_trace *trace, uint64_t *random)
{
	size_t from = next_random(random) % (trace->count - 40), kept = from;
	uint32_t cpu = trace->events[from].cpu, lost = 0;
	uint64_t until = 0, since = trace->events[from].time_ns;

	for (size_t i = from; i < trace->count; i++) {
		if (i < from + 30 && trace->events[i].cpu == cpu) {
			lost++;
			until = trace->events[i].time_ns;
			continue;
		}
		if (lost && trace->events[i].time_ns >= until && i >= from + 30) {
			trace->events[kept++] =
				(struct event){ .type = EV_LOST,
						.tid = -1,
						.cpu = (uint16_t)cpu,
						.time_ns = until,
						.lost = { .since_ns = since, .count = lost } };
			lost = 0;
		}
		trace->events[kept++] = trace->events[i];
	}
	trace->count = kept;
}

static char dir[64];

static void compare_seed(uint64_t seed, bool holes)
{
	struct text_trace *trace = random_trace(seed, 600, seed % 3 == 0, true);
	uint64_t random = seed + 99;
	struct timeline *memory, *made, *opened;
	struct err err = { 0 };

	for (int i = 0; holes && i < 3; i++)
		cut_hole(trace, &random);
	assert_int_equal(source_seek(&trace->source, 0, &err), 0);
	assert_int_equal(state_run(&trace->source, &trace->facts, NULL, NULL, &memory, &err), 0);
	made = stored_timeline(trace, dir, &key, 4 + (uint32_t)(seed % 13));
	same_timeline(memory, made, seed);
	if (index_open(dir, &key, &opened, &err) < 0)
		fail_msg("%s", err.text);
	same_timeline(memory, opened, seed);
	timeline_free(opened);
	timeline_free(made);
	timeline_free(memory);
	text_trace_free(trace);
}

static void a_store_says_what_memory_says(void **unused)
{
	for (uint64_t seed = 1; seed <= 150; seed++)
		compare_seed(seed, false);
}

static void what_limits_keep_threads_at_is_stored(void **unused)
{
	struct text_trace *trace = text_trace_of("thread 7 7 1 R job\n"
						 "  0 cpu0 switch 0(runnable) 7\n"
						 "  5 cpu0 fdname 7 -5 limit unknown throttled\n"
						 " 10 cpu0 other mm_vmscan_memcg_reclaim_begin\n"
						 " 15 cpu0 other mm_vmscan_memcg_reclaim_end\n"
						 " 20 cpu0 other mm_vmscan_direct_reclaim_begin\n"
						 " 30 cpu0 other mm_vmscan_direct_reclaim_end\n"
						 " 60 cpu0 switch 7(blocked) 0\n");
	struct timeline *memory, *made, *opened;
	struct err err = { 0 };

	assert_int_equal(state_run(&trace->source, &trace->facts, NULL, NULL, &memory, &err), 0);
	assert_int_equal(memory->threads[timeline_find_thread(memory, 7, UINT64_MAX)]->limit_count,
			 2);
	made = stored_timeline(trace, dir, &key, 4);
	if (index_open(dir, &key, &opened, &err) < 0)
		fail_msg("%s", err.text);
	same_timeline(memory, opened, 1);
	timeline_free(opened);
	timeline_free(made);
	timeline_free(memory);
	text_trace_free(trace);
}

/* One wait, and then calls without end: what it did long ago does not stay in memory, nor is it one chunk. */
static void who_never_waits_again_is_stored_in_pieces(void **unused)
{
	struct text_trace *trace;
	struct timeline *memory, *made, *opened;
	const struct track *track;
	struct err err = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fprintf(out,
		"thread 7 7 1 R job\n0 cpu0 switch 0(runnable) 7\n1 cpu0 enter read 3\n"
		"2 cpu0 switch 7(blocked) 0\n3 cpu0 waking 7 cpu 0\n4 cpu0 switch 0(runnable) 7\n"
		"5 cpu0 leave read 0\n");
	for (uint32_t i = 10; i < 160000; i += 2)
		fprintf(out, "%u cpu0 enter read 3\n%u cpu0 leave read 0\n", i, i + 1);
	(void)fclose(out);
	trace = text_trace_of(text);
	assert_int_equal(state_run(&trace->source, &trace->facts, NULL, NULL, &memory, &err), 0);
	made = stored_timeline(trace, dir, &key, 2048);
	if (index_open(dir, &key, &opened, &err) < 0)
		fail_msg("%s", err.text);
	track = &opened->threads[timeline_find_thread(opened, 7, UINT64_MAX)]->track;
	if (track->count < 150000 || track->chunk_count < 30)
		fail_msg("%u entries in %u pieces", track->count, track->chunk_count);
	same_timeline(memory, opened, 1);
	timeline_free(opened);
	timeline_free(made);
	timeline_free(memory);
	text_trace_free(trace);
	free(text);
}

static void a_store_says_what_memory_says_with_holes(void **unused)
{
	for (uint64_t seed = 1; seed <= 150; seed++)
		compare_seed(seed, true);
}

/* ------------------------------------------------------------------ failures */

static char *index_path(void)
{
	return xasprintf("%s/index", dir);
}

static void make_one(void)
{
	struct text_trace *trace = random_trace(7, 600, false, false);

	timeline_free(stored_timeline(trace, dir, &key, 8));
	text_trace_free(trace);
}

static void what_fits_is_opened_and_nothing_else(void **unused)
{
	const struct index_key other = { "another key, 16" };
	struct index_writer *writer;
	struct timeline *tl;
	struct err err = { 0 };
	AUTO_FREE char *path = index_path();

	make_one();
	assert_int_equal(index_open(dir, &other, &tl, &err), -ESTALE);
	assert_int_equal(index_begin(dir, &key, false, &writer, &err), -EEXIST);
	assert_int_equal(index_begin(dir, &other, false, &writer, &err), 0);
	index_abort(writer);
	assert_int_equal(index_open(dir, &key, &tl, &err), 0);
	timeline_free(tl);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(index_open(dir, &key, &tl, &err), -ENOENT);
}

/* Ask everything there is to ask. */
static void use(const struct timeline *tl)
{
	for (uint32_t slot = 0; slot < tl->thread_count; slot++) {
		struct totals totals = { 0 };
		struct tl_edge_iter edges;
		struct tl_edge edge;
		struct wait wait;

		timeline_totals(tl, slot, tl->origin_ns, tl->end_ns, &totals);
		totals_fini(&totals);
		for (uint32_t i = 0; i < tl->threads[slot]->wait_count && i < 1000; i++)
			timeline_wait(tl, slot, i, &wait);
		tl_edges_begin(&edges, tl, slot, 0, UINT64_MAX);
		while (tl_edges_next(&edges, &edge))
			;
	}
	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		struct tl_iter iter;
		struct tl_interval in;

		tl_iter_begin(&iter, tl, tl->cpus[cpu], tl->origin_ns, tl->end_ns);
		while (tl_iter_next(&iter, &in))
			;
	}
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/*
 * A wrong byte is noticed, at the opening or in use; or it stands in a chunk that another one
 * has replaced, and changes nothing.
 */
static void a_wrong_byte_anywhere_is_noticed(void **unused)
{
	struct text_trace *trace = random_trace(7, 600, false, false);
	AUTO_FREE char *path = index_path();
	uint64_t random = 3, unnoticed = 0;
	struct timeline *whole;
	struct stat stat_;

	whole = stored_timeline(trace, dir, &key, 8);
	assert_int_equal(stat(path, &stat_), 0);
	for (int i = 0; i < 400; i++) {
		off_t at = i < 64 ? i : (off_t)(next_random(&random) % (uint64_t)stat_.st_size);
		struct timeline *tl;
		struct err err = { 0 };

		flip(path, at);
		if (index_open(dir, &key, &tl, &err) == 0) {
			use(tl);
			if (!timeline_damage(tl)) {
				same_timeline(whole, tl, 1);
				unnoticed++;
			}
			timeline_free(tl);
		}
		flip(path, at);
	}
	assert_in_range(unnoticed, 0, 100);
	timeline_free(whole);
	text_trace_free(trace);
}

static void a_file_that_is_cut_is_noticed(void **unused)
{
	AUTO_FREE char *path = index_path();
	struct timeline *tl;
	struct err err = { 0 };
	struct stat stat_;

	make_one();
	assert_int_equal(stat(path, &stat_), 0);
	for (off_t size = stat_.st_size - 1; size > 0; size -= 97) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_not_equal(index_open(dir, &key, &tl, &err), 0);
	}
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **unused)
{
	struct text_trace *trace = random_trace(9, 600, false, false);
	struct state *state = state_new(&trace->facts);
	AUTO_FREE char *path = index_path();
	struct index_writer *writer;
	struct timeline *tl;
	struct err err = { 0 };

	(void)unlink(path);
	assert_int_equal(index_begin(dir, &key, false, &writer, &err), 0);
	state_timeline(state)->chunk_entries = 8;
	index_attach(writer, state_timeline(state));
	index_fail_writes(writer, -ENOSPC);
	assert_int_equal(source_seek(&trace->source, 0, &err), 0);
	assert_int_equal(state_drain(state, &trace->source, NULL, NULL, &tl, &err), 0);
	assert_int_equal(index_commit(writer, tl, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(access(path, F_OK), -1);
	timeline_free(tl);
	text_trace_free(trace);
}

static int make_dir(void **unused)
{
	strcpy(dir, "/tmp/holdup-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **unused)
{
	AUTO_FREE char *path = index_path(), *lock = xasprintf("%s/lock", dir);

	(void)unlink(path);
	(void)unlink(lock);
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_says_what_memory_says),
		cmocka_unit_test(a_store_says_what_memory_says_with_holes),
		cmocka_unit_test(what_limits_keep_threads_at_is_stored),
		cmocka_unit_test(who_never_waits_again_is_stored_in_pieces),
		cmocka_unit_test(what_fits_is_opened_and_nothing_else),
		cmocka_unit_test(a_wrong_byte_anywhere_is_noticed),
		cmocka_unit_test(a_file_that_is_cut_is_noticed),
		cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
