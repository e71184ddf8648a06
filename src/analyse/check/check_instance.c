/*
 * check_instance.c - the open instances: found by key, given up by age.
 *
 * Their memory is one block after the other that is used again, and is bounded by a number of
 * instances. Those of one key and those of all keys by age are two lists in both directions, so
 * that any of them ends at the same cost.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/check/check_int.h"
#include "base/mem.h"

#define LIST_MAX    100000u
#define BLOCK_BYTES ((size_t)256 << 10)

/* The variables hold long doubles. */
static size_t instance_bytes(const struct model *model)
{
	size_t bytes =
		sizeof(struct instance) + model->variable_count * sizeof(struct check_variable);

	return (bytes + 15) & ~(size_t)15;
}

void check_instances_init(struct check *check, size_t open_bytes)
{
	check->instance_bytes = instance_bytes(check->model);
	/* Its own part, and its place in the map: up to three times that while the map grows. */
	check->open_max = open_bytes / (check->instance_bytes + 3 * 17) + 1;
}

void check_instances_fini(struct check *check)
{
	for (struct instance *instance = check->oldest; instance; instance = instance->newer)
		free(instance->key_text);
	for (size_t i = 0; i < check->block_count; i++)
		free(check->blocks[i]);
	free(check->blocks);
	map_fini(&check->by_key);
}

/* A block more: each is as large as all before it, up to BLOCK_BYTES. */
static void add_block(struct check *check)
{
	size_t most = BLOCK_BYTES / check->instance_bytes, count = 1;
	char *block;

	while (count < most && count < check->open_count)
		count *= 2;
	if (count > check->open_max - check->open_count)
		count = check->open_max - check->open_count;
	check->blocks = vec_room(check->blocks, check->block_count, &check->block_cap,
				 sizeof(*check->blocks));
	block = xmalloc(count * check->instance_bytes);
	check->blocks[check->block_count++] = block;
	for (size_t i = 0; i < count; i++) {
		struct instance *instance = (void *)(block + i * check->instance_bytes);

		instance->same_key = check->unused;
		check->unused = instance;
	}
}

/* ------------------------------------------------------------------------ lists */

struct instance *check_instance_first(struct check *check, uint64_t key)
{
	const uint64_t *place = map_find(&check->by_key, key);

	return place ? (struct instance *)(uintptr_t)*place : NULL;
}

static void unlink_age(struct check *check, struct instance *instance)
{
	*(instance->older ? &instance->older->newer : &check->oldest) = instance->newer;
	*(instance->newer ? &instance->newer->older : &check->newest) = instance->older;
}

static void link_newest(struct check *check, struct instance *instance)
{
	instance->newer = NULL;
	instance->older = check->newest;
	*(check->newest ? &check->newest->newer : &check->oldest) = instance;
	check->newest = instance;
}

void check_instance_renew(struct check *check, struct instance *instance)
{
	if (check->newest == instance)
		return;
	unlink_age(check, instance);
	link_newest(check, instance);
}

static void link_key(struct check *check, struct instance *instance)
{
	bool is_new;
	uint64_t *place = map_add(&check->by_key, instance->key, &is_new);

	instance->before_key = NULL;
	instance->same_key = is_new ? NULL : (struct instance *)(uintptr_t)*place;
	if (instance->same_key)
		instance->same_key->before_key = instance;
	*place = (uintptr_t)instance;
}

static void unlink_key(struct check *check, struct instance *instance)
{
	if (instance->same_key)
		instance->same_key->before_key = instance->before_key;
	if (instance->before_key)
		instance->before_key->same_key = instance->same_key;
	else if (instance->same_key)
		map_put(&check->by_key, instance->key, (uintptr_t)instance->same_key);
	else
		(void)map_remove(&check->by_key, instance->key);
}

/* ---------------------------------------------------------------------- one */

struct instance *check_instance_add(struct check *check, uint64_t key, uint64_t time_ns)
{
	struct instance *instance;

	while (check->open_count >= check->open_max) {
		check_phase_forget(check, check->oldest->key);
		check_instance_end(check, check->oldest, CHECK_DROPPED, time_ns);
	}
	if (!check->unused)
		add_block(check);
	instance = check->unused;
	check->unused = instance->same_key;
	memset(instance, 0, check->instance_bytes);
	instance->key = key;
	instance->number = ++check->result.instances;
	instance->begin_ns = instance->entered_ns = instance->known_ns = time_ns;
	instance->state = check->model->initial;
	link_key(check, instance);
	link_newest(check, instance);
	check->open_count++;
	return instance;
}

char *check_instance_key(const struct instance *instance)
{
	if (instance->key_text)
		return xstrdup(instance->key_text);
	return xasprintf("%" PRId64, (int64_t)instance->key);
}

static void list_instance(struct check *check, const struct instance *instance, enum check_end end,
			  uint64_t end_ns)
{
	struct check_result *result = &check->result;
	uint8_t status = instance->status;

	/* What is given up was not judged to its end. */
	if (end == CHECK_DROPPED && status == CHECK_VALID)
		status = CHECK_UNCERTAIN;
	result->count[status]++;
	result->open += end == CHECK_OPEN;
	result->dropped += end == CHECK_DROPPED;
	if (result->list_count >= LIST_MAX)
		return;
	result->list = vec_room(result->list, result->list_count, &result->list_cap,
				sizeof(*result->list));
	result->list[result->list_count++] = (struct check_instance){
		.number = instance->number,
		.key = check_instance_key(instance),
		.begin_ns = instance->begin_ns,
		.end_ns = end_ns,
		.transitions = instance->transitions,
		.state = instance->state,
		.tid = instance->tid,
		.status = status,
		.end = (uint8_t)end,
	};
}

void check_instance_end(struct check *check, struct instance *instance, enum check_end end,
			uint64_t end_ns)
{
	list_instance(check, instance, end, end_ns);
	unlink_age(check, instance);
	unlink_key(check, instance);
	free(instance->key_text);
	instance->same_key = check->unused;
	check->unused = instance;
	check->open_count--;
}
