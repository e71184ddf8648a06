/*
 * chunk.c - pack and unpack the pieces of a track.
 *
 * Entries: the words that occur, each once, then per entry the time since the one
 * before and which word. A wait's index only grows by one as a rule: that is a
 * word of its own, of each kind of wait, so that drawing needs no waits.
 */
#include "timeline/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "timeline/chunk_int.h"
#include "timeline/marks.h"

#define DICT_SLOTS 1024 /* a power of two */

struct dict {
	uint32_t words[DICT_MAX];
	uint32_t count;
	uint16_t index[DICT_SLOTS]; /* hash of the word -> number + 1 */
};

void piece_fini(struct piece *piece)
{
	free(piece->entries);
	free(piece->waits);
	free(piece->edges);
	*piece = (struct piece){ 0 };
}

/* Number of 'word', added when new; DICT_MAX when there is no more room. */
static uint32_t dict_add(struct dict *dict, uint32_t word)
{
	uint32_t at = (word * 0x9e3779b1u) >> 22; /* DICT_SLOTS of them */

	while (dict->index[at]) {
		if (dict->words[dict->index[at] - 1] == word)
			return dict->index[at] - 1u;
		at = (at + 1) & (DICT_SLOTS - 1);
	}
	if (dict->count == DICT_MAX)
		return DICT_MAX;
	dict->words[dict->count++] = word;
	dict->index[at] = (uint16_t)dict->count;
	return dict->count - 1;
}

static bool is_wait(const struct piece *piece, uint32_t word)
{
	return word_kind(word) == WORD_BLOCKED && !(piece->id & TRACK_CPU);
}

/* What an entry that is a wait begins with. */
static uint32_t wait_code(const struct piece *piece, uint32_t word, uint32_t next_wait)
{
	const struct wait *wait = piece_wait(piece, word);
	uint32_t kind = wait ? wait_kind(wait) : (uint32_t)KIND_ELSEWHERE;

	return 2 * kind + (word_arg(word) != next_wait);
}

/* Number the words that occur, but not those of waits. */
static void dict_fill(struct dict *dict, const struct piece *piece)
{
	memset(dict->index, 0, sizeof(dict->index));
	dict->count = 0;
	for (uint32_t i = 0; i < piece->entry_count; i++) {
		if (!is_wait(piece, piece->entries[i].word))
			piece->entries[i].number = dict_add(dict, piece->entries[i].word);
	}
}

static void pack_words(struct pack *pack, const struct piece *piece, struct dict *dict)
{
	dict_fill(dict, piece);
	pack_u64(pack, dict->count);
	for (uint32_t i = 0; i < dict->count; i++)
		pack_word(pack, dict->words[i]);
}

/* 'out_places': where number 'every' of them begins, and 2 * 'every' ..., from the first one on. */
static void pack_entries(struct pack *pack, const struct piece *piece, uint32_t every,
			 uint32_t *out_places)
{
	uint64_t time = piece->entry_count ? piece->entries[0].time : 0;
	uint32_t next_wait = piece->first_wait, to_mark = every;
	size_t begin = pack->count;

	for (uint32_t i = 0; i < piece->entry_count; i++) {
		const struct track_entry *entry = &piece->entries[i];
		uint8_t *at = pack_room(pack, 3 * PACK_MAX);
		uint32_t number;

		if (to_mark-- == 0) {
			*out_places++ = (uint32_t)(pack->count - begin);
			to_mark = every - 1;
		}
		at = pack_at(at, entry->time - time);
		time = entry->time;
		if (is_wait(piece, entry->word)) {
			uint32_t wait = word_arg(entry->word);

			at = pack_at(at, wait_code(piece, entry->word, next_wait));
			if (wait != next_wait)
				at = pack_at(at, wait);
			next_wait = wait + 1;
		} else {
			number = entry->number;
			at = pack_at(at, WORDS_FROM + number);
			if (number == DICT_MAX)
				at = pack_at(at, entry->word);
		}
		pack->count = (size_t)(at - pack->bytes);
	}
}

