/* stacks.c - see stacks.h. */
#include "event/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clones.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sorting.h"
#include "base/search.h"
#include "event/idle_table.h"

#define AMID	    8u /* own frames, at least */
#define AMID_SCRIPT 5u

#define TEXT_MAX 16384

static const char *stacks_keep(struct stacks *stacks, const char *text)
{
	if (!text || !*text)
		return NULL;
	return names_text(&stacks->texts, names_add(&stacks->texts, text, TEXT_MAX));
}

void stacks_add_frame(struct stacks *stacks, const struct stack_frame *frame)
{
	stacks->frames = vec_room(stacks->frames, stacks->frame_count, &stacks->frame_cap,
				  sizeof(*stacks->frames));
	stacks_set_frame(stacks, stacks->frame_count++, frame);
}

void stacks_set_frame(struct stacks *stacks, size_t number, const struct stack_frame *frame)
{
	struct stack_frame *kept = &stacks->frames[number];

	*kept = *frame;
	kept->function = stacks_keep(stacks, frame->function);
	kept->signature = stacks_keep(stacks, frame->signature);
	kept->module = stacks_keep(stacks, frame->module);
	kept->path = stacks_keep(stacks, frame->path);
	kept->build_id = stacks_keep(stacks, frame->build_id);
	kept->file = stacks_keep(stacks, frame->file);
}

void stacks_name_frame(struct stacks *stacks, size_t frame, const char *symbol)
{
	AUTO_FREE char *function = symbol ? xstrndup(symbol, clones_plain_bytes(symbol)) : NULL;

	stacks->frames[frame].function = stacks_keep(stacks, function);
	stacks->frames[frame].signature = stacks_keep(stacks, symbol);
}

bool stacks_add_stack(struct stacks *stacks, const uint32_t *frames, size_t count, const char *end)
{
	for (size_t i = 0; i < count; i++) {
		if (frames[i] >= stacks->frame_count)
			return false;
	}
	stacks->stacks = vec_room(stacks->stacks, stacks->stack_count, &stacks->stack_cap,
				  sizeof(*stacks->stacks));
	stacks->stacks[stacks->stack_count++] = (struct stack){
		.first = (uint32_t)stacks->frame_id_count,
		.count = (uint32_t)count,
		.end = stacks_keep(stacks, end),
	};
	for (size_t i = 0; i < count; i++) {
		stacks->frame_ids = vec_room(stacks->frame_ids, stacks->frame_id_count,
					     &stacks->frame_id_cap, sizeof(*stacks->frame_ids));
		stacks->frame_ids[stacks->frame_id_count++] = frames[i];
	}
	return true;
}

void stacks_add_wait(struct stacks *stacks, const struct stack_wait *wait)
{
	stacks->waits = vec_room(stacks->waits, stacks->wait_count, &stacks->wait_cap,
				 sizeof(*stacks->waits));
	stacks->waits[stacks->wait_count++] = *wait;
}

void stacks_add_sample(struct stacks *stacks, const struct stack_sample *sample)
{
	stacks->samples = vec_room(stacks->samples, stacks->sample_count, &stacks->sample_cap,
				   sizeof(*stacks->samples));
	stacks->samples[stacks->sample_count++] = *sample;
}

void stacks_add_futex(struct stacks *stacks, const struct stack_futex *futex)
{
	struct stack_futex *kept;

	stacks->futexes = vec_room(stacks->futexes, stacks->futex_count, &stacks->futex_cap,
				   sizeof(*stacks->futexes));
	kept = &stacks->futexes[stacks->futex_count++];
	*kept = *futex;
	kept->name = stacks_keep(stacks, futex->name);
	kept->module = stacks_keep(stacks, futex->module);
}

ORDER_FUNCTION(compare_waits, struct stack_wait, ORDER_UP(tid), ORDER_UP(end_ns), ORDER_UP(stack));

