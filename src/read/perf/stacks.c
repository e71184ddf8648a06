/* stacks.c - see stacks.h. */
#include "read/perf/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/sorting.h"
#include "base/text.h"
#include "event/facts.h"
#include "event/stacks.h"
#include "read/format_text.h"
#include "read/perf/file.h"
#include "read/perf/scan.h"
#include "read/stack_pool.h"
#include "store/formats.h"

#define CONTEXT_USER	((uint64_t)-512)
#define CHAIN_MAX	256u /* addresses of one */
#define WORDS_MAX	(UINT64_C(1) << 26)
#define PATH_BYTES	4096u
#define MISC_MMAP_DATA	(1 << 13)
#define MISC_BUILD_ID	(1 << 14)
#define BUILD_ID_BYTES	20u
#define SOFTWARE_CLOCKS 2u    /* cpu-clock, task-clock: the first ones */
#define LOOK_BACK	2048u /* mappings of a process; what is older is not known */
#define PARENTS		64u
#define MARK_WAKES	UINT32_MAX /* no chain: the thread is woken, or goes on */
#define END_CHAIN	"perf's call chain does not tell whether it is whole"
#define END_DUMP	"copies of stacks in a perf.data are not unwound"

enum happening_kind {
	HAPPENS_MAP,
	HAPPENS_EXEC,
	HAPPENS_FORK
};

/* What became of the code of a process. */
struct happening {
	int32_t tgid, parent;
	uint64_t time_ns;
	uint32_t number; /* in the order of the file */
	enum happening_kind kind;
	uint64_t start, bytes, offset;
	uint32_t path, build_id; /* of 'texts' */
};

/* A chain, each once for each process. */
struct chain {
	int32_t tgid;
	uint64_t first; /* of 'words' */
	uint32_t count;
	bool is_dumped; /* the user's part is a copy of the stack */
};

/* A thread goes to sleep with this chain, or it is over; or it is seen at work. */
struct moment {
	int32_t tid;
	uint32_t chain; /* or MARK_WAKES */
	uint64_t time_ns;
	bool is_sample;
};

struct perf_stacks {
	struct happening *happenings; /* owned */
	size_t happening_count, happening_cap;
	struct chain *chains; /* owned */
	size_t chain_count, chain_cap;
	uint64_t *words; /* owned */
	size_t word_count, word_cap;
	struct moment *moments; /* owned */
	size_t moment_count, moment_cap;
	struct map by_hash; /* of a chain: its index */
	struct map made;    /* chain, and what became of its process by then: number of the stack */
	struct stack_pool pool;
	struct names texts;
	const struct perf_attr *clock; /* whose samples are those of work */
	bool knows_formats;
	int32_t switch_id, waking_id, wakeup_id; /* -1 = there is no such event */
	struct format_field prev_state, next_pid, waking_pid, wakeup_pid;
	struct format_states states;
};

struct perf_stacks *perf_stacks_new(void)
{
	return xcalloc(1, sizeof(struct perf_stacks));
}

void perf_stacks_free(struct perf_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->happenings);
	free(stacks->chains);
	free(stacks->words);
	free(stacks->moments);
	map_fini(&stacks->by_hash);
	map_fini(&stacks->made);
	stack_pool_fini(&stacks->pool);
	names_fini(&stacks->texts);
	free(stacks);
}

