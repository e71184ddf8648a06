/*
 * naps.c - sleeps with nothing in between: what they are for is in memory, which nothing tells of.
 *
 *	look ──sleep── look ──sleep── look ──sleep── look ──sleep── look: it goes on
 *	W: works, or sleeps ───────────────────────────────|  sets it; sleeps, or ends
 *
 * Who sleeps for as long each time, and makes no call in between that looks at anything but memory, may
 * look whether another thread has set something there. Which one did is inferred where exactly one
 * changed what it did in the last sleep, and had not through all of the NAPS_LEAST before:
 *
 *	- it slept since before them, and ran again, or had done so just before and was at it still,
 *	- or it worked, and began to wait for longer than that sleep, or until the waiter, which went on, woke it,
 *	- or it ended, but not who slept all along and only ends with its process,
 *	- or it worked on, in other code than in all of the sleeps: see moved_on.c.
 *
 * Each of them before the waiter ran again: what is done behind that may be done because the waiter went on, as where
 * it sleeps for a while and then has its workers stop. Of who made no call through all of the sleeps, the first call
 * is when it changed; of who ends, the call that ends it.
 *
 * Where several did, whom one of them woke up is none of them, and who changed now and then before, in any of all
 * the sleeps but the first ones, is not. A thread of the process, or, where none did, of a relative that has mapped the same file to write to; or else of one of the same
 * name, or with the same program since a fork: memory that both share is made by fork. The same of waits at a futex
 * with a limit, if nobody woke those. Who looks at a file each time may look at what a relative writes by a mapping.
 *
 * Threads with which a runtime serves itself set nothing that a program waits for.
 *
 * Who wrote into the memory of the process by process_vm_writev() in the last sleep, and alone, needs no more proof.
 */
#include <string.h>

#include "analyse/why/asks_int.h"
#include "analyse/why/process.h"
#include "base/mem.h"
#include "event/facts.h"

#define THREADS_MAX 512u
#define CHANGED_MAX 16u
#define EARLY	    2u	     /* of the sleeps */
#define PAUSE_PART  4u	     /* of a sleep: who works waits no longer at a time */
#define WOKE_NS	    5000000u /* so long, and a sleep, it takes from waking up to setting that at most */
#define UNSURE_NS   1000000u   /* the end of an idle CPU's time may be missing */
#define AFTER_NS    3000000u   /* of work, from when it set that until it stops or ends */
#define BUSY_NS	    100000000u /* and that takes no longer where it has no CPU */
#define ENTRIES_MAX 50000000u  /* of tracks, for what is mapped: a bound on time */

bool query_sleeps(struct query *query, const struct wait *wait)
{
	return wait_sleeps(query, wait) || (!(wait->flags & WAIT_MANY) && wait_ticks(query, wait));
}

bool query_is_nap(struct query *query, const struct wait *wait)
{
	return wait->woken_ns && !wait->waker.signal && query_sleeps(query, wait) &&
	       (wait->flags & WAIT_TIMED_OUT || wait->waker.kind == ACTOR_TIMER);
}

/* What one did since the first of those sleeps. */
struct conduct {
	struct query *query;
	const struct missed *missed;
	uint64_t since_ns; /* when the first of them began */
	uint32_t slot;
	bool slept;	     /* since before them, */
	uint64_t slept_ns;   /* from then on */
	uint32_t waker;	     /* slot: who ended that; SLOT_NONE = no thread */
	uint64_t ran_ns;     /* first, behind that; 0 = it did not */
	uint64_t pause_ns;   /* the longest wait, up to the last sleep */
	uint64_t stopped_ns; /* when it began to wait, for longer than the last sleep; 0 = not */
	uint64_t unsure_ns;  /* not known what it did */
	uint64_t after_ns;   /* worked since who sleeps could look */
	uint64_t known_ns;   /* up to when that is */
	uint32_t call;	     /* word of its last call, */
	uint64_t call_ns;    /* and when that began */
	bool called;	     /* in the sleeps before the last one */
	uint64_t changed_ns; /* when its first call since then began; 0 = it made none */
	uint32_t waits; /* short ones, since it let go of the lock that the waiter needed to look */
	bool locks; /* it waited for locks, or for what threads wake each other, up to the last sleep */
};

/*
 * Did it wait until the waiter, which had looked by then, had it go on? Who knows how long it would have waited. But not who
 * waits for a lock that the waiter takes to look, as Python's GIL, or one that it had waited for before.
 */
