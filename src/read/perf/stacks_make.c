/*
 * stacks_make.c - chains and copies of stacks, with what processes had mapped, become stacks of waits and samples.
 *
 * A copy by itself tells where the program was; with a walker, who called that. One process comes after the other
 * then, as it takes long to look at its files.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/text.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"
#include "read/perf/stacks.h"
#include "read/perf/stacks_int.h"
#include "read/stack_walk.h"
#include "store/formats.h"

#define FRAMES_MAX  (PERF_STACK_CHAIN_MAX + WALK_FRAMES_MAX)
#define KTHREADD    2	 /* whose children are the kernel's threads */
#define DEPTH_USUAL 127u /* addresses of a chain where the kernel is not told otherwise */

/*
 * So much is done for one trace: a frame is one, a file that a process had mapped as many as reading its tables takes. It
 * is 10 to 20 s; by a clock the same trace would not always give the same report.
 */
#define WORK_MAX     UINT64_C(4000000)
#define WORK_COPY    4u
#define WORK_MAP     16u
#define ROUND_COPIES 16384u	       /* they are no more work than all, of one process */
#define USUAL_NS     UINT64_C(1000000) /* that a sample stands for where that is not known */

#define END_CHAIN   "perf's call chain does not tell whether it is whole"
#define END_COPY    "perf's copy of the stack is not unwound here"
#define END_LEFT    "there are too many copies of stacks to unwind all"
#define END_NO_REGS "perf copied no registers of the program"
#define END_OTHER   "perf's copy has no registers that are known here"

ORDER_FUNCTION(compare_moments, struct perf_moment, ORDER_UP(tid), ORDER_UP(time_ns),
	       ORDER_DOWN(chain));

/* What stacks are made of, and where they go to. */
struct making {
	struct perf_stacks *stacks;
	const struct perf_file *file;
	const struct map *threads; /* tid: index in the facts */
	const struct formats *build_ids;
	struct map ids_of_paths; /* hash of a path: its index in build_ids */
	struct stacks *to;
	uint64_t end_ns;
	bool walks; /* copies were walked: one that is not made by then was left out */
};

static const char *id_of_path(const struct making *making, const char *path)
{
	const uint64_t *index = map_find(&making->ids_of_paths, hash_bytes(path, strlen(path), 0));
	const struct format_section *id = index ? &making->build_ids->sections[*index] : NULL;

	return id && strcmp(id->name, path) == 0 ? id->text : NULL;
}

static const char *id_of_map(const struct making *making, const struct perf_happening *map)
{
	const struct names *texts = &making->stacks->maps.texts;

	return map->build_id ? names_text(texts, map->build_id)
			     : id_of_path(making, names_text(texts, map->path));
}

/* ------------------------------------------------------------------ frames */

/* 'map' NULL: it is not known. */
static uint32_t user_frame(const struct making *making, const struct perf_happening *map,
			   uint64_t address)
{
	struct stack_frame frame = { .offset = address };

	if (map) {
		frame.path = names_text(&making->stacks->maps.texts, map->path);
		frame.module = text_base_name(frame.path);
		frame.build_id = id_of_map(making, map);
		frame.offset = address - map->start + map->offset;
		frame.is_in_file = true;
	}
	return stack_pool_frame(&making->stacks->pool, &frame);
}

static uint32_t user_frame_at(const struct making *making, int32_t tgid, uint64_t time_ns,
			      uint64_t address)
{
	return user_frame(making, perf_maps_find(&making->stacks->maps, tgid, time_ns, address),
			  address);
}

/* The numbers of its frames. Addresses behind the first are where calls return to. */
static uint32_t chain_frames(const struct making *making, const struct perf_stack_chain *chain,
			     uint64_t time_ns, uint32_t *out_frames)
{
	uint64_t context = PERF_CONTEXT_KERNEL;
	uint32_t count = 0;
	bool is_first = true;

	for (uint32_t i = 0; i < chain->count; i++) {
		uint64_t word = making->stacks->words[chain->first + i];

		if (word >= PERF_CONTEXT_MAX) {
			is_first = true;
			context = word;
			continue;
		}
		if (context == PERF_CONTEXT_KERNEL)
			out_frames[count++] = stack_pool_frame(
				&making->stacks->pool, &(struct stack_frame){ .module = "[kernel]",
									      .offset = word,
									      .is_kernel = true });
		else if (context == PERF_CONTEXT_USER && word)
			out_frames[count++] = user_frame_at(making, chain->tgid, time_ns,
							    is_first ? word : word - 1);
		is_first = false;
	}
	return count;
}

