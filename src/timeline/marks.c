/*
 * marks.c - pack the marks of a chunk, and walk along its entries with their help.
 *
 *	every  now  sort  sums  | mark: bytes  wait  sort  sums | ...
 *
 * Sums are a set of sorts and the ns of each: before the chunk, then from mark to mark.
 */
#include "timeline/marks.h"

#include <string.h>

_Static_assert(MARK_SORTS <= 32, "a set of sorts is a word");

/* ---------------------------------------------------------------------- pack */

static uint8_t sort_of(uint32_t word, uint32_t wait_kind)
{
	enum word_kind kind = word_kind(word);

	return (uint8_t)(kind == WORD_BLOCKED ? WORD_KIND_COUNT + wait_kind : kind);
}

void marks_take_run(const struct run *run, struct mark_sums *out_sums)
{
	*out_sums = (struct mark_sums){ .now = run->now };
	out_sums->sort = sort_of(run->word, run->wait_kind);
	for (uint32_t i = 0; i < run->totals.count; i++) {
		const struct total *row = &run->totals.rows[i];
		enum total_kind kind = total_kind(row->key);

		if (kind == TOTAL_WAIT)
			out_sums->ns[WORD_KIND_COUNT + total_b(row->key)] += row->ns;
		else if (kind == TOTAL_STATE && word_kind(total_a(row->key)) != WORD_BLOCKED)
			out_sums->ns[word_kind(total_a(row->key))] += row->ns;
	}
}

/* And begin again. */
static void pack_sums(struct pack *pack, struct mark_sums *sums)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < MARK_SORTS; i++)
		set |= (uint32_t)(sums->ns[i] != 0) << i;
	pack_u64(pack, sums->sort);
	pack_u64(pack, set);
	for (uint32_t i = 0; i < MARK_SORTS; i++) {
		if (sums->ns[i])
			pack_u64(pack, sums->ns[i]);
		sums->ns[i] = 0;
	}
}

void marks_pack(struct pack *pack, const struct piece *piece, struct mark_sums *sums,
		uint32_t every, const uint32_t *places)
{
	uint32_t next_wait = piece->first_wait, told_wait = next_wait, place = 0;

	pack_u64(pack, every);
	pack_u64(pack, sums->now);
	pack_sums(pack, sums);
	for (uint32_t i = 0; i < piece->entry_count; i++) {
		uint32_t word = piece->entries[i].word;
		const struct wait *wait = piece_wait(piece, word);

		if (i && i % every == 0) {
			pack_u64(pack, *places - place);
			place = *places++;
			pack_i64(pack, (int64_t)next_wait - told_wait);
			told_wait = next_wait;
			pack_sums(pack, sums);
		}
		if (word_kind(word) == WORD_BLOCKED && !wait)
			return; /* its kind is not known here: from there on every entry is looked at */
		sums->ns[sums->sort] += piece->entries[i].time - sums->now;
		sums->now = piece->entries[i].time;
		sums->sort = sort_of(word, wait ? wait_kind(wait) : 0);
		next_wait = wait ? word_arg(word) + 1 : next_wait;
	}
}

/* ---------------------------------------------------------------------- walk */

static bool unpack_sort(struct unpack *from, const struct tl_classes *classes, uint8_t *out_class)
{
	uint64_t sort = unpack_u64(from);

	if (sort >= MARK_SORTS)
		return false;
	*out_class = sort < WORD_KIND_COUNT ? classes->of_word[sort]
					    : classes->of_wait[sort - WORD_KIND_COUNT];
	return true;
}

/* What is in force there, and the sums up to there. *out_ns: how long they are together. */
static bool unpack_sums(struct unpack *from, const struct tl_classes *classes,
			struct marks_place *place, uint64_t *out_ns)
{
	uint64_t set;

