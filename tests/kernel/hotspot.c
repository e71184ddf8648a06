/*
 * hotspot.c - the tables that HotSpot exports for debuggers, with threads that wait as its threads do.
 *
 *	usage: libjvm.so WAY	WAY is how a monitor names its owner: pointer, stack, id or anonymous;
 *				liar: what the tables have is not so
 *	       libjvm.so slots	threads are parked for locks of java.util.concurrent; fields of classes as
 *	       libjvm.so stream	OpenJDK 17 has them, or as 21; liar-stream: what they say is not so
 *
 * left has A and wants B, right has B and wants A, victim wants A, and joiner joins victim, or is parked
 * for what has no owner.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define COUNT 4

struct symbol {
	uint32_t references;
	uint16_t length;
	char body[64];
};
struct pool {
	uint64_t head[2];
	struct symbol *items[4];
};
struct shorts {
	int32_t length;
	uint16_t data[2][6];
};
struct bytes {
	int32_t length;
	uint8_t data[32];
};
struct klass {
	uint64_t pad[3];
	struct symbol *name;
	struct klass *super;
	struct pool *pool;
	struct shorts *fields;
	struct bytes *stream;
	uint16_t field_count;
};
struct object {
	uintptr_t mark;
	uint32_t klass;
	uint32_t narrow; /* the one field, as the collector has it */
	struct object *wide;
};
struct monitor {
	uint64_t pad;
	struct object **object;
	uint64_t owner;
};
struct os_thread {
	uint32_t pad;
	int32_t tid;
};
struct lock_stack {
	uint32_t top, pad;
	struct object *base[4];
};
struct java_thread {
	struct os_thread *os;
	struct monitor *pending, *waiting;
	uintptr_t stack_base;
	size_t stack_size;
	int64_t owner_id;
	struct lock_stack locks;
	struct object **object;
	pthread_mutex_t mutex;
	pthread_cond_t never; /* what a parked thread waits for */
};
struct thread_list {
	uint32_t length, pad;
	struct java_thread **threads;
};
struct vm_entry {
	const char *type, *field, *kind;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

struct vm_type {
	const char *name, *super;
	int32_t kinds[4];
	uint64_t size;
};
struct vm_flag {
	void *value;
	const char *name;
	int32_t pad[2];
};

#define SYMBOL(text)                      \
	{                                 \
		1, sizeof(text) - 1, text \
	}

static struct symbol lock_name = SYMBOL("shop/Lock"), thread_name = SYMBOL("java/lang/Thread"),
		     sync_name = SYMBOL("shop/Sync"), latch_name = SYMBOL("shop/Latch"),
		     ownable_name =
			     SYMBOL("java/util/concurrent/locks/AbstractOwnableSynchronizer"),
		     other_name = SYMBOL("other"), blocker_name = SYMBOL("parkBlocker"),
		     owner_name = SYMBOL("exclusiveOwnerThread");
static struct pool thread_pool = { .items = { NULL, &other_name, &blocker_name } },
		   ownable_pool = { .items = { NULL, &other_name, &owner_name } };
/* Access, name, type, value, offset with its tag. */
static struct shorts wide_fields = {
	12,
	{ { 1, 1, 1, 0, 8 << 2 | 1, 0 }, { 1, 2, 1, 0, offsetof(struct object, wide) << 2 | 1, 0 } }
};
/*
 * Two fields and none of HotSpot's own; each name, type, offset, access, flags. Numbers have 1 more, the first
 * type is 300, and the first field has a value and a generic type.
 */
static struct bytes narrow_fields = {
	17, { 3, 1, 2, 237, 2, 9, 1, 6, 7, 7, 3, 5, offsetof(struct object, narrow) + 1, 1, 1 }
};
enum {
	LOCK,
	THREAD,
	OWNABLE,
	SYNC,
	LATCH,
	KLASSES
};
static struct klass klasses[KLASSES] = {
	[LOCK] = { .name = &lock_name },
	[THREAD] = { .name = &thread_name, .pool = &thread_pool },
	[OWNABLE] = { .name = &ownable_name, .pool = &ownable_pool },
	[SYNC] = { .name = &sync_name, .super = &klasses[OWNABLE] },
	[LATCH] = { .name = &latch_name },
};
static char *klass_base;
static int klass_shift;
static struct object objects[3], *handles[3] = { &objects[0], &objects[1], &objects[2] };
static struct object heap[1 + COUNT + 3], *const threads = heap + 1,
						 *const syncs = heap + 1 + COUNT;
static struct object *thread_handles[COUNT];
static char *oop_base;
static int oop_shift = 3;
static bool yes = true, is_narrow;
static struct vm_flag flags[] = { { &yes, "UseG1GC", { 0 } },
				  { &is_narrow, "UseCompressedOops", { 0 } },
				  { &yes, "UseCompressedClassPointers", { 0 } } },
		      *flags_at = flags;
static size_t flag_count = 3;
static struct monitor monitors[3];
static struct os_thread os_threads[COUNT];
static struct java_thread java_threads[COUNT];
static struct java_thread *thread_items[COUNT];
static struct thread_list list = { COUNT, 0, thread_items }, *list_at = &list;
static pthread_barrier_t barrier;

static struct vm_entry entries[] = {
	{ "ThreadsSMRSupport", "_java_thread_list", "", 1, 0, &list_at },
	{ "ThreadsList", "_length", "", 0, offsetof(struct thread_list, length), NULL },
	{ "ThreadsList", "_threads", "", 0, offsetof(struct thread_list, threads), NULL },
	{ "Thread", "_osthread", "", 0, offsetof(struct java_thread, os), NULL },
	{ "OSThread", "_thread_id", "", 0, offsetof(struct os_thread, tid), NULL },
	{ "JavaThread", "_current_pending_monitor", "", 0, offsetof(struct java_thread, pending),
	  NULL },
	{ "JavaThread", "_current_waiting_monitor", "", 0, offsetof(struct java_thread, waiting),
	  NULL },
	{ "JavaThread", "_stack_base", "", 0, offsetof(struct java_thread, stack_base), NULL },
	{ "JavaThread", "_stack_size", "", 0, offsetof(struct java_thread, stack_size), NULL },
	{ "JavaThread", "_threadObj", "", 0, offsetof(struct java_thread, object), NULL },
	{ "ObjectMonitor", "_owner", "", 0, offsetof(struct monitor, owner), NULL },
	{ "ObjectMonitor", "_object", "", 0, offsetof(struct monitor, object), NULL },
	{ "JavaThread", "_lock_stack", "", 0, offsetof(struct java_thread, locks), NULL },
	{ "LockStack", "_top", "", 0, offsetof(struct lock_stack, top), NULL },
	{ "LockStack", "_base[0]", "", 0, offsetof(struct lock_stack, base), NULL },
	{ "CompressedKlassPointers", "_base", "", 1, 0, &klass_base },
	{ "CompressedKlassPointers", "_shift", "", 1, 0, &klass_shift },
	{ "oopDesc", "_metadata._compressed_klass", "", 0, offsetof(struct object, klass), NULL },
	{ "Klass", "_name", "", 0, offsetof(struct klass, name), NULL },
	{ "Symbol", "_length", "", 0, offsetof(struct symbol, length), NULL },
	{ "Symbol", "_body", "", 0, offsetof(struct symbol, body), NULL },
	{ "Klass", "_super", "", 0, offsetof(struct klass, super), NULL },
	{ "InstanceKlass", "_constants", "", 0, offsetof(struct klass, pool), NULL },
	{ "Array<u2>", "_data", "", 0, offsetof(struct shorts, data), NULL },
	{ "Array<u1>", "_data", "", 0, offsetof(struct bytes, data), NULL },
	{ "CompressedOops", "_base", "", 1, 0, &oop_base },
	{ "CompressedOops", "_shift", "", 1, 0, &oop_shift },
	{ "JVMFlag", "flags", "", 1, 0, &flags_at },
	{ "JVMFlag", "numFlags", "", 1, 0, &flag_count },
	{ "JVMFlag", "_name", "", 0, offsetof(struct vm_flag, name), NULL },
	{ "JVMFlag", "_addr", "", 0, offsetof(struct vm_flag, value), NULL },
	{ "InstanceKlass", "_java_fields_count", "", 0, offsetof(struct klass, field_count), NULL },
	{ "InstanceKlass", "_fields", "", 0, offsetof(struct klass, fields), NULL },
	{ "JavaThread", "_monitor_owner_id", "", 0, offsetof(struct java_thread, owner_id), NULL },
	{ 0 },
};
static struct vm_entry stream_entry = {
	"InstanceKlass", "_fieldinfo_stream", "", 0, offsetof(struct klass, stream), NULL
};
static struct vm_type types[] = {
	{ "Thread", NULL, { 0 }, 8 },
	{ "JavaThread", "Thread", { 0 }, sizeof(struct java_thread) },
	{ "ConstantPool", NULL, { 0 }, offsetof(struct pool, items) },
	{ "JVMFlag", NULL, { 0 }, sizeof(struct vm_flag) },
	{ 0 },
};
__attribute__((visibility("default"))) struct vm_entry *gHotSpotVMStructs = entries;
__attribute__((visibility("default"))) struct vm_type *gHotSpotVMTypes = types;

static const char *const names[COUNT] = { "left", "right", "victim", "joiner" };
static const int wants[COUNT] = { 1, 0, 0, 2 }; /* the last one waits in its monitor */

static bool is_parked; /* else they wait for monitors */

static void *sleeps(void *context)
{
	size_t i = (size_t)(uintptr_t)context;
	struct java_thread *java = &java_threads[i];

	prctl(PR_SET_NAME, names[i]);
	os_threads[i].tid = gettid();
	java->stack_base = (uintptr_t)&i + 4096;
	java->stack_size = 8192;
	if (is_parked)
		(void)0; /* its Thread tells */
	else if (i < 3)
		java->pending = &monitors[wants[i]];
	else
		java->waiting = &monitors[wants[i]];
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&java->mutex);
	for (;;)
		pthread_cond_wait(&java->never, &java->mutex);
	return NULL;
}

