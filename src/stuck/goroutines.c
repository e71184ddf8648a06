/* goroutines.c - see goroutines.h. The runtime lists all goroutines that there ever were, and uses them again. */
#include "stuck/goroutines.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proc/proc.h"
#include "stuck/go_int.h"

#define GOROUTINES_MAX 100000u
#define STRUCT_MAX     4096u /* bytes of a goroutine's own structure */
#define WINDOW_BYTES   1024u /* of a stack, that are read at once */
#define STATUS_SCAN    0x1000u

void goroutines_fini(struct goroutines *goroutines)
{
	free(goroutines->processes);
	free(goroutines->groups);
	free(goroutines->ids);
}

size_t goroutines_deadlocks(const struct goroutines *goroutines)
{
	size_t count = 0;

	for (size_t i = 0; i < goroutines->process_count; i++)
		count += goroutines->processes[i].is_deadlock;
	return count;
}

const struct go_process *goroutines_of(const struct goroutines *goroutines, int32_t tgid)
{
	for (size_t i = 0; goroutines && i < goroutines->process_count; i++) {
		if (goroutines->processes[i].tgid == tgid)
			return &goroutines->processes[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------ one goroutine */

static uint64_t u64_at(const uint8_t *bytes, uint64_t offset)
{
	uint64_t value = 0;

	if (offset <= STRUCT_MAX - sizeof(value))
		memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static uint64_t go_field(const struct go_reader *reader, const uint8_t *bytes, enum go_field field)
{
	return u64_at(bytes, go_at(reader)[field]);
}

static uint64_t go_nested(const struct go_reader *reader, const uint8_t *bytes, enum go_field outer,
			  enum go_field inner)
{
	return u64_at(bytes, go_at(reader)[outer] + go_at(reader)[inner]);
}

static struct go_mark go_mark_of(const struct go_reader *reader, const uint8_t *bytes)
{
	struct go_mark mark = { .number = go_field(reader, bytes, GO_G_ID),
				.waiting = go_field(reader, bytes, GO_G_WAITING),
				.thread = go_field(reader, bytes, GO_G_M),
				.status = (uint32_t)go_field(reader, bytes, GO_G_STATUS) &
					  ~STATUS_SCAN,
				.reason = (uint8_t)go_field(reader, bytes, GO_G_WAIT_REASON) };

	if (mark.status == GO_SYSCALL) {
		mark.sp = go_field(reader, bytes, GO_G_SYSCALL_SP);
		mark.pc = go_field(reader, bytes, GO_G_SYSCALL_PC);
	} else if (mark.status != GO_RUNNING) {
		mark.sp = go_nested(reader, bytes, GO_G_SCHED, GO_SCHED_SP);
		mark.pc = go_nested(reader, bytes, GO_G_SCHED, GO_SCHED_PC);
	}
	return mark;
}

static bool go_is_same(const struct go_mark *a, const struct go_mark *b)
{
	return a->number == b->number && a->sp == b->sp && a->pc == b->pc &&
	       a->waiting == b->waiting && a->thread == b->thread && a->status == b->status &&
	       a->reason == b->reason;
}

/* The thread that runs it, by our number; 0 = not known. */
static int32_t go_thread_of(struct go_reader *reader, const struct goroutine *goroutine)
{
	const struct go_target *target = reader->target;
	uint64_t number = 0;

	if (reader->is_own_numbers && goroutine->mark.thread &&
	    (goroutine->mark.status == GO_SYSCALL || goroutine->mark.status == GO_RUNNING))
		number = go_memory_u64(&reader->memory,
				       goroutine->mark.thread + go_at(reader)[GO_M_THREAD]);
	for (size_t i = 0; number && i < target->thread_count; i++) {
		if ((uint64_t)target->threads[i].tid == number)
			return target->threads[i].tid;
	}
	return 0;
}

/* ------------------------------------------------------------------ its stack */

static void go_push_pc(struct go_reader *reader, struct goroutine *goroutine, uint64_t pc)
{
	reader->pcs =
		vec_room(reader->pcs, reader->pc_count, &reader->pc_cap, sizeof(*reader->pcs));
	reader->pcs[reader->pc_count++] = pc;
	goroutine->count++;
}

/* The top of a stack. */
struct go_window {
	uint64_t from;
	size_t bytes;
	uint8_t data[WINDOW_BYTES];
};

/* Not by pages, of which there are as many as goroutines, and that are needed once. */
static void go_window_read(struct go_reader *reader, const struct goroutine *goroutine,
			   struct go_window *window)
{
	uint64_t sp = goroutine->mark.sp;

	window->from = sp;
	window->bytes = 0;
	if (sp < goroutine->stack_lo || sp >= goroutine->stack_hi)
		return;
	window->bytes = goroutine->stack_hi - sp < WINDOW_BYTES ? (size_t)(goroutine->stack_hi - sp)
								: WINDOW_BYTES;
	if (!go_memory_read_now(&reader->memory, sp, window->data, window->bytes))
		window->bytes = 0;
}

static uint64_t go_stack_u64(struct go_reader *reader, const struct go_window *window, uint64_t at)
{
	uint64_t value;

	if (at < window->from || window->bytes < sizeof(value) ||
	    at - window->from > window->bytes - sizeof(value))
		return go_memory_u64(&reader->memory, at);
	memcpy(&value, window->data + (at - window->from), sizeof(value));
	return value;
}

/* On arm64 the address that a function returns to is the first word of its frame, or in a register. */
static uint64_t go_return_of(struct go_reader *reader, const struct goroutine *goroutine,
			     const struct go_window *window, int32_t frame_bytes, uint64_t *sp)
{
	bool is_arm = reader->target->layout->is_arm;
	uint64_t at = is_arm ? *sp : *sp + (uint64_t)frame_bytes;

	if (is_arm && !frame_bytes)
		return goroutine->count == 1 ? goroutine->lr : 0;
	*sp += (uint64_t)frame_bytes + (is_arm ? 0 : 8);
	return go_stack_u64(reader, window, at);
}

static void go_walk(struct go_reader *reader, struct goroutine *goroutine)
{
	uint64_t sp = goroutine->mark.sp, pc = goroutine->mark.pc;
	struct go_window window;

	go_window_read(reader, goroutine, &window);
	goroutine->first = reader->pc_count;
	goroutine->is_cut = true;
	while (pc && goroutine->count < GO_FRAMES_MAX) {
		struct go_spot spot = go_code_spot(&reader->code, pc);

		if (spot.is_end)
			goroutine->is_cut = false;
		if (!spot.count || spot.is_end)
			return;
		go_push_pc(reader, goroutine, pc);
		if (spot.frame_bytes < 0 || sp < goroutine->stack_lo || sp >= goroutine->stack_hi)
			return;
		pc = go_return_of(reader, goroutine, &window, spot.frame_bytes, &sp);
	}
}

/* ------------------------------------------------------------------ all of them */

/* Whether its stack, as far as it is known, has nothing but the runtime's functions. */
static bool go_is_in_runtime(struct go_reader *reader, const struct goroutine *goroutine)
{
	for (size_t i = 0; i < goroutine->count; i++) {
		struct go_spot spot =
			go_code_spot(&reader->code, reader->pcs[goroutine->first + i]);

		for (uint32_t k = 0; k < spot.count; k++) {
			if (strncmp(reader->code.frames[spot.first + k].function, "runtime.", 8) !=
			    0)
				return false;
		}
	}
	return true;
}

/* The runtime's own: it began it for itself, and it runs nobody else's code. */
static bool go_is_runtime(struct go_reader *reader, const struct goroutine *goroutine)
{
	char name[GO_FUNCTION_MAX];

	if (!go_code_name(&reader->code, goroutine->start, name))
		return false;
	if (strcmp(name, "os/signal.loop") == 0)
		return true;
	return strncmp(name, "runtime.", 8) == 0 && !go_is_for_program(name, goroutine->state) &&
	       go_is_in_runtime(reader, goroutine);
}

static void go_take(struct go_reader *reader, uint64_t address, const uint8_t *bytes)
{
	struct goroutine goroutine = { .address = address, .mark = go_mark_of(reader, bytes) };

	if (go_is_none(goroutine.mark.status) || !goroutine.mark.number)
		return;
	goroutine.since_ns =
		go_is_parked(goroutine.mark.status) ? go_field(reader, bytes, GO_G_WAIT_SINCE) : 0;
	goroutine.created = go_field(reader, bytes, GO_G_CREATED_PC);
	goroutine.start = go_field(reader, bytes, GO_G_START_PC);
	goroutine.lr = go_nested(reader, bytes, GO_G_SCHED, GO_SCHED_LR);
	goroutine.stack_lo = go_nested(reader, bytes, GO_G_STACK, GO_STACK_LO);
	goroutine.stack_hi = go_nested(reader, bytes, GO_G_STACK, GO_STACK_HI);
	goroutine.state = go_state_of(goroutine.mark.status, go_reason(reader, &goroutine));
	goroutine.tid = go_thread_of(reader, &goroutine);
	go_walk(reader, &goroutine);
	goroutine.is_runtime = go_is_runtime(reader, &goroutine);
	go_object_find(reader, &goroutine);
	reader->all = vec_room(reader->all, reader->count, &reader->cap, sizeof(*reader->all));
	reader->all[reader->count++] = goroutine;
}

static void go_read_all(struct go_reader *reader)
{
	const struct go_layout *layout = reader->target->layout;
	uint64_t list = layout->variables[GO_ALL_GS] + reader->bias;
	uint64_t items = go_memory_u64(&reader->memory, list);
	uint64_t count = go_memory_u64(&reader->memory, list + 8);
	uint8_t bytes[STRUCT_MAX];

	if (!items || !count)
		reader->left_out++;
	if (count > GOROUTINES_MAX) {
		reader->left_out += count - GOROUTINES_MAX;
		count = GOROUTINES_MAX;
	}
	for (uint64_t i = 0; items && i < count; i++) {
		uint64_t address = go_memory_u64(&reader->memory, items + i * sizeof(address));

		memset(bytes, 0, sizeof(bytes));
		if (address &&
		    go_memory_read(&reader->memory, address, bytes, layout->sizes[GO_SIZE_G]))
			go_take(reader, address, bytes);
		else
			reader->left_out++;
	}
}

/* Of a process that goes on: what differs now was in no state that is known. */
static void go_read_again(struct go_reader *reader)
{
	uint64_t size = reader->target->layout->sizes[GO_SIZE_G];
	uint8_t bytes[STRUCT_MAX];

	for (size_t i = 0; i < reader->count; i++) {
		struct goroutine *goroutine = &reader->all[i];
		struct go_mark mark;

		memset(bytes, 0, sizeof(bytes));
		if (go_memory_read_now(&reader->memory, goroutine->address, bytes, size)) {
			mark = go_mark_of(reader, bytes);
			if (go_is_same(&mark, &goroutine->mark))
				continue;
		}
		goroutine->state = GO_CHANGES;
		goroutine->count = 0;
		goroutine->since_ns = 0;
		goroutine->tid = 0;
		goroutine->kind[0] = goroutine->which[0] = '\0';
		goroutine->is_signalled = goroutine->is_timed = false;
	}
}

/* ------------------------------------------------------------------ the process */

/* From addresses of the file to those in the process: the kernel tells where the program begins. */
static bool go_find_bias(struct go_reader *reader)
{
	Elf64_auxv_t pairs[64];
	char path[32];
	int got;

	snprintf(path, sizeof(path), "%d/auxv", reader->target->tgid);
	got = proc_read(reader->proc_fd, path, (char *)pairs, sizeof(pairs));
	for (int i = 0; i < got / (int)sizeof(pairs[0]); i++) {
		if (pairs[i].a_type == AT_ENTRY) {
			reader->bias = pairs[i].a_un.a_val - reader->target->layout->entry;
			return true;
		}
	}
	return false;
}

static bool go_has_own_numbers(const struct go_reader *reader)
{
	char path[32], status[4096];

	snprintf(path, sizeof(path), "%d/status", reader->target->tgid);
	return proc_read(reader->proc_fd, path, status, sizeof(status)) > 0 &&
	       proc_parse_vtid(status) == 0;
}

/* The words that the runtime has for why a goroutine waits, by number. */
static void go_read_reasons(struct go_reader *reader)
{
	const struct go_layout *layout = reader->target->layout;
	uint64_t at = layout->variables[GO_REASONS] + reader->bias;
	uint64_t count = layout->variable_bytes[GO_REASONS] / 16;

	for (; reader->reason_count < count && reader->reason_count < GO_REASONS_MAX; at += 16) {
		uint64_t text = go_memory_u64(&reader->memory, at);
		uint64_t bytes = go_memory_u64(&reader->memory, at + 8);
		char *reason = reader->reasons[reader->reason_count++];

		if (!text || bytes >= GO_REASON_MAX ||
		    !go_memory_read(&reader->memory, text, reason, bytes))
			reason[0] = '\0';
	}
}

/* Whether no thread had a CPU since it was looked at, and there is no other. */
static bool go_is_still(const struct go_target *target, int proc_fd)
{
	AUTO_FREE int32_t *tids = NULL;
	char path[32];

	snprintf(path, sizeof(path), "%d/task", target->tgid);
	if (proc_numbers(proc_fd, path, &tids) != (int)target->thread_count)
		return false;
	for (size_t i = 0; i < target->thread_count; i++) {
		const struct go_thread *thread = &target->threads[i];

		if (!thread->runs || proc_runs(proc_fd, target->tgid, thread->tid) != thread->runs)
			return false;
	}
	return true;
}

static const char *go_open_target(struct go_reader *reader)
{
	const struct go_layout *layout = reader->target->layout;

	if (layout->sizes[GO_SIZE_G] > STRUCT_MAX)
		return "this version of Go's runtime is not known";
	if (!go_find_bias(reader))
		return "it is not readable where the program is loaded";
	if (!go_code_open(&reader->code, &reader->memory, layout, reader->bias))
		return "its memory is not readable, or Go's tables are none that are known";
	go_read_reasons(reader);
	reader->is_own_numbers = go_has_own_numbers(reader);
	return NULL;
}

static void go_fill(struct go_reader *reader, struct go_process *process)
{
	const char *why = "";

	go_read_all(reader);
	process->is_still = go_is_still(reader->target, reader->proc_fd);
	if (process->is_still)
		process->is_deadlock = go_verdict(reader, &why);
	else
		go_read_again(reader);
	snprintf(process->open, sizeof(process->open), "%s", why ? why : "");
	process->left_out = (uint32_t)reader->left_out;
	go_code_finish(&reader->code);
}

void goroutines_read(const struct go_target *target, int proc_fd, struct goroutines *goroutines)
{
	struct go_reader reader = { .target = target,
				    .proc_fd = proc_fd,
				    .memory = { .tgid = target->tgid } };
	struct go_process process = { .tgid = target->tgid };
	const char *why = go_open_target(&reader);

	if (why) {
		snprintf(process.missing, sizeof(process.missing), "%s", why);
	} else {
		go_fill(&reader, &process);
		go_group(&reader, &process, goroutines);
	}
	goroutines->processes = vec_room(goroutines->processes, goroutines->process_count,
					 &goroutines->process_cap, sizeof(process));
	goroutines->processes[goroutines->process_count++] = process;
	free(reader.all);
	free(reader.pcs);
	map_fini(&reader.semaphores);
	sockets_fini(&reader.sockets);
	go_code_fini(&reader.code);
	go_memory_fini(&reader.memory);
}
