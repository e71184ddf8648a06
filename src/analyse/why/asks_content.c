/*
 * asks_content.c - sleeps between looks at a file that is there each time: until what is in it has changed.
 *
 *	read F ──sleep── read F ──sleep── read F ──sleep── read F: goes on
 *	                                  |<--- W: write F --->|
 *	|<------------------ held up by W, as we infer ------------>|
 *
 * No call fails, and nothing tells what was read. But a look into the file stands before each sleep, nothing else
 * does (as in asks.c), and the thread goes on behind a look. Who alone changed the file between the last two
 * looks is who it was for. That may be chance where somebody changes it all the time, as a log: of the looks
 * before, a BUSY_PART of them at most may have found it changed, too. The same where a shell runs programs
 * that look (asks_child.c).
 *
 * Who lists a folder sees names that relatives make, change or take away: in which folder is not told, so that
 * fewer of the looks before may have found such a one (BUSY_LIST_PART).
 *
 * What is written through a mapping is not seen. Where nobody changed any of the files by a call, a relative
 * that has one of them mapped to write to, and alone changed what it did as the last sleep ended, did (naps.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "base/search.h"

#define TURNS	       65536u /* looks of one loop */
#define LEAST	       2u     /* sleeps: one may be chance */
#define CHANCE	       1000u  /* one in so many */
#define BUSY_PART      3u
#define BUSY_LIST_PART 8u
#define WORK_NS	       4000000u /* to look into it, and a WORK_PART of the sleep */
#define WORK_PART      20u
#define AGAIN_NAPS     3u /* as long as so many sleeps, and it is sure that it looks no more */
#define SHELL_NS       20000000u /* the same where a child sleeps: it has to be made */
#define BACK	       16u	 /* waits, for the name of the file */
#define LATE_NS	       1000000u	 /* a change that is seen, but whose call has not ended */
#define EVEN_NS	       5000000u	 /* a turn is longer by no more, nor by an EVEN_PART */
#define EVEN_PART      4u
#define EVEN_MOST      8u	 /* but one in so many */
#define ENTRIES_MAX    50000000u /* of the tracks of others: a bound on time, not on meaning */

#define CALLS_SEE                                                                                 \
	" stat lstat newfstatat fstatat64 stat64 lstat64 statx fstat fstat64 read readv pread64 " \
	"preadv preadv2 lseek _llseek readlink readlinkat getdents getdents64 "
#define CALLS_CHANGE                                                                                \
	" write writev pwrite64 pwritev pwritev2 ftruncate truncate fallocate sendfile sendfile64 " \
	"copy_file_range splice utimensat rename renameat renameat2 io_uring_enter chmod fchmod fchmodat "
#define CALLS_LIST " getdents getdents64 "
/* What is in a pipe, a socket or a queue, or the value of semaphores, is looked at, */
#define CALLS_PEEK " fcntl fcntl64 ioctl semctl msgctl shmctl rt_sigpending "
/* and changed. */
#define CALLS_MOVE                                                                              \
	" read readv recvfrom recvmsg recvmmsg recv write writev sendto sendmsg sendmmsg send " \
	"sendfile sendfile64 semop semtimedop semctl msgsnd msgrcv shmat "
#define CALLS_LOCK_FILE " fcntl fcntl64 "
#define CALLS_SIGNAL	" kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo "
#define CALLS_NAME                                                                                      \
	" mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat " \
	"mknod mknodat "

bool asks_sees_content(struct query *query, uint32_t call)
{
	return asks_is_among(CALLS_SEE, asks_name(query, call));
}

uint32_t asks_seen(struct query *query, uint32_t call, uint32_t word)
{
	if (asks_sees_content(query, call))
		return word_was_about(word);
	return word_was_channel(word) > WORD_CHANNEL &&
			       asks_is_among(CALLS_PEEK, asks_name(query, call)) &&
			       !word_has(word, WORD_MADE)
		       ? word_was_channel(word)
		       : 0;
}

/* -------------------------------------------------------------------- who changed it */

/* By whom a look found it changed. */
#define FOUND_KIN    1u
#define FOUND_OTHERS 2u

/* The last one of a kind that did. */
struct changer {
	uint32_t slot; /* SLOT_NONE = nobody */
	uint64_t time_ns;
	uint32_t call;
	bool several;
};

