/* type.c - memory of types, and what can be asked of one. */
#include "read/ctf/type.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_FIRST 2048u /* there may be thousands of small traces */
#define BLOCK_MOST  65536u

struct ctf_block {
	struct ctf_block *next;
	uint64_t bytes[];
};

void *ctf_take(struct ctf_arena *arena, size_t bytes)
{
	void *taken;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > arena->left) {
		size_t usual = arena->room ? arena->room : BLOCK_FIRST;
		size_t room = bytes > usual ? bytes : usual;
		struct ctf_block *block = xcalloc(1, sizeof(*block) + room);

		arena->room = usual < BLOCK_MOST ? usual * 2 : BLOCK_MOST;
		block->next = arena->blocks;
		arena->blocks = block;
		arena->at = (uint8_t *)block->bytes;
		arena->left = room;
	}
	taken = arena->at;
	arena->at += bytes;
	arena->left -= bytes;
	return taken;
}

char *ctf_keep(struct ctf_arena *arena, const char *text, size_t bytes)
{
	char *copy = ctf_take(arena, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

void ctf_arena_fini(struct ctf_arena *arena)
{
	while (arena->blocks) {
		struct ctf_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	*arena = (struct ctf_arena){ 0 };
}

/* Types are never deeper than CTF_MAX_DEPTH. */
bool ctf_type_is_empty(const struct ctf_type *type)
{
	switch ((enum ctf_kind)type->kind) {
	case CTF_STRUCT:
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (!ctf_type_is_empty(type->members[i].type))
				return false;
		}
		return true;
	case CTF_ARRAY:
		return type->length == 0 || ctf_type_is_empty(type->element);
	default:
		return false;
	}
}
