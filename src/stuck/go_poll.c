/*
 * go_poll.c - for which descriptor a goroutine waits in Go's poller.
 *
 * The runtime has a structure for each descriptor, which notes the goroutine that waits to read and the one that waits
 * to write, and its own address. The function that waits has the address of one of the two on its stack.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "stuck/go_int.h"

#define WORDS_MAX   64u /* of the stack, that may be it */
#define ADDRESS_MIN 65536u
#define FD_MAX	    INT32_MAX
#define NAME_MOST   110 /* of bytes */

static bool go_is_poll(struct go_reader *reader, const struct goroutine *goroutine, uint64_t poll,
		       enum go_field field)
{
	const uint64_t *at = go_at(reader);

	return go_memory_u64(&reader->memory, poll + at[GO_POLL_SELF]) == poll &&
	       go_memory_u64(&reader->memory, poll + at[field]) == goroutine->address;
}

static int32_t go_no_owner(const void *context, uint64_t inode, int32_t other_than)
{
	(void)context;
	(void)inode;
	(void)other_than;
	return 0;
}

static const struct fdname_socket *go_socket(struct go_reader *reader, uint64_t inode)
{
	const struct sockets_owners nobody = { go_no_owner, NULL };

	if (!reader->has_sockets) {
		sockets_read(&reader->sockets, reader->proc_fd, reader->target->tgid);
		sockets_join(&reader->sockets, &nobody);
		reader->has_sockets = true;
	}
	return sockets_find(&reader->sockets, inode);
}

static void go_name_fd(struct go_reader *reader, struct goroutine *goroutine, uint64_t fd)
{
	struct fdname_object object = { .mode = 0 };
	struct fdname name;
	char path[48], link[256];
	int got;
	uint64_t inode;

	snprintf(goroutine->which, sizeof(goroutine->which), " %llu", (unsigned long long)fd);
	snprintf(path, sizeof(path), "%d/fd/%llu", reader->target->tgid, (unsigned long long)fd);
	got = (int)readlinkat(reader->proc_fd, path, link, sizeof(link) - 1);
	if (got <= 0)
		return;
	link[got] = '\0';
	object.link = link;
	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) == 1)
		object.socket = go_socket(reader, inode);
	fdname_make(&object, &name);
	snprintf(goroutine->which, sizeof(goroutine->which), " %llu = %.*s", (unsigned long long)fd,
		 NAME_MOST, name.text);
}

static bool go_take_poll(struct go_reader *reader, struct goroutine *goroutine, uint64_t word)
{
	static const struct {
		enum go_field field;
		const char *kind;
	} ends[] = { { GO_POLL_READER, "to read fd" }, { GO_POLL_WRITER, "to write fd" } };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		uint64_t poll = word - go_at(reader)[ends[i].field], fd;

		if (!go_is_poll(reader, goroutine, poll, ends[i].field))
			continue;
		fd = go_memory_u64(&reader->memory, poll + go_at(reader)[GO_POLL_FD]);
		if (fd > FD_MAX)
			return false;
		snprintf(goroutine->kind, sizeof(goroutine->kind), "%s", ends[i].kind);
		go_name_fd(reader, goroutine, fd);
		return true;
	}
	return false;
}

void go_poll_find(struct go_reader *reader, struct goroutine *goroutine)
{
	const bool *has = reader->target->layout->has;
	uint64_t words[WORDS_MAX], sp = goroutine->mark.sp;
	size_t bytes = sizeof(words);

	if (!has[GO_POLL_FD] || !has[GO_POLL_SELF] || !has[GO_POLL_READER] ||
	    !has[GO_POLL_WRITER] || sp < goroutine->stack_lo || sp >= goroutine->stack_hi)
		return;
	if (goroutine->stack_hi - sp < bytes)
		bytes = (size_t)(goroutine->stack_hi - sp);
	if (!go_memory_read_now(&reader->memory, sp, words, bytes))
		return;
	for (size_t i = 0; i < bytes / sizeof(words[0]); i++) {
		uint64_t word = words[i];

		if (word < ADDRESS_MIN || word % sizeof(word) ||
		    (word >= goroutine->stack_lo && word < goroutine->stack_hi) ||
		    go_code_has(&reader->code, word))
			continue;
		if (go_take_poll(reader, goroutine, word))
			return;
	}
}
