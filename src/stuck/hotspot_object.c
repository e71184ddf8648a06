/*
 * hotspot_object.c - see hotspot_int.h.
 *
 * A field of a class is found by its name, as the serviceability agent does: six shorts for each field up to
 * OpenJDK 20 (fieldInfo.hpp), from 21 on a stream of numbers (fieldInfo.hpp, unsigned5.hpp).
 */
#include <string.h>

#include "base/mem.h"
#include "stuck/hotspot_int.h"

#define TYPES_MAX   8192u
#define FLAGS_MAX   8192u
#define FIELDS_MAX  1024u
#define SUPERS_MAX  32u
#define SLOT_SHORTS 6u
#define SLOT_NAME   1u
#define SLOT_LOW    4u
#define TAG_OFFSET  1u /* of the low short: the rest is an offset */
#define TAG_BITS    2

/* Of the stream: flags of a field that say which numbers follow. */
#define FLAG_INITIALIZED 1u
#define FLAG_GENERIC	 4u
#define FLAG_CONTENDED	 16u

/* As vmStructs.hpp declares it. */
struct vm_type {
	uint64_t name, super;
	uint32_t is_oop, is_integer, is_unsigned, pad;
	uint64_t size;
};

uint64_t hotspot_field(struct hotspot *hotspot, uint64_t thing, enum field field)
{
	return thing && hotspot->has[field]
		       ? remote_u64(&hotspot->memory, thing + hotspot->at[field])
		       : 0;
}

static void read_types(struct hotspot *hotspot, uint64_t library)
{
	static const char *const names[SIZES] = { "JavaThread", "ConstantPool", "JVMFlag" };
	uint64_t table = remote_symbol(&hotspot->memory, library, "gHotSpotVMTypes");
	struct vm_type type;

	table = table ? remote_u64(&hotspot->memory, table) : 0;
	for (size_t i = 0; table && i < TYPES_MAX; i++) {
		if (!remote_read(&hotspot->memory, table + i * sizeof(type), &type, sizeof(type)) ||
		    !type.name)
			break;
		for (size_t k = 0; k < SIZES; k++) {
			if (remote_is_text(&hotspot->memory, type.name, names[k]))
				hotspot->sizes[k] = type.size;
		}
	}
}

/* What says how objects look. */
enum flag {
	NARROW_OOPS,
	NARROW_KLASSES,
	COMPACT_HEADERS,
	COLLECTOR_Z,
	COLLECTOR_SHENANDOAH,
	FLAGS,
};

static const char *const flag_names[FLAGS] = { "UseCompressedOops", "UseCompressedClassPointers",
					       "UseCompactObjectHeaders", "UseZGC",
					       "UseShenandoahGC" };

/* False: there is no more. */
static bool take_flag(struct hotspot *hotspot, uint64_t flag, bool values[FLAGS], bool known[FLAGS])
{
	uint64_t name = hotspot_field(hotspot, flag, FLAG_NAME);
	uint64_t value = hotspot_field(hotspot, flag, FLAG_VALUE);
	uint8_t byte;

	for (size_t i = 0; name && value && i < FLAGS; i++) {
		if (!remote_is_text(&hotspot->memory, name, flag_names[i]) ||
		    !remote_read(&hotspot->memory, value, &byte, sizeof(byte)))
			continue;
		values[i] = byte != 0;
		known[i] = true;
	}
	return name != 0;
}

static void read_flags(struct hotspot *hotspot)
{
	uint64_t table = remote_u64(&hotspot->memory, hotspot->at[FLAGS_TABLE]);
	uint64_t count = remote_u64(&hotspot->memory, hotspot->at[FLAG_COUNT]);
	bool values[FLAGS] = { false }, known[FLAGS] = { false };

	for (uint64_t i = 0; table && i < count && i < FLAGS_MAX; i++) {
		if (!take_flag(hotspot, table + i * hotspot->sizes[SIZE_FLAG], values, known))
			break;
	}
	hotspot->has_narrow = values[NARROW_OOPS];
	/* Collectors that are not built in have no flag. */
	hotspot->is_plain =
		known[NARROW_OOPS] && !values[COLLECTOR_Z] && !values[COLLECTOR_SHENANDOAH] &&
		(!values[NARROW_OOPS] || (hotspot->has[OOP_BASE] && hotspot->has[OOP_SHIFT]));
	hotspot->has_klass =
		(!known[NARROW_KLASSES] || values[NARROW_KLASSES]) && !values[COMPACT_HEADERS];
}