struct changed {
	const struct asks_looks *looks;
	struct changer kin[ASKS_FILES], others[ASKS_FILES];
	bool by_kin;	/* a relative changed one of them, at any time */
	bool has_lists; /* of these, folders */
	uint8_t *found; /* owned; by file and turn, FOUND_KIN and so on: a look found it changed */
	uint8_t strange[1u << WORD_ABOUT_BITS]; /* strangers changed files that look like that */
	uint32_t strange_count;
	uint32_t renames; /* of strangers, whatever they renamed, as strange_count */
	uint64_t vain_ns,
		to_ns; /* from the first of the last looks in vain to the last that got it */
};

static void changer_add(struct query *query, struct changer *changer, uint32_t slot, uint32_t call,
			uint64_t time_ns)
{
	if (changer->slot != SLOT_NONE && !query_is_one_process(query, changer->slot, slot))
		changer->several = true;
	if (changer->slot != SLOT_NONE && changer->time_ns > time_ns)
		return;
	changer->slot = slot;
	changer->time_ns = time_ns;
	changer->call = call;
}

/* The look that found what was changed at 'time_ns' first. */
static size_t turn_at(const struct asks_looks *looks, uint64_t time_ns)
{
	return SEARCH_WHERE(looks->turns, looks->turn_count, < time_ns);
}

static void file_changed(struct changed *changed, uint32_t file, uint32_t slot, uint32_t call,
			 uint64_t time_ns)
{
	const struct asks_looks *looks = changed->looks;
	const struct asks_file *at = &looks->files[file];
	bool kin = asks_is_kin(looks->query, slot, looks->slot);
	size_t turn;

	changed->by_kin |= kin;
	if (time_ns > at->vain_ns) {
		changer_add(looks->query, kin ? &changed->kin[file] : &changed->others[file], slot,
			    call, time_ns < at->got_ns ? time_ns : at->got_ns);
		return;
	}
	turn = turn_at(looks, time_ns);
	if (turn < looks->turn_count)
		changed->found[file * looks->turn_count + turn] |= kin ? FOUND_KIN : FOUND_OTHERS;
}

/* What strangers change, of whatever name, between the last two looks. */
static void count_strange(struct changed *changed, uint32_t slot, uint32_t about, uint64_t time_ns)
{
	const struct asks_looks *looks = changed->looks;
	uint8_t *is_known = &changed->strange[about >> WORD_ABOUT_SHIFT];

	if (*is_known || time_ns <= changed->vain_ns ||
	    asks_is_kin(looks->query, slot, looks->slot))
		return;
	*is_known = 1;
	changed->strange_count++;
}

/* Of two names each few bits are left: one rename in 32 looks like a given file. */
static void count_rename(struct changed *changed, uint32_t slot, uint64_t time_ns)
{
	const struct asks_looks *looks = changed->looks;

	changed->renames +=
		time_ns > changed->vain_ns && !asks_is_kin(looks->query, slot, looks->slot);
}

/* Is one of the files a channel as well, or none, as that one? */
static bool looks_at_such(const struct asks_looks *looks, uint32_t about)
{
	for (uint32_t i = 0; i < looks->file_count; i++) {
		if (!((looks->files[i].about ^ about) & WORD_CHANNEL))
			return true;
	}
	return false;
}

/* Is it a folder that is listed? */
static bool is_list(const struct asks_looks *looks, uint32_t file)
{
	return asks_is_among(CALLS_LIST, asks_name(looks->query, looks->files[file].call));
}

/*
 * Names in a folder: nothing tells in which one a name was made, changed or taken away. So relatives alone
 * count, and who did so for another folder may be taken for who did.
 */
static void name_ended(struct changed *changed, uint32_t slot, uint32_t call, uint64_t call_ns,
		       const struct tl_interval *in)
{
	const struct asks_looks *looks = changed->looks;
	const char *name = asks_name(looks->query, call);
	bool opens = strncmp(name, "open", strlen("open")) == 0 || strcmp(name, "creat") == 0;

	if (word_error(in->word) ||
	    !(opens ? word_has(in->word, WORD_MADE) : asks_is_among(CALLS_NAME, name)) ||
	    !asks_is_kin(looks->query, slot, looks->slot))
		return;
	for (uint32_t i = 0; i < looks->file_count; i++) {
		if (is_list(looks, i) && call_ns < looks->files[i].got_ns)
			file_changed(changed, i, slot, call, in->start_ns);
	}
}

