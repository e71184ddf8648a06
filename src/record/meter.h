/*
 * meter.h - what a recording costs: CPU time of the recorder, of its BPF programs, and of the events.
 *
 * The kernel counts the time of BPF programs only while somebody has it do so, and that costs every
 * program of the machine a little. So it is switched on for the first second alone, and what they cost
 * later is taken to be as much for each event. A recorder that is always on does so again now and then, and when there
 * are many more events, or fewer. The time of the events is their number times what one was measured to cost.
 */
#ifndef RECORD_METER_H
#define RECORD_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/event_cost.h"

struct bpf_count;
struct manifest;

/* What was counted of it until then. */
struct meter_cpu {
	uint64_t events, at_ns;
};

/* Of BPF programs: how long they ran, and how often. */
struct meter_bpf {
	uint64_t ns, runs;
};

struct meter {
	uint64_t begin_ns;	    /* CLOCK_MONOTONIC; 0 = not begun */
	uint64_t cpu_ns;	    /* of the process until then */
	uint64_t beside_ns;	    /* of processes that work for it, since then */
	int stats_fd;		    /* the kernel counts while it is open; -1 = it does not */
	uint64_t window_at_ns;	    /* CLOCK_MONOTONIC, when what is counted was looked at last */
	struct meter_bpf at_window; /* and what that was */
	struct meter_bpf bpf;	    /* in all windows that are over */
	uint64_t bpf_window_ns;	    /* they took so long; 0 = nothing was measured */
	struct meter_bpf last;	    /* in the last one */
	uint64_t last_ns;	    /* which took so long, */
	uint64_t last_events;	    /* and had so many events */
	uint64_t
		events_at_window; /* until it ended; with the window that is open, until that began */
	uint64_t bpf_end_ns;	  /* CLOCK_MONOTONIC, when they were dropped; 0 = they go on */
	struct bpf_count *always; /* it is always on: who begins more windows; NULL = it is not */
	int *program_fds;	  /* owned; descriptors of programs, as last looked for, */
	size_t program_count, program_cap;
	uint64_t found_ns; /* then */
	struct event_cost cost;
	struct meter_cpu *cpus; /* owned */
	size_t cpu_count;
	struct event_cost_sum sum; /* so far */
};

#define METER_NONE ((struct meter){ .stats_fd = -1 })

/* Recording begins; all BPF programs are loaded. 'always': it is always on; lives longer than the meter. NULL: it is not. */
void meter_begin(struct meter *meter, struct bpf_count *always);

/* Called now and then. */
void meter_look(struct meter *meter);

/* From now on other BPF programs run than before: what they cost is measured anew. */
void meter_bpf_changed(struct meter *meter);

/* Processes that work for the recorder have taken so much CPU time since it began; it never gets less. */
void meter_note_beside(struct meter *meter, uint64_t cpu_ns);

/* The BPF programs will be dropped. */
void meter_bpf_ends(struct meter *meter);

/*
 * By the kernel's count, a CPU has recorded so many events until now, lost ones included, and of those since the
 * last call some were calls'. A count that is smaller than the last one has begun anew.
 */
void meter_count(struct meter *meter, uint32_t cpu, uint64_t events, bool has_calls);

/* CPU time of all that it cost until now. */
uint64_t meter_spent_ns(const struct meter *meter);

/* Of that, of events in the programs that are recorded; what BPF programs cost there is not in it. */
uint64_t meter_events_ns(const struct meter *meter);

/* Tell the manifest what it cost until now. */
void meter_tell(const struct meter *meter, struct manifest *manifest);

/* Recording is over: the same. */
void meter_end(struct meter *meter, struct manifest *manifest);

void meter_fini(struct meter *meter);

#endif
