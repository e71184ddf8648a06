/*
 * hotspot_int.h - what is read of a Java process: where HotSpot's fields are, its threads, objects of Java.
 *
 * Objects move when their garbage is collected, and collectors that move them while the program runs mark their
 * references. Fields of objects are read only where a reference is an address, or a part of one.
 */
#ifndef STUCK_HOTSPOT_INT_H
#define STUCK_HOTSPOT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "stuck/remote.h"

#define HOTSPOT_CLASS_MAX 120u

/* Static ones among them have an address. */
enum field {
	THREAD_LIST,
	LIST_LENGTH,
	LIST_THREADS,
	OS_THREAD,
	OS_THREAD_ID,
	PENDING_MONITOR,
	WAITING_MONITOR,
	MONITOR_OWNER,
	MONITOR_OBJECT,
	NEEDED, /* the ones before it */
	STACK_BASE = NEEDED,
	STACK_SIZE,
	THREAD_OBJECT,
	OWNER_ID,
	LOCK_STACK,
	LOCK_TOP,
	LOCK_BASE,
	KLASS_BASE,
	KLASS_SHIFT,
	OBJECT_KLASS,
	KLASS_NAME,
	SYMBOL_LENGTH,
	SYMBOL_BODY,
	MIDDLE, /* what a class is named by lies before it */
	VIRTUAL_OBJECT = MIDDLE,
	KLASS_SUPER,
	KLASS_POOL,
	KLASS_FIELDS, /* until 20 */
	FIELD_COUNT,
	FIELD_STREAM, /* from 21 on */
	SHORTS_DATA,
	BYTES_DATA,
	OOP_BASE,
	OOP_SHIFT,
	FLAGS_TABLE,
	FLAG_COUNT,
	FLAG_NAME,
	FLAG_VALUE,
	FIELDS,
};

/* Types of HotSpot of which the size is needed. */
enum hotspot_size {
	SIZE_THREAD,
	SIZE_POOL,
	SIZE_FLAG,
	SIZES,
};

struct java_thread {
	uint64_t address;
	int32_t tid; /* ours */
};

struct hotspot {
	struct remote memory;
	uint64_t at[FIELDS]; /* offset of a field, or the address of a static one */
	bool has[FIELDS];
	uint64_t sizes[SIZES];	     /* 0 = not known */
	struct java_thread *threads; /* those that are known; none = it is no Java process */
	size_t count;
	struct map by_tid;    /* index into threads */
	struct map by_object; /* the address of its Thread, to a tid; filled when it is asked for */
	bool has_objects;     /* it is filled */
	bool has_flags;	      /* the following are known */
	bool has_narrow;      /* references in objects have 4 bytes */
	bool is_plain;	      /* references can be followed */
	bool has_klass;	      /* an object has its class behind its header */
};

/* A field of a structure at 'thing'; 0 = it is not known, or 'thing' is 0. */
uint64_t hotspot_field(struct hotspot *hotspot, uint64_t thing, enum field field);

/* Its tables of types, and the flags that say how objects look. */
void hotspot_read_heap(struct hotspot *hotspot, uint64_t library);

/* The class of an object; 0 = not known. */
uint64_t hotspot_klass(struct hotspot *hotspot, uint64_t object);

/* Its name, with dots. False when it is not known, or does not look like one. */
bool hotspot_class_name(struct hotspot *hotspot, uint64_t klass, char text[HOTSPOT_CLASS_MAX + 1]);

/* The class of that name ("java/lang/Thread") among 'klass' and its ancestors; 0 = none. */
uint64_t hotspot_ancestor(struct hotspot *hotspot, uint64_t klass, const char *name);

/* What the field of an object refers to, that 'klass' declares; 0 = null, or not known. */
uint64_t hotspot_reference(struct hotspot *hotspot, uint64_t object, uint64_t klass,
			   const char *field);

/* Our number of the thread that runs this Thread; 0 = none does. */
int32_t hotspot_thread_of(struct hotspot *hotspot, uint64_t object);

#endif
