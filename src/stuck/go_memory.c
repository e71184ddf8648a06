/* go_memory.c - see go_memory.h. */
#include "stuck/go_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"

#define GO_PAGE	     4096u
#define GO_PAGES_MAX 32768u

bool go_memory_read_now(const struct go_memory *memory, uint64_t address, void *buffer,
			size_t bytes)
{
	struct iovec here = { buffer, bytes };
	struct iovec there = { (void *)(uintptr_t)address, bytes };

	return address <= UINT64_MAX - bytes &&
	       process_vm_readv(memory->tgid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static const uint8_t *go_page(struct go_memory *memory, uint64_t address)
{
	const uint64_t *known = map_find(&memory->pages, address);

	if (known)
		return memory->bytes[*known];
	if (memory->count == GO_PAGES_MAX)
		return NULL;
	memory->bytes = vec_room(memory->bytes, memory->count, &memory->cap, GO_PAGE);
	if (!go_memory_read_now(memory, address, memory->bytes[memory->count], GO_PAGE))
		return NULL;
	map_put(&memory->pages, address, memory->count);
	return memory->bytes[memory->count++];
}

bool go_memory_read(struct go_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;

	if (address > UINT64_MAX - bytes)
		return false;
	while (bytes) {
		size_t in = address % GO_PAGE, part = GO_PAGE - in;
		const uint8_t *page = go_page(memory, address - in);

		if (!page)
			return false;
		if (part > bytes)
			part = bytes;
		memcpy(to, page + in, part);
		to += part;
		address += part;
		bytes -= part;
	}
	return true;
}

uint64_t go_memory_u64(struct go_memory *memory, uint64_t address)
{
	uint64_t value;

	return go_memory_read(memory, address, &value, sizeof(value)) ? value : 0;
}

uint32_t go_memory_u32(struct go_memory *memory, uint64_t address)
{
	uint32_t value;

	return go_memory_read(memory, address, &value, sizeof(value)) ? value : 0;
}

bool go_memory_text(struct go_memory *memory, uint64_t address, char *text, size_t max)
{
	for (size_t i = 0; i + 1 < max; i++) {
		if (!go_memory_read(memory, address + i, &text[i], 1))
			return false;
		if (!text[i])
			return true;
	}
	text[max - 1] = '\0';
	return true;
}

void go_memory_fini(struct go_memory *memory)
{
	map_fini(&memory->pages);
	free(memory->bytes);
}
