/* hotspot.c - see hotspot.h. */
#include "stuck/hotspot.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "stuck/maps.h"
#include "stuck/hotspot_int.h"
#include "stuck/remote.h"
#include "stuck/snap_int.h"

#define ENTRIES_MAX   4096u
#define THREADS_MAX   4096u
#define LOCKS_MAX     64u /* of a thread's lock stack */
#define MARK_INFLATED 2u  /* of an object's header: the rest is the monitor */
#define ANONYMOUS     1u  /* an owner that inflated nothing itself: its lock stack tells */

/* As vmStructs.hpp declares it. */
struct vm_entry {
	uint64_t type, field, kind;
	uint32_t is_static, pad;
	uint64_t offset, address;
};

/* Where a name or a type has changed over the versions, both. */
static const struct {
	enum field field;
	const char *type, *name;
} wanted[] = {
	{ THREAD_LIST, "ThreadsSMRSupport", "_java_thread_list" },
	{ LIST_LENGTH, "ThreadsList", "_length" },
	{ LIST_THREADS, "ThreadsList", "_threads" },
	{ OS_THREAD, "JavaThread", "_osthread" },
	{ OS_THREAD, "Thread", "_osthread" },
	{ OS_THREAD_ID, "OSThread", "_thread_id" },
	{ PENDING_MONITOR, "JavaThread", "_current_pending_monitor" },
	{ PENDING_MONITOR, "Thread", "_current_pending_monitor" },
	{ WAITING_MONITOR, "JavaThread", "_current_waiting_monitor" },
	{ WAITING_MONITOR, "Thread", "_current_waiting_monitor" },
	{ MONITOR_OWNER, "ObjectMonitor", "_owner" },
	{ MONITOR_OBJECT, "ObjectMonitor", "_object" },
	{ STACK_BASE, "JavaThread", "_stack_base" },
	{ STACK_BASE, "Thread", "_stack_base" },
	{ STACK_SIZE, "JavaThread", "_stack_size" },
	{ STACK_SIZE, "Thread", "_stack_size" },
	{ THREAD_OBJECT, "JavaThread", "_threadObj" },
	{ OWNER_ID, "JavaThread", "_monitor_owner_id" },
	{ LOCK_STACK, "JavaThread", "_lock_stack" },
	{ LOCK_TOP, "LockStack", "_top" },
	{ LOCK_BASE, "LockStack", "_base[0]" },
	{ KLASS_BASE, "CompressedKlassPointers", "_narrow_klass._base" },
	{ KLASS_BASE, "CompressedKlassPointers", "_base" },
	{ KLASS_SHIFT, "CompressedKlassPointers", "_narrow_klass._shift" },
	{ KLASS_SHIFT, "CompressedKlassPointers", "_shift" },
	{ OBJECT_KLASS, "oopDesc", "_metadata._compressed_klass" },
	{ KLASS_NAME, "Klass", "_name" },
	{ SYMBOL_LENGTH, "Symbol", "_length" },
	{ SYMBOL_BODY, "Symbol", "_body" },
	{ VIRTUAL_OBJECT, "JavaThread", "_vthread" },
	{ KLASS_SUPER, "Klass", "_super" },
	{ KLASS_POOL, "InstanceKlass", "_constants" },
	{ KLASS_FIELDS, "InstanceKlass", "_fields" },
	{ FIELD_COUNT, "InstanceKlass", "_java_fields_count" },
	{ FIELD_STREAM, "InstanceKlass", "_fieldinfo_stream" },
	{ SHORTS_DATA, "Array<u2>", "_data" },
	{ BYTES_DATA, "Array<u1>", "_data" },
	{ OOP_BASE, "CompressedOops", "_narrow_oop._base" },
	{ OOP_BASE, "CompressedOops", "_base" },
	{ OOP_SHIFT, "CompressedOops", "_narrow_oop._shift" },
	{ OOP_SHIFT, "CompressedOops", "_shift" },
	{ FLAGS_TABLE, "JVMFlag", "flags" },
	{ FLAG_COUNT, "JVMFlag", "numFlags" },
	{ FLAG_NAME, "JVMFlag", "_name" },
	{ FLAG_VALUE, "JVMFlag", "_addr" },
};

void hotspot_free(struct hotspot *hotspot)
{
	if (!hotspot)
		return;
	remote_fini(&hotspot->memory);
	map_fini(&hotspot->by_tid);
	map_fini(&hotspot->by_object);
	free(hotspot->threads);
	free(hotspot);
}

