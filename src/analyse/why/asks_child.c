/*
 * asks_child.c - the programs that a shell runs between its sleeps, and what they look for.
 *
 *	shell   wait4 ──── wait4 ──sleep── wait4 ──── wait4 ──sleep── wait4 ──── goes on
 *	child   pgrep: it is there         pgrep: it is there         pgrep: it is no more
 *
 * Only the exit status of such a program answers, which nothing tells. So the last two of them are compared:
 *
 *	- where both made the same calls up to one that failed for the first and not for the second, who
 *	  changed the answer to that in between is who it was asked of, as in doers.c; the same where a file was
 *	  there for the first, and not for the second,
 *	- where none of them failed otherwise, who changed a file that both looked into, as in asks_content.c,
 *	- where the program is there to find processes, and its arguments have the name or the number of one, the
 *	  last of those that ended in between is.
 *
 * The same where it sleeps itself, and runs programs in between, by itself or by a shell.
 *
 * Children are found by their birth: a shell that had no CPU meanwhile did not wait for them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/asks_int.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"

#define CHILD_WAITS 64u /* of one that does nothing but sleep: it has to be loaded, too */
#define STEPS_MAX   1024u
#define LEAST	    2u	      /* sleeps: one may be chance */
#define LATE_NS	    50000000u /* from the end of one child to the begin of the next */
#define COMM_LENGTH 15u
#define PIPELINE    4u
#define PORT_DIGITS 2u
#define LISTENS	    " ss netstat lsof fuser "
#define FINDERS	    " pgrep pkill pidof ps killall grep "

/* A program that is there to ask: what it is asked of is its last call of these. */
#define CALLS_CHILD                                                                                \
	" mkdir mkdirat link linkat symlink symlinkat connect flock fcntl rename renameat2 rmdir " \
	"unlink unlinkat kill "

/* Did a call of a child end as one that asks? Of fcntl() only what is about a file's lock does. */
static bool child_call_counts(struct query *query, uint32_t call, uint32_t word,
			      const struct question *asked)
{
	const char *name = asks_name(query, call);

	if (!asks_is_among(CALLS_CHILD, name))
		return false;
	switch (asks_outcome(query, call, word)) {
	case IN_VAIN:
		return asks_has_reason(query, call, word_error(word));
	case GOT_IT:
		return word_was_about(word) ||
		       (call == asked->call && strncmp(name, "fcntl", strlen("fcntl")) != 0);
	default:
		return false;
	}
}

enum outcome asks_asked_by_child(struct query *query, uint32_t child, struct question *out_asked,
				 struct tl_interval *out_call)
{
	const struct tl_thread *thread = query->tl->threads[child];
	enum outcome outcome = NEITHER;
	uint32_t call = 0;
	uint64_t call_ns = 0;
	struct tl_interval in;
	struct tl_iter iter;

	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL && call != word_plain(in.word)) {
			call = word_plain(in.word);
			call_ns = in.start_ns;
		} else if (word_kind(in.word) == WORD_USER && call) {
			if (child_call_counts(query, call, in.word, out_asked)) {
				outcome = asks_outcome(query, call, in.word);
				*out_asked = (struct question){ call, word_error(in.word),
								word_was_about(in.word) };
				*out_call = (struct tl_interval){ call_ns, in.start_ns, call };
			}
			call = 0;
		}
	}
	return outcome;
}

uint32_t asks_child_of(struct query *query, uint32_t slot, const struct wait *wait)
{
	const struct timeline *tl = query->tl;
	uint32_t child = wait->waker.slot;

	if (!wait->woken_ns || wait->waker.kind != ACTOR_THREAD || child >= tl->thread_count ||
	    tl->threads[child]->parent >= tl->thread_count ||
	    tl->threads[tl->threads[child]->parent]->tgid != tl->threads[slot]->tgid ||
	    tl->threads[child]->tgid == tl->threads[slot]->tgid ||
	    query->asks->looks++ >= ASKS_LOOKS_MAX)
		return SLOT_NONE;
	return child;
}

struct asks_child {
	int32_t of; /* process */
	uint32_t slot;
	uint64_t birth_ns;
};

