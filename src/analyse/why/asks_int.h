/*
 * asks_int.h - questions that are asked in vain, between why_asks.c, why_asks_process.c and why_doers.c.
 */
#ifndef ANALYSE_WHY_ASKS_INT_H
#define ANALYSE_WHY_ASKS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/why/why_int.h"
#include "base/map.h"

/* Threads looked at for one answer after the other: a bound on time, not on meaning. */
#define ASKS_LOOKS_MAX 2000000u

/* Of strangers, in the time in which an answer changed: among more, one fits the name that is asked for by chance. */
#define ASKS_RENAMES_MOST 3u

struct question {
	uint32_t call;	  /* word; 0 = none */
	uint32_t error;	  /* 0 = it found nothing */
	uint32_t about;	  /* as word_was_about() */
	uint32_t channel; /* as word_was_channel() */
};

/* Who may have changed the answer that 'slot' got? */
struct doing {
	struct query *query;
	uint32_t slot;	/* that asked, or sleeps for who did */
	uint32_t asker; /* the child that asked; SLOT_NONE = none did */
	struct question asked;
	const char *as;		 /* the call that would have asked; NULL = asked.call did */
	bool until_gone;	 /* it was there each time, until it was not */
	bool exact;		 /* only what is known to have been about the same counts */
	bool timed_out;		 /* no call failed: it waited in that one, with a limit */
	bool others;		 /* not its own process */
	uint64_t from_ns, to_ns; /* from the last time in vain to the end of the call that got it */
};

enum outcome {
	IN_VAIN,
	GOT_IT,
	NEITHER,
};

/* All sleeps of a thread from 'first' to 'last' are for one answer, or none of them is. */
struct asks_run {
	uint32_t first, last;
	bool is_answered;
	struct answer answer;
	struct question asked;
	uint64_t vain_ns; /* when it asked in vain last */
};

/* What all threads of a process asked for. */
struct process_asks {
	struct ask *asks; /* owned; in order of their ends */
	size_t count, cap;
	struct asks_run last; /* the answer that was looked for last, */
	size_t from, got;     /* to the asks in vain of one question from there to what got it */
};

/* What all threads of a process looked at. */
struct process_looks {
	struct process_look *looks; /* owned; in order of their ends */
	size_t count, cap;
	/* The loop that was judged last: of that file, from look to look; to_ns 0 = none was. */
	uint64_t from_ns, to_ns;
	uint32_t about;
	bool is_answered;
	struct answer answer;
};

struct asks_child;

#define ASKS_FILES 32u /* that one thread or program looks at before it sleeps */

/* A file that was looked at, */
struct asks_file {
	uint32_t about;	  /* as word_was_about() */
	uint32_t call;	  /* by it, */
	uint64_t vain_ns; /* when the last look in vain began, */
	uint64_t got_ns;  /* and the end of the one behind which it went on */
};

/* Looks at files that are there each time: what is in one of them has changed at last. */
struct asks_looks {
	struct query *query;
	uint32_t slot;	/* that looked, or sleeps for who did, */
	uint32_t index; /* of one of its sleeps, */
	uint32_t asker; /* the child that looked; SLOT_NONE = none did */
	uint32_t naps;
	struct asks_file files[ASKS_FILES];
	uint32_t file_count;
	uint64_t from_ns;      /* from the begin of the loop, or what is known of it */
	const uint64_t *turns; /* when each look but the last one began */
	size_t turn_count;
	const struct wait *nap; /* the last sleep; NULL = a child slept */
};

#define ASKS_MAPS 16u /* files that one process has mapped for others */

/* Files that a process has mapped so that others see what it writes there. */
struct asks_maps {
	uint32_t files[ASKS_MAPS]; /* as word_was_about() */
	uint32_t count;
};

/* The loop of such looks that was found last. */
struct asks_content {
	bool is_there;
	uint32_t slot;
	struct asks_run run;
};

/* The loop of a shell that was looked at last, from its first sleep to the end of the last one. */
struct asks_programs {
	uint32_t slot;
	uint64_t from_ns, to_ns; /* to_ns 0 = none was */
	bool is_answered;
	struct answer answer;
};

