/*
 * events.h - from the kernel's binary records to struct event.
 *
 * At open, the format text of each event is compiled to a short list of loads: from
 * which offset of the record to which member of struct event, and how. Decoding a
 * record then looks nothing up and allocates nothing. Everything comes from the
 * format texts of the recording; nothing is assumed of this machine's kernel.
 *
 * Whether a system call was a 32-bit one is not in the raw_syscalls events; it stays
 * false here.
 *
 * Read-only once made: any number of threads may decode at once.
 */
#ifndef READ_KERNEL_EVENTS_H
#define READ_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct facts;
struct formats;
struct kernel_events;
struct record;

/*
 * Compile all formats. What cannot be used is noted as damage; its events come as
 * EV_OTHER. 'formats' must live as long as the result. Free with kernel_events_free().
 */
struct kernel_events *kernel_events_new(const struct formats *formats, bool big_endian,
					struct facts *facts);
void kernel_events_free(struct kernel_events *events);

/*
 * Let events of the types in 'types' (bit = enum event_type) come as EV_OTHER: somebody else
 * tells the same. Before anything is decoded.
 */
void kernel_events_only_list(struct kernel_events *events, const struct formats *formats,
			     uint64_t types);

/* The shortest record there can be: the kernel's common fields. */
#define KERNEL_EVENT_MIN_BYTES 8

/* The event's number in 'record', which has at least KERNEL_EVENT_MIN_BYTES. */
uint16_t kernel_events_id(const struct kernel_events *events, const struct record *record);

/*
 * Fill *out_event, except for its time and CPU. Returns false when the record is
 * shorter than its format says; *out_event is then not to be used. Strings are views
 * into the record.
 */
bool kernel_events_decode(const struct kernel_events *events, const struct record *record,
			  struct event *out_event);

#endif