static void take_entry(struct hotspot *hotspot, const struct vm_entry *entry)
{
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (!remote_is_text(&hotspot->memory, entry->field, wanted[i].name) ||
		    !remote_is_text(&hotspot->memory, entry->type, wanted[i].type))
			continue;
		hotspot->at[wanted[i].field] = entry->is_static ? entry->address : entry->offset;
		hotspot->has[wanted[i].field] = true;
	}
}

static bool read_layout(struct hotspot *hotspot, uint64_t library)
{
	uint64_t table = remote_symbol(&hotspot->memory, library, "gHotSpotVMStructs");
	struct vm_entry entry;

	table = table ? remote_u64(&hotspot->memory, table) : 0;
	for (size_t i = 0; table && i < ENTRIES_MAX; i++) {
		if (!remote_read(&hotspot->memory, table + i * sizeof(entry), &entry,
				 sizeof(entry)) ||
		    !entry.type)
			break;
		take_entry(hotspot, &entry);
	}
	for (size_t i = 0; i < NEEDED; i++) {
		if (!hotspot->has[i])
			return false;
	}
	return true;
}

static void read_threads(struct hotspot *hotspot)
{
	struct remote *memory = &hotspot->memory;
	uint64_t list = remote_u64(memory, hotspot->at[THREAD_LIST]);
	uint64_t items = hotspot_field(hotspot, list, LIST_THREADS);
	uint32_t count = list ? remote_u32(memory, list + hotspot->at[LIST_LENGTH]) : 0;

	if (!items || count > THREADS_MAX)
		return;
	hotspot->threads = xcalloc(count + 1, sizeof(*hotspot->threads));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t thread = remote_u64(memory, items + i * sizeof(thread));
		uint64_t os = hotspot_field(hotspot, thread, OS_THREAD);
		uint32_t number = os ? remote_u32(memory, os + hotspot->at[OS_THREAD_ID]) : 0;
		int32_t tid = number && number <= INT32_MAX
				      ? look_thread(memory->look, memory->process, (int32_t)number)
				      : 0;

		if (!tid)
			continue;
		map_put(&hotspot->by_tid, (uint64_t)tid, hotspot->count);
		hotspot->threads[hotspot->count++] = (struct java_thread){ thread, tid };
	}
}

/* HotSpot names its own threads. */
static bool may_be_java(const struct asleep *asleep)
{
	const struct look *look = &asleep->snap->look;

	for (size_t i = 0; i < asleep->process->count; i++) {
		if (strcmp(look->tasks[asleep->process->first + i].comm, "VM Thread") == 0)
			return true;
	}
	return false;
}

static struct hotspot *hotspot_new(const struct asleep *asleep)
{
	struct hotspot *hotspot = xcalloc(1, sizeof(*hotspot));
	uint64_t library;

	hotspot->memory.look = &asleep->snap->look;
	hotspot->memory.process = asleep->process;
	if (may_be_java(asleep) &&
	    maps_library(hotspot->memory.look, asleep->process, "libjvm.so", &library) &&
	    read_layout(hotspot, library)) {
		hotspot_read_heap(hotspot, library);
		read_threads(hotspot);
	}
	return hotspot;
}

/* Of the process, read once in a look. */
static struct hotspot *hotspot_of(struct asleep *asleep)
{
	struct snap *snap = asleep->snap;
	uint64_t tgid = (uint64_t)asleep->process->tgid, *index = map_find(&snap->by_java, tgid);

	if (!index) {
		snap->javas = vec_room(snap->javas, snap->java_count, &snap->java_cap,
				       sizeof(struct hotspot *));
		map_put(&snap->by_java, tgid, snap->java_count);
		snap->javas[snap->java_count++] = hotspot_new(asleep);
		index = map_find(&snap->by_java, tgid);
	}
	snap->javas[*index]->memory.process = asleep->process;
	return snap->javas[*index];
}

/* The object of a monitor, when its header leads back; 0 = not known. */
static uint64_t object_of(struct hotspot *hotspot, uint64_t monitor)
{
	uint64_t handle = hotspot_field(hotspot, monitor, MONITOR_OBJECT);
	uint64_t object = handle ? remote_u64(&hotspot->memory, handle) : 0;

	return object && remote_u64(&hotspot->memory, object) == (monitor | MARK_INFLATED) ? object
											   : 0;
}

static bool has_locked(struct hotspot *hotspot, uint64_t thread, uint64_t object)
{
	uint64_t stack = thread + hotspot->at[LOCK_STACK];
	uint64_t at = stack + hotspot->at[LOCK_BASE];
	uint64_t end = thread + remote_u32(&hotspot->memory, stack + hotspot->at[LOCK_TOP]);

	for (uint32_t i = 0; at < end && i < LOCKS_MAX; i++, at += sizeof(object)) {
		if (remote_u64(&hotspot->memory, at) == object)
			return true;
	}
	return false;
}

