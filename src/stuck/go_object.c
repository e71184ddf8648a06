/*
 * go_object.c - what a goroutine waits for: channels, by the queue entries that it has; words of semaphores, by the
 * trees of those who wait for them. A mutex does not note who has it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stuck/go_int.h"

#define SEMA_ROOTS 251u /* SEMTABLESIZE of runtime/sema.go */
#define SEMA_MAX   400000u
#define TYPE_MAX   40u
#define EXTRA_STAR 2u /* the name of a type has a star that is not of it: see tflagExtraStar */

/* ------------------------------------------------------------------ channels */

/* "main.job": as reflection has it. */
static bool go_type_name(struct go_reader *reader, uint64_t type, char *text, size_t max)
{
	const struct go_layout *layout = reader->target->layout;
	uint64_t module = layout->variables[GO_FIRST_MODULE] + reader->bias;
	uint64_t types = go_memory_u64(&reader->memory, module + go_at(reader)[GO_MODULE_TYPES]);
	uint8_t head[3], flags;
	uint64_t at;
	size_t bytes, from, step;

	if (!layout->has[GO_TYPE_NAME] || !layout->has[GO_TYPE_FLAGS] || !types || !type ||
	    !go_memory_read(&reader->memory, type + go_at(reader)[GO_TYPE_FLAGS], &flags, 1))
		return false;
	at = types + go_memory_u32(&reader->memory, type + go_at(reader)[GO_TYPE_NAME]);
	if (!go_memory_read(&reader->memory, at, head, sizeof(head)))
		return false;
	step = head[1] & 0x80 ? 3 : 2;
	bytes = step == 3 ? (head[1] & 0x7fu) | (size_t)head[2] << 7 : head[1];
	from = flags & EXTRA_STAR ? 1 : 0;
	if (bytes <= from)
		return false;
	bytes -= from;
	if (bytes >= max)
		bytes = max - 1;
	text[bytes] = '\0';
	return go_memory_read(&reader->memory, at + step + from, text, bytes);
}

/* "chan main.job" of one; what is known of it makes the goroutine one that a timer or a signal can end the wait of. */
static void go_take_channel(struct go_reader *reader, struct goroutine *goroutine, uint64_t channel)
{
	const struct go_layout *layout = reader->target->layout;
	const uint64_t *at = layout->at;
	uint64_t type = go_memory_u64(&reader->memory, channel + at[GO_CHAN_TYPE]);
	char name[TYPE_MAX];
	bool has_name = go_type_name(reader, type, name, sizeof(name));

	if (!has_name || strcmp(name, GO_TYPE_SIGNAL) == 0)
		goroutine->is_signalled = true; /* it may be */
	if (layout->has[GO_CHAN_TIMER] &&
	    go_memory_u64(&reader->memory, channel + at[GO_CHAN_TIMER]))
		goroutine->is_timed = true;
	snprintf(goroutine->kind, sizeof(goroutine->kind), "chan %s", has_name ? name : "of ?");
}

static void go_channel_room(struct go_reader *reader, struct goroutine *goroutine, uint64_t channel)
{
	const uint64_t *at = go_at(reader);
	unsigned long long items = go_memory_u64(&reader->memory, channel + at[GO_CHAN_COUNT]);
	unsigned long long room = go_memory_u64(&reader->memory, channel + at[GO_CHAN_ROOM]);

	if (room)
		snprintf(goroutine->which, sizeof(goroutine->which), " 0x%llx, %llu of %llu in it",
			 (unsigned long long)channel, items, room);
	else
		snprintf(goroutine->which, sizeof(goroutine->which), " 0x%llx, unbuffered",
			 (unsigned long long)channel);
}

/* "3 channels", " 0xc0, 0xc8, 0xd0" */
static void go_add_channel(struct goroutine *goroutine, uint64_t channel, size_t count)
{
	size_t length = strlen(goroutine->which);

	if (count <= 4)
		snprintf(goroutine->which + length, sizeof(goroutine->which) - length, "%s 0x%llx",
			 length ? "," : "", (unsigned long long)channel);
	else if (count == 5)
		snprintf(goroutine->which + length, sizeof(goroutine->which) - length, ", ...");
}

/* In a select there is one entry for each channel that is not nil. */
static void go_take_channels(struct go_reader *reader, struct goroutine *goroutine)
{
	const uint64_t *at = go_at(reader);
	uint64_t entry = goroutine->mark.waiting, channel = 0;
	size_t count = 0;

	for (; entry && count < GO_CHANNELS_MAX; count++) {
		if (go_memory_u64(&reader->memory, entry + at[GO_SUDOG_G]) != goroutine->address)
			break; /* it is not its own any more */
		channel = go_memory_u64(&reader->memory, entry + at[GO_SUDOG_C]);
		go_take_channel(reader, goroutine, channel);
		go_add_channel(goroutine, channel, count + 1);
		entry = go_memory_u64(&reader->memory, entry + at[GO_SUDOG_WAIT_LINK]);
	}
	if (entry || !count)
		goroutine->is_signalled = true; /* not all are known */
	if (count > 1)
		snprintf(goroutine->kind, sizeof(goroutine->kind), "%zu channels", count);
	else if (count)
		go_channel_room(reader, goroutine, channel);
}

/* ------------------------------------------------------------------ semaphores */

/* Entries that are still to be looked at. */
struct sema_walk {
	uint64_t *entries; /* owned */
	size_t count, cap;
	struct map seen;
};

