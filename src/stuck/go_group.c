/* go_group.c - goroutines that wait alike are told once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorting.h"
#include "stuck/go_int.h"

#define GROUPS_MAX 1000u

/* A group, and what is needed of it while others are added. */
struct go_alike {
	struct go_group group;
	uint32_t order;	 /* in which it was found */
	bool is_several; /* they wait for different things of one kind */
	char kind[GO_KIND_MAX];
	char which[GO_OBJECT_MAX - GO_KIND_MAX];
};

struct go_groups {
	struct go_alike *items; /* owned */
	size_t count, cap;
	struct map by_key;
};

static uint64_t go_mix(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t go_key(const struct go_reader *reader, const struct goroutine *goroutine)
{
	const uint64_t words[] = { goroutine->state,	   goroutine->mark.reason,
				   goroutine->is_runtime,  goroutine->is_signalled,
				   goroutine->mark.status, (uint64_t)goroutine->tid,
				   goroutine->created };
	uint64_t hash = go_mix(0xcbf29ce484222325u, words, sizeof(words));

	hash = go_mix(hash, goroutine->kind, strlen(goroutine->kind));
	return goroutine->count ? go_mix(hash, &reader->pcs[goroutine->first],
					 goroutine->count * sizeof(*reader->pcs))
				: hash;
}

static void go_fill_reason(const struct go_reader *reader, const struct goroutine *goroutine,
			   struct go_group *group)
{
	const char *reason = "";

	if (goroutine->state == GO_CALLS)
		reason = "system call or C";
	else if (goroutine->state == GO_RUNS)
		reason = goroutine->mark.status == GO_RUNNING ? "running" : "runnable";
	else if (goroutine->state != GO_CHANGES)
		reason = go_reason(reader, goroutine);
	snprintf(group->reason, sizeof(group->reason), "%s%s", reason,
		 goroutine->mark.status == GO_LEAKED ? " (leaked)" : "");
}

static bool go_is_of_runtime(const char *function)
{
	return strncmp(function, "runtime.", 8) == 0 || strncmp(function, "sync.", 5) == 0 ||
	       strncmp(function, "internal/", 9) == 0;
}

/* Where none is the program's own, what the goroutine was begun for says most. */
static void go_fill_place(struct go_group *group)
{
	for (uint32_t i = 0; i < group->frames; i++) {
		if (!group->stack[i].is_library) {
			group->place = i;
			return;
		}
		if (!go_is_of_runtime(group->stack[i].function))
			group->place = i;
	}
}

static void go_fill_stack(struct go_reader *reader, const struct goroutine *goroutine,
			  struct go_group *group)
{
	for (size_t i = 0; i < goroutine->count; i++) {
		struct go_spot spot =
			go_code_spot(&reader->code, reader->pcs[goroutine->first + i]);

		for (uint32_t k = 0; k < spot.count; k++) {
			if (group->frames == GO_FRAMES_MAX) {
				group->is_cut = true;
				break;
			}
			group->stack[group->frames++] = reader->code.frames[spot.first + k];
		}
	}
	group->is_cut |= goroutine->is_cut;
	go_fill_place(group);
}

static void go_fill_created(struct go_reader *reader, const struct goroutine *goroutine,
			    struct go_group *group)
{
	struct go_spot spot = go_code_spot(&reader->code, goroutine->created);

	if (spot.count)
		group->created = reader->code.frames[spot.first];
}

static struct go_alike *go_alike_of(struct go_reader *reader, struct go_groups *groups,
				    const struct goroutine *goroutine)
{
	uint64_t key = go_key(reader, goroutine), *known = map_find(&groups->by_key, key);
	struct go_alike *alike;

	if (known)
		return &groups->items[*known];
	if (groups->count == GROUPS_MAX)
		return NULL;
	groups->items =
		vec_room(groups->items, groups->count, &groups->cap, sizeof(*groups->items));
	map_put(&groups->by_key, key, groups->count);
	alike = &groups->items[groups->count];
	*alike = (struct go_alike){ .order = (uint32_t)groups->count++,
				    .group = { .state = goroutine->state,
					       .tid = goroutine->tid,
					       .is_runtime = goroutine->is_runtime,
					       .is_signalled = goroutine->is_signalled } };
	memcpy(alike->kind, goroutine->kind, sizeof(alike->kind));
	memcpy(alike->which, goroutine->which, sizeof(alike->which));
	go_fill_reason(reader, goroutine, &alike->group);
	go_fill_stack(reader, goroutine, &alike->group);
	go_fill_created(reader, goroutine, &alike->group);
	return alike;
}

static void go_add(struct go_alike *alike, const struct goroutine *goroutine)
{
	struct go_group *group = &alike->group;

	group->count++;
	alike->is_several |= strcmp(alike->which, goroutine->which) != 0;
	if (goroutine->since_ns && (!group->since_ns || goroutine->since_ns < group->since_ns))
		group->since_ns = goroutine->since_ns;
}

ORDER_FUNCTION(by_weight, struct go_alike, ORDER_UP(group.is_runtime), ORDER_DOWN(group.count),
	       ORDER_UP(order));

/* Where the numbers of each group go; returns by its order where the next one of it goes. */
static uint32_t *go_lay_out(struct go_groups *groups, struct goroutines *goroutines, size_t total)
{
	uint32_t *next = xcalloc(groups->count + 1, sizeof(*next));
	size_t at = goroutines->id_count;

	goroutines->ids = xrealloc(goroutines->ids, at + total + 1, sizeof(*goroutines->ids));
	goroutines->id_cap = at + total + 1;
	for (size_t i = 0; i < groups->count; i++) {
		groups->items[i].group.first = next[groups->items[i].order] = (uint32_t)at;
		at += groups->items[i].group.count;
	}
	goroutines->id_count = at;
	return next;
}

static void go_finish(const struct go_alike *alike, struct goroutines *goroutines)
{
	struct go_group *group;

	goroutines->groups = vec_room(goroutines->groups, goroutines->group_count,
				      &goroutines->group_cap, sizeof(*goroutines->groups));
	group = &goroutines->groups[goroutines->group_count++];
	*group = alike->group;
	if (alike->kind[0])
		snprintf(group->object, sizeof(group->object), "%s%s", alike->kind,
			 alike->is_several ? ", each another one" : alike->which);
}

void go_group(struct go_reader *reader, struct go_process *process, struct goroutines *goroutines)
{
	uint32_t *of = xcalloc(reader->count + 1, sizeof(*of)), *next;
	struct go_groups groups = { 0 };
	size_t total = 0;

	for (size_t i = 0; i < reader->count; i++) {
		struct go_alike *alike = go_alike_of(reader, &groups, &reader->all[i]);

		of[i] = alike ? alike->order : UINT32_MAX;
		if (alike)
			go_add(alike, &reader->all[i]);
		total += alike != NULL;
		process->count += !reader->all[i].is_runtime;
		process->runtime += reader->all[i].is_runtime;
	}
	process->left_out += (uint32_t)(reader->count - total);
	if (groups.count)
		qsort(groups.items, groups.count, sizeof(*groups.items), by_weight);
	next = go_lay_out(&groups, goroutines, total);
	for (size_t i = 0; i < reader->count; i++) {
		if (of[i] != UINT32_MAX)
			goroutines->ids[next[of[i]]++] = (int64_t)reader->all[i].mark.number;
	}
	process->first = (uint32_t)goroutines->group_count;
	process->groups = (uint32_t)groups.count;
	for (size_t i = 0; i < groups.count; i++)
		go_finish(&groups.items[i], goroutines);
	map_fini(&groups.by_key);
	free(groups.items);
	free(next);
	free(of);
}