ORDER_FUNCTION(compare_samples, struct stack_sample, ORDER_UP(tid), ORDER_UP(time_ns),
	       ORDER_UP(stack));

size_t stacks_first_sample(const struct stacks *stacks, int32_t tid, uint64_t time_ns)
{
	return SEARCH_ITEM(stacks->samples, stacks->sample_count, sample,
			   sample->tid < tid || (sample->tid == tid && sample->time_ns < time_ns));
}

size_t stacks_first_wait(const struct stacks *stacks, int32_t tid, uint64_t time_ns)
{
	return SEARCH_ITEM(stacks->waits, stacks->wait_count, wait,
			   wait->tid < tid || (wait->tid == tid && wait->end_ns < time_ns));
}

const struct stack_wait *stacks_find_wait(const struct stacks *stacks, int32_t tid,
					  uint64_t begin_ns, uint64_t end_ns)
{
	/* Both tell of the same moments, from two places a little apart: the middle is in both. */
	uint64_t middle_ns = begin_ns + (end_ns - begin_ns) / 2;
	size_t at = stacks_first_wait(stacks, tid, middle_ns);

	if (at == stacks->wait_count || stacks->waits[at].tid != tid ||
	    stacks->waits[at].begin_ns > middle_ns)
		return NULL;
	return &stacks->waits[at];
}

uint32_t stacks_find(const struct stacks *stacks, int32_t tid, uint64_t begin_ns, uint64_t end_ns)
{
	const struct stack_wait *wait = stacks_find_wait(stacks, tid, begin_ns, end_ns);

	return wait ? wait->stack : STACK_NONE;
}

const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t stack, size_t i)
{
	return &stacks->frames[stacks->frame_ids[stacks->stacks[stack].first + i]];
}

/* ------------------------------------------------------------------ the place of a wait */

/* Files whose functions wait for others; a prefix. */
static const char *const waiting_modules[] = { "libc.so.", "libc-2.",	 "ld-linux",
					       "ld-2.",	   "libpthread", "librt.",
					       "ld-musl",  "libc.musl",	 "[vdso]" };

/* The same of the languages' own libraries: C++, OpenMP, Fortran, Ada. */
static const char *const language_modules[] = { "libstdc++.so",	  "libc++.so", "libc++abi.so",
						"libgomp.so",	  "libomp.so", "libiomp5.so",
						"libgfortran.so", "libgnat-",  "libgnarl-" };

/* The C library's, in a program that it is a part of, and those that stand before it; a prefix where it ends in '*'. */
static const char *const c_functions[] = {
	"__libc_*", "__GI_*", "__futex_*", "__lll_lock_wait*", "__pthread_*", "___pthread_*",
	"pthread_*", "futex_wait*", "__internal_syscall_*", "__syscall_cancel*", "syscall",
	"__clock_nanosleep*", "clock_nanosleep", "__nanosleep", "nanosleep", "sleep", "__sleep",
	"usleep", "read", "__read", "write", "__write", "poll", "__poll", "ppoll", "select",
	"__select", "pselect", "epoll_wait", "epoll_pwait", "accept", "accept4", "connect", "recv",
	"recvfrom", "recvmsg", "send", "sendto", "sendmsg", "readv", "writev", "pread*", "pwrite*",
	"fsync", "fdatasync", "open", "open64", "openat", "openat64", "wait4", "__wait4", "waitpid",
	"__waitpid", "waitid", "__waitid", "wait", "flock", "fcntl", "fcntl64", "sem_wait*",
	"__new_sem_wait*", "sem_timedwait", "__sem_*", "do_futex_wait*", "sigsuspend", "pause",
	"fread", "fread_unlocked", "fgets", "getline", "getdelim", "fwrite", "fflush", "_IO_*",
	"__GI__IO_*", "__underflow", "__uflow", "__overflow",
	/* musl */
	"__timedwait*", "__wait", "__syscall_cp*"
};

