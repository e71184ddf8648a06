/* event_stacks.c - see event_stacks.h. */
#include "read/event_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/event.h"
#include "event/facts.h"
#include "event/source.h"
#include "event/stacks.h"
#include "read/format_text.h"
#include "read/merge.h"
#include "read/read.h"
#include "read/read_int.h"
#include "read/stack_pool.h"
#include "read/stack_text.h"
#include "store/formats.h"

#define CHAIN_MAX  256u		       /* addresses of one */
#define WORDS_MAX  (UINT64_C(1) << 22) /* of all chains */
#define WAITS_MAX  (UINT64_C(1) << 22)
#define FRAMES_MAX (UINT64_C(1) << 22)
#define PARTS_MAX  (UINT64_C(1) << 24) /* frames of all stacks */
#define CHAIN_NONE UINT32_MAX
#define TRAMPOLINE ((uint64_t)INT32_MAX) /* ftrace's own code, in the place of an address */

#define END_USER    "the program's part was not recorded"
#define END_POINTER "it was found by frame pointers, which do not tell whether it is whole"
#define END_DEEP    "it is deeper than the tracer follows"

/* How a kind of event tells a stack. */
enum role {
	ROLE_NONE,
	ROLE_KERNEL, /* the event is one, of the event before it */
	ROLE_USER,
	ROLE_KERNEL_TEXT,
	ROLE_USER_TEXT,
	ROLE_CONTEXT, /* it has one, or two */
};

struct stack_kind {
	uint8_t role;
	bool has_kernel, has_user, has_tgid;
	struct format_field kernel, user; /* the addresses, or the text */
	struct format_field tgid;
};

/* Addresses, or numbers of texts. Each once. */
struct chain {
	uint64_t first; /* of 'words' */
	uint32_t count;
	bool is_deep; /* there are more */
};

struct sleep {
	uint64_t begin_ns, end_ns;
	uint32_t kernel, user; /* chains */
	uint64_t changes;      /* of files that were mapped, up to then */
	size_t wait;	       /* of the stacks; SIZE_MAX = there is none yet */
	bool is_open;
};

struct stacked_thread {
	int32_t tid, tgid; /* tgid 0 = not known */
	bool is_asleep, is_calling;
	struct sleep sleep; /* that it is in, or was in last: its stack may come after its end */
	uint32_t call_user; /* of the system call that it is in */
	uint64_t holes;	    /* that were there when it began */
};

/* The last event of a CPU and an instance. */
struct last_event {
	int32_t tid;
	uint64_t sleep_ns; /* that thread went to sleep then; 0 = it is another event */
	uint64_t holes;
};

struct event_stacks {
	struct trace *trace;
	const struct code_map *map;
	uint16_t *kind_of; /* owned; by number of the kind: index in 'kinds'; 0 = has none */
	struct stack_kind *kinds;
	size_t kind_count, kind_cap;
	bool is_text;
	struct chain *chains; /* owned */
	size_t chain_count, chain_cap;
	uint64_t *words; /* owned */
	size_t word_count, word_cap;
	struct map by_words;		/* hash of a chain: its index */
	struct stacked_thread *threads; /* owned */
	size_t thread_count, thread_cap;
	struct map by_tid;
	struct last_event *lasts; /* owned */
	size_t last_count, last_cap;
	struct map by_lane; /* CPU and instance: index in 'lasts' */
	struct stack_texts texts;
	struct stack_pool pool;
	struct map made; /* hash of what a stack is made from: its number */
	uint64_t holes, left_out;
};

/* ------------------------------------------------------------------ kinds of events */

static bool context_fields(const char *text, struct stack_kind *kind, bool is_switch)
{
	kind->role = ROLE_CONTEXT;
	kind->has_kernel = format_text_field(text, "callstack_kernel", &kind->kernel) &&
			   kind->kernel.kind == FORMAT_DATA_LOC;
	kind->has_user = format_text_field(text, "callstack_user", &kind->user) &&
			 kind->user.kind == FORMAT_DATA_LOC;
	/* A context has another name where the event has a field of its own. */
	kind->has_tgid = format_text_field(text, "context_pid", &kind->tgid) ||
			 (is_switch && format_text_field(text, "pid", &kind->tgid));
	return kind->has_kernel || kind->has_user;
}