/* What a call of another thread has changed, as asks_seen(); 0 = nothing that is told. */
static uint32_t changed_by(const char *name, uint32_t word)
{
	uint32_t about = word_was_about(word);

	if (word_error(word))
		return 0;
	if (word_was_channel(word))
		return asks_is_among(CALLS_MOVE, name) &&
				       (word_has(word, WORD_MADE) || strcmp(name, "semctl") != 0)
			       ? word_was_channel(word)
			       : 0;
	if (about && asks_is_among(CALLS_LOCK_FILE, name))
		return about | WORD_CHANNEL;
	if (about && asks_is_among(CALLS_SIGNAL, name))
		return word_found_nothing(word) ? 0 : about | WORD_CHANNEL;
	return word_emptied(word) || asks_is_among(CALLS_CHANGE, name) ? about : 0;
}

/* A call of another thread has ended as 'word' says. */
static void change_ended(struct changed *changed, uint32_t slot, uint32_t call, uint64_t call_ns,
			 const struct tl_interval *in)
{
	const struct asks_looks *looks = changed->looks;
	const char *name = asks_name(looks->query, call);
	uint32_t about = changed_by(name, in->word);
	bool rename = asks_is_rename(name);

	if (changed->has_lists)
		name_ended(changed, slot, call, call_ns, in);
	if (!about)
		return;
	if (rename)
		count_rename(changed, slot, in->start_ns);
	if (looks_at_such(looks, about))
		count_strange(changed, slot, about, in->start_ns);
	for (uint32_t i = 0; i < looks->file_count; i++) {
		uint32_t file = looks->files[i].about;

		if ((rename ? word_is_among(file, about) : file == about) &&
		    call_ns < looks->files[i].got_ns)
			file_changed(changed, i, slot, call, in->start_ns);
	}
}

/* False when there was too much to look at. */
static bool look_at_thread(struct changed *changed, uint32_t slot)
{
	struct query *query = changed->looks->query;
	const struct tl_thread *thread = query->tl->threads[slot];
	struct asks_runs *runs = asks_runs(query);
	struct tl_interval in;
	struct tl_iter iter;
	uint64_t call_ns = 0;
	uint32_t call = 0;

	if (thread->death_ns <= changed->looks->from_ns || thread->birth_ns >= changed->to_ns)
		return true;
	tl_iter_thread(&iter, query->tl, slot, changed->looks->from_ns, changed->to_ns + LATE_NS);
	while (tl_iter_entry(&iter, &in)) {
		if (runs->entries++ >= ENTRIES_MAX)
			return false;
		if (word_kind(in.word) == WORD_SYSCALL && call != word_plain(in.word)) {
			call = word_plain(in.word);
			call_ns = in.start_ns;
		} else if (word_kind(in.word) == WORD_USER && call) {
			change_ended(changed, slot, call, call_ns, &in);
			call = 0;
		}
	}
	return true;
}

/* Its end changes what its files in /proc say. */
static void look_at_end(struct changed *changed, uint32_t slot)
{
	const struct asks_looks *looks = changed->looks;
	const struct tl_thread *thread = looks->query->tl->threads[slot];
	char folder[32];
	uint32_t about;

	if (!thread->died || thread->tid != thread->tgid || thread->death_ns <= looks->from_ns ||
	    thread->death_ns > changed->to_ns)
		return;
	snprintf(folder, sizeof(folder), "/proc/%d", thread->tgid);
	about = word_about_name(folder, true);
	for (uint32_t i = 0; i < looks->file_count; i++) {
		if (looks->files[i].about == about && thread->death_ns < looks->files[i].got_ns)
			file_changed(changed, i, slot, 0, thread->death_ns);
	}
}

