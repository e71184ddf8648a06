/*
 * list_state.h - the control-flow stack of each event's thread, as text.
 *
 *	user > read > softirq NET_RX
 *
 * Of an event that begins something, as it has begun; of one that ends something, as it
 * was before. Memory stays flat: what the engine writes goes to a file without a name.
 */
#ifndef CLI_LIST_STATE_H
#define CLI_LIST_STATE_H

struct err;
struct event;
struct facts;
struct list_state;

/* 'facts' must outlive it. Returns 0, or negative with err filled: there is no such file. */
int list_state_new(const struct facts *facts, struct list_state **out_state, struct err *err);
void list_state_free(struct list_state *state);

/* Take the event and return the text; valid until the next call. */
const char *list_state_feed(struct list_state *state, const struct event *event);

#endif