static bool went_on_by_waiter(const struct conduct *conduct, const struct wait *wait)
{
	const struct missed *missed = conduct->missed;

	return wait->waker.kind == ACTOR_THREAD && wait->waker.slot == missed->slot &&
	       wait->begin_ns <= missed->last.woken_ns && wait->woken_ns > missed->looked_ns &&
	       !(conduct->locks && query_is_on_the_way(conduct->query, wait));
}

/* False when its wait says that it is not the one. */
static bool conduct_wait(struct conduct *conduct, uint32_t word)
{
	const struct missed *missed = conduct->missed;
	uint64_t last_ns = missed->last.begin_ns, ns;
	struct wait wait;

	query_wait(conduct->query, conduct->slot, word, &wait);
	if (wait.begin_ns <= conduct->since_ns) {
		conduct->slept = true;
		conduct->slept_ns = wait.begin_ns;
		conduct->waker = wait.waker.kind == ACTOR_THREAD ? wait.waker.slot : SLOT_NONE;
		return wait.woken_ns;
	}
	if (wait.begin_ns > last_ns) {
		ns = wait.woken_ns && !went_on_by_waiter(conduct, &wait)
			     ? wait.woken_ns - wait.begin_ns
			     : UINT64_MAX;
		if (!conduct->stopped_ns && ns > missed->last.woken_ns - last_ns)
			conduct->stopped_ns = wait.begin_ns;
		conduct->waits += !conduct->stopped_ns && wait.woken_ns > missed->let_go.time_ns;
		return true;
	}
	if (!wait.woken_ns)
		return false;
	ns = wait.woken_ns - wait.begin_ns;
	conduct->locks = conduct->locks || query_is_on_the_way(conduct->query, &wait);
	conduct->pause_ns = ns > conduct->pause_ns ? ns : conduct->pause_ns;
	return true;
}

/* Did it work through all of the sleeps, so that it may have set that at any moment? */
static bool conduct_worked(const struct conduct *conduct)
{
	const struct wait *last = &conduct->missed->last;

	return !conduct->slept &&
	       conduct->pause_ns <= (last->woken_ns - last->begin_ns) / PAUSE_PART;
}

/* It let go of the lock that the waiter takes to look, and did not need it again: it waited once at most, for it to be taken. */
static bool conduct_let_go(const struct conduct *conduct, uint64_t until_ns)
{
	const struct let_go *let_go = &conduct->missed->let_go;
	struct tl_edge_iter iter;
	struct tl_edge edge;

	if (conduct->slot != let_go->slot || conduct->waits > 1 || until_ns <= let_go->time_ns)
		return false;
	/* Who joins it, or waits for it otherwise, has gone on before. */
	tl_edges_begin(&iter, conduct->query->tl, conduct->slot, let_go->time_ns + 1, until_ns);
	return !tl_edges_next(&iter, &edge);
}

/*
 * Was it at something else before who sleeps could look? 'time_ns': at the latest then. Who let go of Python's GIL, for
 * that look, does a little more until it waits, or ends.
 */
static bool conduct_in_time(const struct conduct *conduct, uint64_t time_ns)
{
	if (conduct_let_go(conduct, time_ns))
		return true;
	if (!conduct->called && conduct->changed_ns && conduct->changed_ns < time_ns)
		time_ns = conduct->changed_ns;
	return time_ns <= conduct->missed->looked_ns;
}

/* Did it end then? By itself, if it could be seen to end only later. */
static bool conduct_ended(const struct conduct *conduct, const struct tl_thread *thread)
{
	const struct missed *missed = conduct->missed;
	bool exits = conduct_worked(conduct) && conduct->call &&
		     asks_is_among(" exit exit_group ", asks_name(conduct->query, conduct->call));

	return thread->died && thread->death_ns > missed->last.begin_ns &&
	       thread->death_ns <= conduct->known_ns &&
	       (thread->death_ns <= missed->looked_ns ||
		(exits && conduct_in_time(conduct, conduct->call_ns)));
}

/* It had slept through the sleeps before, woke up just before the last one, and was at work still as that began. */
static bool conduct_woke_before(const struct conduct *conduct)
{
	const struct wait *last = &conduct->missed->last;

	return conduct->slept && conduct->ran_ns && conduct->ran_ns <= last->begin_ns &&
	       !conduct->pause_ns &&
	       last->begin_ns - conduct->ran_ns <= WOKE_NS + last->woken_ns - last->begin_ns;
}