static bool look_at_others(struct changed *changed)
{
	const struct asks_looks *looks = changed->looks;
	struct query *query = looks->query;

	for (uint32_t i = 0; i < query->tl->thread_count; i++) {
		const struct tl_thread *thread = query->tl->threads[i];

		if (i == looks->slot || i == looks->asker || thread->tid == 0 || thread->kernel ||
		    asks_is_recorder(query, thread->tid))
			continue;
		if (asks_runs(query)->looks++ >= ASKS_LOOKS_MAX || !look_at_thread(changed, i))
			return false;
		look_at_end(changed, i);
	}
	return true;
}

/* How many of the looks before found it changed by those? */
static size_t found_before(const struct changed *changed, uint32_t file, uint8_t by)
{
	size_t found = 0, turns = changed->looks->turn_count;

	for (size_t i = 1; i < turns; i++)
		found += (changed->found[file * turns + i] & by) != 0;
	return found;
}

/*
 * It may be chance that it has changed: so do many of the looks find it. Names in a folder are of relatives alone:
 * what strangers change is the folder at most, or a file that looks like it.
 */
static bool is_busy(const struct changed *changed, uint32_t file)
{
	bool list = is_list(changed->looks, file);
	uint8_t by = list ? FOUND_KIN : FOUND_KIN | FOUND_OTHERS;

	return found_before(changed, file, by) * (list ? BUSY_LIST_PART : BUSY_PART) >
	       changed->looks->turn_count - 1;
}

/* What a file is called, as one of the sleeps up to wait 'index' of who looks, or just behind it, tells. */
static const char *name_of(const struct asks_looks *looks, uint32_t about)
{
	const struct timeline *tl = looks->query->tl;
	uint32_t count = tl->threads[looks->slot]->wait_count;
	uint32_t end = looks->index + BACK < count ? looks->index + BACK : count;
	struct wait wait;

	for (uint32_t i = end; i > 0 && i + 2 * BACK > end; i--) {
		const char *name;

		timeline_wait(tl, looks->slot, i - 1, &wait);
		name = timeline_name(tl, wait_looked(&wait));
		if (*name && asks_is_of(name, about))
			return why_keep(looks->query->why, xstrdup(name));
	}
	return "";
}

/* The only one that changed any of the files. NULL = nobody did, or several. */
static const struct changer *only_changer(const struct changed *changed,
					  const struct changer *changers, bool *out_several)
{
	const struct query *query = changed->looks->query;
	const struct changer *best = NULL;

	*out_several = false;
	for (uint32_t i = 0; i < changed->looks->file_count; i++) {
		const struct changer *changer = &changers[i];

		if (changer->slot == SLOT_NONE || is_busy(changed, i))
			continue;
		*out_several |= changer->several ||
				(best && !query_is_one_process(query, best->slot, changer->slot));
		if (!best || changer->time_ns > best->time_ns)
			best = changer;
	}
	return *out_several ? NULL : best;
}

/* Few bits tell what a file is: of so many of strangers one may look like one of these. */
static bool is_chance(const struct changed *changed)
{
	return (uint64_t)changed->strange_count * changed->looks->file_count * CHANCE >
	       1u << WORD_ABOUT_BITS;
}

/* Where strangers rename much, as compilers do, one that looks like the file is chance: see doers.c. */
static bool is_chance_rename(const struct changed *changed, const struct changer *best)
{
	return best->call && changed->renames > ASKS_RENAMES_MOST &&
	       asks_is_rename(asks_name(changed->looks->query, best->call));
}

/* Relatives first: what a stranger changed may be another file of that name, or one that looks like it. */
static bool judge_changed(const struct changed *changed, struct answer *out_answer)
{
	const struct asks_looks *looks = changed->looks;
	struct query *query = looks->query;
	bool several;
	const struct changer *all = changed->kin, *best = only_changer(changed, all, &several);
	const struct asks_file *file;

	if (!best && !several && !is_chance(changed)) {
		all = changed->others;
		best = only_changer(changed, all, &several);
		if (best && is_chance_rename(changed, best))
			best = NULL;
	}
	if (!best)
		return false;
	file = &looks->files[best - all];
	*out_answer = (struct answer){
		.slot = best->slot,
		.time_ns = best->time_ns,
		.call = asks_name(query, file->call),
		.about = name_of(looks, file->about),
		.by = best->call ? asks_name(query, best->call) : "",
		.naps = looks->naps,
		.until_changed = true,
	};
	return true;
}