static void pack_actor(struct pack *pack, const struct actor *actor, uint64_t about_ns)
{
	if (!actor->time_ns && actor->slot == SLOT_NONE && actor->kind == ACTOR_NONE &&
	    !actor->name && !actor->word && !actor->below && !actor->signal) {
		pack_u64(pack, 0);
		return;
	}
	pack_u64(pack, actor->kind + 1u);
	pack_i64(pack, (int64_t)(actor->time_ns - about_ns));
	pack_u64(pack, (uint32_t)(actor->slot + 1));
	pack_word(pack, actor->word);
	pack_word(pack, actor->below);
	pack_u64(pack, actor->name);
	pack_u64(pack, actor->signal);
}

static void pack_waits(struct pack *pack, const struct piece *piece)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < piece->wait_count; i++) {
		const struct wait *wait = &piece->waits[i];

		pack_i64(pack, (int64_t)(wait->begin_ns - before));
		before = wait->begin_ns;
		pack_u64(pack, wait->woken_ns ? wait->woken_ns - before + 1 : 0);
		pack_word(pack, wait->in);
		pack_u64(pack, wait->object);
		pack_u64(pack, wait->stack);
		pack_i64(pack, wait->fd);
		pack_u64(pack, wait->flags);
		pack_actor(pack, &wait->waker, wait->woken_ns);
		pack_actor(pack, &wait->origin, wait->woken_ns);
	}
}

static void pack_edges(struct pack *pack, const struct piece *piece)
{
	uint64_t time = 0;

	for (uint32_t i = 0; i < piece->edge_count; i++) {
		pack_i64(pack, (int64_t)(piece->edges[i].time_ns - time));
		time = piece->edges[i].time_ns;
		pack_u64(pack, piece->edges[i].slot);
		pack_u64(pack, piece->edges[i].wait);
	}
}

/* Sums as they were before the piece, longest spans as they are in it. */
static void pack_run(struct pack *pack, const struct run *before, const struct total *rows,
		     uint32_t row_count, const struct totals *after)
{
	pack_u64(pack, before->now);
	pack_u64(pack, before->wait_begin);
	pack_u64(pack, before->call_begin);
	pack_word(pack, before->word);
	pack_word(pack, before->wait_in);
	pack_u64(pack, before->wait_kind);
	pack_u64(pack, (uint32_t)(before->call + 1));
	pack_u64(pack, (uint32_t)(before->cpu + 1));
	pack_u64(pack, (uint32_t)(before->ran_on + 1));
	pack_u64(pack, before->on_cpu | before->counted << 1 | before->call_known << 2 |
			       before->vague << 3);
	pack_u64(pack, before->vague_ns);
	pack_u64(pack, after->count);
	for (uint32_t i = 0; i < after->count; i++) {
		const struct total *row = &after->rows[i];

		pack_u64(pack, total_kind(row->key));
		pack_word(pack, total_a(row->key));
		pack_u64(pack, total_b(row->key));
		pack_u64(pack, i < row_count ? rows[i].ns : 0);
		pack_u64(pack, i < row_count ? rows[i].count : 0);
		pack_u64(pack, row->max_ns);
	}
}

static void feed_piece(struct run *run, const struct piece *piece)
{
	static const struct wait unknown = { .fd = -1 };

	for (uint32_t i = 0; i < run->totals.count; i++)
		run->totals.rows[i].max_ns = 0;
	for (uint32_t i = 0; i < piece->entry_count; i++) {
		uint32_t word = piece->entries[i].word;
		const struct wait *wait = piece_wait(piece, word);

		run_feed(run, piece->entries[i].time, word, wait ? wait : &unknown);
	}
}

static void pack_sums(struct pack *pack, const struct piece *piece, struct run *run,
		      struct mark_sums *out_sums)
{
	struct run before;
	struct total *rows;
	uint32_t count;

	run_settle(run);
	marks_take_run(run, out_sums);
	before = *run;
	count = run->totals.count;
	rows = xcalloc(count + 1, sizeof(*rows));
	if (count)
		memcpy(rows, run->totals.rows, count * sizeof(*rows));
	feed_piece(run, piece);
	pack_run(pack, &before, rows, count, &run->totals);
	free(rows);
}

/* Entries, and of a thread their marks. */
static void pack_marked(struct pack *pack, const struct piece *piece, struct mark_sums *sums,
			struct chunk_head *head)
{
	static _Thread_local struct dict dict;
	uint32_t every = piece->mark_every ? piece->mark_every : MARKS_EVERY;
	AUTO_FREE uint32_t *places = xcalloc(piece->entry_count / every + 1, sizeof(*places));
	size_t part = pack->count;