static bool ftrace_fields(const char *text, struct stack_kind *kind, bool is_user)
{
	struct format_field field;

	if (format_text_field(text, "text", &field) && field.kind == FORMAT_DATA_LOC) {
		kind->role = is_user ? ROLE_USER_TEXT : ROLE_KERNEL_TEXT;
	} else {
		kind->role = is_user ? ROLE_USER : ROLE_KERNEL;
		if (!format_text_field(text, "caller", &field) || field.bytes < 8)
			return false;
	}
	kind->has_kernel = !is_user;
	kind->has_user = is_user;
	*(is_user ? &kind->user : &kind->kernel) = field;
	kind->has_tgid = is_user && format_text_field(text, "tgid", &kind->tgid);
	return true;
}

static bool fields_of(const struct format_section *section, struct stack_kind *kind)
{
	if (strcmp(section->name, "ftrace/kernel_stack") == 0)
		return ftrace_fields(section->text, kind, false);
	if (strcmp(section->name, "ftrace/user_stack") == 0)
		return ftrace_fields(section->text, kind, true);
	if (strncmp(section->name, "kernel/", strlen("kernel/")) != 0)
		return false;
	return context_fields(section->text, kind,
			      strcmp(section->name, "kernel/sched_switch") == 0);
}

bool event_stacks_told(const struct trace_meaning *meaning)
{
	for (size_t i = 0; i < meaning->formats->count; i++) {
		struct stack_kind kind = { 0 };

		if (fields_of(&meaning->formats->sections[i], &kind) && kind.role == ROLE_CONTEXT)
			return true;
	}
	return false;
}

static void find_kinds(struct event_stacks *stacks, const struct formats *formats)
{
	stacks->kind_of = xcalloc(65536, sizeof(*stacks->kind_of));
	stacks->kinds = vec_room(stacks->kinds, 0, &stacks->kind_cap, sizeof(*stacks->kinds));
	stacks->kinds[stacks->kind_count++] = (struct stack_kind){ 0 };
	for (size_t i = 0; i < formats->count; i++) {
		struct stack_kind kind = { 0 };
		int32_t id = format_text_id(formats->sections[i].text);

		if (id < 0 || stacks->kind_count > UINT16_MAX ||
		    !fields_of(&formats->sections[i], &kind))
			continue;
		stacks->kind_of[id] = (uint16_t)stacks->kind_count;
		stacks->kinds = vec_room(stacks->kinds, stacks->kind_count, &stacks->kind_cap,
					 sizeof(*stacks->kinds));
		stacks->kinds[stacks->kind_count++] = kind;
		stacks->is_text |= kind.role == ROLE_KERNEL_TEXT || kind.role == ROLE_USER_TEXT;
	}
}

static const struct stack_kind *kind_of(const struct event_stacks *stacks,
					const struct trace_record *record)
{
	uint16_t id;

	if (!record || !record->data || record->bytes < sizeof(id))
		return &stacks->kinds[0];
	memcpy(&id, record->data, sizeof(id));
	return &stacks->kinds[stacks->kind_of[id]];
}

/* ------------------------------------------------------------------ chains */

static uint32_t keep_words(struct event_stacks *stacks, const uint64_t *words, uint32_t count,
			   bool is_deep)
{
	uint64_t *index;
	bool is_new;

	if (!count)
		return CHAIN_NONE;
	if (stacks->word_count + count > WORDS_MAX) {
		stacks->left_out++;
		return CHAIN_NONE;
	}
	index = map_add(&stacks->by_words, hash_bytes(words, count * sizeof(*words), is_deep),
			&is_new);
	if (!is_new)
		return (uint32_t)*index;
	*index = stacks->chain_count;
	stacks->chains = vec_room(stacks->chains, stacks->chain_count, &stacks->chain_cap,
				  sizeof(*stacks->chains));
	stacks->chains[stacks->chain_count++] =
		(struct chain){ stacks->word_count, count, is_deep };
	for (uint32_t i = 0; i < count; i++) {
		stacks->words = vec_room(stacks->words, stacks->word_count, &stacks->word_cap,
					 sizeof(*stacks->words));
		stacks->words[stacks->word_count++] = words[i];
	}
	return (uint32_t)*index;
}

/* Numbers of 8 bytes in this machine's order. All ones end it: in LTTng's that says that there are more. */
static uint32_t keep_addresses(struct event_stacks *stacks, const uint8_t *at, uint64_t bytes,
			       bool ones_tell)
{
	uint64_t words[CHAIN_MAX];
	uint64_t given = bytes / sizeof(words[0]);
	uint32_t count = 0;
	bool is_deep = given > CHAIN_MAX;

	for (uint64_t i = 0; i < given && count < CHAIN_MAX; i++) {
		uint64_t word;

		memcpy(&word, at + i * sizeof(word), sizeof(word));
		if (word == UINT64_MAX) {
			is_deep = ones_tell;
			break;
		}
		if (word && word != TRAMPOLINE)
			words[count++] = word;
	}
	return keep_words(stacks, words, count, is_deep);
}