/* Did it change then? When, and how. */
static bool conduct_changed(const struct conduct *conduct, const struct tl_thread *thread,
			    struct answer *out_answer)
{
	const struct missed *missed = conduct->missed;
	uint64_t moved_ns;

	if (conduct_ended(conduct, thread))
		*out_answer = (struct answer){ .time_ns = thread->death_ns, .did = WHY_DEED_ENDED };
	else if (conduct->slept && conduct->ran_ns > missed->last.begin_ns)
		*out_answer = (struct answer){ .time_ns = conduct->ran_ns, .did = WHY_DEED_WOKE };
	else if (conduct_woke_before(conduct))
		*out_answer =
			(struct answer){ .time_ns = conduct->stopped_ns ? conduct->stopped_ns
									: missed->last.woken_ns,
					 .did = WHY_DEED_WOKE };
	else if (conduct->stopped_ns && conduct_worked(conduct) &&
		 conduct_in_time(conduct, conduct->stopped_ns))
		*out_answer = (struct answer){ .time_ns = conduct->stopped_ns,
					       .did = WHY_DEED_STOPPED_WORK };
	else if (!conduct->slept &&
		 (moved_ns = query_moved_on(conduct->query, conduct->slot, missed)))
		*out_answer = (struct answer){ .time_ns = moved_ns, .did = WHY_DEED_MOVED_ON };
	else
		return false;
	if (out_answer->time_ns > missed->last.woken_ns)
		out_answer->time_ns = missed->last.woken_ns;
	out_answer->slot = conduct->slot;
	return true;
}

/* It is in a call since then. */
static void conduct_call(struct conduct *conduct, uint32_t call, uint64_t start_ns)
{
	if (conduct->call == call)
		return;
	conduct->call = call;
	conduct->call_ns = start_ns;
	if (start_ns <= conduct->missed->last.begin_ns)
		conduct->called = true;
	else if (!conduct->changed_ns)
		conduct->changed_ns = start_ns;
}

/* Returns whether there may be more to know of it. */
static bool conduct_take(struct conduct *conduct, const struct tl_interval *in)
{
	uint64_t looked_ns = conduct->missed->looked_ns;
	bool works = word_wib(in->word) == WIB_WORKING;

	conduct->known_ns = in->end_ns;
	if (word_kind(in->word) == WORD_UNCERTAIN)
		conduct->unsure_ns += in->end_ns - in->start_ns;
	if (word_kind(in->word) == WORD_SYSCALL)
		conduct_call(conduct, word_plain(in->word), in->start_ns);
	if (works && in->end_ns > looked_ns)
		conduct->after_ns +=
			in->end_ns - (in->start_ns > looked_ns ? in->start_ns : looked_ns);
	if (works && conduct->slept && !conduct->ran_ns && in->start_ns < looked_ns)
		conduct->ran_ns = in->start_ns;
	return conduct->unsure_ns <= UNSURE_NS && conduct->after_ns <= AFTER_NS;
}

/* One that changed in the last sleep. */
struct changed {
	struct answer answer;
	uint32_t waker;	   /* slot; SLOT_NONE = it woke up by itself, or was awake */
	uint64_t slept_ns; /* since then; 0 = it was awake */
	bool never;	   /* before, since the first sleep */
};

static bool may_have_done_it(struct query *query, uint32_t slot, const struct missed *missed,
			     uint64_t since_ns, struct changed *out_changed)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct conduct conduct = {
		.query = query, .missed = missed, .slot = slot, .since_ns = since_ns
	};
	uint64_t to_ns = missed->looked_ns + BUSY_NS, known_ns = query_known_ns(query, slot);
	uint32_t wait_word = 0;
	struct tl_interval in;
	struct tl_iter iter;

	if (thread->birth_ns >= since_ns)
		return false;
	tl_iter_begin(&iter, query->tl, &thread->track, since_ns,
		      to_ns < known_ns ? to_ns : known_ns);
	while (tl_iter_next(&iter, &in) && conduct_take(&conduct, &in)) {
		if (word_kind(in.word) != WORD_BLOCKED || in.word == wait_word)
			continue;
		wait_word = in.word;
		if (!conduct_wait(&conduct, in.word))
			return false;
	}
	*out_changed = (struct changed){ .waker = conduct.slept ? conduct.waker : SLOT_NONE,
					 .slept_ns = conduct.slept_ns };
	return conduct.unsure_ns <= UNSURE_NS &&
	       conduct_changed(&conduct, thread, &out_changed->answer);
}

