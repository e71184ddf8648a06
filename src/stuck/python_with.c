/*
 * python_with.c - which threads of a Python program are inside `with` of a lock.
 *
 * A Lock notes no owner. But `with lock:` keeps the method lock.__exit__ on the stack of its frame until it calls
 * the method. A table of the code says, for each of its instructions, how many values stay on that stack when an
 * exception is raised there: the method is among them from when lock.__enter__ returned until lock.__exit__ is
 * called. Since 3.14 it is not a method of that lock but the type's, and the lock is the next value. Of a Condition or a
 * lock of multiprocessing it is a method of an object that has the lock. Of what contextlib.contextmanager made it is
 * a method of an object that has a generator: that one's frame, which waits in a `yield`, is inside `with` as well.
 *
 * Of a thread that runs meanwhile nothing is believed when it went on while its frame was read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/look.h"
#include "stuck/python_int.h"
#include "stuck/python_lock.h"
#include "stuck/snap_int.h"
#include "symbol/python_offsets.h"

#define THREADS_MAX	   1024u
#define FRAMES_MAX	   1024u  /* of a thread */
#define ALL_FRAMES_MAX	   20000u /* of a process */
#define DEPTH_MAX	   256u	  /* values on the stack of a frame */
#define TABLE_MAX	   65536u
#define SHIM		   3u  /* from this owner on a frame is none */
#define BYTES_START	   32u /* of a bytes object */
#define METHOD_TABLE	   16u /* of a method of C: its PyMethodDef, which begins with its name */
#define METHOD_SELF	   24u
#define UNBOUND_TABLE	   40u /* of a method of a type of C, the same */
#define FUNCTION_NAME	   32u
#define TEXT_ASCII	   40u /* where the characters of a text begin */
#define VERSION_CAPACITY   0x030d
#define VERSION_UNBOUND	   0x030e /* since then: values of a frame are references */
#define EXIT		   "__exit__"
#define GENERATORS_MAX	   8u  /* one within the other */
#define GENERATOR_3_11	   80u /* where the frame of a generator begins */
#define GENERATOR_FRAME	   72u /* since 3.12 */
#define REFERENCE_OBJECT   16u /* of a weak reference */
#define FIRSTS_MAX	   128u
#define ATTRIBUTES_MAX	   30u
#define TYPE_BASIC_SIZE	   32u
#define TYPE_FLAGS	   168u
#define TYPE_INLINE_VALUES (1ull << 2)
#define TYPE_MANAGES_DICT  (1ull << 4)
#define ENTRY_BEGINS	   0x80u /* in the table: the first byte of an entry */
#define NUMBER_GOES_ON	   0x40u
#define NUMBER_BITS	   6

/* Offsets; by Include/internal/pycore_{runtime,interp,frame}.h, cpython/{code,pystate}.h of each version. */
struct python_at {
	uint64_t head; /* in _PyRuntime */
	uint64_t interpreter_next, interpreter_threads;
	uint64_t thread_next, thread_self, thread_number;
	uint64_t thread_ends;	/* what its end calls release_sentinel() with; 0 = nothing */
	uint64_t thread_cframe; /* what has the frame's address; 0 = the thread itself */
	uint64_t current_frame;
	uint64_t frame_code, frame_previous, frame_instruction, frame_owner, frame_locals;
	uint64_t code_locals, code_table, code_start;
};

static const struct python_at at_3_11 = {
	.head = 40,
	.interpreter_threads = 16,
	.thread_next = 8,
	.thread_self = 152,
	.thread_number = 160,
	.thread_ends = 192,
	.thread_cframe = 56,
	.current_frame = 8,
	.frame_code = 32,
	.frame_previous = 48,
	.frame_instruction = 56,
	.frame_owner = 69,
	.frame_locals = 72,
	.code_locals = 76,
	.code_table = 40,
	.code_start = 184,
};

static const struct python_at at_3_12 = {
	.head = 40,
	.interpreter_threads = 72,
	.thread_next = 8,
	.thread_self = 136,
	.thread_number = 144,
	.thread_ends = 176,
	.thread_cframe = 56,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.frame_locals = 72,
	.code_locals = 72,
	.code_table = 40,
	.code_start = 192,
};

