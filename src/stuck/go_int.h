/* go_int.h - the goroutines of a process as they are read, before those that wait alike are one group. */
#ifndef STUCK_GO_INT_H
#define STUCK_GO_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "proc/sockets.h"
#include "stuck/go_code.h"
#include "stuck/go_memory.h"
#include "stuck/goroutines.h"
#include "symbol/go_layout.h"

#define GO_KIND_MAX	64u
#define GO_REASONS_MAX	128u
#define GO_TYPE_SIGNAL	"os.Signal"
#define GO_CHANNELS_MAX 64u /* of a select */

/* What of it says that it is in the same wait, when it is read again. */
struct go_mark {
	uint64_t number, sp, pc, waiting, thread;
	uint32_t status;
	uint8_t reason;
};

struct goroutine {
	uint64_t address;
	struct go_mark mark;
	uint64_t since_ns, created, start, lr, stack_lo, stack_hi;
	enum go_state state;
	int32_t tid;
	bool is_runtime, is_signalled, is_cut;
	bool is_timed;				 /* it waits for a channel that a timer sends to */
	size_t first, count;			 /* a run in go_reader.pcs */
	char kind[GO_KIND_MAX];			 /* "chan int", without which one; "" = not known */
	char which[GO_OBJECT_MAX - GO_KIND_MAX]; /* " 0xc000020060, unbuffered" */
};

struct go_reader {
	const struct go_target *target;
	struct go_memory memory;
	struct go_code code;
	uint64_t bias;
	struct goroutine *all; /* owned */
	size_t count, cap;
	uint64_t *pcs; /* owned */
	size_t pc_count, pc_cap;
	size_t left_out;
	struct map semaphores; /* address of a goroutine, to that of the word that it waits at */
	bool has_semaphores;   /* they were read */
	int proc_fd;
	struct sockets sockets; /* of its network namespace */
	bool has_sockets;	/* they were read */
	bool is_own_numbers;	/* the process knows threads by our numbers */
	char reasons[GO_REASONS_MAX][GO_REASON_MAX];
	size_t reason_count;
};

static inline const uint64_t *go_at(const struct go_reader *reader)
{
	return reader->target->layout->at;
}

/* What it waits for, by its stack, its queues and semaphores. */
void go_object_find(struct go_reader *reader, struct goroutine *goroutine);

/* The same of one that waits for a descriptor. */
void go_poll_find(struct go_reader *reader, struct goroutine *goroutine);

/* Whether nobody but goroutines that all wait could end the wait of any. Else why not: a constant; "" = there are none. */
bool go_verdict(struct go_reader *reader, const char **out_why);

/* One group for those that wait alike. */
void go_group(struct go_reader *reader, struct go_process *process, struct goroutines *goroutines);

#endif
