/*
 * list_pipe.c - a ring of pieces, each some thousand lines.
 *
 *	FREE ─ caller fills ─▶ READY ─ a worker takes it ─▶ BUSY ─▶ DONE ─ caller writes ─▶ FREE
 *
 * A piece belongs to the caller while FREE and DONE, to the worker that took it while
 * BUSY. 'state' is written under 'lock'. When the caller must wait for the oldest piece
 * and nobody has begun with it, the caller prints it itself. Nobody is woken with the lock held:
 * who wakes needs it at once.
 */
#include "cli/list_pipe.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/outbuf.h"
#include "cli/list_print.h"
#include "event/comms.h"
#include "event/event.h"
#include "fields/value.h"

#define MAX_WORKERS 8u
#define PIECES	    (MAX_WORKERS + 2)
#define PIECE_LINES 1024u	  /* enough that handing over costs next to nothing */
#define PIECE_BYTES (1024u << 10) /* of records; several of the largest fit */
#define MAX_BYTES   (160u << 10)  /* that one line may need of them */
#define ALONE_LINES 20000u	  /* printed by the caller before threads are worth it */

enum piece_state {
	FREE,
	READY,
	BUSY,
	DONE,
};

struct item {
	struct value_line line;
	struct event event;
	char comm[COMMS_BYTES];
};

struct piece {
	enum piece_state state;
	struct item *items; /* owned */
	uint32_t count;
	uint8_t *bytes; /* owned; what the items point to */
	uint32_t used;
	struct outbuf made;
};

struct list_pipe {
	const struct list_print *print;
	const struct value_context *context;
	struct list_scratch *scratch; /* owned; the caller's */
	struct outbuf out;
	uint64_t alone; /* lines printed without workers */

	uint32_t max_workers;
	uint32_t worker_count;
	uint32_t piece_count; /* in use: 0 = there are no workers */
	uint32_t filling, oldest;
	struct piece pieces[PIECES];
	pthread_t workers[MAX_WORKERS];
	pthread_mutex_t lock;
	pthread_cond_t ready; /* a piece became READY, or 'stop' */
	pthread_cond_t done;
	const struct piece *awaited; /* by the caller, until it is DONE; under 'lock' */
	bool stop;
};

static uint32_t workers_for_machine(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < 2 ? 0 : (uint32_t)count - 1;
}

struct list_pipe *list_pipe_new(const struct list_print *print, const struct value_context *context,
				int fd)
{
	struct list_pipe *pipe = xcalloc(1, sizeof(*pipe));

	pipe->print = print;
	pipe->context = context;
	pipe->scratch = list_scratch_new(context);
	outbuf_to_terminal(&pipe->out, fd);
	list_print_head(print, &pipe->out);
	pthread_mutex_init(&pipe->lock, NULL);
	pthread_cond_init(&pipe->ready, NULL);
	pthread_cond_init(&pipe->done, NULL);
	list_pipe_set_threads(pipe, workers_for_machine());
	return pipe;
}

void list_pipe_set_threads(struct list_pipe *pipe, uint32_t count)
{
	pipe->max_workers = count < MAX_WORKERS ? count : MAX_WORKERS;
}

/* Print a piece that this thread has taken. */
static void print_piece(const struct list_pipe *pipe, struct list_scratch *scratch,
			struct piece *piece)
{
	outbuf_reset(&piece->made);
	for (uint32_t i = 0; i < piece->count; i++)
		list_print_line(pipe->print, scratch, &piece->items[i].line, &piece->made);
}

/* The oldest READY piece, now BUSY; NULL when there is none. With the lock. */
static struct piece *take_ready(struct list_pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->piece_count; i++) {
		struct piece *piece = &pipe->pieces[(pipe->oldest + i) % pipe->piece_count];

		if (piece->state == READY) {
			piece->state = BUSY;
			return piece;
		}
	}
	return NULL;
}

static void *list_pipe_work(void *context)
{
	struct list_pipe *pipe = context;
	struct list_scratch *scratch = list_scratch_new(pipe->context);
	struct piece *piece;

	pthread_mutex_lock(&pipe->lock);
	while (!pipe->stop) {
		piece = take_ready(pipe);
		if (!piece) {
			pthread_cond_wait(&pipe->ready, &pipe->lock);
			continue;
		}
		pthread_mutex_unlock(&pipe->lock);
		print_piece(pipe, scratch, piece);
		pthread_mutex_lock(&pipe->lock);
		piece->state = DONE;
		if (pipe->awaited != piece)
			continue;
		pthread_mutex_unlock(&pipe->lock);
		pthread_cond_signal(&pipe->done);
		pthread_mutex_lock(&pipe->lock);
	}
	pthread_mutex_unlock(&pipe->lock);
	list_scratch_free(scratch);
	return NULL;
}

static void start_workers(struct list_pipe *pipe)
{
	while (pipe->worker_count < pipe->max_workers) {
		if (pthread_create(&pipe->workers[pipe->worker_count], NULL, list_pipe_work,
				   pipe) != 0)
			break; /* fewer, or none: the caller prints */
		pipe->worker_count++;
	}
	if (pipe->worker_count == 0)
		return;
	for (uint32_t i = 0; i < pipe->worker_count + 2; i++) {
		struct piece *piece = &pipe->pieces[i];

		piece->items = xmalloc(PIECE_LINES * sizeof(struct item));
		piece->bytes = xmalloc(PIECE_BYTES);
		outbuf_to_memory(&piece->made);
	}
	pthread_mutex_lock(&pipe->lock);
	pipe->piece_count = pipe->worker_count + 2;
	pthread_mutex_unlock(&pipe->lock);
}