/* Of multiprocessing: Modules/_multiprocessing/semaphore.c. */
struct shared_lock_object {
	uint64_t references, type, semaphore, thread;
	int32_t count, max;
};

struct python_walk {
	struct look *look;
	struct process *process;
	struct python *python;
	struct remote *memory; /* python->memory */
	struct python_at at;
	uint64_t runtime, code_type, method_type, bound_type, unbound_type, function_type;
	uint64_t version;	     /* 0x030b: 3.11 */
	uint32_t frames;	     /* so far */
	uint32_t generators;	     /* that are gone into */
	int32_t tid;		     /* whose frames these are */
	uint64_t self;		     /* what it is called by itself: threading.get_ident() */
	uint64_t firsts[FIRSTS_MAX]; /* the first variables of its inner frames */
	uint32_t first_count;
};

/* Since 3.13 it says where most of them are. */
static bool take_told(struct python_walk *walk, uint64_t version)
{
	uint8_t told[PYTHON_OFFSETS_BYTES];
	struct python_offsets offsets;

	if (!remote_read(walk->memory, walk->runtime, told, sizeof(told)) ||
	    python_offsets_read(told, sizeof(told), version, &offsets) != PYTHON_OFFSETS_KNOWN)
		return false;
	walk->at = (struct python_at){
		.head = offsets.runtime_head,
		.interpreter_next = offsets.interpreter_next,
		.interpreter_threads = offsets.interpreter_threads,
		.thread_next = offsets.thread_next,
		.thread_self = offsets.thread_self,
		.thread_number = offsets.thread_number,
		.current_frame = offsets.thread_frame,
		.frame_code = offsets.frame_code,
		.frame_previous = offsets.frame_previous,
		.frame_instruction = offsets.frame_instruction,
		.frame_owner = offsets.frame_owner,
		.frame_locals = offsets.frame_locals,
		.code_locals = offsets.code_locals,
		.code_table = at_3_12.code_table,
		.code_start = offsets.code_start,
	};
	return true;
}

static bool find_layout(struct python_walk *walk)
{
	uint64_t base = walk->python->base;
	uint64_t at = remote_symbol(walk->memory, base, "Py_Version");
	uint64_t version = at ? remote_u64(walk->memory, at) : 0;

	walk->runtime = remote_symbol(walk->memory, base, "_PyRuntime");
	walk->code_type = remote_symbol(walk->memory, base, "PyCode_Type");
	walk->method_type = remote_symbol(walk->memory, base, "PyCFunction_Type");
	walk->bound_type = remote_symbol(walk->memory, base, "PyMethod_Type");
	walk->unbound_type = remote_symbol(walk->memory, base, "PyMethodDescr_Type");
	walk->function_type = remote_symbol(walk->memory, base, "PyFunction_Type");
	walk->version = version >> 16;
	if (!walk->runtime || !walk->code_type || !walk->method_type)
		return false;
	switch (version >> 16) {
	case 0x030b:
		walk->at = at_3_11;
		return true;
	case 0x030c:
		walk->at = at_3_12;
		return true;
	default:
		return take_told(walk, version);
	}
}

/* ------------------------------------------------------------------ the table of a code */

struct table {
	const uint8_t *at, *end;
};

/* A number in parts of six bits, the highest first. */
static bool take_number(struct table *table, uint32_t *out_number)
{
	uint32_t number = 0;

	while (table->at < table->end) {
		uint8_t byte = *table->at++;

		if (number > UINT32_MAX >> NUMBER_BITS)
			return false;
		number = number << NUMBER_BITS | (byte & (NUMBER_GOES_ON - 1));
		if (!(byte & NUMBER_GOES_ON)) {
			*out_number = number;
			return true;
		}
	}
	return false;
}

/* Entries are: first instruction, how many, where to go, depth * 2 + 1 or 0. They stand in order. */
static uint32_t depth_at(struct table table, uint32_t instruction)
{
	while (table.at < table.end) {
		uint32_t start, count, target, depth;

		if (!(*table.at & ENTRY_BEGINS) || !take_number(&table, &start) ||
		    !take_number(&table, &count) || !take_number(&table, &target) ||
		    !take_number(&table, &depth) || start > instruction)
			return 0;
		if (instruction - start < count)
			return depth / 2;
	}
	return 0;
}

