/*
 * ladder.h - a recording keeps to its budget: events go off and on, and the trace tells when.
 *
 * Down: the step begins before the first event is switched off. Up: when the last one is on. Between,
 * events of those kinds may come, and count for nothing. BPF programs that tell of system calls and of
 * code are ended at the first step down, and stay so; from then on another one tells of those that threads wait in.
 */
#ifndef RECORD_LADDER_H
#define RECORD_LADDER_H

#include <stdbool.h>
#include <stdint.h>

struct event_set;
struct manifest;
struct session;

/* Are there events in the set that the step without calls leaves out? */
bool ladder_has_calls(const struct event_set *set);

/*
 * Switch the events of an instance from the step that the manifest tells, or all, to 'step' (enum
 * record_step), and note it in the manifest. 'cost_ppm': what recording cost before.
 */
void ladder_go(int instance_fd, const struct event_set *set, struct manifest *manifest,
	       uint32_t step, uint32_t cost_ppm);

/* By the kernel's count, a CPU has recorded so many events until now, lost ones included: add what they cost. */
void ladder_count(struct session *session, uint32_t cpu, uint64_t events);

/* The same, by the kernel's numbers of each CPU, which the manifest gets. */
void ladder_count_all(struct session *session);

/*
 * With a budget: look, and go up or down. Returns whether the step is another one now; what is kept of
 * the session is to be written again then.
 */
bool ladder_judge(struct session *session);

/* Tell the manifest what it cost since the first look. */
void ladder_tell(const struct session *session, struct manifest *manifest);

/* Count, and with a budget judge, of a session that is read. Called each BUDGET_LOOK_NS, or more often. */
void ladder_look(struct session *session);

#endif