/* When it looked is all that is known of the sleeps: are they as long each time, but for a late one now and then? */
static bool is_even(const struct asks_looks *looks)
{
	uint64_t nap_ns = looks->nap->woken_ns - looks->nap->begin_ns;
	size_t uneven = 0;

	for (size_t i = 1; i < looks->turn_count; i++) {
		uint64_t ns = looks->turns[i] - looks->turns[i - 1];

		uneven += ns > nap_ns + nap_ns / EVEN_PART + EVEN_NS;
	}
	return uneven * EVEN_MOST <= looks->turn_count;
}

static const struct why_reason *mapper_reason(struct query *query, const struct answer *answer)
{
	return why_reason_keep(query->why, &(struct why_reason){ .kind = WHY_REASON_CHANGED_MAPPED,
								 .call = answer->call,
								 .object = answer->about,
								 .did = answer->did });
}

/* Who has one of the files mapped, and changed what it did as the last sleep ended? */
static bool find_mapper(const struct asks_looks *looks, struct answer *out_answer)
{
	struct query *query = looks->query;
	struct missed missed = { .slot = looks->slot,
				 .let_go.slot = SLOT_NONE,
				 .count = looks->naps };

	if (!looks->nap || looks->turn_count < NAPS_LEAST || !is_even(looks))
		return false;
	missed.last = *looks->nap;
	missed.first_ns = looks->turns[0];
	missed.since_ns = looks->turns[looks->turn_count - NAPS_LEAST];
	missed.is_even = true;
	for (uint32_t i = 0; i < looks->file_count; i++) {
		const struct asks_file *file = &looks->files[i];
		const char *name = name_of(looks, file->about);

		missed.went_on_ns = missed.looked_ns = file->got_ns;
		if (!asks_find_mapper(query, looks->slot, &missed, file->about, out_answer))
			continue;
		out_answer->call = asks_name(query, file->call);
		out_answer->about = name;
		out_answer->naps = looks->naps;
		out_answer->reason = mapper_reason(query, out_answer);
		return true;
	}
	return false;
}

bool asks_find_changer(const struct asks_looks *looks, struct answer *out_answer)
{
	struct changed *changed;
	bool found;

	if (!looks->file_count || looks->turn_count < LEAST || looks->naps < LEAST)
		return false;
	changed = xcalloc(1, sizeof(*changed));
	changed->looks = looks;
	changed->found = xcalloc(looks->file_count, looks->turn_count);
	for (uint32_t i = 0; i < looks->file_count; i++) {
		changed->kin[i].slot = changed->others[i].slot = SLOT_NONE;
		changed->has_lists |= is_list(looks, i);
		if (!i || looks->files[i].vain_ns < changed->vain_ns)
			changed->vain_ns = looks->files[i].vain_ns;
		if (looks->files[i].got_ns > changed->to_ns)
			changed->to_ns = looks->files[i].got_ns;
	}
	found = look_at_others(changed);
	found = found && (judge_changed(changed, out_answer) ||
			  (!changed->by_kin && find_mapper(looks, out_answer)));
	free(changed->found);
	free(changed);
	return found;
}

/* ------------------------------------------------------------- what it looks at itself */

/* What a thread looked at between two sleeps: of each file the first and the last time. */
struct seen {
	struct asks_file files[ASKS_FILES]; /* vain_ns: the last look began; got_ns: it ended */
	uint32_t count;
	uint64_t untold_ns; /* a look at what is not told began; 0 = there was none */
};

/* How far it has come. */
struct content_state {
	uint32_t index, naps; /* of the last sleep */
	uint32_t reports;     /* of the gaps between sleeps, with output */
	struct wait nap;
	struct seen before, now;    /* before the last sleep, and since */
	uint32_t files[ASKS_FILES]; /* looked at each time; only where some are told */
	uint32_t file_count;
	size_t turn_count;
	bool is_told;
};

struct content_loop {
	struct query *query;
	uint32_t slot;
	bool by_child;
	struct content_state at;
	struct content_state then; /* it slept on, and it is not known whether to look again */
	bool has_then;
	uint64_t then_ns;	  /* since when */
	uint64_t from_ns, *turns; /* owned; when each look but the last one began */
	size_t turn_cap;
	uint32_t call;
	uint64_t call_ns, worked_ns, elsewhere_ns;
	bool did;	   /* any call since the last sleep */
	bool has_reported; /* one of them was output */
	bool aside; /* something else came before the time was up: since then it is at that */
};

