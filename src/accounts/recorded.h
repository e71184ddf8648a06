/*
 * recorded.h - the kernel's accounts that a recording keeps beside its events: kernel/accounts.
 *
 * What each thread had on its account when the recording began, when it exited, and when the
 * recording ended; the same from schedstat; pressure of the machine and of the recorder's cgroup;
 * and what is missing of all this. docs/FORMAT.md has the bytes.
 *
 * A writer is used by one thread at a time. Times are ns of CLOCK_MONOTONIC, the trace clock.
 */
#ifndef ACCOUNTS_RECORDED_H
#define ACCOUNTS_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts/account.h"
#include "accounts/stats.h"

struct err;
struct outbuf;

#define RECORDED_FILE	   "accounts" /* below kernel/ */
#define RECORDED_BYTES_MAX (512u << 20)
#define RECORDED_TEXT_MAX  4096u
#define RECORDED_TASKS_MAX 50000u /* more threads than these are not asked one by one */

enum recorded_when {
	RECORDED_START,
	RECORDED_EXIT, /* of pressure: in between */
	RECORDED_END,
	RECORDED_WHENS,
};

/* An account of one thread. */
struct recorded_task {
	enum recorded_when when;
	/* It was asked; of an exit: it was heard, which may be a moment later. */
	uint64_t time_ns;
	uint64_t slack_ns;	   /* it was within so much of time_ns */
	struct delays_stats stats; /* tid and tgid are set */
};

/* /proc/PID/task/TID/schedstat */
struct recorded_sched {
	enum recorded_when when;
	uint64_t time_ns;
	int32_t tid;
	int32_t tgid;
	uint64_t run_ns;
	uint64_t queued_ns;
	uint64_t count; /* times it came onto a CPU */
};

/* Pressure stall information: since boot, or since the cgroup was made. */
struct recorded_pressure {
	enum recorded_when when;
	uint64_t time_ns;
	const char *resource; /* "cpu", "memory", "io", "irq" */
	const char *cgroup;   /* "" = the machine */
	bool has_some, has_full;
	uint64_t some_ns; /* some task waited for it */
	uint64_t full_ns; /* nobody else ran meanwhile */
};

/* Time that a hypervisor took from all CPUs since boot, in steps of a clock tick. */
struct recorded_stolen {
	enum recorded_when when;
	uint64_t time_ns;
	uint64_t stolen_ns;
	uint64_t step_ns;
};

/* Exits that were not heard. */
struct recorded_loss {
	uint64_t time_ns; /* noticed */
	uint64_t count;
	const char *cpus;
};

/* ----------------------------------------------------------------------- writing */

/* The head of the file: before everything else. */
void recorded_put_head(struct outbuf *out, const struct delays_account *account, uint64_t time_ns,
		       uint64_t tick_ns);
void recorded_put_task(struct outbuf *out, const struct recorded_task *task);
void recorded_put_sched(struct outbuf *out, const struct recorded_sched *sched);
void recorded_put_pressure(struct outbuf *out, const struct recorded_pressure *pressure);
void recorded_put_stolen(struct outbuf *out, const struct recorded_stolen *stolen);
void recorded_put_loss(struct outbuf *out, const struct recorded_loss *loss);
/* The last record: the recorder came to its end. 'damaged': datagrams that made no sense. */
void recorded_put_end(struct outbuf *out, uint64_t time_ns, uint64_t damaged);

/* ----------------------------------------------------------------------- reading */

struct recorded {
	enum delays_account_state state; /* when the recording began */
	bool since_boot;
	uint64_t begin_ns;
	uint64_t tick_ns; /* between two ticks of the kernel's clock; 0 = not recorded */
	uint64_t end_ns;  /* 0 = the recorder did not come to its end */
	uint64_t damaged;
	struct recorded_task *tasks; /* owned; in the order of the file */
	size_t task_count, task_cap;
	struct recorded_sched *scheds; /* owned */
	size_t sched_count, sched_cap;
	struct recorded_pressure *pressures; /* owned */
	size_t pressure_count, pressure_cap;
	struct recorded_loss *losses; /* owned */
	size_t loss_count, loss_cap;
	uint64_t lost;		  /* exits, of all losses */
	uint64_t first_stolen_ns; /* at the start */
	bool has_stolen;
	uint64_t stolen_ns; /* from the first to the last look at it, a step more */
	char *damage; /* owned; where the file makes no sense, or NULL: what stands before counts */
	char **texts; /* owned */
	size_t text_count, text_cap;
};

/*
 * Read DIR/kernel/accounts of a trace directory. Returns 0; -ENOENT with err filled when this
 * recording has none; -EBADMSG when it is no such file, or another negative errno.
 */
int recorded_read(const char *dir, struct recorded *out_recorded, struct err *err);

/* The same from memory. */
int recorded_parse(const void *bytes, size_t count, struct recorded *out_recorded, struct err *err);

void recorded_fini(struct recorded *recorded);

#endif