ORDER_FUNCTION(by_birth, struct asks_child, ORDER_UP(of), ORDER_UP(birth_ns), ORDER_UP(slot));

static void find_children(struct query *query, struct asks_runs *runs)
{
	const struct timeline *tl = query->tl;
	size_t cap = 0;

	runs->has_children = true;
	for (uint32_t i = 0; i < tl->thread_count; i++) {
		const struct tl_thread *thread = tl->threads[i];

		if (!thread->born || thread->tid != thread->tgid ||
		    thread->parent >= tl->thread_count)
			continue;
		runs->children =
			vec_room(runs->children, runs->child_count, &cap, sizeof(*runs->children));
		runs->children[runs->child_count++] =
			(struct asks_child){ tl->threads[thread->parent]->tgid, i,
					     thread->birth_ns };
	}
	if (runs->child_count)
		qsort(runs->children, runs->child_count, sizeof(*runs->children), by_birth);
}

uint32_t asks_next_child(struct query *query, uint32_t slot, uint64_t after_ns)
{
	struct asks_runs *runs = asks_runs(query);
	int32_t of = query->tl->threads[slot]->tgid;
	size_t at;

	if (!runs->has_children)
		find_children(query, runs);
	at = SEARCH_ITEM(runs->children, runs->child_count, child,
			 child->of < of || (child->of == of && child->birth_ns <= after_ns));
	return at < runs->child_count && runs->children[at].of == of ? runs->children[at].slot
								     : SLOT_NONE;
}

/* A wait for changes of files, with a limit or without, is as good as a sleep until the next look. */
static bool is_sleep(struct query *query, const struct wait *wait)
{
	return wait_sleeps(query, wait) ||
	       strcmp(timeline_name(query->tl, wait->object), "inotify") == 0;
}

bool asks_only_slept(struct query *query, uint32_t slot)
{
	const struct tl_thread *thread = query->tl->threads[slot];
	uint64_t slept_ns = 0, else_ns = 0;
	struct tl_interval in;
	struct tl_iter iter;
	struct wait wait;

	if (!thread->died || !thread->wait_count || thread->wait_count > CHILD_WAITS)
		return false;
	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (tl_iter_entry(&iter, &in)) {
		bool sleeps = word_kind(in.word) == WORD_BLOCKED &&
			      is_sleep(query, query_wait(query, slot, in.word, &wait));

		if (sleeps)
			slept_ns += in.end_ns - in.start_ns;
		else if (word_wib(in.word) != WIB_INTERRUPTED)
			else_ns += in.end_ns - in.start_ns;
	}
	return slept_ns > else_ns;
}

/* --------------------------------------------------------------------- what a program did */

/* A call, and how it ended. */
struct step {
	uint32_t call, error, about;
	uint64_t start_ns, end_ns;
};

struct steps {
	struct step steps[STEPS_MAX];
	uint32_t count;
};

/* Its calls since it runs that program, up to the first STEPS_MAX. */
static void steps_of(struct query *query, uint32_t child, struct steps *out_steps)
{
	const struct tl_thread *thread = query->tl->threads[child];
	struct tl_interval in;
	struct tl_iter iter;
	uint64_t call_ns = 0;
	uint32_t call = 0;

	out_steps->count = 0;
	tl_iter_begin(&iter, query->tl, &thread->track, thread->birth_ns, thread->death_ns);
	while (out_steps->count < STEPS_MAX && tl_iter_entry(&iter, &in)) {
		if (word_kind(in.word) == WORD_SYSCALL && call != word_plain(in.word)) {
			call = word_plain(in.word);
			call_ns = in.start_ns;
		}
		if (word_kind(in.word) != WORD_USER || !call)
			continue;
		if (strcmp(asks_name(query, call), "execve") == 0)
			out_steps->count = 0;
		out_steps->steps[out_steps->count++] =
			(struct step){ call, word_error(in.word), word_was_about(in.word), call_ns,
				       in.start_ns };
		call = 0;
	}
}