void hotspot_read_heap(struct hotspot *hotspot, uint64_t library)
{
	read_types(hotspot, library);
	hotspot->has_flags = hotspot->sizes[SIZE_FLAG] && hotspot->has[FLAGS_TABLE] &&
			     hotspot->has[FLAG_COUNT] && hotspot->has[FLAG_NAME] &&
			     hotspot->has[FLAG_VALUE];
	if (hotspot->has_flags)
		read_flags(hotspot);
}

uint64_t hotspot_klass(struct hotspot *hotspot, uint64_t object)
{
	struct remote *memory = &hotspot->memory;
	uint64_t klass;

	for (size_t field = KLASS_BASE; field < MIDDLE; field++) {
		if (!hotspot->has[field])
			return 0;
	}
	if (!object || (hotspot->has_flags && !hotspot->has_klass))
		return 0;
	klass = remote_u32(memory, object + hotspot->at[OBJECT_KLASS]);
	return remote_u64(memory, hotspot->at[KLASS_BASE]) +
	       (klass << (remote_u32(memory, hotspot->at[KLASS_SHIFT]) & 31));
}

/* "java/lang/Object" with dots. False when it does not look like a class. */
static bool class_text(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '/')
			text[i] = '.';
		else if (
			!text[i] ||
			!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$;[+-",
				text[i]))
			return false;
	}
	text[length] = '\0';
	return length > 0;
}

bool hotspot_class_name(struct hotspot *hotspot, uint64_t klass, char text[HOTSPOT_CLASS_MAX + 1])
{
	struct remote *memory = &hotspot->memory;
	uint64_t symbol = hotspot_field(hotspot, klass, KLASS_NAME);
	uint16_t length = 0;

	return symbol &&
	       remote_read(memory, symbol + hotspot->at[SYMBOL_LENGTH], &length, sizeof(length)) &&
	       length <= HOTSPOT_CLASS_MAX &&
	       remote_read(memory, symbol + hotspot->at[SYMBOL_BODY], text, length) &&
	       class_text(text, length);
}

static bool is_symbol(struct hotspot *hotspot, uint64_t symbol, const char *text)
{
	struct remote *memory = &hotspot->memory;
	char body[HOTSPOT_CLASS_MAX];
	size_t bytes = strlen(text);
	uint16_t length = 0;

	return symbol && bytes <= sizeof(body) &&
	       remote_read(memory, symbol + hotspot->at[SYMBOL_LENGTH], &length, sizeof(length)) &&
	       length == bytes &&
	       remote_read(memory, symbol + hotspot->at[SYMBOL_BODY], body, length) &&
	       memcmp(body, text, length) == 0;
}

uint64_t hotspot_ancestor(struct hotspot *hotspot, uint64_t klass, const char *name)
{
	for (size_t i = 0; klass && i < SUPERS_MAX; i++) {
		if (is_symbol(hotspot, hotspot_field(hotspot, klass, KLASS_NAME), name))
			return klass;
		klass = hotspot_field(hotspot, klass, KLASS_SUPER);
	}
	return 0;
}

/* A name in the class's pool of constants, which lies behind its head. */
static bool is_pool_name(struct hotspot *hotspot, uint64_t klass, uint32_t index, const char *name)
{
	uint64_t pool = hotspot_field(hotspot, klass, KLASS_POOL), symbol;

	if (!pool || !hotspot->sizes[SIZE_POOL] || index == 0 || index > UINT16_MAX)
		return false;
	symbol = remote_u64(&hotspot->memory,
			    pool + hotspot->sizes[SIZE_POOL] + (uint64_t)index * sizeof(symbol));
	return is_symbol(hotspot, symbol, name);
}

