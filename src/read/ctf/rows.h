/*
 * rows.h - names of events and fields of the tracers that write CTF, and what they are.
 */
#ifndef READ_CTF_ROWS_H
#define READ_CTF_ROWS_H

#include <stdint.h>

struct ctf_event;
struct ctf_meta;
struct facts;

/*
 * Fill event->base, and ctf_type.target of its fields. 'system' is the title's first part; it
 * and everything else must live as long as the event.
 */
void ctf_rows_bind(struct ctf_meta *meta, struct ctf_event *event, const char *system,
		   const char *name, struct facts *facts);

/*
 * Split the name of an event: "lttng_ust_libc:malloc" is of system "lttng_ust_libc". Events
 * without a colon are of the tracer's: "kernel", "ust" ... Both are kept in the arena.
 */
void ctf_rows_title(struct ctf_meta *meta, const struct ctf_event *event, const char **out_system,
		    const char **out_name);

/* What stands for the tracer in titles: "kernel" for LTTng's, else "ctf". */
const char *ctf_rows_tracer(const struct ctf_meta *meta);

/*
 * LTTng does not tell the machine: the one that has the most of the system calls that the
 * trace names. Never NULL.
 */
const char *ctf_rows_arch(const struct ctf_meta *meta);

#endif