/* ------------------------------------------------------------------ stacks */

/* A chain means other code when its process runs another program, or maps other files. */
static uint64_t key_of(const struct making *making, const struct perf_moment *moment)
{
	const struct perf_stacks *stacks = making->stacks;
	uint64_t era =
		perf_maps_until(&stacks->maps, stacks->chains[moment->chain].tgid, moment->time_ns);

	return era << 32 ^ moment->chain;
}

/* A thread of the kernel has no registers of a program; all of it is in the chain. */
static bool is_kernel_thread(const struct making *making, const struct perf_stack_chain *chain,
			     uint64_t time_ns)
{
	const uint64_t *index = map_find(making->threads, (uint64_t)chain->tgid);

	if (!chain->count || chain->count >= DEPTH_USUAL)
		return false;
	if (index && making->file->facts->threads[*index].kernel)
		return true;
	return perf_maps_parent(&making->stacks->maps, chain->tgid, time_ns) == KTHREADD;
}

static const char *end_of(const struct making *making, const struct perf_stack_chain *chain,
			  uint64_t time_ns)
{
	if (!chain->copy.attr)
		return END_CHAIN;
	if (!chain->copy.has_regs)
		return is_kernel_thread(making, chain, time_ns) ? NULL : END_NO_REGS;
	if (!chain->copy.pc)
		return END_OTHER;
	return making->walks ? END_LEFT : END_COPY;
}

static uint32_t stack_of(const struct making *making, const struct perf_moment *moment)
{
	struct perf_stacks *stacks = making->stacks;
	const struct perf_stack_chain *chain = &stacks->chains[moment->chain];
	uint32_t frames[FRAMES_MAX], count;
	uint64_t *made;
	bool is_new;

	made = map_add(&stacks->made, key_of(making, moment), &is_new);
	if (!is_new)
		return (uint32_t)*made;
	count = chain_frames(making, chain, moment->time_ns, frames);
	if (chain->copy.pc)
		frames[count++] =
			user_frame_at(making, chain->tgid, moment->time_ns, chain->copy.pc);
	*made = stack_pool_stack(&making->stacks->pool, frames, count,
				 end_of(making, chain, moment->time_ns));
	return (uint32_t)*made;
}

/* ------------------------------------------------------------------ waits and samples */

/* A wait, or a sample of work: of both times the same. */
struct told {
	const struct perf_moment *moment;
	uint64_t end_ns;
	bool is_open;
};

/* A wait goes on until the thread is seen to be woken or to run; at the end it is open. */
static void each_told(struct making *making,
		      void (*take)(struct making *making, void *context, const struct told *told),
		      void *context)
{
	const struct perf_stacks *stacks = making->stacks;
	const struct perf_moment *open = NULL;

	for (size_t i = 0; i < stacks->moment_count; i++) {
		const struct perf_moment *at = &stacks->moments[i];

		if (at->is_sample) {
			take(making, context, &(struct told){ at, at->time_ns, false });
			continue;
		}
		if (open && open->tid == at->tid)
			take(making, context, &(struct told){ open, at->time_ns, false });
		else if (open)
			take(making, context, &(struct told){ open, making->end_ns, true });
		open = at->chain == PERF_MARK_WAKES ? NULL : at;
	}
	if (open)
		take(making, context, &(struct told){ open, making->end_ns, true });
}

static void add_told(struct making *making, void *context, const struct told *told)
{
	const struct perf_moment *moment = told->moment;
	uint32_t stack = stack_of(making, moment);

	(void)context;
	if (moment->is_sample)
		stacks_add_sample(making->to, &(struct stack_sample){ .tid = moment->tid,
								      .time_ns = moment->time_ns,
								      .stack = stack });
	else
		stacks_add_wait(making->to,
				&(struct stack_wait){ .tid = moment->tid,
						      .stack = stack,
						      .begin_ns = moment->time_ns,
						      .end_ns = told->end_ns,
						      .slept_ns = told->end_ns - moment->time_ns,
						      .is_open = told->is_open });
}

static uint64_t period_of(const struct perf_attr *clock)
{
	if (!clock || !clock->period)
		return 0;
	if (clock->flags & PERF_FLAG_FREQ)
		return UINT64_C(1000000000) / clock->period;
	return clock->type == PERF_KIND_SOFTWARE ? clock->period : 0;
}