/* By version: a thread's id, the thread, something on its stack, or nobody but in its lock stack. */
static bool is_owner(struct hotspot *hotspot, uint64_t thread, uint64_t owner, uint64_t object)
{
	uint64_t base;

	if (owner == ANONYMOUS)
		return object && hotspot->has[LOCK_STACK] && hotspot->has[LOCK_TOP] &&
		       hotspot->has[LOCK_BASE] && has_locked(hotspot, thread, object);
	if (hotspot->has[OWNER_ID])
		return hotspot_field(hotspot, thread, OWNER_ID) == owner;
	if (owner == thread)
		return true;
	if (!hotspot->has[STACK_BASE] || !hotspot->has[STACK_SIZE])
		return false;
	base = hotspot_field(hotspot, thread, STACK_BASE);
	return owner < base && base - owner <= hotspot_field(hotspot, thread, STACK_SIZE);
}

/* 0 = nobody, or nobody who is known, as a virtual thread that is on no thread. */
static int32_t hotspot_owner_of(struct hotspot *hotspot, uint64_t monitor)
{
	uint64_t owner = hotspot_field(hotspot, monitor, MONITOR_OWNER);
	uint64_t object = owner == ANONYMOUS ? object_of(hotspot, monitor) : 0;

	for (size_t i = 0; owner && i < hotspot->count; i++) {
		if (is_owner(hotspot, hotspot->threads[i].address, owner, object))
			return hotspot->threads[i].tid;
	}
	return 0;
}

static void name_monitor(struct hotspot *hotspot, uint64_t monitor, struct wait *wait,
			 const char *purpose)
{
	char name[HOTSPOT_CLASS_MAX + 1];
	uint64_t klass = hotspot_klass(hotspot, object_of(hotspot, monitor));
	AUTO_FREE char *kind = hotspot_class_name(hotspot, klass, name)
				       ? xasprintf("Java monitor of %s", name)
				       : xstrdup("Java monitor");

	wait_object_at(wait, kind, monitor, purpose);
}

/* It looks again from time to time, but only the owner's exit lets it in. */
static void enter_wait(struct asleep *asleep, struct hotspot *hotspot, uint64_t monitor)
{
	struct stuck_edge edge = { .tid = hotspot_owner_of(hotspot, monitor),
				   .how = STUCK_HOW_JAVA_MONITOR };

	name_monitor(hotspot, monitor, asleep->wait, "");
	asleep->wait->is_timed = false;
	if (edge.tid)
		wait_edge(asleep->wait, &edge);
	else
		asleep->wait->has_unowned = true;
}

/* Thread.join() waits in the monitor of the thread's object until that thread ends. */
static int32_t joined_by(struct hotspot *hotspot, uint64_t monitor)
{
	uint64_t object = hotspot->has[THREAD_OBJECT] ? object_of(hotspot, monitor) : 0;

	for (size_t i = 0; object && i < hotspot->count; i++) {
		uint64_t handle =
			hotspot_field(hotspot, hotspot->threads[i].address, THREAD_OBJECT);

		if (handle && remote_u64(&hotspot->memory, handle) == object)
			return hotspot->threads[i].tid;
	}
	return 0;
}

/* Any thread of the process may notify it. */
static void notified_wait(struct asleep *asleep, struct hotspot *hotspot, uint64_t monitor)
{
	struct stuck_edge edge = { .tid = joined_by(hotspot, monitor),
				   .is_inferred = true,
				   .how = STUCK_HOW_JAVA_JOINED };

	name_monitor(hotspot, monitor, asleep->wait, ", to be notified");
	if (edge.tid)
		wait_edge(asleep->wait, &edge);
	asleep->wait->has_unowned = true;
	asleep->wait->is_inside = true;
}

bool hotspot_wait(struct asleep *asleep)
{
	struct hotspot *hotspot = hotspot_of(asleep);
	uint64_t *index = map_find(&hotspot->by_tid, (uint64_t)asleep->task.tid);
	uint64_t thread = index ? hotspot->threads[*index].address : 0;
	uint64_t entered = hotspot_field(hotspot, thread, PENDING_MONITOR);
	uint64_t waits = entered ? 0 : hotspot_field(hotspot, thread, WAITING_MONITOR);

	if (entered)
		enter_wait(asleep, hotspot, entered);
	else if (waits)
		notified_wait(asleep, hotspot, waits);
	else
		return thread && hotspot_parked(asleep, hotspot, thread);
	return true;
}
