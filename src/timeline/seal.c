/* seal.c - the queue of pieces, the thread that packs them, and the way back. */
#include "timeline/seal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "timeline/chunk.h"
#include "timeline/timeline.h"

#define QUEUE	    32u
#define WRITE_BYTES (1u << 20)
#define TAIL_MAX    65536u /* entries; then waits that may still change are sealed, too */
#define FEW_THREADS 256u   /* up to so many have chunks of full size */

/* What the sealer knows of one track. */
struct sealed {
	struct chunk_ref *refs; /* owned */
	uint32_t count;
	uint32_t cap;
	struct run *run; /* owned; NULL = nothing sealed yet, or a CPU */
};

struct seal {
	struct timeline *timeline;
	int fd;
	uint64_t offset;	       /* in the store, of the first byte in 'out' */
	struct pack out;	       /* packed, not written yet */
	int rc;			       /* what writing failed with; 0 = nothing */
	struct sealed *threads, *cpus; /* owned */
	size_t thread_cap, cpu_cap;
	uint32_t finals; /* threads that are gone; the writer's own */

	/* Under 'lock'. All above belongs to the sealer while 'busy' or queued > 0. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct piece queue[QUEUE];
	uint32_t head;
	uint32_t queued;
	bool busy;
	bool stop;
	bool threaded;
	pthread_t thread;
};

static struct sealed *seal_grow(struct sealed *items, size_t *cap, size_t index)
{
	size_t more = *cap ? *cap : 64;

	if (index < *cap)
		return items;
	while (more <= index)
		more *= 2;
	items = xrealloc(items, more, sizeof(*items));
	memset(items + *cap, 0, (more - *cap) * sizeof(*items));
	*cap = more;
	return items;
}

static struct sealed *sealed_of(struct seal *seal, uint32_t id)
{
	uint32_t index = id & ~TRACK_CPU;

	if (id & TRACK_CPU) {
		seal->cpus = seal_grow(seal->cpus, &seal->cpu_cap, index);
		return &seal->cpus[index];
	}
	seal->threads = seal_grow(seal->threads, &seal->thread_cap, index);
	return &seal->threads[index];
}

/* ----------------------------------------------------------------- the store */

static void write_out(struct seal *seal)
{
	if (seal->rc == 0)
		seal->rc = file_write_at(seal->fd, seal->offset, seal->out.bytes, seal->out.count);
	seal->offset += seal->out.count;
	seal->out.count = 0;
}

static bool is_same(const struct piece *piece, uint32_t word, uint32_t other)
{
	if (word == other)
		return true;
	return !(piece->id & TRACK_CPU) && word_plain(word) == word_plain(other);
}

static void note_changes(const struct piece *piece, struct chunk_ref *ref)
{
	for (uint32_t i = 1; i < piece->entry_count; i++) {
		uint64_t time = piece->entries[i].time;

		if (is_same(piece, piece->entries[i].word, piece->entries[i - 1].word))
			continue;
		if (!ref->last_change)
			ref->first_change = time;
		else if (time - ref->last_change > ref->longest)
			ref->longest = time - ref->last_change;
		ref->last_change = time;
	}
}

static void add_ref(struct sealed *sealed, const struct piece *piece, uint64_t offset,
		    uint32_t bytes)
{
	if (sealed->count == sealed->cap) {
		sealed->cap = sealed->cap ? sealed->cap * 2 : 1;
		sealed->refs = xrealloc(sealed->refs, sealed->cap, sizeof(*sealed->refs));
	}
	sealed->refs[sealed->count++] = (struct chunk_ref){
		.offset = offset,
		.start = piece->entries[0].time,
		.bytes = bytes,
		.first = piece->first,
		.first_wait = piece->first_wait,
		.first_edge = piece->first_edge,
	};
	note_changes(piece, &sealed->refs[sealed->count - 1]);
}

/* Pack a piece and note where it went. Frees what it owns. */
static void seal_piece(struct seal *seal, struct piece *piece)
{
	struct sealed *sealed = sealed_of(seal, piece->id);
	uint64_t offset = seal->offset + seal->out.count;
	uint32_t bytes;

	if (!sealed->run && !(piece->id & TRACK_CPU)) {
		sealed->run = xmalloc(sizeof(*sealed->run));
		run_init(sealed->run, piece->idle_cpu);
	}
	bytes = chunk_pack(&seal->out, piece, sealed->run);
	add_ref(sealed, piece, offset, bytes);
	if (sealed->run && piece->final) {
		/* The thread is gone. Should it come back, its sums are in the store. */
		run_fini(sealed->run);
		free(sealed->run);
		sealed->run = NULL;
	}
	if (seal->out.count >= WRITE_BYTES)
		write_out(seal);
	piece_fini(piece);
}

static void *work(void *context)
{
	struct seal *seal = context;

	pthread_mutex_lock(&seal->lock);
	for (;;) {
		struct piece piece;

		while (!seal->queued && !seal->stop)
			pthread_cond_wait(&seal->changed, &seal->lock);
		if (!seal->queued)
			break;
		piece = seal->queue[seal->head];
		seal->head = (seal->head + 1) % QUEUE;
		seal->queued--;
		seal->busy = true;
		pthread_mutex_unlock(&seal->lock);
		seal_piece(seal, &piece);
		pthread_mutex_lock(&seal->lock);
		seal->busy = false;
		pthread_cond_broadcast(&seal->changed);
	}
	pthread_mutex_unlock(&seal->lock);
	return NULL;
}

static void hand_over(struct seal *seal, const struct piece *piece)
{
	struct piece own = *piece;

	if (!seal->threaded) {
		seal_piece(seal, &own);
		return;
	}
	pthread_mutex_lock(&seal->lock);
	while (seal->queued == QUEUE)
		pthread_cond_wait(&seal->changed, &seal->lock);
	seal->queue[(seal->head + seal->queued++) % QUEUE] = own;
	pthread_cond_broadcast(&seal->changed);
	pthread_mutex_unlock(&seal->lock);
}

/* Wait until the sealer has nothing to do: what is its own is ours until the next piece. */
static void seal_drain(struct seal *seal)
{
	if (!seal->threaded)
		return;
	pthread_mutex_lock(&seal->lock);
	while (seal->queued || seal->busy)
		pthread_cond_wait(&seal->changed, &seal->lock);
	pthread_mutex_unlock(&seal->lock);
}

struct seal *seal_new(struct timeline *timeline, int fd, uint64_t offset)
{
	struct seal *seal = xcalloc(1, sizeof(*seal));
	cpu_set_t set;