static uint64_t owner_by(const char *way, struct java_thread *java, struct object *object)
{
	if (strcmp(way, "stack") == 0)
		return java->stack_base - 64;
	if (strcmp(way, "id") == 0)
		return (uint64_t)java->owner_id;
	if (strcmp(way, "anonymous") != 0)
		return (uintptr_t)java;
	java->locks.base[1] = object;
	java->locks.top = offsetof(struct java_thread, locks.base[2]);
	return 1;
}

static void refer(struct object *from, struct object *to)
{
	from->wide = is_narrow ? NULL : to;
	from->narrow = is_narrow ? (uint32_t)(((char *)to - oop_base) >> oop_shift) : 0;
}

/* Threads and what they are parked for. The table's last entry makes place for the one of OpenJDK 21. */
static void park(bool is_stream)
{
	struct vm_entry *last = &entries[sizeof(entries) / sizeof(entries[0]) - 3];

	is_parked = true;
	is_narrow = is_stream;
	oop_base = (char *)heap;
	if (is_stream)
		*last = stream_entry;
	for (size_t i = THREAD; i <= OWNABLE; i++) {
		klasses[i].fields = is_stream ? NULL : &wide_fields;
		klasses[i].stream = is_stream ? &narrow_fields : NULL;
		klasses[i].field_count = 2;
	}
	for (size_t i = 0; i < COUNT; i++) {
		thread_handles[i] = &threads[i];
		java_threads[i].object = &thread_handles[i];
		threads[i].klass = THREAD * sizeof(struct klass);
		refer(&threads[i], &syncs[wants[i]]);
	}
	for (size_t i = 0; i < 3; i++) {
		syncs[i].klass = (i == 2 ? LATCH : SYNC) * sizeof(struct klass);
		if (i < 2)
			refer(&syncs[i], &threads[i]);
	}
}

