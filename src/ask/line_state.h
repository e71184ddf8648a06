/*
 * line_state.h - the control-flow stack of each event's thread, as text.
 *
 *	user > read > softirq NET_RX
 *
 * Of an event that begins something, as it has begun; of one that ends something, as it
 * was before. Memory stays flat: what the engine writes goes to a file without a name.
 */
#ifndef ASK_LINE_STATE_H
#define ASK_LINE_STATE_H

struct err;
struct event;
struct facts;
struct line_state;

/* 'facts' must outlive it. Returns 0, or negative with err filled: there is no such file. */
int line_state_new(const struct facts *facts, struct line_state **out_state, struct err *err);
void line_state_free(struct line_state *state);

/* Take the event and return the text; valid until the next call. */
const char *line_state_feed(struct line_state *state, const struct event *event);

#endif