	pack_words(pack, piece, &dict);
	pack_entries(pack, piece, every, places);
	head->entry_bytes = (uint32_t)(pack->count - part);
	part = pack->count;
	if (sums)
		marks_pack(pack, piece, sums, every, places);
	head->mark_bytes = (uint32_t)(pack->count - part);
}

uint32_t chunk_pack(struct pack *pack, const struct piece *piece, struct run *run)
{
	size_t begin = pack->count, part;
	struct mark_sums sums;
	struct chunk_head head = {
		.magic = CHUNK_MAGIC,
		.start = piece->entry_count ? piece->entries[0].time : 0,
		.id = piece->id,
		.first = piece->first,
		.first_wait = piece->first_wait,
		.first_edge = piece->first_edge,
		.entry_count = piece->entry_count,
		.wait_count = piece->wait_count,
		.edge_count = piece->edge_count,
	};

	(void)pack_room(pack, sizeof(head));
	pack->count += sizeof(head);
	part = pack->count;
	if (run)
		pack_sums(pack, piece, run, &sums);
	head.run_bytes = (uint32_t)(pack->count - part);
	pack_marked(pack, piece, run ? &sums : NULL, &head);
	part = pack->count;
	pack_waits(pack, piece);
	head.wait_bytes = (uint32_t)(pack->count - part);
	part = pack->count;
	pack_edges(pack, piece);
	head.edge_bytes = (uint32_t)(pack->count - part);
	head.bytes = (uint32_t)(pack->count - begin);
	memcpy(pack->bytes + begin, &head, sizeof(head));
	part = offsetof(struct chunk_head, start);
	head.hash = hash_bytes(pack->bytes + begin + part, head.bytes - part, 0);
	memcpy(pack->bytes + begin, &head, sizeof(head));
	return head.bytes;
}

/* ------------------------------------------------------------------- unpack */

void chunk_fini(struct chunk *chunk)
{
	free(chunk->bytes);
	free(chunk->entries);
	free(chunk->waits);
	free(chunk->edges);
	*chunk = (struct chunk){ 0 };
}

/* One more word of a track, checked: nothing behind it looks again. */
static bool word_is_sane(uint32_t word, uint32_t id, const struct chunk_limits *limits)
{
	if (id & TRACK_CPU)
		return word < limits->thread_count || word == SLOT_NONE;
	return word_kind(word) < WORD_KIND_COUNT;
}

static bool unpack_dict(struct unpack *from, struct dict *dict)
{
	uint64_t count = unpack_u64(from);

	if (count > DICT_MAX)
		return false;
	dict->count = (uint32_t)count;
	for (uint32_t i = 0; i < dict->count; i++)
		dict->words[i] = unpack_word(from);
	return !from->failed;
}

/* The word of the next entry; a wait's index is noted in *next_wait. */
static uint32_t unpack_entry_word(struct unpack *from, const struct dict *dict, uint32_t *next_wait)
{
	uint64_t number = unpack_u64(from);

	if (number < WORDS_FROM) {
		uint32_t wait = number & 1 ? unpack_u32(from) : *next_wait;

		*next_wait = wait + 1;
		return word_make(WORD_BLOCKED, wait);
	}
	if (number - WORDS_FROM < dict->count)
		return dict->words[number - WORDS_FROM];
	from->failed |= number != WORDS_FROM + DICT_MAX;
	return unpack_u32(from);
}

bool chunk_unpack_entries(struct chunk *chunk, const struct chunk_limits *limits)
{
	static _Thread_local struct dict dict;
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *at = chunk->bytes + sizeof(head) + head.run_bytes;
	struct unpack from = { at, at + head.entry_bytes, false };
	uint64_t time = head.start;
	uint32_t next_wait = head.first_wait;

	if (chunk->entry_cap < head.entry_count) {
		chunk->entry_cap = head.entry_count;
		free(chunk->entries);
		chunk->entries = xcalloc(chunk->entry_cap, sizeof(*chunk->entries));
	}
	if (!unpack_dict(&from, &dict))
		return false;
	for (uint32_t i = 0; i < head.entry_count; i++) {
		uint64_t delta = unpack_u64(&from);
		uint32_t word = unpack_entry_word(&from, &dict, &next_wait);

		if (delta > UINT64_MAX / 2 - time || !word_is_sane(word, head.id, limits))
			return false;
		time += delta;
		chunk->entries[i] = (struct track_entry){ .time = time, .word = word };
	}
	chunk->entry_count = head.entry_count;
	chunk->has_entries = true;
	return !from.failed && from.at == from.end;
}

