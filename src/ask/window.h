/*
 * window.h - a moment as the user names it: --from and --to.
 *
 *	12.345                  seconds on the trace clock
 *	+1.2s  +300ms  +2       since the start of the recording
 *	14:03:12.5              wall clock, local time, day of the recording
 *	2026-01-02T14:03:12.5   the same with its day
 *	1@3f20                  the event at this place of the trace, as holdup list prints it
 *	sys_enter:id == 257     an event: the first match for --from, the last for --to
 *	first:EXPR  last:EXPR   the same, chosen
 */
#ifndef ASK_WINDOW_H
#define ASK_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct facts;
struct loaded;
struct trace;

enum when_kind {
	WHEN_NONE, /* not given */
	WHEN_TRACE_CLOCK,
	WHEN_SINCE_START,
	WHEN_WALL_CLOCK,
	WHEN_EVENT,
	WHEN_PLACE,
};

struct when {
	enum when_kind kind;
	uint64_t ns;  /* trace clock, since start: the time; wall clock: part of a second;
		       * place: in the stream of 'cpu', in bytes */
	uint32_t cpu; /* place */
	int32_t year; /* wall clock; 0 = the day of the recording */
	int32_t month, day, hour, minute, second;
	const char *event; /* expression; a view into the text parsed */
	bool last;	   /* event: the last match */
	bool is_chosen;	   /* event: first: or last: was given */
};

/*
 * Parse 'text' (NULL gives WHEN_NONE). 'is_end' decides which match of an event is
 * meant by default. Returns 0, or -EINVAL with err filled. What is no time is taken
 * for an event expression; whether it is one shows when it is looked for.
 */
int when_parse(const char *text, bool is_end, struct when *out_when, struct err *err);

/*
 * The moment on the trace clock, for the kinds that are times. Returns 0 and
 * *out_ns, or -ERANGE with err filled when the recording cannot tell or the moment
 * lies outside of it by more than a day of wall clock.
 */
int when_resolve(const struct when *when, const struct facts *facts, uint64_t *out_ns,
		 struct err *err);

/*
 * The same of all kinds, in this trace: an event is looked for at or after 'from_ns'. 'otherwise'
 * when nothing was given. Returns 0 and *out_ns, or negative with err filled; -ENOENT: no such event.
 * A time of the trace's clock needs no trace: NULL then.
 */
int when_find(struct trace *trace, const struct when *when, uint64_t from_ns, uint64_t otherwise,
	      uint64_t *out_ns, struct err *err);

/*
 * The window of --from and --to, cut to the recording; what was not given is where the recording
 * begins or ends. Returns 0, or negative with err filled; -EINVAL: nothing of it was recorded.
 */
int when_window(const struct loaded *loaded, const struct when *from, const struct when *to,
		uint64_t *out_start_ns, uint64_t *out_end_ns, struct err *err);

#endif