/* What was opened is told by the look into it that follows, where the call itself does not tell. */
static void tell_opened(struct query *query, struct steps *steps, uint32_t index)
{
	struct step *step = &steps->steps[index];

	if (!step->about && !step->error && index + 1 < steps->count &&
	    strncmp(asks_name(query, step->call), "open", strlen("open")) == 0 &&
	    asks_sees_content(query, step[1].call))
		step->about = step[1].about;
}

/* The first call that ended otherwise, where all before are alike. False when there is none. */
static bool find_difference(const struct steps *one, const struct steps *other, uint32_t *out_index)
{
	for (uint32_t i = 0; i < one->count && i < other->count; i++) {
		if (one->steps[i].call != other->steps[i].call)
			return false;
		*out_index = i;
		if (one->steps[i].error != other->steps[i].error)
			return true;
	}
	return false;
}

/* A shell that runs programs, and sleeps, by turns. */
struct program_loop {
	struct query *query;
	uint32_t slot, index; /* of the wait that is one of the sleeps */
	uint32_t vain, got;   /* slots: the last two programs */
	uint64_t last_ns;     /* when the last program began */
	uint32_t naps;
	uint64_t *turns; /* owned; when each program but the last one began */
	size_t turn_count, turn_cap;
};

/* Who had the same call of the last program end otherwise? */
static bool find_changer(const struct program_loop *loop, const struct step *vain,
			 const struct step *got, struct answer *out_answer)
{
	struct query *query = loop->query;
	bool gone = !vain->error && got->error == ENOENT && asks_may_go(query, got->call);
	const struct doing doing = { .query = query,
				     .slot = loop->slot,
				     .asker = loop->got,
				     .asked = { vain->call, vain->error,
						vain->about ? vain->about : got->about },
				     .until_gone = gone,
				     .exact = gone,
				     .from_ns = vain->start_ns,
				     .to_ns = got->end_ns };

	if (gone ? !doing.asked.about
		 : got->error || !asks_has_reason(query, vain->call, vain->error))
		return false;
	if (!asks_find_doer(&doing, out_answer))
		return false;
	out_answer->call = asks_name(query, vain->call);
	out_answer->error = vain->error;
	out_answer->until_gone = gone;
	out_answer->about = asks_describe(query, loop->slot, loop->index, doing.asked.about);
	return true;
}

static bool find_maker(const struct program_loop *loop, struct answer *out_answer)
{
	struct steps *both = xcalloc(2, sizeof(*both));
	bool found = false;
	uint32_t i;

	steps_of(loop->query, loop->vain, &both[0]);
	steps_of(loop->query, loop->got, &both[1]);
	if (find_difference(&both[0], &both[1], &i)) {
		tell_opened(loop->query, &both[0], i);
		found = find_changer(loop, &both[0].steps[i], &both[1].steps[i], out_answer);
	}
	free(both);
	return found;
}

/* ----------------------------------------------------------- programs that look into files */

/* Files that a program looked into; vain_ns: first, got_ns: last. */
struct program_files {
	struct asks_file at[ASKS_FILES];
	uint32_t count;
};

static struct asks_file *file_of(struct program_files *files, uint32_t about)
{
	for (uint32_t i = 0; i < files->count; i++) {
		if (files->at[i].about == about)
			return &files->at[i];
	}
	return NULL;
}

/* Where there are too many, the last ones count: a program looks up its libraries first. */
static void add_file(struct program_files *files, const struct step *step)
{
	struct asks_file *file = file_of(files, step->about);

	if (!file && files->count == ASKS_FILES) {
		memmove(files->at, files->at + 1, (ASKS_FILES - 1) * sizeof(files->at[0]));
		files->count--;
	}
	if (!file) {
		file = &files->at[files->count++];
		*file = (struct asks_file){ .about = step->about, .vain_ns = step->start_ns };
	}
	file->call = step->call;
	file->got_ns = step->end_ns;
}

/* What a program looked into, or those that it ran: a shell in a shell does. */
static void find_files(struct query *query, uint32_t program, struct steps *steps,
		       struct program_files *out_files)
{
	uint32_t of = program;