static struct asks_file *seen_find(struct seen *seen, uint32_t about)
{
	for (uint32_t i = 0; i < seen->count; i++) {
		if (seen->files[i].about == about)
			return &seen->files[i];
	}
	return NULL;
}

/* Where there are too many, the last ones count. */
static void seen_add(struct seen *seen, uint32_t about, uint32_t call, uint64_t start_ns,
		     uint64_t end_ns)
{
	struct asks_file *file = about ? seen_find(seen, about) : NULL;

	if (!about) {
		seen->untold_ns = start_ns;
		return;
	}
	if (!file) {
		if (seen->count == ASKS_FILES) {
			memmove(seen->files, seen->files + 1,
				(ASKS_FILES - 1) * sizeof(seen->files[0]));
			seen->count--;
		}
		file = &seen->files[seen->count++];
		*file = (struct asks_file){ .about = about };
	}
	file->call = call;
	file->vain_ns = start_ns;
	file->got_ns = end_ns;
}

/* Now and then it says how long it has waited. */
static bool is_report(struct content_loop *loop, uint32_t call, uint32_t word)
{
	if (!loop->at.naps || !asks_is_report(loop->query, call, word, true))
		return false;
	loop->at.reports += !loop->has_reported;
	loop->has_reported = true;
	return asks_reports_seldom(loop->at.reports, loop->at.naps);
}

static bool may_be_untold(struct content_loop *loop, uint32_t call)
{
	return asks_may_go(loop->query, call) &&
	       strncmp(asks_name(loop->query, call), "open", strlen("open")) != 0;
}

/* The call under way has ended. False when it was more than to look. */
static bool content_end(struct content_loop *loop, const struct tl_interval *in)
{
	struct query *query = loop->query;
	uint32_t call = loop->call, about;

	loop->call = 0;
	if (!call || call == loop->at.nap.in)
		return true;
	loop->did = true;
	if (word_error(in->word))
		return true;
	about = asks_seen(query, call, in->word);
	if (about || (asks_sees_content(query, call) && may_be_untold(loop, call)))
		seen_add(&loop->at.now, about, call, loop->call_ns, in->start_ns);
	return loop->aside || call_is(query, call, CALL_QUIET) ||
	       call_is(query, call, CALL_LOOKS) || is_report(loop, call, in->word) ||
	       (loop->by_child && call_is(query, call, CALL_SHELL));
}

/* Was one of them looked at before the first sleep, too? */
static bool looked_before(struct content_loop *loop)
{
	for (uint32_t i = 0; i < loop->at.file_count; i++) {
		if (seen_find(&loop->at.before, loop->at.files[i]))
			return true;
	}
	return loop->at.before.untold_ns;
}

/* What is looked at from the second sleep on counts: before the first one lies all that the thread did to get there. */
static bool tell_files(struct content_loop *loop)
{
	const struct seen *now = &loop->at.now;

	if (!loop->at.naps)
		return now->count;
	loop->at.is_told = true;
	for (uint32_t i = 0; i < now->count; i++)
		loop->at.files[i] = now->files[i].about;
	loop->at.file_count = now->count;
	/* It sleeps first, and looks then. */
	if (loop->at.naps == 1 && !looked_before(loop))
		loop->at.naps = loop->at.turn_count = 0;
	return now->count;
}

/* Only what it looked at each time stays. False when nothing does. */
static bool keep_files(struct content_loop *loop)
{
	struct seen *now = &loop->at.now;
	uint32_t kept = 0;

	if (now->untold_ns)
		return true;
	if (!loop->at.is_told)
		return tell_files(loop);
	for (uint32_t i = 0; i < loop->at.file_count; i++) {
		if (seen_find(now, loop->at.files[i]))
			loop->at.files[kept++] = loop->at.files[i];
	}
	loop->at.file_count = kept;
	return kept;
}

