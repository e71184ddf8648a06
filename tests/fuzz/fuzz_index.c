/*
 * fuzz_index.c - any bytes as a stored timeline: no crash, no hang, whatever is asked.
 *
 * Each input is opened as it is, and once more with its checksums made right, so that what
 * is behind them is reached.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/verify/verify.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/facts.h"
#include "fuzz_dir.h"
#include "timeline/index.h"
#include "timeline/timeline.h"
#include "timeline/totals.h"
#include "wire/index.h"

#define THREADS	  16	/* asked about */
#define INTERVALS 20000 /* walked over, of each */
#define CLASSED	  64	/* times that sums are asked up to */
#define VERIFIED  64	/* threads, at most, for all of it to be verified */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct index_key key = { "a key, 16 bytes" };

/* -------------------------------------------------------------------- mending */

static void mend_chunks(uint8_t *data, size_t bytes)
{
	const size_t skip = offsetof(struct chunk_head, start);
	struct chunk_head head;

	for (size_t at = sizeof(struct index_head); bytes - at >= sizeof(head); at += head.bytes) {
		memcpy(&head, data + at, sizeof(head));
		if (head.magic != CHUNK_MAGIC || head.bytes < sizeof(head) ||
		    head.bytes > bytes - at)
			return;
		head.hash = hash_bytes(data + at + skip, head.bytes - skip, 0);
		memcpy(data + at, &head, sizeof(head));
	}
}

static void mend(uint8_t *data, size_t bytes)
{
	struct index_head head;

	if (bytes < sizeof(head))
		return;
	mend_chunks(data, bytes);
	memcpy(&head, data, sizeof(head));
	memcpy(head.magic, INDEX_MAGIC, sizeof(head.magic));
	memcpy(head.key, key.bytes, sizeof(head.key));
	head.version = INDEX_VERSION;
	head.engine = INDEX_ENGINE;
	if (head.table_bytes <= bytes && head.table_offset <= bytes - head.table_bytes)
		head.table_hash = hash_bytes(data + head.table_offset, head.table_bytes, 0);
	head.head_hash = hash_bytes(&head, offsetof(struct index_head, head_hash), 0);
	memcpy(data, &head, sizeof(head));
}

/* --------------------------------------------------------------------- asking */

static void walk(const struct timeline *tl, const struct track *track)
{
	struct tl_iter iter;
	struct tl_interval in;
	uint64_t at = tl->origin_ns;

	tl_iter_begin(&iter, tl, track, tl->origin_ns, tl->end_ns);
	for (int i = 0; i < INTERVALS && tl_iter_next(&iter, &in); i++) {
		/* Whatever the bytes are: they touch, and none is empty. */
		if (in.start_ns != at || in.end_ns <= in.start_ns || in.end_ns > tl->end_ns)
			abort();
		at = in.end_ns;
	}
	tl_iter_begin(&iter, tl, track, tl->origin_ns, UINT64_MAX);
	for (int i = 0; i < INTERVALS && tl_iter_entry(&iter, &in); i++)
		;
}

static void ask_classes(const struct timeline *tl, uint32_t slot)
{
	static const struct tl_classes classes = { .of_word = { [WORD_BLOCKED] = 1 } };
	struct tl_classed *classed = tl_classed_new(tl, slot, &classes);
	uint64_t length = tl->end_ns - tl->origin_ns, ns[TL_CLASSES];
	struct tl_classed_pace pace;

	for (uint64_t part = 0; part <= CLASSED; part++) {
		(void)tl_classed_take(classed, tl->origin_ns + length / CLASSED * part, ns);
		if (tl_classed_pace(classed, &pace) && pace.in_class >= TL_CLASSES)
			abort();
	}
	tl_classed_free(classed);
}

static void ask_stretches(const struct track *track)
{
	for (uint64_t least = 1; least < UINT64_MAX / 16; least *= 16) {
		uint64_t from, to = 0;

		for (int i = 0;
		     i < INTERVALS && track_stretch(track, least, to, UINT64_MAX, &from, &to);
		     i++) {
			if (from >= to)
				abort();
		}
	}
}

static void ask_thread(const struct timeline *tl, uint32_t slot)
{
	uint64_t length = tl->end_ns - tl->origin_ns;
	const struct tl_thread *thread = tl->threads[slot];
	struct totals totals = { 0 };
	struct tl_edge_iter iter;
	struct tl_edge edge;
	struct wait wait;
	uint32_t words[16];

	walk(tl, &thread->track);
	for (uint64_t part = 0; part < 4; part++) {
		uint64_t start = tl->origin_ns + length / 4 * part;

		(void)timeline_state_at(tl, slot, start);
		timeline_totals(tl, slot, start, start + length / 3, &totals);
	}
	timeline_totals(tl, slot, 0, UINT64_MAX, &totals);
	timeline_columns(tl, slot, tl->origin_ns, tl->end_ns, ARRAY_LEN(words), words);
	ask_classes(tl, slot);
	ask_stretches(&thread->track);
	tl_edges_begin(&iter, tl, slot, 0, UINT64_MAX);
	for (int i = 0; i < INTERVALS && tl_edges_next(&iter, &edge); i++)
		timeline_wait(tl, edge.slot, edge.wait, &wait);
	for (uint32_t i = 0; i < thread->wait_count && i < INTERVALS; i++)
		timeline_wait(tl, slot, i, &wait);
	(void)strlen(timeline_comm(tl, slot));
	(void)timeline_find_thread(tl, thread->tid, tl->end_ns);
	totals_fini(&totals);
}

static void ask(const struct timeline *tl)
{
	const struct facts facts = { .complete = true, .first_ns = tl->origin_ns };
	struct verify verify = { 0 };

	for (uint32_t slot = 0; slot < tl->thread_count && slot < THREADS; slot++)
		ask_thread(tl, slot);
	for (uint32_t cpu = 0; cpu < tl->cpu_count && cpu < THREADS; cpu++) {
		walk(tl, tl->cpus[cpu]);
		(void)timeline_running_at(tl, cpu, tl->end_ns);
	}
	for (uint32_t i = 0; i < tl->names.count; i++)
		(void)strlen(timeline_name(tl, i));
	if (tl->thread_count <= VERIFIED)
		verify_timeline(tl, &facts, NULL, &verify);
	verify_fini(&verify);
	(void)timeline_damage(tl);
}

static void open_and_ask(const uint8_t *data, size_t bytes)
{
	struct timeline *tl;

	fuzz_file("index", data, bytes);
	if (index_open(fuzz_dir_path(), &key, &tl, NULL) < 0)
		return;
	ask(tl);
	timeline_free(tl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t *copy = xmalloc(bytes + 1);

	open_and_ask(data, bytes);
	if (bytes)
		memcpy(copy, data, bytes);
	mend(copy, bytes);
	open_and_ask(copy, bytes);
	free(copy);
	return 0;
}