/* ------------------------------------------------------------------ copies */

/* A copy that is to be walked, for all moments of it. */
struct job {
	uint64_t key;
	uint64_t weight_ns; /* of all these */
	uint64_t time_ns;   /* of the first */
	uint64_t mix;	    /* of those that weigh the same any may be left out */
	int32_t tgid;
	uint32_t chain;
};

struct jobs {
	struct job *items; /* owned */
	size_t count, cap;
	struct map by_key; /* index of it */
	uint64_t sample_ns;
};

static void add_job(struct making *making, void *context, const struct told *told)
{
	const struct perf_moment *moment = told->moment;
	const struct perf_stack_chain *chain = &making->stacks->chains[moment->chain];
	struct jobs *jobs = context;
	uint64_t key, *index;
	bool is_new;

	if (!chain->copy.pc)
		return;
	key = key_of(making, moment);
	index = map_add(&jobs->by_key, key, &is_new);
	if (is_new) {
		*index = jobs->count;
		jobs->items = vec_room(jobs->items, jobs->count, &jobs->cap, sizeof(*jobs->items));
		jobs->items[jobs->count++] = (struct job){ .key = key,
							   .time_ns = moment->time_ns,
							   .mix = chain->copy.hash,
							   .tgid = chain->tgid,
							   .chain = moment->chain };
	}
	jobs->items[*index].weight_ns +=
		moment->is_sample ? jobs->sample_ns : told->end_ns - moment->time_ns;
}

ORDER_FUNCTION(compare_weights, struct job, ORDER_DOWN(weight_ns), ORDER_UP(mix), ORDER_UP(key));
ORDER_FUNCTION(compare_places, struct job, ORDER_UP(tgid), ORDER_UP(time_ns), ORDER_UP(chain),
	       ORDER_UP(key));

/* The walk over all of them. */
struct walk {
	struct making *making;
	const struct stack_walker *walker;
	uint8_t room[PERF_COPY_ROOM];
	int32_t tgid; /* that was entered; -1 = none yet */
	struct perf_map_list list;
	struct walk_map maps[PERF_MAPS_MAX];
	uint64_t work; /* that is left */
};

static bool take_work(struct walk *walk, uint64_t work)
{
	bool is_enough = work <= walk->work;

	walk->work = is_enough ? walk->work - work : 0;
	return is_enough;
}

static bool enter(struct walk *walk, const struct job *job)
{
	const struct perf_maps *maps = &walk->making->stacks->maps;

	if (job->tgid == walk->tgid && job->time_ns < walk->list.until_ns)
		return true;
	perf_maps_at(maps, job->tgid, job->time_ns, &walk->list);
	if (!take_work(walk, WORK_MAP * (walk->list.count + 1)))
		return false;
	for (size_t i = 0; i < walk->list.count; i++) {
		const struct perf_happening *map = walk->list.items[i];

		walk->maps[i] = (struct walk_map){ .start = map->start,
						   .bytes = map->bytes,
						   .offset = map->offset,
						   .path = names_text(&maps->texts, map->path),
						   .build_id = id_of_map(walk->making, map) };
	}
	walk->tgid = job->tgid;
	walk->walker->enter(walk->walker->context, walk->maps, walk->list.count);
	return true;
}

/* False: it was not walked. */
static bool walk_job(struct walk *walk, const struct job *job)
{
	const struct making *making = walk->making;
	const struct perf_stack_chain *chain = &making->stacks->chains[job->chain];
	struct walk_frame found[WALK_FRAMES_MAX];
	uint32_t frames[FRAMES_MAX], count;
	const char *end = NULL;
	struct walk_dump dump;
	size_t found_count;

	if (!walk->work || !perf_copy_read(making->file, &chain->copy, walk->room, &dump) ||
	    !enter(walk, job))
		return false;
	found_count = walk->walker->walk(walk->walker->context, &dump, found, &end);
	(void)take_work(walk, WORK_COPY + found_count);
	count = chain_frames(making, chain, job->time_ns, frames);
	for (size_t i = 0; i < found_count && i < WALK_FRAMES_MAX; i++)
		frames[count++] =
			found[i].map < walk->list.count
				? user_frame(making, walk->list.items[found[i].map], found[i].pc)
				: user_frame_at(making, chain->tgid, job->time_ns, found[i].pc);
	if (!found_count)
		frames[count++] = user_frame_at(making, chain->tgid, job->time_ns, chain->copy.pc);
	map_put(&making->stacks->made, job->key,
		stack_pool_stack(&making->stacks->pool, frames, count, end));
	return true;
}