/* Made while it was recorded, and with the program of who made it. */
static bool is_fork(struct query *query, const struct tl_thread *thread)
{
	struct tl_interval in;
	struct tl_iter iter;

	if (!thread->born)
		return false;
	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL &&
		    asks_is_among(" execve execveat ", asks_name(query, word_plain(in.word))))
			return false;
	}
	return true;
}

/* Is 'child' a process that 'parent' has forked? */
static bool forked(struct query *query, const struct tl_thread *parent,
		   const struct tl_thread *child)
{
	const struct timeline *tl = query->tl;

	return child->parent < tl->thread_count &&
	       tl->threads[child->parent]->tgid == parent->tgid && is_fork(query, child);
}

/* One of the other, or both of a third one. */
static bool is_by_fork(struct query *query, const struct tl_thread *one,
		       const struct tl_thread *other)
{
	const struct timeline *tl = query->tl;

	if (forked(query, one, other) || forked(query, other, one))
		return true;
	return one->parent < tl->thread_count && other->parent < tl->thread_count &&
	       tl->threads[one->parent]->tgid == tl->threads[other->parent]->tgid &&
	       is_fork(query, one) && is_fork(query, other);
}

/* Of one thread; 'writes': only those that it may write to. */
static void add_maps(struct query *query, uint32_t slot, bool writes, struct asks_maps *maps)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct tl_interval in;
	struct tl_iter iter;
	uint32_t call = 0;

	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns,
		      query_known_ns(query, slot));
	while (maps->count < ASKS_MAPS && asks_runs(query)->map_entries++ < ENTRIES_MAX &&
	       tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL)
			call = word_plain(in.word);
		if (word_kind(in.word) != WORD_USER || !call)
			continue;
		if (word_was_about(in.word) && !word_error(in.word) &&
		    (!writes || word_has(in.word, WORD_MADE)) &&
		    strncmp(asks_name(query, call), "mmap", strlen("mmap")) == 0)
			maps->files[maps->count++] = word_was_about(in.word);
		call = 0;
	}
}

static void find_maps(struct query *query, uint32_t slot, bool writes, struct asks_maps *maps)
{
	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		if (query->tl->threads[i]->tid != 0 && query_is_one_process(query, i, slot))
			add_maps(query, i, writes, maps);
	}
}

/* Has it mapped one of 'files' to write to, or did who forked it? */
static bool maps_one(struct query *query, uint32_t slot, const struct asks_maps *files)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	struct asks_maps maps = { .count = 0 };

	find_maps(query, slot, true, &maps);
	if (thread->parent < query->tl->thread_count && is_fork(query, thread))
		find_maps(query, thread->parent, true, &maps);
	for (uint32_t i = 0; i < maps.count; i++) {
		for (uint32_t k = 0; k < files->count; k++) {
			if (maps.files[i] == files->files[k])
				return true;
		}
	}
	return false;
}

/* Who can have set what is in the memory of 'slot'. */
struct sharers {
	enum nap_share share;
	struct asks_maps files; /* NAP_OF_FILE */
};

static bool shares_memory(struct query *query, uint32_t slot, uint32_t other,
			  const struct sharers *sharers)
{
	const struct tl_thread *ours = query->tl->threads[slot],
			       *theirs = query->tl->threads[other];

	if (slot == other || theirs->tid == 0 || theirs->kernel ||
	    why_serves_runtime(timeline_name(query->tl, theirs->comm)) ||
	    query_is_one_process(query, slot, other) != (sharers->share == NAP_OF_PROCESS))
		return false;
	if (sharers->share == NAP_OF_PROCESS)
		return true;
	if (asks_is_recorder(query, theirs->tgid))
		return false;
	if (sharers->share == NAP_OF_FILE)
		return asks_is_kin(query, slot, other) && maps_one(query, other, &sharers->files);
	return (ours->comm == theirs->comm && asks_is_kin(query, slot, other)) ||
	       is_by_fork(query, ours, theirs);
}

/* Lived it through the last sleeps? */
static bool is_there(struct query *query, uint32_t slot, const struct missed *missed)
{
	const struct tl_thread *thread = query->tl->threads[slot];

	return thread->birth_ns < missed->since_ns && thread->death_ns > missed->last.begin_ns;
}

