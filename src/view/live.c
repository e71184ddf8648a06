/* live.c - two pictures in shared memory, of which one is written while the other one is read. */
#include "view/live.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "view/answer.h"
#include "view/save.h"

enum live_state {
	LIVE_RECORDING,
	LIVE_WHOLE,
	LIVE_FAILED
};

/* Written by the recorder alone, but for what is wanted. */
struct view_live {
	_Atomic uint32_t width, ends; /* by who looks */
	_Atomic uint32_t state;
	_Atomic uint32_t
		turn; /* picture turn % 2 is whole; 0 = none is yet. Pairs with the reader's loads */
	uint32_t bytes[2];
	char pictures[2][VIEW_LIVE_BYTES];
	char failure[256];
};

int view_live_new(struct view_live **out_live, struct err *err)
{
	void *pages = mmap(NULL, sizeof(struct view_live), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return err_set(err, -errno, "cannot share memory: %s", strerror(errno));
	*out_live = pages;
	return 0;
}

void view_live_put_bytes(struct view_live *live, const void *bytes, size_t count)
{
	uint32_t turn = atomic_load_explicit(&live->turn, memory_order_relaxed) + 1; /* own */

	if (count > VIEW_LIVE_BYTES)
		return; /* the last picture stays */
	memcpy(live->pictures[turn % 2], bytes, count);
	live->bytes[turn % 2] = (uint32_t)count;
	atomic_store_explicit(&live->turn, turn,
			      memory_order_release); /* pairs with the reader's */
}

void view_live_put(struct view_live *live, const struct view *view)
{
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	FILE *out = open_memstream(&bytes, &count);
	int rc = out ? view_save_data(out, view, NULL) : -ENOMEM;

	if (out)
		(void)fclose(out); /* of memory */
	if (rc == 0)
		view_live_put_bytes(live, bytes, count);
}

void view_live_end(struct view_live *live, const char *failure)
{
	if (failure)
		(void)snprintf(live->failure, sizeof(live->failure), "%s", failure);
	atomic_store(&live->state, failure ? LIVE_FAILED : LIVE_WHOLE);
}

void view_live_answer(const struct view_live *live, struct view_answer *out_answer)
{
	uint32_t turn = atomic_load_explicit(&live->turn, memory_order_acquire), bytes;

	bytes = turn ? live->bytes[turn % 2] : 0;
	if (!turn || bytes > VIEW_LIVE_BYTES) {
		view_answer_say(out_answer, 404, "nothing is recorded yet");
		return;
	}
	*out_answer = (struct view_answer){ .status = 200,
					    .type = "application/json",
					    .bytes = xmalloc(bytes + 1),
					    .count = bytes };
	memcpy(out_answer->bytes, live->pictures[turn % 2], bytes);
	/* The next but one picture would lie on it: it takes two steps of the recorder. */
	if (atomic_load_explicit(&live->turn, memory_order_acquire) - turn < 1)
		return;
	view_answer_fini(out_answer);
	view_answer_say(out_answer, 409, "a newer picture took its place");
}

int view_live_wait(const struct view_live *live, struct err *err)
{
	const struct timespec moment = { .tv_nsec = 100000000 };
	uint32_t state;

	while ((state = atomic_load(&live->state)) == LIVE_RECORDING)
		(void)nanosleep(&moment, NULL);
	return state == LIVE_WHOLE ? 0 : err_set(err, -EIO, "%.255s", live->failure);
}

int view_live_check(const struct view_live *live, struct err *err)
{
	uint32_t state = atomic_load(&live->state);

	if (state == LIVE_RECORDING)
		return 1;
	return state == LIVE_WHOLE ? 0 : err_set(err, -EIO, "%.255s", live->failure);
}

size_t view_live_take(const struct view_live *live, void *out_bytes, size_t most)
{
	uint32_t turn = atomic_load_explicit(&live->turn, memory_order_acquire);
	size_t bytes = turn ? live->bytes[turn % 2] : 0;

	if (!bytes || bytes > most || bytes > VIEW_LIVE_BYTES)
		return 0;
	memcpy(out_bytes, live->pictures[turn % 2], bytes);
	/* Pairs with the release: the next but one picture would lie on it. */
	return atomic_load_explicit(&live->turn, memory_order_acquire) - turn <= 1 ? bytes : 0;
}

void view_live_want(struct view_live *live, uint32_t width, uint32_t ends)
{
	atomic_store(&live->width, width);
	atomic_store(&live->ends, ends);
}

uint32_t view_live_width(const struct view_live *live)
{
	return atomic_load(&live->width);
}

uint32_t view_live_ends(const struct view_live *live)
{
	return atomic_load(&live->ends);
}