/* How many values of the frame's stack stay there; 0 = none, or not known. */
static uint32_t frame_depth(struct python_walk *walk, uint64_t code, uint64_t instruction)
{
	uint64_t table = remote_u64(walk->memory, code + walk->at.code_table);
	uint64_t bytes = remote_u64(walk->memory, table + PYTHON_SIZE);
	uint64_t units = remote_u64(walk->memory, code + PYTHON_SIZE);
	uint64_t offset = instruction - (code + walk->at.code_start);
	AUTO_FREE uint8_t *copy = NULL;

	if (!table || !bytes || bytes > TABLE_MAX || offset % 2 || offset / 2 >= units)
		return 0;
	copy = xmalloc(bytes);
	if (!remote_read(walk->memory, table + BYTES_START, copy, bytes))
		return 0;
	return depth_at((struct table){ copy, copy + bytes }, (uint32_t)(offset / 2));
}

/* ------------------------------------------------------------------ frames */

static void add_with(struct python *python, uint64_t key, struct python_holder holder)
{
	for (size_t i = 0; i < python->count; i++) {
		if (python->withs[i].key == key && python->withs[i].holder.tid == holder.tid)
			return;
	}
	python->withs =
		vec_room(python->withs, python->count, &python->cap, sizeof(*python->withs));
	python->withs[python->count++] = (struct python_with){ key, holder };
}

/* A lock that is this thread's while it is inside `with`. One of multiprocessing notes the thread itself. */
static bool take_lock(struct python_walk *walk, uint64_t object, struct python_with *out_with)
{
	struct shared_lock_object lock;

	if (object % sizeof(object) || !object)
		return false;
	*out_with = (struct python_with){ .holder = { walk->tid, PYTHON_INSIDE } };
	if (python_is_a(walk->python, object, "_thread.lock")) {
		out_with->key = object + PYTHON_LOCK;
	} else if (python_is_a(walk->python, object, "_multiprocessing.SemLock") &&
		   remote_read(walk->memory, object, &lock, sizeof(lock)) && lock.count > 0 &&
		   lock.max == 1 && lock.thread == walk->self) {
		out_with->key = lock.semaphore;
		out_with->holder.how = PYTHON_SHARED;
	}
	return out_with->key;
}

/* Where the values of attributes of an object lie, as long as it has no dict of them; 0 = not known. */
static uint64_t attributes_of(struct python_walk *walk, uint64_t object)
{
	uint64_t type = remote_u64(walk->memory, object + PYTHON_TYPE);
	uint64_t flags = remote_u64(walk->memory, type + TYPE_FLAGS), values;

	if (!(flags & TYPE_MANAGES_DICT))
		return 0;
	switch (walk->version) {
	case 0x030b:
		return remote_u64(walk->memory, object - 4 * sizeof(values));
	case 0x030c: /* one less, to be told from a dict */
		values = remote_u64(walk->memory, object - 3 * sizeof(values));
		return values & 1 ? values + 1 : 0;
	default:
		values = remote_u64(walk->memory, object - 3 * sizeof(values));
		return flags & TYPE_INLINE_VALUES && !values
			       ? object + remote_u64(walk->memory, type + TYPE_BASIC_SIZE) +
					 sizeof(values)
			       : 0;
	}
}

/* How many there may be; since 3.13 that stands before them. */
static uint32_t attribute_count(struct python_walk *walk, uint64_t values)
{
	uint8_t capacity = ATTRIBUTES_MAX;

	if (walk->version >= VERSION_CAPACITY &&
	    !remote_read(walk->memory, values - sizeof(values), &capacity, sizeof(capacity)))
		return 0;
	return capacity < ATTRIBUTES_MAX ? capacity : ATTRIBUTES_MAX;
}

/* A method of it runs further in: Condition.wait() lets the lock go. */
static bool is_at_work(const struct python_walk *walk, uint64_t object)
{
	for (uint32_t i = 0; i < walk->first_count; i++) {
		if (walk->firsts[i] == object)
			return true;
	}
	return walk->first_count == FIRSTS_MAX;
}

