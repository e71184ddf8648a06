/* top_chain.h - what the tasks on the page of holdup top wait for, by looks at them (stuck/stuck.h). */
#ifndef CLI_TOP_CHAIN_H
#define CLI_TOP_CHAIN_H

#include <stdint.h>

struct top_task;
struct top_view;

struct top_chain {
	uint64_t next_ns; /* CLOCK_MONOTONIC: no look before */
};

/* 'context' is a struct top_chain. Looks at the tasks of the page, unless looks cost too much; puts texts into view->waits. */
void top_chain_look(void *context, struct top_view *view);

/* Print what holdup stuck prints of its process, for a pager. */
void top_chain_show(const struct top_task *task);

#endif