	*out_ns = 0;
	if (!unpack_sort(from, classes, &place->in_class))
		return false;
	set = unpack_u64(from);
	if (set >> MARK_SORTS)
		return false;
	for (; set; set &= set - 1) {
		uint32_t sort = (uint32_t)__builtin_ctzll(set);
		uint64_t ns = unpack_u64(from);

		place->ns[sort < WORD_KIND_COUNT ? classes->of_word[sort]
						 : classes->of_wait[sort - WORD_KIND_COUNT]] += ns;
		*out_ns += ns;
	}
	return !from->failed;
}

/* Let walk->mark be the next one. */
static void read_mark(struct marks_walk *walk, const struct chunk *chunk,
		      const struct tl_classes *classes)
{
	struct unpack from = { chunk->bytes + walk->marks_at, chunk->bytes + walk->marks_end,
			       false };
	struct marks_place *mark = &walk->mark;
	uint64_t bytes, ns;

	if (walk->marks_at == walk->marks_end) {
		mark->now = UINT64_MAX;
		return;
	}
	bytes = unpack_u64(&from);
	mark->next_wait += (uint32_t)unpack_i64(&from);
	if (!unpack_sums(&from, classes, mark, &ns) || bytes > walk->entries_end - mark->at ||
	    ns > UINT64_MAX / 2 - mark->now || walk->every >= walk->count - mark->taken) {
		walk->failed = true;
		mark->now = UINT64_MAX;
		return;
	}
	mark->at += (uint32_t)bytes;
	mark->now += ns;
	mark->taken += walk->every;
	walk->marks_at = (uint32_t)(from.at - chunk->bytes);
}

/* The time of the next entry, which follows the last one at 'time'. */
static void read_next(struct marks_walk *walk, struct unpack *from, uint64_t time)
{
	uint64_t delta;

	if (walk->here.taken == walk->count) {
		walk->failed |= from->at != from->end;
		walk->next = UINT64_MAX;
		return;
	}
	delta = unpack_u64(from);
	walk->next = time + delta;
	if (from->failed || delta > UINT64_MAX / 2 - time)
		walk->failed = true;
}

static bool unpack_words(struct marks_walk *walk, struct unpack *from,
			 const struct tl_classes *classes)
{
	uint64_t count = unpack_u64(from);

	if (count > DICT_MAX)
		return false;
	walk->words = (uint32_t)count;
	for (uint32_t i = 0; i < walk->words; i++) {
		enum word_kind kind = word_kind(unpack_word(from));

		if (kind >= WORD_KIND_COUNT)
			return false;
		walk->class_of[i] = classes->of_word[kind];
	}
	return !from->failed;
}

static bool begin_sums(struct marks_walk *walk, const struct chunk *chunk,
		       const struct tl_classes *classes, uint64_t start)
{
	struct unpack from = { chunk->bytes + walk->marks_at, chunk->bytes + walk->marks_end,
			       false };
	struct marks_place *mark = &walk->mark;
	uint64_t ns;

	walk->every = unpack_u32(&from);
	memset(mark->ns, 0, sizeof(mark->ns));
	mark->now = unpack_u64(&from);
	if (!unpack_sums(&from, classes, mark, &ns) || !walk->every || mark->now > start)
		return false;
	walk->marks_at = (uint32_t)(from.at - chunk->bytes);
	return true;
}

bool marks_walk_begin(struct marks_walk *walk, const struct chunk *chunk,
		      const struct tl_classes *classes)
{
	struct chunk_head head = chunk_head_of(chunk);
	const uint8_t *at = chunk->bytes + sizeof(head) + head.run_bytes;
	struct unpack from = { at, at + head.entry_bytes, false };

	walk->count = head.entry_count;
	walk->marks_at = walk->entries_end = (uint32_t)(from.end - chunk->bytes);
	walk->marks_end = walk->marks_at + head.mark_bytes;
	walk->failed = false;
	if (!begin_sums(walk, chunk, classes, head.start) || !unpack_words(walk, &from, classes))
		return false;
	walk->mark.at = (uint32_t)(from.at - chunk->bytes);
	walk->mark.taken = 0;
	walk->mark.next_wait = head.first_wait;
	walk->here = walk->mark;
	read_next(walk, &from, head.start);
	walk->here.at = (uint32_t)(from.at - chunk->bytes);
	read_mark(walk, chunk, classes);
	return !walk->failed;
}

