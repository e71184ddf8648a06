/*
 * line.h - one line of a trace that is text: who, where, when, and what it tells.
 *
 *	bash-1977    ( 1977) [000] d..2. 1234.567890: sched_switch: prev_comm=...	trace, trace_pipe
 *	bash-1977  [000]  1234.567890123: sched_switch:  bash:1977 [120] S ==> ...	trace-cmd report
 *	bash  1977 [000]  1234.567890: sched:sched_switch: prev_comm=...		perf script
 *	bash-1977    0d..2 1234567us : sched_switch: ...				latency format
 *
 * Nothing in a line is trusted; what is no event is told apart by 'kind'.
 */
#ifndef READ_TEXT_LINE_H
#define READ_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX_CPUS 8192u

enum text_line_kind {
	TEXT_NOISE,    /* empty, a comment, or what tools print around events */
	TEXT_EVENT,    /* "NAME: ..." */
	TEXT_ENTER,    /* "sys_NAME(...)": the event of one system call */
	TEXT_EXIT,     /* "sys_NAME -> 0x0" */
	TEXT_FUNCTION, /* "function <-caller" */
	TEXT_STACK,    /* "<stack trace>" */
	TEXT_LOST,     /* "CPU:3 [LOST 17 EVENTS]" */
	TEXT_FRAME,    /* " => function": belongs to the stack before it */
	TEXT_GRAPH,    /* of the function graph tracer: has no time */
	TEXT_UNKNOWN,  /* none of these */
};

/* Views into the line. */
struct text_view {
	const char *at;
	size_t bytes;
};

struct text_line {
	uint8_t kind;	 /* enum text_line_kind */
	uint8_t context; /* enum event_context bits */
	uint8_t flags;	 /* as common_flags of the kernel's records */
	uint8_t preempt; /* depth, and that of migration << 4 */
	bool is_counter; /* the time has no point: of a clock that counts something */
	uint32_t cpu;
	int32_t tid;
	int32_t tgid; /* -1 = not told */
	uint64_t time_ns;
	uint64_t lost; /* TEXT_LOST: events; 0 = not told */
	struct text_view comm;
	struct text_view name; /* "sched_switch", "sched:sched_switch"; of calls without "sys_" */
	struct text_view text; /* behind it */
};

/* Understand a line of 'bytes', which has no line break. */
void text_line_parse(const char *line, size_t bytes, struct text_line *out_line);

/* Numbers at the start of a view, which moves behind them. False when there is none that fits. */
bool text_take_number(struct text_view *view, uint64_t *out_number);
bool text_take_hex(struct text_view *view, uint64_t *out_number);

/* Leave out the blanks at the start. */
void text_skip_blanks(struct text_view *view);

bool text_begins(const struct text_view *view, const char *prefix);
bool text_is(struct text_view view, const char *word);

#endif