bool perf_stacks_wants(const struct perf_scan *scan)
{
	const struct perf_attrs *attrs = &scan->file->attrs;

	for (size_t i = 0; i < attrs->count; i++) {
		if (attrs->items[i]->sample_type & PERF_HAS_CALLCHAIN)
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ code of processes */

static void add_happening(struct perf_scan *scan, struct happening happening)
{
	struct perf_stacks *stacks = scan->stacks;

	if (!perf_scan_may_keep(scan))
		return;
	stacks->happenings = vec_room(stacks->happenings, stacks->happening_count,
				      &stacks->happening_cap, sizeof(*stacks->happenings));
	happening.number = (uint32_t)stacks->happening_count;
	stacks->happenings[stacks->happening_count++] = happening;
}

static uint32_t keep_build_id(struct perf_stacks *stacks, const struct perf_record *record)
{
	uint32_t bytes = record->data[40];
	char digits[2 * BUILD_ID_BYTES + 1] = "";

	if (!(record->misc & MISC_BUILD_ID) || !bytes || bytes > BUILD_ID_BYTES)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		snprintf(digits + (size_t)2 * i, 3, "%02x", record->data[44 + i]);
	return names_add(&stacks->texts, digits, sizeof(digits));
}

static void take_map(struct perf_scan *scan, const struct perf_record *record,
		     const struct perf_attr *attr, uint64_t time_ns)
{
	const bool swap = scan->file->swap, is_two = record->type == PERF_MMAP2;
	const uint32_t path_at = is_two ? 72 : 40;
	const char *path = (const char *)record->data + path_at;
	struct happening map = { .kind = HAPPENS_MAP, .time_ns = time_ns };

	if (record->bytes <= path_at + attr->tail_bytes ||
	    !memchr(path, '\0', record->bytes - attr->tail_bytes - path_at) ||
	    (record->misc & PERF_MISC_CPUMODE) != 2)
		return;
	if (is_two ? !(perf_u32(record->data + 64, swap) & PROT_EXEC)
		   : record->misc & MISC_MMAP_DATA)
		return;
	map.tgid = (int32_t)perf_u32(record->data + 8, swap);
	map.start = perf_u64(record->data + 16, swap);
	map.bytes = perf_u64(record->data + 24, swap);
	map.offset = perf_u64(record->data + 32, swap);
	map.path = names_add(&scan->stacks->texts, path, PATH_BYTES);
	map.build_id = is_two ? keep_build_id(scan->stacks, record) : 0;
	add_happening(scan, map);
}

static void take_birth(struct perf_scan *scan, const struct perf_record *record, uint64_t time_ns)
{
	const bool swap = scan->file->swap;
	int32_t tgid, parent;

	if (record->bytes < 24)
		return;
	tgid = (int32_t)perf_u32(record->data + 8, swap);
	parent = (int32_t)perf_u32(record->data + 12, swap);
	/* What was there before has its own maps. */
	if (tgid != parent && time_ns)
		add_happening(scan, (struct happening){ .kind = HAPPENS_FORK,
							.tgid = tgid,
							.parent = parent,
							.time_ns = time_ns });
}

static void take_name(struct perf_scan *scan, const struct perf_record *record, uint64_t time_ns)
{
	if (record->bytes >= 16 && record->misc & PERF_MISC_COMM_EXEC && time_ns)
		add_happening(scan,
			      (struct happening){
				      .kind = HAPPENS_EXEC,
				      .tgid = (int32_t)perf_u32(record->data + 8, scan->file->swap),
				      .time_ns = time_ns,
			      });
}

/* ------------------------------------------------------------------ samples */

static int32_t field_of(const struct perf_scan *scan, const char *event, const char *name,
			struct format_field *out_field)
{
	const char *text = formats_find(&scan->file->formats, event);

	return text && format_text_field(text, name, out_field) && out_field->bytes <= 8
		       ? format_text_id(text)
		       : -1;
}

/* Formats stand before the samples, in a stream, too. */
static void know_formats(struct perf_scan *scan)
{
	struct perf_stacks *stacks = scan->stacks;
	const char *text = formats_find(&scan->file->formats, "sched/sched_switch");

	if (stacks->knows_formats)
		return;
	stacks->knows_formats = true;
	stacks->switch_id = field_of(scan, "sched/sched_switch", "prev_state", &stacks->prev_state);
	if (field_of(scan, "sched/sched_switch", "next_pid", &stacks->next_pid) < 0)
		stacks->switch_id = -1;
	stacks->waking_id = field_of(scan, "sched/sched_waking", "pid", &stacks->waking_pid);
	stacks->wakeup_id = field_of(scan, "sched/sched_wakeup", "pid", &stacks->wakeup_pid);
	if (text)
		format_text_states(text, &stacks->states);
}

/* A number in the record of a tracepoint; false: it is too short. */
static bool number_of(const struct perf_scan *scan, const struct perf_rest *rest,
		      const struct format_field *field, uint64_t *out_number)
{
	const uint8_t *at;

	if (!rest->raw || field->offset + field->bytes > rest->raw_bytes)
		return false;
	at = rest->raw + field->offset;
	if (field->bytes == 8)
		*out_number = perf_u64(at, scan->file->swap);
	else if (field->bytes == 4)
		*out_number = perf_u32(at, scan->file->swap);
	else
		return false;
	return true;
}

static void add_moment(struct perf_scan *scan, struct moment moment)
{
	struct perf_stacks *stacks = scan->stacks;

	if (moment.tid <= 0 || !perf_scan_may_keep(scan))
		return;
	stacks->moments = vec_room(stacks->moments, stacks->moment_count, &stacks->moment_cap,
				   sizeof(*stacks->moments));
	stacks->moments[stacks->moment_count++] = moment;
}

/* The same chain of the same process is kept once. Returns MARK_WAKES where there is no room. */
static uint32_t keep_chain(struct perf_scan *scan, const struct perf_attr *attr, int32_t tgid,
			   const struct perf_rest *rest)
{
	struct perf_stacks *stacks = scan->stacks;
	uint32_t count = rest->chain_count < CHAIN_MAX ? rest->chain_count : CHAIN_MAX;
	uint64_t hash = hash_bytes(rest->chain, (size_t)count * 8, (uint64_t)tgid);
	const uint64_t *known = map_find(&stacks->by_hash, hash);

	if (known)
		return (uint32_t)*known;
	if (stacks->word_count + count > WORDS_MAX || !perf_scan_may_keep(scan))
		return MARK_WAKES;
	while (stacks->word_cap < stacks->word_count + count) {
		stacks->word_cap = stacks->word_cap ? 2 * stacks->word_cap : 4096;
		stacks->words = xrealloc(stacks->words, stacks->word_cap, sizeof(*stacks->words));
	}
	stacks->chains = vec_room(stacks->chains, stacks->chain_count, &stacks->chain_cap,
				  sizeof(*stacks->chains));
	stacks->chains[stacks->chain_count] =
		(struct chain){ .tgid = tgid,
				.first = stacks->word_count,
				.count = count,
				.is_dumped = attr->sample_type & PERF_HAS_STACK_USER };
	for (uint32_t i = 0; i < count; i++)
		stacks->words[stacks->word_count++] =
			perf_u64(rest->chain + (size_t)8 * i, scan->file->swap);
	map_put(&stacks->by_hash, hash, stacks->chain_count);
	return (uint32_t)stacks->chain_count++;
}

static void take_tracepoint(struct perf_scan *scan, const struct perf_attr *attr,
			    const struct perf_where *where, int32_t tgid,
			    const struct perf_rest *rest)
{
	struct perf_stacks *stacks = scan->stacks;
	struct moment moment = { .tid = where->tid, .time_ns = where->time_ns };
	uint64_t state, tid;
	const int64_t id = (int64_t)attr->config;

	know_formats(scan);
	if ((id == stacks->waking_id && number_of(scan, rest, &stacks->waking_pid, &tid)) ||
	    (id == stacks->wakeup_id && number_of(scan, rest, &stacks->wakeup_pid, &tid)) ||
	    (id == stacks->switch_id && number_of(scan, rest, &stacks->next_pid, &tid)))
		add_moment(scan, (struct moment){ .tid = (int32_t)tid,
						  .chain = MARK_WAKES,
						  .time_ns = where->time_ns });
	if (id != stacks->switch_id || !rest->chain_count ||
	    !number_of(scan, rest, &stacks->prev_state, &state) || !state ||
	    state & stacks->states.preempted)
		return;
	moment.chain = keep_chain(scan, attr, tgid, rest);
	if (moment.chain != MARK_WAKES)
		add_moment(scan, moment);
}

/* Time of a CPU: a clock, or its cycles. */
static bool is_clock(const struct perf_attr *attr)
{
	return (attr->type == PERF_KIND_SOFTWARE && attr->config < SOFTWARE_CLOCKS) ||
	       (attr->type == PERF_KIND_HARDWARE && attr->config == 0);
}

static void take_work(struct perf_scan *scan, const struct perf_attr *attr,
		      const struct perf_where *where, int32_t tgid, const struct perf_rest *rest)
{
	struct moment moment = { .tid = where->tid, .time_ns = where->time_ns, .is_sample = true };

	if (!scan->stacks->clock && is_clock(attr))
		scan->stacks->clock = attr;
	if (scan->stacks->clock != attr || !rest->chain_count)
		return;
	moment.chain = keep_chain(scan, attr, tgid, rest);
	if (moment.chain != MARK_WAKES)
		add_moment(scan, moment);
}

static void take_sample(struct perf_scan *scan, const struct perf_record *record,
			const struct perf_attr *attr, const struct perf_where *where)
{
	struct perf_rest rest;
	int32_t tgid;

	if (!where->time_ns || !attr->tid_at || record->bytes < attr->tid_at + 8u ||
	    !perf_attr_rest(attr, record, scan->file->swap, &rest))
		return;
	tgid = (int32_t)perf_u32(record->data + attr->tid_at, scan->file->swap);
	if (attr->is_tracepoint)
		take_tracepoint(scan, attr, where, tgid, &rest);
	else
		take_work(scan, attr, where, tgid, &rest);
}

void perf_stacks_take(struct perf_scan *scan, const struct perf_record *record,
		      const struct perf_attr *attr, const struct perf_where *where)
{
	if (record->type == PERF_SAMPLE)
		take_sample(scan, record, attr, where);
	else if (record->type == PERF_MMAP || record->type == PERF_MMAP2)
		take_map(scan, record, attr, where->time_ns);
	else if (record->type == PERF_FORK)
		take_birth(scan, record, where->time_ns);
	else if (record->type == PERF_COMM)
		take_name(scan, record, where->time_ns);
}

/* ------------------------------------------------------------------ all of it */

ORDER_FUNCTION(compare_happenings, struct happening, ORDER_UP(tgid), ORDER_UP(time_ns),
	       ORDER_UP(number));
ORDER_FUNCTION(compare_moments, struct moment, ORDER_UP(tid), ORDER_UP(time_ns), ORDER_DOWN(chain));

/* Behind the last happening of the process up to that time. */
static size_t happenings_until(const struct perf_stacks *stacks, int32_t tgid, uint64_t time_ns)
{
	size_t low = 0, high = stacks->happening_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct happening *at = &stacks->happenings[middle];

		if (at->tgid < tgid || (at->tgid == tgid && at->time_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The mapping that has the address then; NULL = it is not known. What a process's parent had it has, too. */
static const struct happening *mapping_at(const struct perf_stacks *stacks, int32_t tgid,
					  uint64_t time_ns, uint64_t address)
{
	uint32_t left = LOOK_BACK, parents = PARENTS;

	for (size_t i = happenings_until(stacks, tgid, time_ns); i-- > 0 && left-- > 0;) {
		const struct happening *at = &stacks->happenings[i];

		if (at->tgid != tgid || at->kind == HAPPENS_EXEC)
			return NULL;
		if (at->kind == HAPPENS_MAP && address - at->start < at->bytes)
			return at;
		if (at->kind == HAPPENS_FORK) {
			if (!parents--)
				return NULL;
			tgid = at->parent;
			i = happenings_until(stacks, tgid, at->time_ns);
		}
	}
	return NULL;
}

/* What stacks are made of, and where they go to. */
struct making {
	struct perf_stacks *stacks;
	const struct formats *build_ids;
	struct map ids_of_paths; /* hash of a path: its index in build_ids */
	struct stacks *to;
};

static const char *id_of_path(const struct making *making, const char *path)
{
	const uint64_t *index = map_find(&making->ids_of_paths, hash_bytes(path, strlen(path), 0));
	const struct format_section *id = index ? &making->build_ids->sections[*index] : NULL;

	return id && strcmp(id->name, path) == 0 ? id->text : NULL;
}

static uint32_t user_frame(const struct making *making, int32_t tgid, uint64_t time_ns,
			   uint64_t address)
{
	const struct happening *map = mapping_at(making->stacks, tgid, time_ns, address);
	const struct names *texts = &making->stacks->texts;
	struct stack_frame frame = { .offset = address };

	if (map) {
		frame.path = names_text(texts, map->path);
		frame.module = text_base_name(frame.path);
		frame.build_id = map->build_id ? names_text(texts, map->build_id)
					       : id_of_path(making, frame.path);
		frame.offset = address - map->start + map->offset;
		frame.is_in_file = true;
	}
	return stack_pool_frame(&making->stacks->pool, &frame);
}

/* The numbers of its frames. Addresses behind the first are where calls return to. */
static uint32_t frames_of(const struct making *making, const struct chain *chain, uint64_t time_ns,
			  uint32_t *out_frames)
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
		else if (context == CONTEXT_USER && word)
			out_frames[count++] = user_frame(making, chain->tgid, time_ns,
							 is_first ? word : word - 1);
		is_first = false;
	}
	return count;
}

/* A chain means other code when its process runs another program, or maps other files. */
static uint32_t stack_of(const struct making *making, const struct moment *moment)
{
	struct perf_stacks *stacks = making->stacks;
	const struct chain *chain = &stacks->chains[moment->chain];
	uint64_t key = happenings_until(stacks, chain->tgid, moment->time_ns);
	uint32_t frames[CHAIN_MAX], count;
	uint64_t *made;
	bool is_new;

	made = map_add(&stacks->made, key << 32 ^ moment->chain, &is_new);
	if (!is_new)
		return (uint32_t)*made;
	count = frames_of(making, chain, moment->time_ns, frames);
	*made = stack_pool_stack(&stacks->pool, frames, count,
				 chain->is_dumped ? END_DUMP : END_CHAIN);
	return (uint32_t)*made;
}

static void add_wait(const struct making *making, const struct moment *begin, uint64_t end_ns,
		     bool is_open)
{
	stacks_add_wait(making->to, &(struct stack_wait){ .tid = begin->tid,
							  .stack = stack_of(making, begin),
							  .begin_ns = begin->time_ns,
							  .end_ns = end_ns,
							  .slept_ns = end_ns - begin->time_ns,
							  .is_open = is_open });
}

/* A wait goes on until the thread is seen to be woken or to run; at the end it is open. */
static void add_moments(const struct making *making, uint64_t end_ns)
{
	const struct perf_stacks *stacks = making->stacks;
	const struct moment *open = NULL;

	for (size_t i = 0; i < stacks->moment_count; i++) {
		const struct moment *at = &stacks->moments[i];

		if (at->is_sample) {
			stacks_add_sample(making->to,
					  &(struct stack_sample){ .tid = at->tid,
								  .time_ns = at->time_ns,
								  .stack = stack_of(making, at) });
			continue;
		}
		if (open && open->tid == at->tid)
			add_wait(making, open, at->time_ns, false);
		else if (open)
			add_wait(making, open, end_ns, true);
		open = at->chain == MARK_WAKES ? NULL : at;
	}
	if (open)
		add_wait(making, open, end_ns, true);
}

static uint64_t period_of(const struct perf_attr *clock)
{
	if (!clock || !clock->period)
		return 0;
	if (clock->flags & PERF_FLAG_FREQ)
		return UINT64_C(1000000000) / clock->period;
	return clock->type == PERF_KIND_SOFTWARE ? clock->period : 0;
}

void perf_stacks_end(struct perf_scan *scan)
{
	struct perf_stacks *stacks = scan->stacks;
	struct facts *facts = scan->file->facts;
	struct making making;
	struct stacks *to;

	if (!stacks->moment_count || !stacks->chain_count)
		return;
	to = facts->stacks = stacks->pool.to = xcalloc(1, sizeof(*to));
	facts->stacks_of_others = true;
	if (stacks->happening_count)
		qsort(stacks->happenings, stacks->happening_count, sizeof(*stacks->happenings),
		      compare_happenings);
	qsort(stacks->moments, stacks->moment_count, sizeof(*stacks->moments), compare_moments);
	making = (struct making){ .stacks = stacks, .build_ids = &scan->file->build_ids, .to = to };
	for (size_t i = 0; i < making.build_ids->count; i++) {
		const char *path = making.build_ids->sections[i].name;

		map_put(&making.ids_of_paths, hash_bytes(path, strlen(path), 0), i);
	}
	add_moments(&making, scan->end_ns);
	map_fini(&making.ids_of_paths);
	to->sampling.period_ns = period_of(stacks->clock);
	to->sampling.is_all = !scan->file->of_tasks;
	for (size_t i = 0; i < to->frame_count; i++) {
		if (to->frames[i].is_kernel)
			stacks_name_frame(to, i, facts_symbol(facts, to->frames[i].offset));
	}
	stacks_finish(to);
}