	seal->timeline = timeline;
	seal->fd = fd;
	seal->offset = offset;
	pthread_mutex_init(&seal->lock, NULL);
	pthread_cond_init(&seal->changed, NULL);
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1)
		seal->threaded = pthread_create(&seal->thread, NULL, work, seal) == 0;
	return seal;
}

/* ------------------------------------------------------------------- sealing */

/* Many threads: smaller chunks, so that all their tails stay within bounds. */
static uint32_t chunk_entries(const struct seal *seal)
{
	uint32_t entries = SEAL_CHUNK, living = seal->timeline->thread_count - seal->finals;

	if (seal->timeline->chunk_entries)
		return seal->timeline->chunk_entries;
	for (uint32_t few = FEW_THREADS; few < living && entries > SEAL_ENTRIES; few *= 2)
		entries /= 2;
	return entries;
}

/* Where a thread's tail may be cut, and which of its waits may go: see seal_track(). */
static uint32_t find_cut(const struct tl_thread *thread, uint32_t cut, uint32_t settled)
{
	const struct track *track = &thread->track;

	for (uint32_t i = cut; i > track->base; i--) {
		uint32_t word = track->tail[i - 1 - track->base].word;

		if (word_kind(word) != WORD_BLOCKED)
			continue;
		if (word_arg(word) < settled)
			break;
		cut = i - 1;
	}
	return cut;
}