/* Of the languages' own libraries, wherever they are; a prefix where it ends in '*'. */
static const char *const language_functions[] = {
	/* C++ */
	"std::*", "__gnu_cxx::*", "__gthread_*", "__glibcxx_*", "execute_native_thread_routine",
	/* Rust, too */
	"core::ops::function::*", "core::iter::*", "alloc::boxed::*", "parking_lot*",
	/* libuv, of Node.js */
	"uv_cond_*", "uv_sem_*", "uv_mutex_*", "uv_rwlock_*", "uv_barrier_*", "uv_thread_join",
	"uv__sem_*", "uv__io_poll",
	/* Go */
	"runtime.*", "runtime/*", "internal/*", "syscall.*", "os.*", "os/exec.*", "io.*", "bufio.*",
	"net.*", "sync.*", "time.Sleep"
};

/* Of Go's scheduler, below what a thread does for it: each thread that runs no goroutine is in them. */
static const char *const scheduler_functions[] = { "runtime.mcall",	   "runtime.park_m",
						   "runtime.schedule",	   "runtime.mstart*",
						   "runtime.systemstack*", "runtime.goexit*",
						   "runtime.rt0_go*",	   "runtime/cgo*" };

/* Functions of those into which the compiler puts what the program gave them to call: a prefix. */
static const char *const calling_functions[] = {
	"std::_Function_handler<", "std::thread::_State_impl<",
	"std::sys::backtrace::__rust_begin_short_backtrace",
	"std::sys_common::backtrace::__rust_begin_short_backtrace"
};

/* Of the kernel: what every sleeper is in, whatever it waits for, and what a tracer adds; a prefix where it ends in '*'. */
static const char *const kernel_functions[] = {
	"schedule*", "__schedule*", "io_schedule*", "preempt_schedule*", "__cond_resched*",
	"context_switch", "wait_for_completion*", "__wait_for_common", "wait_for_common*",
	"do_wait_for_common", "wait_on_bit*", "__wait_on_bit*", "out_of_line_wait_on_bit*",
	"poll_schedule_timeout*", "bit_wait*", "folio_wait_bit*", "__mutex_lock*", "mutex_lock*",
	"__down*", "down", "down_*", "rwsem_down_*", "percpu_down_*", "percpu_rwsem_wait*",
	"rt_mutex_*", "__rt_mutex_*", "rwbase_*", "__ww_mutex_*",
	/* tracers */
	"stack_trace_save*", "save_stack_trace*", "stack_trace_consume*", "arch_stack_walk*",
	"__traceiter_*", "__do_trace_*", "trace_event_*", "__trace_stack", "__ftrace_trace_stack",
	"ftrace_trace_stack*", "stacktrace_*", "event_triggers_*", "__event_trigger*",
	"ftrace_stacktrace*", "perf_trace_*", "bpf_trace_run*", "perf_tp_event*"
};

/* Files of Python's own library that do, below a folder of this name; a prefix where it ends in '/'. */
#define PYTHON_LIBRARY "/lib/python3."
static const char *const waiting_scripts[] = { "threading.py", "queue.py",	   "selectors.py",
					       "socket.py",    "ssl.py",	   "subprocess.py",
					       "asyncio/",     "multiprocessing/", "concurrent/" };

static bool is_waiting_script(const char *path)
{
	const char *below = path ? strstr(path, PYTHON_LIBRARY) : NULL;

	below = below ? strchr(below + strlen(PYTHON_LIBRARY), '/') : NULL;
	for (size_t i = 0; below && i < ARRAY_LEN(waiting_scripts); i++) {
		const char *name = waiting_scripts[i];
		size_t bytes = strlen(name);

		if (strncmp(below + 1, name, bytes) == 0 &&
		    (name[bytes - 1] == '/' || !below[1 + bytes]))
			return true;
	}
	return false;
}