/* What is located elsewhere in the record. False: it is not there. */
static bool located(const struct trace_record *record, const struct format_field *field,
		    const uint8_t **out_at, uint32_t *out_bytes)
{
	uint32_t word;

	if (field->offset + sizeof(word) > record->bytes)
		return false;
	memcpy(&word, record->data + field->offset, sizeof(word));
	*out_bytes = word >> 16;
	*out_at = record->data + (word & 0xffff);
	return *out_bytes && (word & 0xffff) + *out_bytes <= record->bytes;
}

static uint32_t keep_text(struct event_stacks *stacks, const uint8_t *text, uint32_t bytes)
{
	uint64_t words[CHAIN_MAX];
	uint32_t count =
		stack_texts_split(&stacks->texts, (const char *)text, bytes, words, CHAIN_MAX);

	return keep_words(stacks, words, count, count == CHAIN_MAX);
}

static uint32_t keep_field(struct event_stacks *stacks, const struct stack_kind *kind,
			   const struct trace_record *record, const struct format_field *field)
{
	const uint8_t *at;
	uint32_t bytes;

	if (kind->role == ROLE_KERNEL || kind->role == ROLE_USER) {
		if (field->offset >= record->bytes)
			return CHAIN_NONE;
		bytes = record->bytes - field->offset;
		/* Of a program's there are as many as the format says; the kernel's has what it needs. */
		if (kind->role == ROLE_USER && bytes > field->bytes)
			bytes = field->bytes;
		return keep_addresses(stacks, record->data + field->offset, bytes, false);
	}
	if (!located(record, field, &at, &bytes))
		return CHAIN_NONE;
	return kind->role == ROLE_CONTEXT ? keep_addresses(stacks, at, bytes, true)
					  : keep_text(stacks, at, bytes);
}

/* ------------------------------------------------------------------ frames */

static uint32_t kernel_frame(struct event_stacks *stacks, uint64_t word)
{
	struct stack_frame frame = { .module = "[kernel]", .offset = word, .is_kernel = true };
	const char *symbol = stacks->is_text ? NULL : facts_symbol(&stacks->trace->facts, word);
	size_t before = stacks->pool.to->frame_count;
	uint32_t number;

	if (stacks->is_text) {
		stack_texts_frame(&stacks->texts, word, &frame);
		symbol = frame.function;
	}
	number = stack_pool_frame(&stacks->pool, &frame);
	if (symbol && number == before)
		stacks_name_frame(stacks->pool.to, number, symbol);
	return number;
}

/* Addresses behind the first are where calls return to. */
static uint32_t user_frame(struct event_stacks *stacks, const struct stacked_thread *thread,
			   uint64_t word, bool is_first)
{
	const struct code_map *map = stacks->map;
	struct stack_frame frame = { .offset = word };

	if (stacks->is_text)
		stack_texts_frame(&stacks->texts, word, &frame);
	else if (map && map->find && thread->tgid > 0)
		(void)map->find(map->context, thread->tgid, thread->sleep.begin_ns,
				is_first ? word : word - 1, &frame);
	return stack_pool_frame(&stacks->pool, &frame);
}

/* A thread of the kernel began there: its stack is whole. */
static bool is_whole(const struct event_stacks *stacks, uint32_t last)
{
	const char *function = stacks->pool.to->frames[last].function;

	return function && strncmp(function, "ret_from_fork", strlen("ret_from_fork")) == 0;
}

static const char *end_of(const struct event_stacks *stacks, const struct chain *kernel,
			  const struct chain *user, uint32_t last)
{
	if (user)
		return user->is_deep ? END_DEEP : END_POINTER;
	if (kernel && kernel->is_deep)
		return END_DEEP;
	return is_whole(stacks, last) ? NULL : END_USER;
}

static const struct chain *chain_at(const struct event_stacks *stacks, uint32_t chain)
{
	return chain == CHAIN_NONE ? NULL : &stacks->chains[chain];
}