	out_files->count = 0;
	for (uint32_t i = 0; i <= PIPELINE && of != SLOT_NONE; i++) {
		steps_of(query, of, steps);
		for (uint32_t k = 0; k < steps->count; k++) {
			const struct step *step = &steps->steps[k];

			if (step->about && !step->error && asks_sees_content(query, step->call))
				add_file(out_files, step);
		}
		of = asks_next_child(query, program, query->tl->threads[of]->birth_ns);
	}
}

/* Who changed a file that both looked into, where neither failed otherwise than the other one? */
static bool find_content(const struct program_loop *loop, struct answer *out_answer)
{
	struct query *query = loop->query;
	struct steps *steps = xcalloc(1, sizeof(*steps));
	struct asks_looks looks = { .query = query,
				    .slot = loop->slot,
				    .index = loop->index,
				    .asker = loop->got,
				    .naps = loop->naps,
				    .turns = loop->turns,
				    .turn_count = loop->turn_count };
	struct program_files vain, got;

	find_files(query, loop->vain, steps, &vain);
	find_files(query, loop->got, steps, &got);
	free(steps);
	looks.from_ns = loop->turn_count ? loop->turns[0] : 0;
	for (uint32_t i = 0; i < got.count; i++) {
		const struct asks_file *before = file_of(&vain, got.at[i].about);

		if (!before)
			continue;
		got.at[i].vain_ns = before->vain_ns;
		looks.files[looks.file_count++] = got.at[i];
	}
	return asks_find_changer(&looks, out_answer);
}

/* ------------------------------------------------------------ programs that find processes */

/* A pattern without what stands for no letter: '[m]ake' is make. */
static void make_plain(char *pattern)
{
	char *to = pattern;

	for (const char *from = pattern; *from; from++) {
		if (!strchr("[]^$\\\"'", *from))
			*to++ = *from;
	}
	*to = '\0';
}

/* The arguments behind the name of the program and its options. */
static const char *behind_options(const char *arguments)
{
	const char *at = arguments + strcspn(arguments, " ");

	while (*at == ' ' && (at[1] == '-' || at[1] == ' '))
		at += 1 + strcspn(at + 1, " ");
	return *at == ' ' ? at + 1 : "";
}

/* Is it a part of its name, or of its arguments? */
static bool matches(struct query *query, const char *arguments, bool full,
		    const struct tl_thread *process)
{
	const char *comm = timeline_name(query->tl, process->comm);
	const char *cmdline = timeline_name(query->tl, process->cmdline);
	AUTO_FREE char *pattern = xstrdup(behind_options(arguments));

	make_plain(pattern);
	if (!full && strstr(arguments, " -x"))
		return strcmp(comm, pattern) == 0;
	return *pattern && strstr(full && *cmdline ? cmdline : comm, pattern);
}

/* Do the arguments mean that process? */
static bool means(struct query *query, const char *arguments, const struct tl_thread *process)
{
	const char *comm = timeline_name(query->tl, process->comm);
	bool grep = strncmp(arguments, "grep ", 5) == 0;
	AUTO_FREE char *text = xstrdup(behind_options(arguments));
	AUTO_FREE char *number = xasprintf("%d", process->tgid);
	char *save = NULL;

	if (grep || strncmp(arguments, "pgrep ", 6) == 0 || strncmp(arguments, "pkill ", 6) == 0)
		return matches(query, arguments, grep || strstr(arguments, " -f"), process);
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (strncmp(word, comm, COMM_LENGTH) == 0 || strcmp(word, number) == 0)
			return true;
	}
	return false;
}

/* Of the one behind it, where it is 'ps | grep NAME'. */
static const char *arguments_of_grep(const struct program_loop *loop, const char *arguments)
{
	const struct timeline *tl = loop->query->tl;
	const struct tl_thread *vain = tl->threads[loop->vain];
	uint32_t next = asks_next_child(loop->query, loop->slot, vain->birth_ns);
	const char *behind;

	if (next == SLOT_NONE || tl->threads[next]->birth_ns > vain->death_ns)
		return arguments;
	behind = timeline_name(tl, tl->threads[next]->cmdline);
	return strncmp(behind, "grep ", 5) == 0 ? behind : arguments;
}