/* Waits that entries from 'cut' on speak of stay with them. */
static uint32_t waits_before(const struct tl_thread *thread, uint32_t cut, uint32_t settled)
{
	const struct track *track = &thread->track;

	for (uint32_t i = cut; i < track->count; i++) {
		uint32_t word = track->tail[i - track->base].word;

		if (word_kind(word) == WORD_BLOCKED && word_arg(word) < settled)
			settled = word_arg(word);
	}
	return settled > thread->wait_base ? settled : thread->wait_base;
}

/* Move the first 'count' of 'used' items out; the others move to new memory as large, but for a tail that had to grow. */
static void *split(void **items, uint32_t *cap, uint32_t count, uint32_t used, size_t bytes)
{
	uint8_t *old = *items;
	uint32_t kept = used - count;

	*items = NULL;
	if (*cap > 2 * SEAL_CHUNK && kept < SEAL_CHUNK)
		*cap = SEAL_CHUNK;
	if (kept) {
		*items = xrealloc(NULL, *cap, bytes);
		memcpy(*items, old + count * bytes, kept * bytes);
	} else {
		*cap = 0;
	}
	return old;
}

static void cut_thread(struct piece *piece, struct tl_thread *thread, uint32_t waits_end)
{
	uint64_t until = piece->entry_count < thread->track.count - thread->track.base
				 ? thread->track.tail[piece->entry_count].time +
					   thread->track.timeline->origin_ns
				 : UINT64_MAX;
	uint32_t waits = thread->wait_count - thread->wait_base;
	uint32_t edges = thread->edge_count - thread->edge_base;

	piece->idle_cpu = thread_idle_cpu(thread);
	piece->first_wait = thread->wait_base;
	piece->wait_count = waits_end - thread->wait_base;
	if (piece->wait_count)
		piece->waits = split((void **)&thread->waits, &thread->wait_cap, piece->wait_count,
				     waits, sizeof(*piece->waits));
	thread->wait_base = waits_end;
	piece->first_edge = thread->edge_base;
	while (piece->edge_count < edges && thread->edges[piece->edge_count].time_ns < until)
		piece->edge_count++;
	if (piece->edge_count)
		piece->edges = split((void **)&thread->edges, &thread->edge_cap, piece->edge_count,
				     edges, sizeof(*piece->edges));
	thread->edge_base += piece->edge_count;
}

/* Seal [base, cut). All of it: nothing more is expected. */
static void cut_track(struct seal *seal, struct track *track, uint32_t cut, uint32_t waits_end)
{
	struct piece piece = { .id = track->id, .first = track->base, .idle_cpu = SLOT_NONE };
	uint32_t used = track->count - track->base;

	piece.final = track->final = cut == track->count;
	track->sealed_last = track->tail[cut - 1 - track->base].time;

	piece.mark_every = seal->timeline->mark_every;
	piece.entry_count = cut - track->base;
	if (!(track->id & TRACK_CPU))
		cut_thread(&piece, seal->timeline->threads[track->id], waits_end);
	piece.entries = split((void **)&track->tail, &track->cap, piece.entry_count, used,
			      sizeof(*piece.entries));
	track->base = cut;
	track->chunk_count++;
	hand_over(seal, &piece);
}