/* The next sleep: it belongs to the others if the same was looked at before it. */
static bool content_nap(struct content_loop *loop, uint32_t index, const struct wait *wait)
{
	uint64_t look_ns = loop->at.now.untold_ns;

	if (wait->in != loop->at.nap.in)
		return false;
	if (loop->at.naps && (!loop->did || loop->aside) && !loop->at.now.count &&
	    !loop->at.now.untold_ns) {
		bool is_rest = loop->by_child || loop->aside;

		loop->at.index = index;
		loop->at.nap = *wait;
		loop->aside = false;
		return is_rest;
	}
	if (loop->at.turn_count >= TURNS || !keep_files(loop))
		return false;
	for (uint32_t i = 0; i < loop->at.now.count; i++) {
		if (loop->at.now.files[i].vain_ns > look_ns)
			look_ns = loop->at.now.files[i].vain_ns;
	}
	loop->turns =
		vec_room(loop->turns, loop->at.turn_count, &loop->turn_cap, sizeof(*loop->turns));
	loop->turns[loop->at.turn_count++] = look_ns;
	loop->at.before = loop->at.now;
	loop->at.now = (struct seen){ 0 };
	loop->at.index = index;
	loop->at.nap = *wait;
	loop->at.naps++;
	loop->worked_ns = loop->elsewhere_ns = 0;
	loop->did = loop->aside = loop->has_then = loop->has_reported = false;
	loop->call = 0;
	return true;
}

static bool is_content_bound(const struct content_loop *loop, uint64_t ns)
{
	uint64_t nap_ns = loop->at.nap.woken_ns - loop->at.nap.begin_ns;

	return ns <= (loop->by_child ? SHELL_NS : WORK_NS) + nap_ns / WORK_PART;
}

/* It slept on in the same call, and something else came first: it is at that, and may look again behind it. */
static bool content_aside(struct content_loop *loop, uint32_t index, const struct wait *wait)
{
	if (loop->at.now.count || loop->at.now.untold_ns) {
		loop->then = loop->at;
		if (!content_nap(loop, index, wait))
			return false;
		loop->has_then = true;
		loop->then_ns = wait->begin_ns;
	}
	loop->aside = true;
	loop->call = wait->in;
	return true;
}

enum content_next {
	CONTENT_ON,
	CONTENT_OVER,	/* it goes on with something else */
	CONTENT_UNKNOWN /* what it did */
};

static enum content_next content_wait(struct content_loop *loop, const struct tl_interval *in)
{
	uint32_t index = word_arg(in->word);
	struct wait wait;

	if (index == loop->at.index)
		return CONTENT_ON;
	timeline_wait(loop->query->tl, loop->slot, index, &wait);
	if (asks_is_on_the_way(loop->query, &loop->at.nap, &wait))
		return CONTENT_ON;
	if (asks_is_nap(loop->query, loop->slot, &wait))
		return content_nap(loop, index, &wait) ? CONTENT_ON : CONTENT_OVER;
	if (loop->by_child && asks_is_split_nap(loop->query, loop->slot, &loop->at.nap, &wait))
		return CONTENT_ON;
	if (wait.in == loop->at.nap.in && wait.flags & WAIT_MANY && wait.woken_ns)
		return content_aside(loop, index, &wait) ? CONTENT_ON : CONTENT_OVER;
	loop->elsewhere_ns += in->end_ns - in->start_ns;
	return is_content_bound(loop, loop->elsewhere_ns) ? CONTENT_ON : CONTENT_OVER;
}

/* It would have looked again by now. */
static bool looks_no_more(const struct content_loop *loop, uint64_t now_ns)
{
	uint64_t nap_ns = loop->then.nap.woken_ns - loop->then.nap.begin_ns;

	return loop->aside && loop->has_then && now_ns > loop->then_ns + WORK_NS &&
	       (now_ns - loop->then_ns - WORK_NS) / AGAIN_NAPS > nap_ns;
}

static enum content_next content_take(struct content_loop *loop, const struct tl_interval *in)
{
	bool goes_on = true;