static void sema_push(struct sema_walk *walk, uint64_t entry)
{
	bool is_new;

	if (!entry || walk->seen.count >= SEMA_MAX)
		return;
	(void)map_add(&walk->seen, entry, &is_new);
	if (!is_new)
		return;
	walk->entries = vec_room(walk->entries, walk->count, &walk->cap, sizeof(*walk->entries));
	walk->entries[walk->count++] = entry;
}

/* Of a tree each node is a word, with those behind it who wait for the same. */
static void sema_take(struct go_reader *reader, struct sema_walk *walk)
{
	const uint64_t *at = go_at(reader);

	while (walk->count) {
		uint64_t entry = walk->entries[--walk->count];
		uint64_t goroutine = go_memory_u64(&reader->memory, entry + at[GO_SUDOG_G]);

		if (!goroutine)
			continue;
		map_put(&reader->semaphores, goroutine,
			go_memory_u64(&reader->memory, entry + at[GO_SUDOG_ELEM]));
		sema_push(walk, go_memory_u64(&reader->memory, entry + at[GO_SUDOG_NEXT]));
		sema_push(walk, go_memory_u64(&reader->memory, entry + at[GO_SUDOG_PREV]));
		sema_push(walk, go_memory_u64(&reader->memory, entry + at[GO_SUDOG_WAIT_LINK]));
	}
}

static void go_read_semaphores(struct go_reader *reader)
{
	const struct go_layout *layout = reader->target->layout;
	uint64_t table = layout->variables[GO_SEMAPHORES] + reader->bias;
	uint64_t bytes = layout->variable_bytes[GO_SEMAPHORES];
	struct sema_walk walk = { 0 };

	reader->has_semaphores = true;
	if (!layout->has_variables[GO_SEMAPHORES] || !layout->has[GO_SEMA_TREE] ||
	    bytes % SEMA_ROOTS != 0)
		return;
	for (size_t i = 0; i < SEMA_ROOTS; i++) {
		sema_push(&walk, go_memory_u64(&reader->memory, table + i * (bytes / SEMA_ROOTS) +
									layout->at[GO_SEMA_TREE]));
		sema_take(reader, &walk);
	}
	map_fini(&walk.seen);
	free(walk.entries);
}

/* Functions that wait at a word of what they are called for; the outer ones of two that match come later. */
static const struct {
	const char *function, *kind;
	enum go_field word, other; /* of several versions */
} sema_functions[] = {
	{ "sync.(*Mutex).lockSlow", "sync.Mutex", GO_MUTEX_SEMA, GO_MUTEX_INNER_SEMA },
	{ "internal/sync.(*Mutex).lockSlow", "sync.Mutex", GO_MUTEX_INNER_SEMA, GO_MUTEX_SEMA },
	{ "sync.(*RWMutex).RLock", "sync.RWMutex", GO_RWMUTEX_READER, GO_RWMUTEX_READER },
	{ "sync.(*RWMutex).Lock", "sync.RWMutex", GO_RWMUTEX_WRITER, GO_RWMUTEX_WRITER },
	{ "sync.(*WaitGroup).Wait", "sync.WaitGroup", GO_GROUP_SEMA, GO_GROUP_STATE2 },
};

static bool go_is_of_sync(const char *function)
{
	return strncmp(function, "runtime.", 8) == 0 || strncmp(function, "sync.", 5) == 0 ||
	       strncmp(function, "internal/sync.", 14) == 0;
}

static void go_take_semaphore(struct go_reader *reader, struct goroutine *goroutine, uint64_t word,
			      const char *function)
{
	const struct go_layout *layout = reader->target->layout;

	for (size_t i = 0; i < ARRAY_LEN(sema_functions); i++) {
		enum go_field field = layout->has[sema_functions[i].word] ? sema_functions[i].word
									  : sema_functions[i].other;
		bool is_inner = goroutine->kind[0]; /* the mutex of an RWMutex is its first field */

		if (strcmp(sema_functions[i].function, function) != 0)
			continue;
		snprintf(goroutine->kind, sizeof(goroutine->kind), "%s", sema_functions[i].kind);
		if (word && layout->has[field] && !is_inner)
			snprintf(goroutine->which, sizeof(goroutine->which), " 0x%llx",
				 (unsigned long long)(word - layout->at[field]));
	}
}

static void go_take_lock(struct go_reader *reader, struct goroutine *goroutine)
{
	const uint64_t *word;

	if (!reader->has_semaphores)
		go_read_semaphores(reader);
	word = map_find(&reader->semaphores, goroutine->address);
	for (size_t i = 0; i < goroutine->count; i++) {
		struct go_spot spot =
			go_code_spot(&reader->code, reader->pcs[goroutine->first + i]);

		for (size_t k = 0; k < spot.count; k++) {
			const char *function = reader->code.frames[spot.first + k].function;

			if (!go_is_of_sync(function))
				return;
			go_take_semaphore(reader, goroutine, word ? *word : 0, function);
		}
	}
}

void go_object_find(struct go_reader *reader, struct goroutine *goroutine)
{
	const char *reason = go_reason(reader, goroutine);

	if (goroutine->state == GO_IO)
		go_poll_find(reader, goroutine);
	if (goroutine->state != GO_WAITS)
		return;
	if (strstr(reason, "(nil chan)"))
		return; /* for ever */
	if (strncmp(reason, "chan ", 5) == 0 || strcmp(reason, "select") == 0)
		go_take_channels(reader, goroutine);
	else if (strcmp(reason, "semacquire") == 0 || strncmp(reason, "sync.", 5) == 0)
		go_take_lock(reader, goroutine);
}