bool seal_track(struct track *track)
{
	struct seal *seal = track->timeline->seal;
	uint32_t used = track->count - track->base, cut = track->count;
	struct tl_thread *thread;
	uint32_t settled;

	if (used < chunk_entries(seal))
		return false;
	cut -= used > 4 * SEAL_KEEP ? SEAL_KEEP : used / 4 + 1;
	if (track->id & TRACK_CPU) {
		cut_track(seal, track, cut, 0);
		return true;
	}
	thread = track->timeline->threads[track->id];
	settled = thread->wait_count ? thread->wait_count - 1 : 0;
	if (used < TAIL_MAX && thread->keep_wait < settled)
		settled = thread->keep_wait;
	else if (
		used >=
		TAIL_MAX) /* it may never wait again; one that is open stays, as its entry is among the last */
		settled = thread->wait_count;
	cut = find_cut(thread, cut, settled);
	if (cut <= track->base + used / 8)
		return false;
	cut_track(seal, track, cut, waits_before(thread, cut, settled));
	return true;
}

void timeline_seal_thread(struct tl_thread *thread)
{
	struct track *track = &thread->track;
	struct seal *seal = track->timeline->seal;

	if (!seal || track->count == track->base)
		return;
	seal->finals++;
	cut_track(seal, track, track->count, thread->wait_count);
}

/* ---------------------------------------------------------------------- undo */

/* Put 'count' items in front of the 'used' ones. */
static void join(void **items, uint32_t *cap, const void *front, uint32_t count, uint32_t used,
		 size_t bytes)
{
	uint8_t *all = xrealloc(NULL, (size_t)count + used + 8, bytes);

	if (count)
		memcpy(all, front, count * bytes);
	if (used)
		memcpy(all + count * bytes, *items, used * bytes);
	free(*items);
	*items = all;
	*cap = count + used + 8;
}

static const char *read_chunk(struct seal *seal, const struct chunk_ref *ref, uint32_t id,
			      struct chunk *chunk)
{
	struct chunk_limits limits = { seal->timeline->thread_count, UINT32_MAX };
	const char *wrong;

	write_out(seal);
	chunk->bytes = xmalloc(ref->bytes);
	chunk->byte_count = ref->bytes;
	if (seal->rc ||
	    pread(seal->fd, chunk->bytes, ref->bytes, (off_t)ref->offset) != (ssize_t)ref->bytes)
		return "it cannot be read back";
	wrong = chunk_open(chunk, ref, id);
	if (!wrong && !(chunk_unpack_entries(chunk, &limits) &&
			chunk_unpack_waits(chunk, &limits) && chunk_unpack_edges(chunk, &limits)))
		wrong = "its parts are invalid";
	return wrong;
}

/* Writing has failed, and all that is built is void: anything of the right shape will do. */
static void make_up(struct chunk *chunk, const struct track *track, const struct chunk_ref *ref)
{
	chunk->entry_count = track->base - ref->first;
	chunk->entries = xrealloc(chunk->entries, chunk->entry_count + 1, sizeof(*chunk->entries));
	for (uint32_t i = 0; i < chunk->entry_count; i++)
		chunk->entries[i] = (struct track_entry){ ref->start, word_make(WORD_UNCERTAIN,
										UNSURE_DAMAGED) };
	chunk->wait_count = chunk->edge_count = 0;
}

static void restore_run(struct sealed *sealed, const struct chunk *chunk)
{
	if (!sealed->run) {
		sealed->run = xmalloc(sizeof(*sealed->run));
		run_init(sealed->run, SLOT_NONE);
	}
	(void)chunk_unpack_run(chunk, false, sealed->run);
}

static void restore_thread(struct tl_thread *thread, const struct chunk *chunk,
			   const struct chunk_ref *ref)
{
	uint32_t waits = thread->wait_base - ref->first_wait;
	struct wait *made = NULL;

	if (waits != chunk->wait_count) /* made up */
		made = xcalloc(waits + 1, sizeof(*made));
	join((void **)&thread->waits, &thread->wait_cap, made ? made : chunk->waits, waits,
	     thread->wait_count - thread->wait_base, sizeof(*thread->waits));
	free(made);
	thread->wait_base = ref->first_wait;
	join((void **)&thread->edges, &thread->edge_cap, chunk->edges, chunk->edge_count,
	     thread->edge_count - thread->edge_base, sizeof(*thread->edges));
	thread->edge_base -= chunk->edge_count;
}