/* Since one of the first sleeps: a thread that was made for that comes a moment later than who waits for it. */
static bool slept_early(const struct missed *missed, const struct changed *changed)
{
	uint64_t all_ns = missed->last.woken_ns - missed->first_ns;

	return changed->slept_ns &&
	       changed->slept_ns <= missed->first_ns + EARLY * all_ns / missed->count;
}

/* The first CHANGED_MAX that did. Returns how many, of more than there are to look at CHANGED_MAX. */
static uint32_t find_changed(struct query *query, uint32_t slot, const struct missed *missed,
			     const struct sharers *sharers, struct changed *out_changed)
{
	uint32_t looked = 0, count = 0;
	struct changed all;

	for (uint32_t i = 0; i < query->tl->thread_count && count < CHANGED_MAX; i++) {
		if (!is_there(query, i, missed) || !shares_memory(query, slot, i, sharers))
			continue;
		if (looked++ >= THREADS_MAX)
			return CHANGED_MAX;
		if (!may_have_done_it(query, i, missed, missed->since_ns, &out_changed[count]))
			continue;
		out_changed[count].never =
			slept_early(missed, &out_changed[count]) ||
			may_have_done_it(query, i, missed, missed->first_ns, &all);
		count++;
	}
	return count;
}

/* Whom another one of them woke up did it for that one. */
static bool is_woken(const struct changed *changed, uint32_t count, uint32_t index)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i != index && changed[i].answer.slot == changed[index].waker)
			return true;
	}
	return false;
}

/* How many may have done it: *out_answer is of the last one. */
static uint32_t find_setter(struct query *query, uint32_t slot, const struct missed *missed,
			    const struct sharers *sharers, struct answer *out_answer)
{
	struct changed changed[CHANGED_MAX];
	uint32_t count = find_changed(query, slot, missed, sharers, changed);
	uint32_t found = 0, never = 0;

	if (count == CHANGED_MAX)
		return count;
	for (uint32_t i = 0; i < count; i++) {
		if (is_woken(changed, count, i))
			continue;
		found++;
		never += changed[i].never;
		if (never == 0 || (changed[i].never && never == 1))
			*out_answer = changed[i].answer;
	}
	return never == 1 ? 1 : found;
}

static const struct why_reason *nap_reason(struct query *query, const struct missed *missed,
					   const struct answer *answer, enum nap_share share)
{
	bool is_nap = query_is_nap(query, &missed->last);
	enum why_reason_kind kind = is_nap ? WHY_REASON_SLEEPS_ENDED : WHY_REASON_TIMEOUTS_ENDED;

	if (share == NAP_OF_FILE)
		kind = is_nap ? WHY_REASON_FILE_SLEEPS_ENDED : WHY_REASON_FILE_TIMEOUTS_ENDED;
	return why_reason_keep(query->why,
			       &(struct why_reason){ .kind = kind,
						     .call = describe_in(query, &missed->last),
						     .number = missed->count,
						     .did = answer->did });
}

/* Of who looks: for each of its sleeps anew. */
static const struct asks_maps *own_maps(struct query *query, uint32_t slot)
{
	struct asks_runs *runs = asks_runs(query);

	if (!runs->has_maps || !query_is_one_process(query, runs->maps_slot, slot)) {
		runs->maps = (struct asks_maps){ .count = 0 };
		find_maps(query, slot, false, &runs->maps);
		runs->maps_slot = slot;
		runs->has_maps = true;
	}
	return &runs->maps;
}

uint32_t query_naps(struct query *query, uint32_t slot, const struct missed *missed,
		    enum nap_share share, struct answer *out_answer)
{
	struct sharers sharers = { .share = share };
	uint32_t found;

	if (!missed->since_ns || !missed->is_even || !missed->went_on_ns)
		return 0;
	if (share == NAP_OF_FILE)
		sharers.files = *own_maps(query, slot);
	if (share == NAP_OF_FILE && !sharers.files.count)
		return 0;
	found = find_setter(query, slot, missed, &sharers, out_answer);
	if (found == 1)
		out_answer->reason = nap_reason(query, missed, out_answer, share);
	return found;
}

bool asks_find_mapper(struct query *query, uint32_t slot, const struct missed *missed,
		      uint32_t file, struct answer *out_answer)
{
	const struct sharers sharers = { .share = NAP_OF_FILE, .files = { { file }, 1 } };

	return missed->since_ns && missed->is_even && missed->went_on_ns &&
	       find_setter(query, slot, missed, &sharers, out_answer) == 1;
}