/* Does the text begin with one of these? */
static bool begins_with_one(const char *text, const char *const *begins, size_t count)
{
	for (size_t i = 0; text && i < count; i++) {
		if (strncmp(text, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

static bool is_one_of(const char *function, const char *const *names, size_t count)
{
	for (size_t i = 0; function && i < count; i++) {
		const char *name = names[i];
		size_t bytes = strlen(name);

		if (name[bytes - 1] == '*' ? strncmp(function, name, bytes - 1) == 0
					   : strcmp(function, name) == 0)
			return true;
	}
	return false;
}

static bool is_language_type(const char *type)
{
	type += strspn(type, "<&*");
	return is_one_of(type, language_functions, ARRAY_LEN(language_functions));
}

/* "std::mutex::lock", "<std::fs::File as std::io::Read>::read": not if the type or the trait is another's. */
static bool is_language_function(const char *function)
{
	const char *trait = function && function[0] == '<' ? strstr(function, " as ") : NULL;

	return function && is_language_type(function) &&
	       (!trait || is_language_type(trait + strlen(" as "))) &&
	       !begins_with_one(function, calling_functions, ARRAY_LEN(calling_functions));
}

static bool is_waiting_module(const char *module)
{
	return begins_with_one(module, waiting_modules, ARRAY_LEN(waiting_modules));
}

/* Without what the C library puts before its own name of a function. */
static const char *plain_c_name(const char *function)
{
	if (strncmp(function, "__GI_", strlen("__GI_")) == 0)
		function += strlen("__GI_");
	return function + strspn(function, "_");
}

/* Debug information of a C library that is a part of the program says so. */
static bool is_c_library_file(const char *file)
{
	return strstr(file, "/glibc") || strstr(file, "/musl");
}

/*
 * One of the C library's names counts where that is a part of the program, or stands before the
 * library's own function of this name: others may have functions with such names, too.
 */
static bool is_c_function(const struct stack_frame *frame, const struct stack_frame *c_callee)
{
	if (!is_one_of(frame->function, c_functions, ARRAY_LEN(c_functions)))
		return false;
	if (c_callee)
		return c_callee->function &&
		       strcmp(plain_c_name(frame->function), plain_c_name(c_callee->function)) == 0;
	return !frame->file || is_c_library_file(frame->file);
}

/* Through it musl does all calls that may be cancelled. Other programs have functions of this name that do no such call themselves. */
static bool is_musl_call(const struct stacks *stacks, uint32_t stack, uint32_t at)
{
	const struct stack_frame *frame = stacks_frame(stacks, stack, at);

	return frame->function && strcmp(frame->function, "sccp") == 0 &&
	       (!frame->file || is_c_library_file(frame->file)) &&
	       (at == 0 || stacks_frame(stacks, stack, at - 1)->is_kernel);
}

/* Equal for places in one function; texts are there once, so their addresses tell them apart. */
static uint64_t stacks_place_key(const struct stack_frame *frame)
{
	uint64_t key = (uint64_t)(uintptr_t)frame->module * 0x9e3779b97f4a7c15u;

	if (frame->function)
		return key ^ (uint64_t)(uintptr_t)frame->function;
	return key ^ (frame->start ? frame->start : frame->offset);
}

/* The first stack that has, in 'first', a frame in the same function as frame 'at' of stack 'i'. */
static uint32_t stacks_first_alike(struct stacks *stacks, struct map *first, uint32_t i,
				   uint32_t at)
{
	bool is_new;
	uint64_t *alike = map_add(first, stacks_place_key(stacks_frame(stacks, i, at)), &is_new);

	if (is_new)
		*alike = i;
	return (uint32_t)*alike;
}

/* The first frame of a script from 'at' on. */
static uint32_t stacks_script(const struct stacks *stacks, uint32_t stack, uint32_t at)
{
	for (uint32_t i = at; i < stacks->stacks[stack].count; i++) {
		if (stacks_frame(stacks, stack, i)->is_script)
			return i;
	}
	return FRAME_NONE;
}

uint32_t stacks_caller(const struct stacks *stacks, uint32_t stack, uint32_t at)
{
	uint32_t script = FRAME_NONE;

	if (at >= stacks->stacks[stack].count)
		return FRAME_NONE;
	if (stacks_frame(stacks, stack, at)->is_script)
		script = stacks_script(stacks, stack, at + 1);
	if (script != FRAME_NONE)
		return script;
	return at + 1 < stacks->stacks[stack].count ? at + 1 : FRAME_NONE;
}

uint32_t stacks_named_caller(const struct stacks *stacks, uint32_t stack, uint32_t at)
{
	if (at >= stacks->stacks[stack].count || stacks_frame(stacks, stack, at)->function)
		return FRAME_NONE;
	while (++at < stacks->stacks[stack].count) {
		const struct stack_frame *frame = stacks_frame(stacks, stack, at);

		if (frame->function)
			return is_waiting_module(frame->module) ||
					       is_language_function(frame->function)
				       ? FRAME_NONE
				       : at;
	}
	return FRAME_NONE;
}

/* Code made at run time, or nothing but a word that was taken for a return address, as behind Go's own stacks. */
static bool is_unknown_code(const struct stack_frame *frame)
{
	return !frame->function && frame->module && strcmp(frame->module, "[jit]") == 0;
}

/* An address of a program, of which nobody says what is there. */
static bool is_address(const struct stack_frame *frame)
{
	return !frame->is_kernel && !frame->function && !frame->module;
}

/*
 * Where nothing is known of the program, the kernel's part says what was waited for: the first function
 * that is not what all sleepers are in. One without a name might be that.
 */
static uint32_t stacks_kernel_place(const struct stacks *stacks, uint32_t stack)
{
	uint32_t place = FRAME_NONE;

	for (uint32_t at = 0; at < stacks->stacks[stack].count; at++) {
		const struct stack_frame *frame = stacks_frame(stacks, stack, at);

		if (frame->is_kernel && place == FRAME_NONE && !frame->function)
			return FRAME_NONE;
		if (!frame->is_kernel && !is_address(frame))
			return FRAME_NONE;
		if (frame->is_kernel && place == FRAME_NONE &&
		    !is_one_of(frame->function, kernel_functions, ARRAY_LEN(kernel_functions)))
			place = at;
	}
	return place;
}

/*
 * Where there are only the languages' own functions, the outermost says most: in the program rather than in a
 * library, as it was made for what the program has it call.
 */
static uint32_t stacks_native_place(const struct stacks *stacks, uint32_t stack)
{
	const struct stack_frame *c_callee = NULL;
	uint32_t in_program = FRAME_NONE, in_library = FRAME_NONE, unknown = FRAME_NONE;
	uint32_t scheduler = FRAME_NONE;

	for (uint32_t at = 0; at < stacks->stacks[stack].count; at++) {
		const struct stack_frame *frame = stacks_frame(stacks, stack, at);

		if (is_waiting_module(frame->module))
			c_callee = frame;
		else if (begins_with_one(frame->module, language_modules,
					 ARRAY_LEN(language_modules)))
			in_library = at;
		else if (is_one_of(frame->function, scheduler_functions,
				   ARRAY_LEN(scheduler_functions)))
			scheduler = at;
		else if (is_language_function(frame->function))
			in_program = at;
		else if (is_unknown_code(frame))
			unknown = at;
		else if (!frame->is_kernel && !is_address(frame) &&
			 !is_c_function(frame, c_callee) && !is_musl_call(stacks, stack, at))
			return at;
	}
	if (in_program == FRAME_NONE)
		in_program = in_library;
	if (in_program == FRAME_NONE)
		in_program = scheduler;
	return in_program != FRAME_NONE ? in_program : unknown;
}

static uint32_t stacks_place(const struct stacks *stacks, uint32_t stack)
{
	uint32_t script = stacks->stacks[stack].script, at = script;

	while (at != FRAME_NONE && is_waiting_script(stacks_frame(stacks, stack, at)->path))
		at = stacks_script(stacks, stack, at + 1);
	if (script != FRAME_NONE)
		return at == FRAME_NONE ? script : at;
	at = stacks_native_place(stacks, stack);
	return at == FRAME_NONE ? stacks_kernel_place(stacks, stack) : at;
}

static void stacks_find_places(struct stacks *stacks)
{
	struct map places = { 0 }, leaves = { 0 };

	for (uint32_t i = 0; i < stacks->stack_count; i++) {
		struct stack *stack = &stacks->stacks[i];

		stack->script = stacks_script(stacks, i, 0);
		stack->place = stacks_place(stacks, i);
		stack->caller = stacks_caller(stacks, i, stack->place);
		stack->alike = i;
		stack->alike_leaf = i;
		if (stack->count)
			stack->alike_leaf =
				stacks_first_alike(stacks, &leaves, i,
						   stack->script == FRAME_NONE ? 0 : stack->script);
		if (stack->place != FRAME_NONE)
			stack->alike = stacks_first_alike(stacks, &places, i, stack->place);
	}
	map_fini(&places);
	map_fini(&leaves);
}

static int compare_futexes(const void *a, const void *b)
{
	const struct stack_futex *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	if (x->kind != y->kind) /* what is known comes last, and is found first */
		return x->kind < y->kind ? -1 : 1;
	return x->stack > y->stack ? -1 : x->stack < y->stack;
}

/* It waits for anybody. Go's own functions wait for its scheduler, too, which the table knows. */
static bool is_plain(const struct stack_frame *frame)
{
	if (frame->is_script)
		return false;
	return is_waiting_module(frame->module) ||
	       begins_with_one(frame->module, language_modules, ARRAY_LEN(language_modules)) ||
	       is_c_function(frame, NULL) ||
	       (is_language_function(frame->function) &&
		strncmp(frame->function, "runtime", strlen("runtime")) != 0);
}

static void stacks_find_idle(struct stacks *stacks)
{
	struct idle_table *table = stacks->stack_count ? idle_table_known() : NULL;

	if (table)
		idle_table_mark(table, stacks, is_plain);
	idle_table_free(table);
}

void stacks_finish(struct stacks *stacks)
{
	if (stacks->futex_count)
		qsort(stacks->futexes, stacks->futex_count, sizeof(*stacks->futexes),
		      compare_futexes);
	if (stacks->wait_count)
		qsort(stacks->waits, stacks->wait_count, sizeof(*stacks->waits), compare_waits);
	if (stacks->sample_count)
		qsort(stacks->samples, stacks->sample_count, sizeof(*stacks->samples),
		      compare_samples);
	stacks_find_places(stacks);
	stacks_find_idle(stacks);
}

/* Runtimes that compile as they run have as many frames in a thread that waits for work. */
static bool has_made_code(const struct stacks *stacks, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const char *module = stacks->frames[stacks->frame_ids[stack->first + i]].module;

		if (module && (strcmp(module, "[jit]") == 0 || strcmp(module, "libjvm.so") == 0))
			return true;
	}
	return false;
}

bool stacks_is_amid(const struct stacks *stacks, const struct stack *stack)
{
	bool is_script = stack->script != FRAME_NONE;

	return stack->depth >= (is_script ? AMID_SCRIPT : AMID) &&
	       (is_script || !has_made_code(stacks, stack));
}

size_t stacks_unnamed(const struct stacks *stacks)
{
	size_t count = 0;

	for (size_t i = 0; i < stacks->frame_count; i++)
		count += stacks->frames[i].is_unnamed;
	return count;
}

void stacks_fini(struct stacks *stacks)
{
	free(stacks->frames);
	free(stacks->frame_ids);
	free(stacks->stacks);
	free(stacks->waits);
	free(stacks->samples);
	free(stacks->futexes);
	names_fini(&stacks->texts);
	*stacks = (struct stacks){ 0 };
}