/* To the last mark before 'time'. */
static void skip_to_mark(struct marks_walk *walk, const struct chunk *chunk,
			 const struct tl_classes *classes, uint64_t time)
{
	struct unpack from = { NULL, chunk->bytes + walk->entries_end, false };

	while (walk->mark.now < time) {
		walk->here = walk->mark;
		read_mark(walk, chunk, classes);
	}
	walk->since = walk->here.now;
	walk->grown = UINT32_MAX;
	from.at = chunk->bytes + walk->here.at;
	read_next(walk, &from, walk->here.now);
	walk->here.at = (uint32_t)(from.at - chunk->bytes);
}

/* The class of an entry whose number tells less than most. True: it is asked for. */
static __attribute__((noinline)) bool read_class(struct marks_walk *walk, struct unpack *from,
						 uint64_t number, const struct tl_classes *classes,
						 uint8_t *out_class)
{
	enum word_kind kind;

	if (number < WORDS_FROM) {
		uint32_t wait = number & 1 ? unpack_u32(from) : walk->here.next_wait;

		walk->here.next_wait = wait + 1;
		walk->wait = wait;
		if (number / 2 == KIND_ELSEWHERE)
			return true;
		*out_class = classes->of_wait[number / 2];
		return false;
	}
	kind = word_kind(unpack_u32(from));
	walk->failed |= number != WORDS_FROM + DICT_MAX || kind >= WORD_KIND_COUNT;
	*out_class = classes->of_word[kind < WORD_KIND_COUNT ? kind : WORD_UNCERTAIN];
	return false;
}

/*
 * The hot loop: what changes is in local variables, which nothing else sees. The first entry is before 'time'. True: a
 * class is asked for.
 */
static bool walk_entries(struct marks_walk *walk, const struct chunk *chunk,
			 const struct tl_classes *classes, uint64_t time)
{
	struct unpack from = { chunk->bytes + walk->here.at, chunk->bytes + walk->entries_end,
			       false };
	uint64_t now = walk->here.now, next = walk->next;
	uint32_t grown = walk->grown, left = walk->count - walk->here.taken;
	uint8_t in_class = walk->here.in_class;
	bool asks = false;

	do {
		uint64_t number = unpack_u64(&from);

		walk->here.ns[in_class] += next - now;
		grown |= 1u << in_class;
		now = next;
		if (number - WORDS_FROM < walk->words) {
			in_class = walk->class_of[number - WORDS_FROM];
		} else {
			struct unpack slow = from;

			asks = read_class(walk, &slow, number, classes, &in_class);
			from = slow;
		}
		left--;
		next = left ? now + unpack_u64(&from) : UINT64_MAX;
	} while (next < time && next >= now && !asks && !from.failed);
	walk->since = walk->here.now = now;
	walk->here.in_class = in_class;
	walk->here.taken = walk->count - left;
	walk->here.at = (uint32_t)(from.at - chunk->bytes);
	walk->grown = grown;
	walk->next = next;
	walk->failed |=
		from.failed || next < now || (left ? next > UINT64_MAX / 2 : from.at != from.end);
	return asks;
}

bool marks_walk_to(struct marks_walk *walk, const struct chunk *chunk,
		   const struct tl_classes *classes, uint64_t time)
{
	bool asks = false;

	if (walk->mark.now < time)
		skip_to_mark(walk, chunk, classes, time);
	if (walk->next < time && !walk->failed)
		asks = walk_entries(walk, chunk, classes, time);
	if (__builtin_expect(walk->failed, 0)) {
		walk->next = walk->mark.now = UINT64_MAX;
		return false;
	}
	return asks;
}