/* Did it end in between? At the latest a moment behind it: it is gone before its last switch, for which it needs a CPU. */
static bool ended_between(const struct program_loop *loop, uint32_t slot)
{
	const struct timeline *tl = loop->query->tl;
	const struct tl_thread *thread = tl->threads[slot];

	return thread->died && thread->tid == thread->tgid && slot != loop->vain &&
	       slot != loop->got && slot != loop->slot &&
	       thread->death_ns > tl->threads[loop->vain]->birth_ns &&
	       thread->death_ns <= tl->threads[loop->got]->death_ns + LATE_NS &&
	       thread->birth_ns < tl->threads[loop->vain]->death_ns &&
	       !asks_is_among(FINDERS, timeline_name(tl, thread->comm));
}

/* Is it there before and behind it, so that it would have been found? Of what ps prints the names alone are sure. */
static bool lives_on(const struct program_loop *loop, const char *arguments, uint32_t slot)
{
	const struct timeline *tl = loop->query->tl;
	const struct tl_thread *thread = tl->threads[slot];

	if (thread->tid == 0 || thread->tid != thread->tgid ||
	    thread->birth_ns > tl->threads[loop->vain]->birth_ns ||
	    (thread->died && thread->death_ns <= tl->threads[loop->got]->death_ns + LATE_NS))
		return false;
	return strncmp(arguments, "grep ", 5) == 0 ? matches(loop->query, arguments, false, thread)
						   : means(loop->query, arguments, thread);
}

/* The last of the processes that it was there to find, unless another one is there still; else the first that was seen to end a moment later. */
static uint32_t find_last(const struct program_loop *loop, const char *arguments)
{
	const struct timeline *tl = loop->query->tl;
	uint64_t got_ns = tl->threads[loop->got]->death_ns;
	uint32_t found = SLOT_NONE;

	for (uint32_t i = 0; i < tl->thread_count; i++) {
		uint64_t death_ns = tl->threads[i]->death_ns, found_ns;

		if (lives_on(loop, arguments, i))
			return SLOT_NONE;
		if (!ended_between(loop, i) || !means(loop->query, arguments, tl->threads[i]))
			continue;
		found_ns = found == SLOT_NONE ? 0 : tl->threads[found]->death_ns;
		if (!found_ns || (death_ns <= got_ns ? found_ns > got_ns || death_ns > found_ns
						     : found_ns > got_ns && death_ns < found_ns))
			found = i;
	}
	return found;
}

static bool find_ended(const struct program_loop *loop, struct answer *out_answer)
{
	struct query *query = loop->query;
	const struct timeline *tl = query->tl;
	const char *name = timeline_name(tl, tl->threads[loop->vain]->comm);
	const char *arguments =
		arguments_of_grep(loop, timeline_name(tl, tl->threads[loop->vain]->cmdline));
	uint64_t got_ns = tl->threads[loop->got]->death_ns;
	uint32_t found = asks_is_among(FINDERS, name) ? find_last(loop, arguments) : SLOT_NONE;

	if (found == SLOT_NONE)
		return false;
	*out_answer = (struct answer){
		.slot = found, .time_ns = tl->threads[found]->death_ns, .call = name, .by = ""
	};
	if (out_answer->time_ns > got_ns)
		out_answer->time_ns = got_ns;
	out_answer->reason =
		why_reason_keep(query->why, &(struct why_reason){ .kind = WHY_REASON_PROGRAM_GONE,
								  .object = arguments });
	return true;
}

/* ------------------------------------------------------------ programs that find listeners */

/* The port among the arguments; NULL = there is none. */
static char *port_among(const char *arguments)
{
	for (const char *at = strchr(arguments, ' '); at && *at; at++) {
		size_t digits = strspn(at, "0123456789");

		if (digits >= PORT_DIGITS)
			return xasprintf("%.*s", (int)digits, at);
		at += digits ? digits - 1 : 0;
	}
	return NULL;
}

