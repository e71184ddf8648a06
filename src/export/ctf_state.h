/*
 * ctf_state.h - what is known beside the events, as events of CTF: see read/ctf/native.h.
 */
#ifndef EXPORT_CTF_STATE_H
#define EXPORT_CTF_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "export/ctf_writer.h"

struct ctf_state;
struct event;
struct facts;

/* Its kinds of events have numbers from 'first' on. NULL when there are not enough of them. */
struct ctf_state *ctf_state_new(uint32_t first, bool big_endian);
void ctf_state_free(struct ctf_state *state);

/* "event { ... };" for the kinds of this stream. */
void ctf_state_print(const struct ctf_state *state, enum ctf_stream_kind stream, FILE *out);

/* All lists of the facts, at their start. */
void ctf_state_put(struct ctf_state *state, struct ctf_writer *writer, const struct facts *facts);

/* EV_FD_NAME */
void ctf_state_put_name(struct ctf_state *state, struct ctf_writer *writer,
			const struct event *event);

#endif
