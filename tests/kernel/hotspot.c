/*
 * hotspot.c - the tables that HotSpot exports for debuggers, with threads that wait as its threads do.
 *
 *	usage: libjvm.so WAY	WAY is how a monitor names its owner: pointer, stack, id or anonymous;
 *				liar: what the tables have is not so
 *
 * left has A and wants B, right has B and wants A, victim wants A, and joiner joins victim.
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
	char body[16];
};
struct klass {
	uint64_t pad[3];
	struct symbol *name;
};
struct object {
	uintptr_t mark;
	uint32_t klass;
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

static struct symbol lock_name = { 1, 9, "shop/Lock" }, thread_name = { 1, 16, "java/lang/Thread" };
static struct klass klasses[2] = { { .name = &lock_name }, { .name = &thread_name } };
static char *klass_base;
static int klass_shift;
static struct object objects[3], *handles[3] = { &objects[0], &objects[1], &objects[2] };
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
	{ "JavaThread", "_monitor_owner_id", "", 0, offsetof(struct java_thread, owner_id), NULL },
	{ 0 },
};
__attribute__((visibility("default"))) struct vm_entry *gHotSpotVMStructs = entries;

static const char *const names[COUNT] = { "left", "right", "victim", "joiner" };
static const int wants[COUNT] = { 1, 0, 0, 2 }; /* the last one waits in its monitor */

static void *sleeps(void *context)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	size_t i = (size_t)(uintptr_t)context;
	struct java_thread *java = &java_threads[i];

	prctl(PR_SET_NAME, names[i]);
	os_threads[i].tid = gettid();
	java->stack_base = (uintptr_t)&mutex + 4096;
	java->stack_size = 8192;
	if (i < 3)
		java->pending = &monitors[wants[i]];
	else
		java->waiting = &monitors[wants[i]];
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
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
	pthread_barrier_init(&barrier, NULL, COUNT + 1);
	for (size_t i = 0; i < COUNT; i++) {
		java_threads[i].os = &os_threads[i];
		java_threads[i].owner_id = (int64_t)i + 30;
		java_threads[i].object = i == 2 ? &handles[2] : NULL;
		thread_items[i] = &java_threads[i];
		pthread_create(&thread, NULL, sleeps, (void *)(uintptr_t)i);
	}
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < 3; i++) {
		objects[i].mark = (uintptr_t)&monitors[i] | 2;
		objects[i].klass = i == 2 ? sizeof(struct klass) : 0;
		monitors[i].object = &handles[i];
		if (i < 2)
			monitors[i].owner = owner_by(way, &java_threads[i], &objects[i]);
	}
	if (strcmp(way, "liar") == 0)
		lie();
	prctl(PR_SET_NAME, "VM Thread");
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
