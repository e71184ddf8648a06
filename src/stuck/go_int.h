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

/* As runtime/runtime2.go has them. */
enum go_status {
	GO_IDLE,
	GO_RUNNABLE,
	GO_RUNNING,
	GO_SYSCALL,
	GO_WAITING,
	GO_DEAD = 6,
	GO_COPYSTACK = 8,
	GO_PREEMPTED = 9,
	GO_LEAKED =
		10, /* since 1.26: it waits, and the collector found nobody who could end that */
	GO_DEAD_EXTRA = 11, /* since 1.26: kept for a thread that C may begin */
};

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

/* Of a status: whether it stands for no goroutine at all. */
bool go_is_none(uint32_t status);

/* The same: whether a reason is told for which it waits. */
bool go_is_parked(uint32_t status);

enum go_state go_state_of(uint32_t status, const char *reason);

/* By the function of the runtime that a goroutine was begun with: whether it runs functions of the program. */
bool go_is_for_program(const char *start, enum go_state state);

static inline const uint64_t *go_at(const struct go_reader *reader)
{
	return reader->target->layout->at;
}

/* Why it waits, as the runtime has it; "" = not known. Of one that does not wait it is an old one. */
static inline const char *go_reason(const struct go_reader *reader,
				    const struct goroutine *goroutine)
{
	return goroutine->mark.reason < reader->reason_count
		       ? reader->reasons[goroutine->mark.reason]
		       : "";
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