/* In the order of processes. Returns how many were walked. */
static size_t walk_round(struct walk *walk, struct job *jobs, size_t count)
{
	size_t walked = 0;

	qsort(jobs, count, sizeof(*jobs), compare_places);
	for (size_t i = 0; i < count; i++)
		walked += walk_job(walk, &jobs[i]);
	return walked;
}

/* Those with most time first, in rounds: where there are too many, the others are left out. */
static void walk_copies(struct making *making, const struct stack_walker *walker,
			struct perf_walked *out_walked)
{
	struct walk *walk = xcalloc(1, sizeof(*walk));
	struct jobs jobs = { 0 };

	*walk = (struct walk){ .making = making, .walker = walker, .tgid = -1, .work = WORK_MAX };
	jobs.sample_ns = making->to->sampling.period_ns ? making->to->sampling.period_ns : USUAL_NS;
	each_told(making, add_job, &jobs);
	out_walked->count = out_walked->left = jobs.count;
	if (jobs.count > ROUND_COPIES)
		qsort(jobs.items, jobs.count, sizeof(*jobs.items), compare_weights);
	for (size_t from = 0; from < jobs.count && walk->work; from += ROUND_COPIES) {
		size_t left = jobs.count - from;

		out_walked->left -= walk_round(walk, jobs.items + from,
					       left < ROUND_COPIES ? left : ROUND_COPIES);
	}
	map_fini(&jobs.by_key);
	free(jobs.items);
	free(walk);
}

/* ------------------------------------------------------------------ all of it */

/* 'walker' may be NULL. Done again it takes the place of what was there. */
static void make_all(struct perf_scan *scan, const struct stack_walker *walker,
		     struct perf_walked *out_walked)
{
	struct perf_stacks *stacks = scan->stacks;
	struct facts *facts = scan->file->facts;
	struct making making = { .stacks = stacks,
				 .file = scan->file,
				 .threads = &scan->threads,
				 .build_ids = &scan->file->build_ids,
				 .to = facts->stacks,
				 .end_ns = scan->end_ns,
				 .walks = walker != NULL };
	struct stacks *to = making.to;

	map_fini(&stacks->made);
	stack_pool_fini(&stacks->pool);
	stacks->pool = (struct stack_pool){ .to = to };
	stacks_fini(to);
	to->sampling.period_ns = period_of(stacks->clock);
	to->sampling.is_all = !scan->file->of_tasks;
	for (size_t i = 0; i < making.build_ids->count; i++) {
		const char *path = making.build_ids->sections[i].name;

		map_put(&making.ids_of_paths, hash_bytes(path, strlen(path), 0), i);
	}
	if (walker)
		walk_copies(&making, walker, out_walked);
	each_told(&making, add_told, NULL);
	map_fini(&making.ids_of_paths);
	for (size_t i = 0; i < to->frame_count; i++) {
		if (to->frames[i].is_kernel)
			stacks_name_frame(to, i, facts_symbol(facts, to->frames[i].offset));
	}
	stacks_finish(to);
}

void perf_stacks_end(struct perf_scan *scan)
{
	struct perf_stacks *stacks = scan->stacks;
	struct facts *facts = scan->file->facts;
	struct perf_walked ignored;

	if (!stacks->moment_count || !stacks->chain_count)
		return;
	facts->stacks = xcalloc(1, sizeof(*facts->stacks));
	facts->stacks_of_others = true;
	perf_maps_sort(&stacks->maps);
	qsort(stacks->moments, stacks->moment_count, sizeof(*stacks->moments), compare_moments);
	make_all(scan, NULL, &ignored); /* nothing is walked */
}

void perf_stacks_walk(struct perf_scan *scan, const struct stack_walker *walker,
		      struct perf_walked *out_walked)
{
	const struct perf_stacks *stacks = scan->stacks;

	*out_walked = (struct perf_walked){ 0 };
	for (size_t i = 0; scan->file->facts->stacks && i < stacks->chain_count; i++) {
		if (stacks->chains[i].copy.pc) {
			make_all(scan, walker, out_walked);
			return;
		}
	}
}