/* A value of a frame: since 3.14 the lowest bit of the reference says whether it is counted. */
static uint64_t value_at(const struct python_walk *walk, uint64_t address)
{
	uint64_t value = remote_u64(walk->memory, address);

	return walk->version >= VERSION_UNBOUND ? value & ~UINT64_C(1) : value;
}

static void frame_exits(struct python_walk *walk, uint64_t frame, uint64_t code);

/* Its frame, which is part of it: its own `with` are the thread's that is inside `with` of its manager. */
static bool take_generator(struct python_walk *walk, uint64_t object)
{
	uint64_t frame, code;

	if (object % sizeof(object) || walk->generators == GENERATORS_MAX ||
	    !python_is_a(walk->python, object, "generator"))
		return false;
	frame = object + (walk->version == 0x030b ? GENERATOR_3_11 : GENERATOR_FRAME);
	code = value_at(walk, frame + walk->at.frame_code);
	if (remote_u64(walk->memory, code + PYTHON_TYPE) != walk->code_type)
		return false;
	walk->generators++;
	frame_exits(walk, frame, code);
	walk->generators--;
	return true;
}

/* Of an object of Python that has a lock: a Condition, a lock of multiprocessing; or a generator. */
static bool take_attribute(struct python_walk *walk, uint64_t object, struct python_with *out_with)
{
	uint64_t values = is_at_work(walk, object) ? 0 : attributes_of(walk, object);
	uint32_t count = values ? attribute_count(walk, values) : 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = remote_u64(walk->memory, values + i * sizeof(value));

		if (value && take_lock(walk, value, out_with))
			return true;
		if (value && take_generator(walk, value))
			return false;
	}
	return false;
}

/* The method of a type, and the object that it is for. */
static bool take_unbound(struct python_walk *walk, uint64_t method, uint64_t self,
			 struct python_with *out_with)
{
	uint64_t type, name;

	if (!method || !self || method % sizeof(method))
		return false;
	type = remote_u64(walk->memory, method + PYTHON_TYPE);
	if (type && type == walk->unbound_type) {
		name = remote_u64(walk->memory, method + UNBOUND_TABLE);
		return name && remote_is_text(walk->memory, remote_u64(walk->memory, name), EXIT) &&
		       take_lock(walk, self, out_with);
	}
	name = type && type == walk->function_type
		       ? remote_u64(walk->memory, method + FUNCTION_NAME)
		       : 0;
	return name && remote_is_text(walk->memory, name + TEXT_ASCII, EXIT) &&
	       take_attribute(walk, self, out_with);
}

/* What is on the stack of a frame: the lock whose __exit__ that is. */
static bool take_exit(struct python_walk *walk, uint64_t method, struct python_with *out_with)
{
	uint64_t type, self, table;

	if (!method || method % sizeof(method))
		return false;
	type = remote_u64(walk->memory, method + PYTHON_TYPE);
	self = remote_u64(walk->memory, method + METHOD_SELF);
	if (type == walk->bound_type)
		return take_attribute(walk, self, out_with);
	table = remote_u64(walk->memory, method + METHOD_TABLE);
	return type == walk->method_type && table &&
	       remote_is_text(walk->memory, remote_u64(walk->memory, table), EXIT) &&
	       take_lock(walk, self, out_with);
}

/* Whether it is where it was, in memory as it is now. */
static bool is_still_there(struct python_walk *walk, uint64_t frame, uint64_t instruction)
{
	uint64_t now;

	return look_memory(walk->look, walk->process, frame + walk->at.frame_instruction, &now,
			   sizeof(now)) &&
	       now == instruction;
}

static void frame_exits(struct python_walk *walk, uint64_t frame, uint64_t code)
{
	uint64_t instruction = remote_u64(walk->memory, frame + walk->at.frame_instruction);
	uint32_t depth = frame_depth(walk, code, instruction);
	uint64_t stack =
		frame + walk->at.frame_locals +
		(uint64_t)remote_u32(walk->memory, code + walk->at.code_locals) * sizeof(uint64_t);
	struct python_with with;

	for (uint32_t i = 0; i < depth && i < DEPTH_MAX; i++) {
		uint64_t method = value_at(walk, stack + i * sizeof(uint64_t));
		uint64_t self =
			i + 1 < depth ? value_at(walk, stack + (i + 1) * sizeof(uint64_t)) : 0;
		bool is_exit = walk->version >= VERSION_UNBOUND
				       ? take_unbound(walk, method, self, &with)
				       : take_exit(walk, method, &with);

		if (is_exit && is_still_there(walk, frame, instruction))
			add_with(walk->python, with.key, with.holder);
	}
}

