/* test_map.c - the hash map against an array that is searched from end to end. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"

/* The slow and obvious twin. */
#define TWIN_MAX 512

struct twin {
	struct map_slot slots[TWIN_MAX];
	size_t count;
};

static uint64_t *twin_find(struct twin *twin, uint64_t key)
{
	for (size_t i = 0; i < twin->count; i++)
		if (twin->slots[i].key == key)
			return &twin->slots[i].value;
	return NULL;
}

static void twin_put(struct twin *twin, uint64_t key, uint64_t value)
{
	uint64_t *there = twin_find(twin, key);

	if (there)
		*there = value;
	else
		twin->slots[twin->count++] = (struct map_slot){ key, value };
}

static bool twin_remove(struct twin *twin, uint64_t key)
{
	for (size_t i = 0; i < twin->count; i++) {
		if (twin->slots[i].key == key) {
			twin->slots[i] = twin->slots[--twin->count];
			return true;
		}
	}
	return false;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void assert_same(const struct map *map, struct twin *twin, uint64_t key)
{
	uint64_t *got = map_find(map, key);
	uint64_t *expected = twin_find(twin, key);

	if (!got != !expected)
		fail_msg("key %" PRIu64 ": map %s it, twin %s it", key, got ? "has" : "lacks",
			 expected ? "has" : "lacks");
	if (got)
		assert_int_equal(*got, *expected);
	assert_int_equal(map->count, twin->count);
}

/* Keys of few values, so that put, replace, find and remove meet the same ones often. */
static void run_random_operations(uint64_t seed, uint64_t key_count, uint64_t key_step)
{
	struct map map = { 0 };
	struct twin twin = { .count = 0 };

	for (int i = 0; i < 20000; i++) {
		uint64_t random = next_random(&seed);
		uint64_t key = (random >> 8) % key_count * key_step;

		if (random % 5 == 0) {
			bool new, expected = !twin_find(&twin, key);
			uint64_t *value = map_add(&map, key, &new);

			assert_int_equal(new, expected);
			assert_int_equal(*value, expected ? 0 : *twin_find(&twin, key));
			*value = random;
			twin_put(&twin, key, random);
		} else if (random % 5 < 3) {
			map_put(&map, key, random);
			twin_put(&twin, key, random);
		} else {
			assert_int_equal(map_remove(&map, key), twin_remove(&twin, key));
		}
		assert_same(&map, &twin, (random >> 32) % key_count * key_step);
	}
	for (uint64_t i = 0; i < key_count; i++)
		assert_same(&map, &twin, i * key_step);
	map_fini(&map);
}

static void it_agrees_with_its_slow_twin_on_random_operations(void **unused)
{
	run_random_operations(1, 500, 1);
	run_random_operations(2, 40, 1);
	run_random_operations(3, 500, 4096);
	run_random_operations(4, 300, UINT64_C(1) << 40);
}

static void an_empty_map_finds_and_removes_nothing(void **unused)
{
	struct map map = { 0 };

	assert_null(map_find(&map, 0));
	assert_false(map_remove(&map, 0));
	map_fini(&map);
}

static void every_key_is_allowed(void **unused)
{
	const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };
	struct map map = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		map_put(&map, keys[i], i);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_int_equal(*map_find(&map, keys[i]), i);
	assert_int_equal(map.count, ARRAY_LEN(keys));
	map_fini(&map);
}

static void a_value_can_be_changed_in_place(void **unused)
{
	struct map map = { 0 };

	map_put(&map, 7, 1);
	*map_find(&map, 7) += 41;
	assert_int_equal(*map_find(&map, 7), 42);
	map_fini(&map);
}

static void it_grows_and_keeps_everything(void **unused)
{
	const uint64_t count = 100000;
	struct map map = { 0 };

	for (uint64_t i = 0; i < count; i++)
		map_put(&map, i * i, i);
	assert_int_equal(map.count, count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(*map_find(&map, i * i), i);
	assert_true(map.count * 10 <= map.cap * 7);
	map_fini(&map);
	assert_null(map_find(&map, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_agrees_with_its_slow_twin_on_random_operations),
		cmocka_unit_test(an_empty_map_finds_and_removes_nothing),
		cmocka_unit_test(every_key_is_allowed),
		cmocka_unit_test(a_value_can_be_changed_in_place),
		cmocka_unit_test(it_grows_and_keeps_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