/* Every entry, wait and edge takes two bytes at least: no count asks for more memory than that. */
static bool head_is_sane(const struct chunk_head *head)
{
	uint64_t parts = (uint64_t)head->run_bytes + head->entry_bytes + head->mark_bytes +
			 head->wait_bytes + head->edge_bytes;

	return head->bytes == sizeof(*head) + parts && head->entry_count > 0 &&
	       head->entry_count <= head->entry_bytes / 2 &&
	       head->wait_count <= head->wait_bytes / 2 &&
	       head->edge_count <= head->edge_bytes / 2 && head->start <= UINT64_MAX / 2;
}

const char *chunk_open(struct chunk *chunk, const struct chunk_ref *ref, uint32_t id)
{
	const size_t skip = offsetof(struct chunk_head, start);
	struct chunk_head head;

	chunk->entry_count = chunk->wait_count = chunk->edge_count = 0;
	chunk->has_entries = chunk->has_waits = chunk->has_edges = false;
	if (chunk->byte_count < sizeof(head))
		return "it is cut short";
	head = chunk_head_of(chunk);
	if (head.magic != CHUNK_MAGIC || head.bytes != chunk->byte_count)
		return "no chunk begins there";
	if (hash_bytes(chunk->bytes + skip, chunk->byte_count - skip, 0) != head.hash)
		return "its checksum is wrong";
	if (head.id != id || head.start != ref->start || head.first != ref->first ||
	    head.first_wait != ref->first_wait || head.first_edge != ref->first_edge)
		return "it belongs elsewhere";
	if (!head_is_sane(&head))
		return "its counts are invalid";
	chunk->first_wait = head.first_wait;
	chunk->wait_count = head.wait_count;
	chunk->edge_count = head.edge_count;
	return NULL;
}

static bool slot_is_sane(uint32_t slot, const struct chunk_limits *limits)
{
	return slot < limits->thread_count || slot == SLOT_NONE;
}

static bool unpack_actor(struct unpack *from, struct actor *actor, uint64_t about_ns,
			 const struct chunk_limits *limits)
{
	uint64_t kind = unpack_u64(from);

	*actor = (struct actor){ .slot = SLOT_NONE };
	if (kind == 0)
		return true;
	actor->kind = (uint8_t)(kind - 1);
	actor->time_ns = about_ns + (uint64_t)unpack_i64(from);
	actor->slot = unpack_u32(from) - 1;
	actor->word = unpack_word(from);
	actor->below = unpack_word(from);
	actor->name = unpack_u32(from);
	actor->signal = (uint8_t)unpack_u64(from);
	return kind - 1 <= ACTOR_SOFTIRQ && slot_is_sane(actor->slot, limits) &&
	       actor->name <= limits->name_count;
}

static bool unpack_wait(struct unpack *from, struct wait *wait, uint64_t before,
			const struct chunk_limits *limits)
{
	uint64_t woken;

	*wait = (struct wait){ .begin_ns = before + (uint64_t)unpack_i64(from) };
	woken = unpack_u64(from);
	wait->woken_ns = woken ? wait->begin_ns + woken - 1 : 0;
	wait->in = unpack_word(from);
	wait->object = unpack_u32(from);
	wait->stack = unpack_u32(from);
	wait->fd = (int32_t)unpack_i64(from);
	wait->flags = unpack_u32(from);
	return unpack_actor(from, &wait->waker, wait->woken_ns, limits) &&
	       unpack_actor(from, &wait->origin, wait->woken_ns, limits) &&
	       wait->object <= limits->name_count && wait->stack <= limits->name_count;
}