static uint32_t make_stack(struct event_stacks *stacks, const struct stacked_thread *thread)
{
	const struct chain *kernel = chain_at(stacks, thread->sleep.kernel),
			   *user = chain_at(stacks, thread->sleep.user);
	uint32_t frames[2 * CHAIN_MAX], count = 0;

	for (uint32_t i = 0; kernel && i < kernel->count; i++)
		frames[count++] = kernel_frame(stacks, stacks->words[kernel->first + i]);
	for (uint32_t i = 0; user && i < user->count; i++)
		frames[count++] =
			user_frame(stacks, thread, stacks->words[user->first + i], i == 0);
	return stack_pool_stack(&stacks->pool, frames, count,
				end_of(stacks, kernel, user, frames[count - 1]));
}

static bool is_full(const struct stacks *to)
{
	return to->frame_count >= FRAMES_MAX || to->frame_id_count >= PARTS_MAX;
}

/* Of the wait that the thread is in; STACK_NONE = it has none, or there is no room. The same code is the same stack, as long as the same files are mapped. */
static uint32_t stack_of(struct event_stacks *stacks, const struct stacked_thread *thread)
{
	const struct sleep *sleep = &thread->sleep;
	const uint64_t parts[] = { sleep->kernel, sleep->user, (uint32_t)thread->tgid,
				   sleep->changes };
	uint64_t key = hash_bytes(parts, sizeof(parts), 0), *known;
	uint32_t stack;

	if (sleep->kernel == CHAIN_NONE && sleep->user == CHAIN_NONE)
		return STACK_NONE;
	known = map_find(&stacks->made, key);
	if (known)
		return (uint32_t)*known;
	if (is_full(stacks->pool.to)) {
		stacks->left_out++;
		return STACK_NONE;
	}
	stack = make_stack(stacks, thread);
	map_put(&stacks->made, key, stack);
	return stack;
}

/* ------------------------------------------------------------------ threads */

static struct stacked_thread *thread_of(struct event_stacks *stacks, int32_t tid)
{
	bool is_new;
	uint64_t *index = map_add(&stacks->by_tid, (uint32_t)tid, &is_new);

	if (is_new) {
		*index = stacks->thread_count;
		stacks->threads = vec_room(stacks->threads, stacks->thread_count,
					   &stacks->thread_cap, sizeof(*stacks->threads));
		stacks->threads[stacks->thread_count++] =
			(struct stacked_thread){ .tid = tid, .call_user = CHAIN_NONE };
	}
	return &stacks->threads[*index];
}

/* The wait has the stack that is known of it. */
static void tell_wait(struct event_stacks *stacks, struct stacked_thread *thread)
{
	struct stacks *to = stacks->pool.to;
	struct sleep *sleep = &thread->sleep;
	uint32_t stack;

	if (sleep->wait == SIZE_MAX && to->wait_count >= WAITS_MAX) {
		stacks->left_out += sleep->kernel != CHAIN_NONE || sleep->user != CHAIN_NONE;
		return;
	}
	stack = stack_of(stacks, thread);
	if (stack == STACK_NONE)
		return;
	if (sleep->wait != SIZE_MAX) {
		to->waits[sleep->wait].stack = stack;
		return;
	}
	sleep->wait = to->wait_count;
	stacks_add_wait(to, &(struct stack_wait){ .tid = thread->tid,
						  .stack = stack,
						  .begin_ns = sleep->begin_ns,
						  .end_ns = sleep->end_ns,
						  .slept_ns = sleep->end_ns - sleep->begin_ns,
						  .is_open = sleep->is_open });
}

static void end_wait(struct event_stacks *stacks, struct stacked_thread *thread, uint64_t end_ns,
		     bool is_open)
{
	if (!thread->is_asleep)
		return;
	thread->is_asleep = false;
	thread->sleep.end_ns = end_ns;
	thread->sleep.is_open = is_open;
	tell_wait(stacks, thread);
}

static void wake(struct event_stacks *stacks, int32_t tid, uint64_t time_ns)
{
	if (tid > 0)
		end_wait(stacks, thread_of(stacks, tid), time_ns, false);
}

static void end_call(struct stacked_thread *thread)
{
	thread->is_calling = false;
	thread->call_user = CHAIN_NONE;
}

static void begin_call(struct event_stacks *stacks, int32_t tid)
{
	struct stacked_thread *thread;

	if (tid <= 0)
		return;
	thread = thread_of(stacks, tid);
	thread->is_calling = true;
	thread->call_user = CHAIN_NONE;
	thread->holes = stacks->holes;
}