struct asks_runs {
	struct map by_slot; /* index into runs */
	struct asks_run *runs;
	size_t count, cap;
	struct map by_tgid; /* index into processes */
	struct process_asks *processes;
	size_t process_count, process_cap;
	struct map looks_by_tgid;	/* index into looks_of */
	struct process_looks *looks_of; /* owned */
	size_t looks_count, looks_cap;
	struct asks_child *children; /* owned; by process and birth */
	size_t child_count;
	bool has_children; /* they were looked for */
	struct asks_programs programs;
	struct asks_content content;
	uint64_t steps;	       /* from ask to ask, of processes */
	uint64_t entries;      /* of tracks, for who changed a file, */
	uint64_t map_entries;  /* and for who mapped one */
	struct asks_maps maps; /* of the process of maps_slot, which was asked for last */
	uint32_t maps_slot;
	bool has_maps;
	uint32_t looks;
};

/* How 'call', a word, ended, of which 'word' is the end. */
enum outcome asks_outcome(struct query *query, uint32_t call, uint32_t word);
/* Nothing is known of the thread in that interval: may it have made calls? Not where only a switch is missing. */
bool asks_hides_calls(const struct tl_interval *unsure);
/* Is it known what may change that answer? */
bool asks_has_reason(struct query *query, uint32_t call, uint32_t error);
/* Does it take what has come, so that the next time is for something else? */
bool asks_takes(struct query *query, uint32_t call);
/*
 * Fills in what the call that found something at last, and ended at 'got_ns', was about, as far as that is not known:
 * or, of a channel, what was taken right behind it.
 */
void asks_found(struct query *query, uint32_t slot, uint64_t got_ns, struct question *asked);
/* Does it look for a file, which may be there until it is not? */
bool asks_may_go(struct query *query, uint32_t call);
/* poll and its kin: they ask, but as often they sleep. */
bool asks_is_watch(struct query *query, uint32_t call);
/* Of both names few bits are left, so that one in 32 looks like a given name. */
bool asks_is_rename(const char *call);
/* It says how much it handed in: not whether what came is more than that its time was up. */
bool asks_is_ring(struct query *query, uint32_t call);
/* What was found out so far, and how much was looked at for it: made when it is asked for first. */
struct asks_runs *asks_runs(struct query *query);

/* Have their processes one in common that they come from? */
bool asks_is_kin(const struct query *query, uint32_t one, uint32_t other);
/* Is it a thread of who recorded? */
bool asks_is_recorder(const struct query *query, int32_t tid);
/* Is 'name' one of the names between blanks? */
bool asks_is_among(const char *names, const char *name);
/* Can what a call was about be that name, or the last part of it? */
bool asks_is_of(const char *name, uint32_t about);
/* What that was, in words, as one of the sleeps around wait 'index' tells; "" = none does. */
const char *asks_describe(struct query *query, uint32_t slot, uint32_t index, uint32_t about);
const char *asks_name(struct query *query, uint32_t call);
/* Did that call write to the standard output or error, or, with 'files', into a file? */
bool asks_is_report(struct query *query, uint32_t call, uint32_t word, bool files);
/* Is there output behind so few of the looks that who looks waits, rather than works each time? */
bool asks_reports_seldom(uint32_t reports, uint32_t looks);
bool asks_for_process(const char *call); /* it sends a signal: whether that one is there */
/*
 * why_doers.c: fills slot, time_ns and by. False when nobody did, or several did who cannot be told apart.
 */
bool asks_find_doer(const struct doing *doing, struct answer *out_answer);
/* When 'holder', a slot, let go of the file lock that was asked for: at the latest at to_ns. */
uint64_t asks_let_go_ns(const struct doing *doing, uint32_t holder);
/* Who did, between the last question in vain and the end of the one that got it. 'run' has the question. */
bool asks_find_answer(struct query *query, uint32_t slot, const struct asks_run *run,
		      uint64_t got_ns, const struct wait *nap, struct answer *out_answer);

/* asks_open.c: a run from 'first' on that was asking still at the end of what is known: for which process? */
bool asks_still(struct query *query, uint32_t slot, struct asks_run *run, const struct wait *first,
		const struct wait *last);