bool chunk_unpack_waits(struct chunk *chunk, const struct chunk_limits *limits)
{
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *at =
		chunk->bytes + sizeof(head) + head.run_bytes + head.entry_bytes + head.mark_bytes;
	struct unpack from = { at, at + head.wait_bytes, false };
	uint64_t before = 0;

	if (chunk->has_waits)
		return true;
	if (chunk->wait_cap < head.wait_count) {
		chunk->wait_cap = head.wait_count;
		chunk->waits = xrealloc(chunk->waits, chunk->wait_cap, sizeof(*chunk->waits));
	}
	for (uint32_t i = 0; i < head.wait_count; i++) {
		if (!unpack_wait(&from, &chunk->waits[i], before, limits) || from.failed)
			return false;
		before = chunk->waits[i].begin_ns;
	}
	chunk->has_waits = true;
	return from.at == from.end;
}

bool chunk_unpack_edges(struct chunk *chunk, const struct chunk_limits *limits)
{
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *end = chunk->bytes + chunk->byte_count;
	struct unpack from = { end - head.edge_bytes, end, false };
	uint64_t time = 0;

	if (chunk->has_edges)
		return true;
	if (chunk->edge_cap < head.edge_count) {
		chunk->edge_cap = head.edge_count;
		chunk->edges = xrealloc(chunk->edges, chunk->edge_cap, sizeof(*chunk->edges));
	}
	for (uint32_t i = 0; i < head.edge_count; i++) {
		struct tl_edge *edge = &chunk->edges[i];

		time += (uint64_t)unpack_i64(&from);
		edge->time_ns = time;
		edge->slot = unpack_u32(&from);
		edge->wait = unpack_u32(&from);
		if (from.failed || edge->slot >= limits->thread_count)
			return false;
	}
	chunk->has_edges = true;
	return from.at == from.end;
}

static void unpack_row(struct unpack *from, bool with_max, struct totals *totals)
{
	uint64_t kind = unpack_u64(from);
	uint32_t a = unpack_word(from);
	uint64_t b = unpack_u64(from);
	uint64_t ns = unpack_u64(from), count = unpack_u64(from), max_ns = unpack_u64(from);
	struct total *row;

	from->failed |= kind >= TOTAL_KIND_COUNT || b > 0xfffffff;
	if (from->failed)
		return;
	row = totals_row(totals, total_key((enum total_kind)kind, a, (uint32_t)b));
	row->ns = ns;
	row->count = count;
	row->max_ns = with_max ? max_ns : 0;
}

/* All but the rows. */
static void unpack_run_head(struct unpack *from, struct run *run)
{
	uint64_t flags;

	run->now = unpack_u64(from);
	run->wait_begin = unpack_u64(from);
	run->call_begin = unpack_u64(from);
	run->word = unpack_word(from);
	run->wait_in = unpack_word(from);
	run->wait_kind = unpack_u32(from);
	run->call = unpack_u32(from) - 1;
	run->cpu = unpack_u32(from) - 1;
	run->ran_on = unpack_u32(from) - 1;
	flags = unpack_u64(from);
	run->on_cpu = flags & 1;
	run->counted = flags >> 1 & 1;
	run->call_known = flags >> 2 & 1;
	run->vague = flags >> 3 & 1;
	run->vague_ns = unpack_u64(from);
}

bool chunk_unpack_run(const struct chunk *chunk, bool with_max, struct run *out_run)
{
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *at = chunk->bytes + sizeof(head);
	struct unpack from = { at, at + head.run_bytes, false };
	uint64_t rows;

	totals_clear(&out_run->totals);
	unpack_run_head(&from, out_run);
	run_restart(out_run);
	rows = unpack_u64(&from);
	for (uint64_t i = 0; i < rows && !from.failed; i++)
		unpack_row(&from, with_max, &out_run->totals);
	return !from.failed && from.at == from.end && word_kind(out_run->word) < WORD_KIND_COUNT &&
	       out_run->now <= head.start;
}

bool chunk_unpack_places(const struct chunk *chunk, struct run *out_run)
{
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *at = chunk->bytes + sizeof(head);
	struct unpack from = { at, at + head.run_bytes, false };

	unpack_run_head(&from, out_run);
	out_run->call = RUN_NO_CALL;
	return !from.failed && word_kind(out_run->word) < WORD_KIND_COUNT &&
	       out_run->now <= head.start;
}
