/* flight_logged_reader.c - one question at a time, in shared memory; a byte on a socket says that it is there. */
#include "cli/flight_logged_reader.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "guard/caps.h"
#include "guard/filter.h"

#define SOCKET	  (STDERR_FILENO + 1) /* of the reader */
#define ANSWER_MS 2000
#define MEMORY	  ((rlim_t)512 << 20)

enum question {
	QUESTION_DESCRIBE,
	QUESTION_READ,
	QUESTION_DROP,
};

/* The asker writes the first part, the reader the second, by turns. */
struct flight_logged_shared {
	enum question question;
	uint32_t slot, bytes, first;
	uint64_t ticks;
	uint8_t data[FLIGHT_LOGGED_TEXT_BYTES + CTF_PIECES_SLACK];
	bool is_bad;
	uint32_t count;
	uint64_t last_ticks;
	uint64_t cpu_ns; /* also of those before */
	struct ctf_found found[FLIGHT_LOGGED_FOUND_MOST];
};

/* ------------------------------------------------------------------ the reader */

static void answer(const struct flight_logged_reader *reader, struct ctf_pieces **slot)
{
	struct flight_logged_shared *shared = reader->shared;
	struct ctf_piece piece = { shared->data, shared->bytes, shared->first, shared->ticks };
	struct err err = { 0 };

	shared->count = 0;
	shared->is_bad = false;
	if (shared->question != QUESTION_READ) {
		ctf_pieces_free(*slot);
		*slot = NULL;
	}
	if (shared->question == QUESTION_DESCRIBE)
		shared->is_bad = ctf_pieces_new((const char *)shared->data, shared->bytes,
						reader->names, reader->name_count, slot, &err) < 0;
	else if (shared->question == QUESTION_READ && *slot)
		shared->count = (uint32_t)ctf_pieces_take(
			*slot, &piece, shared->found, FLIGHT_LOGGED_FOUND_MOST, &shared->is_bad);
	shared->last_ticks = piece.ticks;
	shared->is_bad |= shared->question == QUESTION_READ && (!*slot || piece.count);
}

static void give_up_rights(void)
{
	const struct rlimit memory = { MEMORY, MEMORY }, none = { 0, 0 };
	struct err err = { 0 };

	(void)setrlimit(RLIMIT_FSIZE, &none);
	if (!guard_filter_is_wide())
		(void)setrlimit(RLIMIT_AS, &memory);
	if (guard_caps_nobody(0, &err) < 0)
		_exit(1);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* forgotten with the change of the user */
	if (guard_filter_reader(NULL, 0, &err) < 0)
		_exit(1);
}

static void __attribute__((noreturn)) reader_main(const struct flight_logged_reader *reader, int fd)
{
	struct ctf_pieces **slots = xcalloc(FLIGHT_LOGGED_SLOTS, sizeof(struct ctf_pieces *));
	struct flight_logged_shared *shared = reader->shared;
	uint64_t before_ns = shared->cpu_ns;
	char byte;

	if (dup2(fd, SOCKET) < 0)
		_exit(1);
	(void)close_range(SOCKET + 1, ~0u, 0);
	(void)prctl(PR_SET_NAME, "holdup-logged-r");
	give_up_rights();
	while (read(SOCKET, &byte, 1) == 1) {
		answer(reader, &slots[shared->slot % FLIGHT_LOGGED_SLOTS]);
		shared->cpu_ns = before_ns + clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (write(SOCKET, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* ------------------------------------------------------------------- the asker */

bool flight_logged_reader_init(struct flight_logged_reader *reader, const char *const *names,
			       size_t count)
{
	void *shared = mmap(NULL, sizeof(*reader->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*reader = (struct flight_logged_reader){ .fd = -1, .names = names, .name_count = count };
	reader->shared = shared == MAP_FAILED ? NULL : shared;
	return reader->shared;
}

static bool reader_begin(struct flight_logged_reader *reader)
{
	int pair[2];

	if (reader->pid)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	reader->pid = fork();
	if (reader->pid == 0)
		reader_main(reader, pair[1]);
	(void)close(pair[1]);
	if (reader->pid > 0) {
		reader->fd = pair[0];
		return true;
	}
	(void)close(pair[0]);
	reader->pid = 0;
	return false;
}

static void reader_end(struct flight_logged_reader *reader)
{
	if (reader->pid) {
		(void)kill(reader->pid,
			   SIGKILL); /* not reaped yet; of another user: needs CAP_KILL */
		(void)child_await(reader->pid);
	}
	mem_close_fd(&reader->fd);
	reader->fd = -1;
	reader->pid = 0;
}

static enum flight_logged_answer ask(struct flight_logged_reader *reader, enum question question,
				     uint32_t slot)
{
	struct pollfd wait;
	char byte = 'q';

	if (!reader_begin(reader))
		return FLIGHT_LOGGED_DEAD;
	reader->shared->question = question;
	reader->shared->slot = slot;
	wait = (struct pollfd){ .fd = reader->fd, .events = POLLIN };
	if (send(reader->fd, &byte, 1, MSG_NOSIGNAL) == 1 && poll(&wait, 1, ANSWER_MS) == 1 &&
	    read(reader->fd, &byte, 1) == 1)
		return reader->shared->is_bad ? FLIGHT_LOGGED_BAD : FLIGHT_LOGGED_READ;
	reader_end(reader);
	return FLIGHT_LOGGED_DEAD;
}

enum flight_logged_answer flight_logged_describe(struct flight_logged_reader *reader, uint32_t slot,
						 const char *text, size_t bytes)
{
	if (bytes > FLIGHT_LOGGED_TEXT_BYTES)
		return FLIGHT_LOGGED_BAD;
	memcpy(reader->shared->data, text, bytes);
	reader->shared->bytes = (uint32_t)bytes;
	return ask(reader, QUESTION_DESCRIBE, slot);
}

enum flight_logged_answer flight_logged_read(struct flight_logged_reader *reader, uint32_t slot,
					     const struct ctf_piece *piece,
					     const struct ctf_found **out_found, size_t *out_count,
					     uint64_t *out_last_ticks)
{
	struct flight_logged_shared *shared = reader->shared;
	enum flight_logged_answer answered;

	*out_count = 0;
	*out_found = shared->found;
	*out_last_ticks = piece->ticks;
	if (piece->count > FLIGHT_LOGGED_TEXT_BYTES)
		return FLIGHT_LOGGED_BAD;
	memcpy(shared->data, piece->bytes, piece->count);
	shared->bytes = piece->count;
	shared->first = piece->first;
	shared->ticks = piece->ticks;
	answered = ask(reader, QUESTION_READ, slot);
	if (answered == FLIGHT_LOGGED_DEAD)
		return answered;
	*out_count =
		shared->count < FLIGHT_LOGGED_FOUND_MOST ? shared->count : FLIGHT_LOGGED_FOUND_MOST;
	*out_last_ticks = shared->last_ticks;
	return answered;
}

void flight_logged_drop(struct flight_logged_reader *reader, uint32_t slot)
{
	if (reader->pid)
		(void)ask(reader, QUESTION_DROP, slot);
}

uint64_t flight_logged_reader_cpu_ns(const struct flight_logged_reader *reader)
{
	return reader->shared ? reader->shared->cpu_ns : 0;
}

void flight_logged_reader_end(struct flight_logged_reader *reader)
{
	reader_end(reader);
	if (reader->shared)
		(void)munmap(reader->shared, sizeof(*reader->shared)); /* cannot fail */
	reader->shared = NULL;
}