void seal_undo(struct track *track)
{
	struct seal *seal = track->timeline->seal;
	struct chunk chunk = { 0 };
	struct sealed *sealed;
	struct chunk_ref ref;

	seal_drain(seal);
	sealed = sealed_of(seal, track->id);
	ref = sealed->refs[--sealed->count];
	track->chunk_count--;
	if (read_chunk(seal, &ref, track->id, &chunk)) {
		seal->rc = seal->rc ? seal->rc : -EIO;
		make_up(&chunk, track, &ref);
	} else if (!(track->id & TRACK_CPU)) {
		restore_run(sealed, &chunk);
	}
	join((void **)&track->tail, &track->cap, chunk.entries, chunk.entry_count,
	     track->count - track->base, sizeof(*track->tail));
	track->base = ref.first;
	seal->finals -= track->final && !(track->id & TRACK_CPU);
	track->final = false;
	if (!(track->id & TRACK_CPU))
		restore_thread(seal->timeline->threads[track->id], &chunk, &ref);
	chunk_fini(&chunk);
}

/* -------------------------------------------------------------------- finish */

static void seal_rest(struct seal *seal, struct track *track)
{
	const struct tl_thread *thread;
	uint32_t waits = 0;

	if (!(track->id & TRACK_CPU)) {
		thread = seal->timeline->threads[track->id];
		waits = thread->wait_count;
		/* What came after its last entry was sealed goes with that. */
		if (track->count == track->base && track->chunk_count &&
		    (waits > thread->wait_base || thread->edge_count > thread->edge_base))
			seal_undo(track);
	}
	if (track->count > track->base)
		cut_track(seal, track, track->count, waits);
}

static void take_refs(struct seal *seal, struct track *track)
{
	struct sealed *sealed = sealed_of(seal, track->id);

	track->chunks = sealed->refs;
	track->chunk_count = sealed->count;
	track->chunk_cap = sealed->cap;
	sealed->refs = NULL;
	free(track->tail);
	track->tail = NULL;
	track->cap = 0;
}

int seal_finish(struct seal *seal, uint64_t *out_end, struct err *err)
{
	struct timeline *tl = seal->timeline;

	for (uint32_t i = 0; i < tl->thread_count; i++)
		seal_rest(seal, &tl->threads[i]->track);
	for (uint32_t i = 0; i < tl->cpu_count; i++)
		seal_rest(seal, tl->cpus[i]);
	seal_drain(seal);
	write_out(seal);
	for (uint32_t i = 0; i < tl->thread_count; i++)
		take_refs(seal, &tl->threads[i]->track);
	for (uint32_t i = 0; i < tl->cpu_count; i++)
		take_refs(seal, tl->cpus[i]);
	*out_end = seal->offset;
	if (seal->rc)
		return err_set(err, seal->rc, "cannot write it: %s", strerror(-seal->rc));
	return 0;
}

void seal_fail(struct seal *seal, int rc)
{
	seal_drain(seal);
	seal->rc = rc;
}

static void free_sealed(struct sealed *items, size_t cap)
{
	for (size_t i = 0; i < cap; i++) {
		free(items[i].refs);
		if (items[i].run)
			run_fini(items[i].run);
		free(items[i].run);
	}
	free(items);
}

void seal_free(struct seal *seal)
{
	if (!seal)
		return;
	if (seal->threaded) {
		pthread_mutex_lock(&seal->lock);
		seal->stop = true;
		pthread_cond_broadcast(&seal->changed);
		pthread_mutex_unlock(&seal->lock);
		pthread_join(seal->thread, NULL);
	}
	pthread_cond_destroy(&seal->changed);
	pthread_mutex_destroy(&seal->lock);
	free_sealed(seal->threads, seal->thread_cap);
	free_sealed(seal->cpus, seal->cpu_cap);
	free(seal->out.bytes);
	free(seal);
}