static void leave(struct event_stacks *stacks, const struct event *event)
{
	struct stacked_thread *thread;
	int32_t tid = event->sched_switch.prev_tid;

	if (tid <= 0 || event->sched_switch.prev_state == TASK_STATE_RUNNABLE)
		return;
	thread = thread_of(stacks, tid);
	end_wait(stacks, thread, event->time_ns, false);
	if (event->sched_switch.prev_state == TASK_STATE_DEAD) {
		end_call(thread);
		thread->tgid = 0;
		return;
	}
	thread->is_asleep = true;
	thread->sleep = (struct sleep){
		.begin_ns = event->time_ns,
		.kernel = CHAIN_NONE,
		.user = thread->is_calling && thread->holes == stacks->holes ? thread->call_user
									     : CHAIN_NONE,
		.changes = stacks->map && stacks->map->changes ? *stacks->map->changes : 0,
		.wait = SIZE_MAX,
	};
}

/* What an event says of threads, before its own stack is looked at. */
static void follow(struct event_stacks *stacks, const struct event *event)
{
	switch ((enum event_type)event->type) {
	case EV_SCHED_SWITCH:
		leave(stacks, event);
		wake(stacks, event->sched_switch.next_tid, event->time_ns);
		break;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		wake(stacks, event->wake.tid, event->time_ns);
		break;
	case EV_SYS_ENTER:
		begin_call(stacks, event->tid);
		break;
	case EV_SYS_EXIT:
		if (event->tid > 0)
			end_call(thread_of(stacks, event->tid));
		break;
	case EV_SCHED_FORK:
	case EV_TASK_NEW:
		if (event->task.tid > 0 && event->task.tgid > 0)
			thread_of(stacks, event->task.tid)->tgid = event->task.tgid;
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------ events */

static struct last_event *last_of(struct event_stacks *stacks, const struct event *event,
				  const struct trace_record *record)
{
	uint64_t key = (uint64_t)(uintptr_t)(record ? record->origin : NULL) * 65536u ^ event->cpu;
	bool is_new;
	uint64_t *index = map_add(&stacks->by_lane, key, &is_new);

	if (is_new) {
		*index = stacks->last_count;
		stacks->lasts = vec_room(stacks->lasts, stacks->last_count, &stacks->last_cap,
					 sizeof(*stacks->lasts));
		stacks->lasts[stacks->last_count++] = (struct last_event){ 0 };
	}
	return &stacks->lasts[*index];
}

static int32_t tgid_of(const struct stack_kind *kind, const struct trace_record *record)
{
	int32_t tgid = 0;

	if (kind->has_tgid && kind->tgid.offset + sizeof(tgid) <= record->bytes)
		memcpy(&tgid, record->data + kind->tgid.offset, sizeof(tgid));
	return tgid;
}

/* The user's part is the same for all that a thread does in one system call. */
static void take_user(struct stacked_thread *thread, bool of_sleep, uint32_t chain, int32_t tgid)
{
	if (tgid > 0)
		thread->tgid = tgid;
	if (of_sleep && chain != CHAIN_NONE)
		thread->sleep.user = chain;
	if (thread->is_calling && thread->call_user == CHAIN_NONE)
		thread->call_user = chain;
}

/*
 * An event that is a stack. Another CPU may have woken the thread before it was written, but not have let it run: its
 * sleep is the last one that it was in.
 */
static void take_stack(struct event_stacks *stacks, const struct event *event,
		       const struct stack_kind *kind, const struct trace_record *record)
{
	const struct last_event *last = last_of(stacks, event, record);
	bool is_next = last->tid == event->tid && last->holes == stacks->holes && last->sleep_ns;
	struct stacked_thread *thread;

	if (event->tid <= 0)
		return;
	thread = thread_of(stacks, event->tid);
	is_next = is_next && thread->sleep.begin_ns == last->sleep_ns;
	if (kind->has_user)
		take_user(thread, is_next, keep_field(stacks, kind, record, &kind->user),
			  tgid_of(kind, record));
	else if (is_next && thread->sleep.kernel == CHAIN_NONE)
		thread->sleep.kernel = keep_field(stacks, kind, record, &kind->kernel);
	if (is_next && !thread->is_asleep)
		tell_wait(stacks, thread);
}

/* An event that has one. */
static void take_context(struct event_stacks *stacks, const struct event *event,
			 const struct stack_kind *kind, const struct trace_record *record)
{
	bool of_sleep = event->type == EV_SCHED_SWITCH;
	int32_t tid = of_sleep ? event->sched_switch.prev_tid : event->tid;
	struct stacked_thread *thread;

	if (tid <= 0)
		return;
	thread = thread_of(stacks, tid);
	of_sleep = of_sleep && thread->is_asleep;
	if (of_sleep && kind->has_kernel)
		thread->sleep.kernel = keep_field(stacks, kind, record, &kind->kernel);
	if (kind->has_user && (of_sleep || thread->is_calling))
		take_user(thread, of_sleep, keep_field(stacks, kind, record, &kind->user), 0);
	if (tgid_of(kind, record) > 0)
		thread->tgid = tgid_of(kind, record);
}

static bool goes_to_sleep(const struct event *event)
{
	return event->type == EV_SCHED_SWITCH && event->sched_switch.prev_tid == event->tid &&
	       event->sched_switch.prev_state != TASK_STATE_RUNNABLE &&
	       event->sched_switch.prev_state != TASK_STATE_DEAD;
}

static void take_event(struct event_stacks *stacks, const struct event *event,
		       const struct trace_record *record)
{
	const struct stack_kind *kind = kind_of(stacks, record);
	struct last_event *last;

	if (stacks->map && stacks->map->learn)
		stacks->map->learn(stacks->map->context, event, record);
	if (event->context & (EV_CTX_USER | EV_CTX_VTID))
		return;
	if (event->type == EV_LOST) {
		stacks->holes++;
		return;
	}
	if (kind->role != ROLE_NONE && kind->role != ROLE_CONTEXT) {
		take_stack(stacks, event, kind, record);
		return;
	}
	follow(stacks, event);
	if (kind->role == ROLE_CONTEXT)
		take_context(stacks, event, kind, record);
	last = last_of(stacks, event, record);
	*last = (struct last_event){ event->tid, goes_to_sleep(event) ? event->time_ns : 0,
				     stacks->holes };
}

/* ------------------------------------------------------------------ all of it */

static int event_stacks_walk(struct event_stacks *stacks, struct err *err)
{
	struct trace *trace = stacks->trace;
	const struct event *event;
	int rc;

	merge_keep_records(trace->merge, true, false);
	rc = source_seek(trace->source, 0, err);
	while (rc >= 0 && (rc = source_next(trace->source, &event, err)) > 0)
		take_event(stacks, event, merge_record_of(trace->merge, event));
	merge_keep_records(trace->merge, false, false);
	/* What cannot be read is told to who reads the events. */
	return source_seek(trace->source, 0, err);
}

static void event_stacks_finish(struct event_stacks *stacks)
{
	struct facts *facts = &stacks->trace->facts;
	struct stacks *to = stacks->pool.to;

	for (size_t i = 0; i < stacks->thread_count; i++)
		end_wait(stacks, &stacks->threads[i],
			 facts->last_ns > stacks->threads[i].sleep.begin_ns
				 ? facts->last_ns
				 : stacks->threads[i].sleep.begin_ns,
			 true);
	if (stacks->left_out)
		facts_note_unshown(facts, "stacks of %llu waits: there are too many",
				   (unsigned long long)stacks->left_out);
	if (to->wait_count) {
		stacks_finish(to);
		facts->stacks = to;
		facts->stacks_of_others = true;
		return;
	}
	stacks_fini(to);
	free(to);
}

static void event_stacks_fini(struct event_stacks *stacks)
{
	free(stacks->kind_of);
	free(stacks->kinds);
	free(stacks->chains);
	free(stacks->words);
	free(stacks->threads);
	free(stacks->lasts);
	map_fini(&stacks->by_words);
	map_fini(&stacks->by_tid);
	map_fini(&stacks->by_lane);
	map_fini(&stacks->made);
	stack_texts_fini(&stacks->texts);
	stack_pool_fini(&stacks->pool);
}

int event_stacks_read(struct trace *trace, const struct code_map *map, struct err *err)
{
	struct event_stacks stacks = { .trace = trace, .map = map };
	struct trace_meaning meaning;
	int rc;

	if (trace->facts.stacks || !trace_meaning(trace, &meaning) ||
	    meaning.big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ||
	    meaning.long_bytes != 8)
		return 0;
	find_kinds(&stacks, meaning.formats);
	stacks.pool.to = xcalloc(1, sizeof(*stacks.pool.to));
	for (size_t i = 0; i < trace->facts.thread_count; i++)
		thread_of(&stacks, trace->facts.threads[i].tid)->tgid =
			trace->facts.threads[i].tgid;
	rc = event_stacks_walk(&stacks, err);
	event_stacks_finish(&stacks);
	event_stacks_fini(&stacks);
	return rc < 0 ? rc : 0;
}