/* Where the field lies in its objects; 0 = there is none. */
static uint32_t offset_in_slots(struct hotspot *hotspot, uint64_t klass, const char *name)
{
	uint64_t slots = hotspot_field(hotspot, klass, KLASS_FIELDS);
	uint16_t count = 0, slot[SLOT_SHORTS];

	if (!slots || !hotspot->has[FIELD_COUNT] || !hotspot->has[SHORTS_DATA] ||
	    !remote_read(&hotspot->memory, klass + hotspot->at[FIELD_COUNT], &count, sizeof(count)))
		return 0;
	slots += hotspot->at[SHORTS_DATA];
	for (uint16_t i = 0; i < count && i < FIELDS_MAX; i++, slots += sizeof(slot)) {
		if (!remote_read(&hotspot->memory, slots, slot, sizeof(slot)))
			return 0;
		if ((slot[SLOT_LOW] & TAG_OFFSET) &&
		    is_pool_name(hotspot, klass, slot[SLOT_NAME], name))
			return ((uint32_t)slot[SLOT_LOW + 1] << 16 | slot[SLOT_LOW]) >> TAG_BITS;
	}
	return 0;
}

/* UNSIGNED5: no byte is 0; up to five, the last of which is below 192. */
static uint32_t next_number(struct hotspot *hotspot, uint64_t *at)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 5; i++) {
		uint8_t byte = 0;

		if (!remote_read(&hotspot->memory, *at, &byte, sizeof(byte)) || !byte)
			return 0;
		++*at;
		sum += (uint32_t)(byte - 1) << (6 * i);
		if (byte < 192)
			break;
	}
	return sum;
}

static uint32_t offset_in_stream(struct hotspot *hotspot, uint64_t klass, const char *name)
{
	uint64_t at = hotspot_field(hotspot, klass, FIELD_STREAM);
	uint32_t count;

	if (!at || !hotspot->has[BYTES_DATA])
		return 0;
	at += hotspot->at[BYTES_DATA];
	count = next_number(hotspot, &at);
	(void)next_number(hotspot, &at); /* those that HotSpot adds: they are last */
	for (uint32_t i = 0; i < count && i < FIELDS_MAX; i++) {
		uint32_t named = next_number(hotspot, &at), offset, flags;

		(void)next_number(hotspot, &at); /* its type */
		offset = next_number(hotspot, &at);
		(void)next_number(hotspot, &at); /* who may use it */
		flags = next_number(hotspot, &at);
		if (is_pool_name(hotspot, klass, named, name))
			return offset;
		for (uint32_t more = flags & (FLAG_INITIALIZED | FLAG_GENERIC | FLAG_CONTENDED);
		     more; more &= more - 1)
			(void)next_number(hotspot, &at);
	}
	return 0;
}

uint64_t hotspot_reference(struct hotspot *hotspot, uint64_t object, uint64_t klass,
			   const char *field)
{
	struct remote *memory = &hotspot->memory;
	uint32_t offset, narrow;

	if (!object || !klass || !hotspot->is_plain)
		return 0;
	offset = hotspot->has[FIELD_STREAM] ? offset_in_stream(hotspot, klass, field)
					    : offset_in_slots(hotspot, klass, field);
	if (!offset)
		return 0;
	if (!hotspot->has_narrow)
		return remote_u64(memory, object + offset);
	narrow = remote_u32(memory, object + offset);
	return narrow ? remote_u64(memory, hotspot->at[OOP_BASE]) +
				((uint64_t)narrow
				 << (remote_u32(memory, hotspot->at[OOP_SHIFT]) & 31))
		      : 0;
}

static void add_object(struct hotspot *hotspot, uint64_t handle, int32_t tid)
{
	uint64_t object = handle ? remote_u64(&hotspot->memory, handle) : 0;

	if (object)
		map_put(&hotspot->by_object, object, (uint64_t)tid);
}

int32_t hotspot_thread_of(struct hotspot *hotspot, uint64_t object)
{
	uint64_t *tid;

	for (size_t i = 0; i < hotspot->count && !hotspot->has_objects; i++) {
		const struct java_thread *thread = &hotspot->threads[i];

		add_object(hotspot, hotspot_field(hotspot, thread->address, THREAD_OBJECT),
			   thread->tid);
		add_object(hotspot, hotspot_field(hotspot, thread->address, VIRTUAL_OBJECT),
			   thread->tid);
	}
	hotspot->has_objects = true;
	tid = map_find(&hotspot->by_object, object);
	return tid ? (int32_t)*tid : 0;
}