	if (looks_no_more(loop, in->end_ns))
		return CONTENT_OVER;
	switch (word_kind(in->word)) {
	case WORD_NONE:
		return CONTENT_OVER;
	case WORD_UNCERTAIN:
		return in->end_ns > in->start_ns ? CONTENT_UNKNOWN : CONTENT_ON;
	case WORD_BLOCKED:
		return content_wait(loop, in);
	case WORD_USER:
		goes_on = content_end(loop, in);
		break;
	case WORD_SYSCALL:
		if (loop->call != word_plain(in->word)) {
			loop->call = word_plain(in->word);
			loop->call_ns = in->start_ns;
		}
		break;
	default:
		if (word_wib(in->word) != WIB_WORKING)
			return CONTENT_ON;
		break;
	}
	if (!loop->aside)
		loop->worked_ns += in->end_ns - in->start_ns;
	return goes_on && is_content_bound(loop, loop->worked_ns) ? CONTENT_ON : CONTENT_OVER;
}

/* What it looked at before the first sleep: all of it, however long ago it was. */
static void look_before(struct content_loop *loop, uint32_t index, const struct wait *nap)
{
	uint64_t start_ns = asks_gap_start_ns(loop->query, loop->slot, index);
	struct tl_interval in;
	struct tl_iter iter;

	loop->from_ns = start_ns;
	if (start_ns >= nap->begin_ns)
		return;
	tl_iter_thread(&iter, loop->query->tl, loop->slot, start_ns, nap->begin_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL && loop->call != word_plain(in.word)) {
			loop->call = word_plain(in.word);
			loop->call_ns = in.start_ns;
		} else if (word_kind(in.word) == WORD_USER) {
			(void)content_end(loop, &in);
		}
	}
	loop->call = 0;
}

/* It has gone on behind a look: which of the files looked at each time has changed? */
static bool find_change(struct content_loop *loop, struct answer *out_answer)
{
	struct asks_looks looks = {
		.query = loop->query,
		.slot = loop->slot,
		.asker = SLOT_NONE,
		.from_ns = loop->from_ns,
		.turns = loop->turns,
	};

	if (loop->has_then && !loop->at.now.count)
		loop->at = loop->then;
	looks.naps = loop->at.naps;
	looks.index = loop->at.index;
	looks.turn_count = loop->at.turn_count;
	looks.nap = loop->by_child ? NULL : &loop->at.nap;
	if (!loop->at.is_told && !loop->at.before.untold_ns)
		return false;
	for (uint32_t i = 0; i < loop->at.now.count; i++) {
		struct asks_file file = loop->at.now.files[i];
		const struct asks_file *before = seen_find(&loop->at.before, file.about);
		bool is_kept = !loop->at.is_told;

		for (uint32_t k = 0; k < loop->at.file_count && !is_kept; k++)
			is_kept = loop->at.files[k] == file.about;
		file.vain_ns = before ? before->vain_ns : loop->at.before.untold_ns;
		if (is_kept && file.vain_ns)
			looks.files[looks.file_count++] = file;
	}
	return asks_find_changer(&looks, out_answer);
}

bool asks_of_content(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		     struct asks_run *out_run)
{
	struct content_loop loop = {
		.query = query,
		.slot = slot,
		.at = { .index = SLOT_NONE, .nap = *nap },
		.by_child = asks_is_nap_of_child(query, slot, nap),
	};
	struct asks_content *last = &asks_runs(query)->content;
	enum content_next next = CONTENT_ON;
	struct tl_interval in;
	struct tl_iter iter;

	if (!last->is_there || last->slot != slot || index < last->run.first ||
	    index > last->run.last) {
		*last = (struct asks_content){ .is_there = true,
					       .slot = slot,
					       .run = { .first = index, .last = index } };
		look_before(&loop, index, nap);
		next = content_nap(&loop, index, nap) ? CONTENT_ON : CONTENT_UNKNOWN;
		loop.call = nap->in;
		tl_iter_thread(&iter, query->tl, slot, nap->woken_ns, query_known_ns(query, slot));
		while (next == CONTENT_ON && tl_iter_entry(&iter, &in))
			next = content_take(&loop, &in);
		if (next == CONTENT_ON && query->tl->threads[slot]->died &&
		    query->tl->threads[slot]->death_ns <= query->end_ns)
			next = CONTENT_OVER;
		last->run.is_answered =
			next == CONTENT_OVER && find_change(&loop, &last->run.answer);
		if (loop.at.index != SLOT_NONE)
			last->run.last = loop.at.index;
		free(loop.turns);
	}
	if (last->run.is_answered)
		*out_run = last->run;
	return last->run.is_answered;
}