/* Who listens at the port that it was there to find. */
static bool find_listener(const struct program_loop *loop, struct answer *out_answer)
{
	struct query *query = loop->query;
	const struct timeline *tl = query->tl;
	const char *name = timeline_name(tl, tl->threads[loop->vain]->comm);
	const char *arguments =
		arguments_of_grep(loop, timeline_name(tl, tl->threads[loop->vain]->cmdline));
	AUTO_FREE char *port = port_among(arguments);
	const struct doing doing = { .query = query,
				     .slot = loop->slot,
				     .asker = loop->got,
				     .as = "connect",
				     .asked = { 0, ECONNREFUSED,
						port ? word_about_name(port, true) : 0 },
				     .exact = true,
				     .from_ns = tl->threads[loop->vain]->birth_ns,
				     .to_ns = tl->threads[loop->got]->death_ns };

	if (!port || !asks_is_among(LISTENS, name))
		return false;
	if (!asks_find_doer(&doing, out_answer))
		return false;
	out_answer->call = name;
	out_answer->reason =
		why_reason_keep(query->why, &(struct why_reason){ .kind = WHY_REASON_PROGRAM_FOUND,
								  .object = arguments,
								  .by = out_answer->by });
	return true;
}

/* ------------------------------------------------------------------------------- loops */

/* The next child; SLOT_NONE = none comes soon, for what CPU time the shell has. */
static uint32_t child_behind(const struct program_loop *loop, uint32_t child)
{
	const struct timeline *tl = loop->query->tl;
	const struct tl_thread *last = tl->threads[child];
	uint32_t next = asks_next_child(loop->query, loop->slot, last->birth_ns);

	if (next == SLOT_NONE || !last->died ||
	    tl->threads[next]->birth_ns > last->death_ns + LATE_NS +
						  asks_without_cpu_ns(loop->query, loop->slot,
								      last->death_ns,
								      tl->threads[next]->birth_ns))
		return SLOT_NONE;
	return next;
}

/* A pipeline has several programs. */
static uint32_t sleeper_behind(const struct program_loop *loop, uint32_t program)
{
	for (uint32_t i = 0; i < PIPELINE && program != SLOT_NONE; i++) {
		program = child_behind(loop, program);
		if (program != SLOT_NONE && asks_only_slept(loop->query, program))
			return program;
	}
	return SLOT_NONE;
}

/* One more program of that loop; *name: that of the first one. False when it is another one. */
static bool add_program(struct program_loop *loop, uint32_t program, uint32_t *name)
{
	const struct timeline *tl = loop->query->tl;

	if (program == SLOT_NONE || asks_only_slept(loop->query, program) ||
	    (*name && tl->threads[program]->comm != *name))
		return false;
	*name = tl->threads[program]->comm;
	if (loop->got != SLOT_NONE) {
		loop->turns = vec_room(loop->turns, loop->turn_count, &loop->turn_cap,
				       sizeof(*loop->turns));
		loop->turns[loop->turn_count++] = tl->threads[loop->got]->birth_ns;
	}
	loop->vain = loop->got;
	loop->got = program;
	loop->naps++;
	loop->last_ns = tl->threads[program]->birth_ns;
	return true;
}

/* From sleep to sleep, as long as the same program lies in between; it comes once more behind the last. */
static bool find_loop(struct program_loop *loop, uint32_t sleeper)
{
	struct query *query = loop->query;
	uint32_t name = 0, program = child_behind(loop, sleeper);

	while (add_program(loop, program, &name)) {
		sleeper = sleeper_behind(loop, program);
		if (sleeper == SLOT_NONE || query->asks->looks++ >= ASKS_LOOKS_MAX)
			break;
		program = child_behind(loop, sleeper);
	}
	return loop->vain != SLOT_NONE && loop->naps >= LEAST;
}

/* The first child that is made soon behind a sleep of its own. */
static uint32_t child_behind_nap(const struct program_loop *loop, const struct wait *nap)
{
	uint32_t child = asks_next_child(loop->query, loop->slot, nap->woken_ns);
	uint64_t birth_ns;

	if (child == SLOT_NONE)
		return SLOT_NONE;
	birth_ns = loop->query->tl->threads[child]->birth_ns;
	return birth_ns <= nap->woken_ns + LATE_NS +
				       asks_without_cpu_ns(loop->query, loop->slot, nap->woken_ns,
							   birth_ns)
		       ? child
		       : SLOT_NONE;
}