static void frame_withs(struct python_walk *walk, uint64_t frame, uint64_t code)
{
	frame_exits(walk, frame, code);
	if (walk->first_count < FIRSTS_MAX)
		walk->firsts[walk->first_count++] = value_at(walk, frame + walk->at.frame_locals);
}

/* Thread.join() waits for a Lock, to which the thread has a weak reference until it ends. */
static void thread_end(struct python_walk *walk, uint64_t thread)
{
	uint64_t reference =
		walk->at.thread_ends ? remote_u64(walk->memory, thread + walk->at.thread_ends) : 0;
	uint64_t lock = reference ? remote_u64(walk->memory, reference + REFERENCE_OBJECT) : 0;

	if (lock && python_is_a(walk->python, lock, "_thread.lock"))
		add_with(walk->python, lock + PYTHON_LOCK,
			 (struct python_holder){ walk->tid, PYTHON_ENDS });
}

static void thread_withs(struct python_walk *walk, uint64_t thread)
{
	uint64_t holder = walk->at.thread_cframe
				  ? remote_u64(walk->memory, thread + walk->at.thread_cframe)
				  : thread;
	uint64_t frame = holder ? remote_u64(walk->memory, holder + walk->at.current_frame) : 0;

	walk->first_count = 0;
	walk->self = remote_u64(walk->memory, thread + walk->at.thread_self);
	for (uint32_t i = 0; frame && i < FRAMES_MAX && walk->frames < ALL_FRAMES_MAX; i++) {
		uint64_t code = value_at(walk, frame + walk->at.frame_code);
		uint8_t owner = 0;

		walk->frames++;
		if (remote_u64(walk->memory, code + PYTHON_TYPE) == walk->code_type)
			frame_withs(walk, frame, code);
		else if (!remote_read(walk->memory, frame + walk->at.frame_owner, &owner, 1) ||
			 owner < SHIM)
			return;
		frame = remote_u64(walk->memory, frame + walk->at.frame_previous);
	}
}

/* Our number of a thread: also of a process that is not looked at itself. */
static int32_t thread_of(struct python_walk *walk, uint64_t number)
{
	if (!number || number > INT32_MAX)
		return 0;
	if (walk->process->count)
		return look_thread(walk->look, walk->process, (int32_t)number);
	return look_is_nested(walk->look, walk->process) ? 0 : (int32_t)number;
}

static void all_withs(struct python_walk *walk)
{
	const struct python_at *at = &walk->at;
	uint64_t interpreter = remote_u64(walk->memory, walk->runtime + at->head), thread = 0;

	for (uint32_t i = 0; interpreter && i < THREADS_MAX; i++) {
		thread = remote_u64(walk->memory, thread ? thread + at->thread_next
							 : interpreter + at->interpreter_threads);
		if (!thread) {
			interpreter = remote_u64(walk->memory, interpreter + at->interpreter_next);
			continue;
		}
		walk->tid = thread_of(walk, remote_u64(walk->memory, thread + at->thread_number));
		if (!walk->tid)
			continue;
		thread_withs(walk, thread);
		thread_end(walk, thread);
	}
}

void python_find_withs(struct snap *snap, struct process *process, struct python *python)
{
	struct python_walk walk = {
		.look = &snap->look, .process = process, .python = python, .memory = &python->memory
	};

	if (python->is_python && !python->has_withs && find_layout(&walk))
		all_withs(&walk);
	python->has_withs = true;
}

size_t python_holders(struct asleep *asleep, uint64_t key, struct python_holder *out_holders,
		      size_t max)
{
	struct python *python = python_of(asleep->snap, asleep->process);
	size_t found = 0;

	python_find_withs(asleep->snap, asleep->process, python);
	for (size_t i = 0; i < python->count && found < max; i++) {
		if (python->withs[i].key == key && python->withs[i].holder.how != PYTHON_SHARED)
			out_holders[found++] = python->withs[i].holder;
	}
	return found;
}