/* Wait for the oldest piece, or print it; write it. */
static void write_oldest(struct list_pipe *pipe)
{
	struct piece *piece = &pipe->pieces[pipe->oldest];

	pthread_mutex_lock(&pipe->lock);
	if (piece->state == READY) {
		piece->state = BUSY;
		pthread_mutex_unlock(&pipe->lock);
		print_piece(pipe, pipe->scratch, piece);
		pthread_mutex_lock(&pipe->lock);
		piece->state = DONE;
	}
	pipe->awaited = piece;
	while (piece->state != DONE)
		pthread_cond_wait(&pipe->done, &pipe->lock);
	pipe->awaited = NULL;
	piece->state = FREE;
	pipe->oldest = (pipe->oldest + 1) % pipe->piece_count;
	pthread_mutex_unlock(&pipe->lock);
	outbuf_write(&pipe->out, piece->made.start, outbuf_bytes(&piece->made));
	piece->count = piece->used = 0;
}

/* Hand over the piece that was filled; afterwards the next one is FREE. */
static void list_pipe_hand_over(struct list_pipe *pipe)
{
	uint32_t next = (pipe->filling + 1) % pipe->piece_count;

	pthread_mutex_lock(&pipe->lock);
	pipe->pieces[pipe->filling].state = READY;
	pthread_mutex_unlock(&pipe->lock);
	pthread_cond_signal(&pipe->ready);
	pipe->filling = next;
	if (next == pipe->oldest) /* all are in use */
		write_oldest(pipe);
}

static void *piece_keep(struct piece *piece, const void *bytes, size_t count)
{
	void *copy = piece->bytes + piece->used;

	memcpy(copy, bytes, count);
	/* Texts are read in words. */
	piece->used += (uint32_t)((count + 7) & ~(size_t)7);
	return copy;
}

static const char *keep_text(struct piece *piece, const char *text)
{
	char *copy;
	size_t bytes = strnlen(text, MAX_BYTES / 4 - 1);

	copy = piece_keep(piece, text, bytes + 1);
	copy[bytes] = '\0';
	return copy;
}

/* Copy what printing looks at; views of others are not followed. */
static void keep_line(struct piece *piece, const struct value_line *line)
{
	struct item *item = &piece->items[piece->count++];
	const struct trace_record *record = &line->record;

	item->line = *line;
	item->event = *line->event;
	memcpy(item->comm, line->comm, COMMS_BYTES);
	item->line.event = &item->event;
	item->line.comm = item->comm;
	if (record->data)
		item->line.record.data = piece_keep(piece, record->data, record->bytes);
	if (line->event->type == EV_STACK && record->data)
		item->event.stack.frames =
			item->line.record.data +
			((const uint8_t *)line->event->stack.frames - record->data);
	else if (line->event->type == EV_FD_NAME)
		item->event.fd_name.name = keep_text(piece, line->event->fd_name.name);
	if (line->state)
		item->line.state = keep_text(piece, line->state);
}

int list_pipe_put(struct list_pipe *pipe, const struct value_line *line)
{
	struct piece *piece;

	if (pipe->piece_count == 0) {
		list_print_line(pipe->print, pipe->scratch, line, &pipe->out);
		if (++pipe->alone == ALONE_LINES && pipe->max_workers)
			start_workers(pipe);
		return pipe->out.error;
	}
	piece = &pipe->pieces[pipe->filling];
	keep_line(piece, line);
	if (piece->count == PIECE_LINES || piece->used > PIECE_BYTES - 2 * MAX_BYTES)
		list_pipe_hand_over(pipe);
	return pipe->out.error;
}

static void stop_workers(struct list_pipe *pipe)
{
	pthread_mutex_lock(&pipe->lock);
	pipe->stop = true;
	pthread_cond_broadcast(&pipe->ready);
	pthread_mutex_unlock(&pipe->lock);
	while (pipe->worker_count)
		pthread_join(pipe->workers[--pipe->worker_count], NULL);
}

int list_pipe_finish(struct list_pipe *pipe, struct err *err)
{
	int rc;

	if (!pipe)
		return 0;
	if (pipe->piece_count && pipe->pieces[pipe->filling].count)
		list_pipe_hand_over(pipe);
	while (pipe->piece_count && pipe->oldest != pipe->filling)
		write_oldest(pipe);
	stop_workers(pipe);
	rc = outbuf_flush(&pipe->out);
	for (uint32_t i = 0; i < pipe->piece_count; i++) {
		free(pipe->pieces[i].items);
		free(pipe->pieces[i].bytes);
		outbuf_fini(&pipe->pieces[i].made);
	}
	outbuf_fini(&pipe->out);
	list_scratch_free(pipe->scratch);
	pthread_cond_destroy(&pipe->ready);
	pthread_cond_destroy(&pipe->done);
	pthread_mutex_destroy(&pipe->lock);
	free(pipe);
	return rc < 0 ? err_set(err, rc, "cannot write the output: %s", strerror(-rc)) : 0;
}