/* The next sleep of its own, soon behind the end of a program. False when there is none. */
static bool nap_behind(const struct program_loop *loop, uint32_t program, uint32_t *index,
		       struct wait *nap)
{
	struct query *query = loop->query;
	const struct tl_thread *child = query->tl->threads[program];
	uint32_t count = query->tl->threads[loop->slot]->wait_count;
	struct wait wait;

	for (uint32_t i = *index + 1; i < count && i <= *index + CHILD_WAITS; i++) {
		timeline_wait(query->tl, loop->slot, i, &wait);
		if (!wait.woken_ns || !child->died)
			return false;
		if (wait.in != nap->in || wait.begin_ns < child->death_ns ||
		    !asks_is_nap(query, loop->slot, &wait))
			continue;
		if (wait.begin_ns >
		    child->death_ns + LATE_NS +
			    asks_without_cpu_ns(query, loop->slot, child->death_ns, wait.begin_ns))
			return false;
		*index = i;
		*nap = wait;
		return true;
	}
	return false;
}

/* The same where it sleeps itself; that it has gone on behind the last program must be known. */
static bool find_own_loop(struct program_loop *loop, const struct wait *first)
{
	struct query *query = loop->query;
	const struct tl_thread *thread = query->tl->threads[loop->slot];
	uint32_t index = loop->index, name = 0;
	struct wait nap = *first;

	while (add_program(loop, child_behind_nap(loop, &nap), &name)) {
		if (query->asks->looks++ >= ASKS_LOOKS_MAX ||
		    !nap_behind(loop, loop->got, &index, &nap))
			break;
	}
	return loop->vain != SLOT_NONE && loop->naps >= LEAST &&
	       query->tl->threads[loop->got]->died &&
	       (thread->died ||
		query_known_ns(query, loop->slot) > query->tl->threads[loop->got]->death_ns +
							    LATE_NS + nap.woken_ns - nap.begin_ns);
}

/* Who had the last of the programs find what the one before did not? */
static bool judge_programs(const struct program_loop *loop, struct answer *out_answer)
{
	return find_ended(loop, out_answer) || find_listener(loop, out_answer) ||
	       find_maker(loop, out_answer) || find_content(loop, out_answer);
}

/* What shells that were run for that have run in their turn. False when they did not. */
static bool go_below(struct program_loop *loop)
{
	const struct timeline *tl = loop->query->tl;
	uint32_t *const both[] = { &loop->vain, &loop->got };
	uint32_t below[2];

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		below[i] = asks_next_child(loop->query, *both[i], tl->threads[*both[i]]->birth_ns);
		if (below[i] == SLOT_NONE)
			return false;
	}
	loop->vain = below[0];
	loop->got = below[1];
	return true;
}

bool asks_of_programs(struct query *query, uint32_t slot, uint32_t index, const struct wait *nap,
		      struct asks_run *out_run)
{
	struct asks_runs *runs = asks_runs(query);
	struct program_loop loop = {
		.query = query, .slot = slot, .index = index, .vain = SLOT_NONE, .got = SLOT_NONE
	};
	struct asks_programs *last = &runs->programs;

	if (last->slot != slot || !last->to_ns || nap->begin_ns < last->from_ns ||
	    nap->woken_ns > last->to_ns) {
		*last = (struct asks_programs){ .slot = slot, .from_ns = nap->begin_ns };
		if (asks_is_nap_of_child(query, slot, nap) ? find_loop(&loop, nap->waker.slot)
							   : find_own_loop(&loop, nap)) {
			last->is_answered =
				judge_programs(&loop, &last->answer) ||
				(go_below(&loop) && judge_programs(&loop, &last->answer));
			last->answer.naps = loop.naps;
		}
		free(loop.turns);
		last->to_ns = loop.last_ns > nap->woken_ns ? loop.last_ns : nap->woken_ns;
	}
	if (!last->is_answered)
		return false;
	*out_run = (struct asks_run){
		.first = index,
		.last = index,
		.is_answered = true,
		.answer = last->answer,
	};
	return true;
}