/* A thread that sleeps because it asked to, whatever in; or, as shells do, until a child has slept. */
bool asks_is_nap(struct query *query, uint32_t slot, const struct wait *wait);
bool asks_is_nap_of_child(struct query *query, uint32_t slot, const struct wait *wait);
/* What a child of a shell asked for, and when: how its last call ended that is there for asking. */
enum outcome asks_asked_by_child(struct query *query, uint32_t child, struct question *out_asked,
				 struct tl_interval *out_call);
/* A child that ended such a wait, and did more than to sleep; SLOT_NONE = it is none. */
uint32_t asks_child_of(struct query *query, uint32_t slot, const struct wait *wait);
/*
 * Who waits for a child that sleeps is woken by the end of any other one, too: of one that was there before.
 * Does 'wait' go on with such a sleep?
 */
bool asks_is_split_nap(struct query *query, uint32_t slot, const struct wait *nap,
		       const struct wait *wait);
/* Does a thread whose sleeps are such as 'nap' wait there for a lock, as Python's GIL, or for memory, before it can look? */
bool asks_is_on_the_way(struct query *query, const struct wait *nap, const struct wait *wait);
/* Where the gap before nap 'index' begins: with the end of the nap before it, if that is near and known. */
uint64_t asks_gap_start_ns(struct query *query, uint32_t slot, uint32_t index);

/* Does most of the time from one look to the next lie in the sleep? */
bool asks_lies_between(const struct query *query, uint32_t slot, const struct wait *nap,
		       uint64_t from_ns, uint64_t to_ns);

/* For how long the thread had no CPU. */
uint64_t asks_without_cpu_ns(const struct query *query, uint32_t slot, uint64_t from_ns,
			     uint64_t to_ns);

/* asks_content.c: a sleep between looks at a file, until that has changed. */
bool asks_of_content(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		     struct asks_run *out_run);
/* Who alone changed one of them between the last two looks. False when nobody did, or it may be chance. */
bool asks_find_changer(const struct asks_looks *looks, struct answer *out_answer);
/* why_naps.c: who alone of those that have mapped the file to write to changed what it did as the sleeps ended. */
bool asks_find_mapper(struct query *query, uint32_t slot, const struct missed *missed,
		      uint32_t file, struct answer *out_answer);
/* Does that call tell what is in a file, or how large or old it is? */
bool asks_sees_content(struct query *query, uint32_t call);
/* Of what a call that ended as 'word' tells, as word_was_about() or word_was_channel(); 0 = it looked at nothing, or it is not known. */
uint32_t asks_seen(struct query *query, uint32_t call, uint32_t word);

/* asks_child.c: did it little more than to sleep? That it had no CPU is not what it did. */
bool asks_only_slept(struct query *query, uint32_t slot);
/* The first child of the thread's process that was born behind 'after_ns'; SLOT_NONE = none was. */
uint32_t asks_next_child(struct query *query, uint32_t slot, uint64_t after_ns);
/* A sleep of a shell, as a child, for what a program that it runs again and again looks for. */
bool asks_of_programs(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		      struct asks_run *out_run);

/*
 * why_asks_process.c: one thread asks, and another one sleeps, as in Go and with node's helpers. Fills the
 * run of that one sleep; false when it is for no question. query->asks is there.
 */
bool asks_of_process(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		     struct asks_run *out_run);
void process_asks_fini(struct asks_runs *runs);

/* The calls of a thread in the window, one after the other, as far as it is known. */
struct asks_calls {
	struct tl_iter iter;
	uint32_t call; /* of the last one: which, and when it began */
	uint64_t call_ns;
};

void asks_calls_begin(struct asks_calls *calls, struct query *query, uint32_t slot);

/* The next one; '*out_end' is the interval that begins as it ended. False = there are no more. */
bool asks_calls_next(struct asks_calls *calls, struct tl_interval *out_end);

/* asks_process_looks.c: the same of looks at a file, until that has changed. */
bool asks_of_process_looks(struct query *query, uint32_t slot, uint32_t index,
			   const struct wait *nap, struct asks_run *out_run);
void process_looks_fini(struct asks_runs *runs);

#endif