/* A chain of classes and a stream of numbers without an end, references to nowhere. */
static void lie_parked(void)
{
	klasses[SYNC].super = &klasses[SYNC];
	memset(narrow_fields.data, 0xff, sizeof(narrow_fields.data));
	flag_count = SIZE_MAX;
	threads[1].narrow = UINT32_MAX;
	types[2].size = SIZE_MAX;
}

static void lie(void)
{
	list.length = 4096;
	lock_name.length = 0xffff;
	monitors[0].owner = (uintptr_t)&monitors[0];
	monitors[1].owner = 0x1234567;
	java_threads[0].locks.top = 0xffffffff;
	java_threads[2].pending = (struct monitor *)0x10;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "pointer";
	pthread_t thread;

	if (strcmp(way, "id") != 0 && strcmp(way, "anonymous") != 0)
		entries[sizeof(entries) / sizeof(entries[0]) - 2] = (struct vm_entry){ 0 };
	klass_base = (char *)klasses;
	if (strcmp(way, "slots") == 0 || strstr(way, "stream"))
		park(strcmp(way, "slots") != 0);
	pthread_barrier_init(&barrier, NULL, COUNT + 1);
	for (size_t i = 0; i < COUNT; i++) {
		java_threads[i].os = &os_threads[i];
		java_threads[i].owner_id = (int64_t)i + 30;
		if (!is_parked)
			java_threads[i].object = i == 2 ? &handles[2] : NULL;
		thread_items[i] = &java_threads[i];
		pthread_create(&thread, NULL, sleeps, (void *)(uintptr_t)i);
	}
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < 3; i++) {
		objects[i].mark = (uintptr_t)&monitors[i] | 2;
		objects[i].klass = i == 2 ? THREAD * sizeof(struct klass) : 0;
		monitors[i].object = &handles[i];
		if (i < 2)
			monitors[i].owner = owner_by(way, &java_threads[i], &objects[i]);
	}
	if (strcmp(way, "liar") == 0)
		lie();
	if (strcmp(way, "liar-stream") == 0)
		lie_parked();
	prctl(PR_SET_NAME, "VM Thread");
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
