/*
 * native.h - CTF that holdup wrote itself: its events are the kernel's records, as they were.
 *
 * holdup export --format ctf writes each event as the record that its reader had, field by field, so
 * that any reader of CTF understands it. The kernel's own format text of the event goes along, in
 * model.emf.uri:
 *
 *	holdup:?record=KIND&title=SYSTEM/EVENT&text=FORMAT
 *
 * So we read the record back where it lies in the packet, and everything above the reader gets
 * what it got from the original:
 *
 *	event header   u64 timestamp, u16 id
 *	               2 bytes of padding
 *	event context  u16 record_bytes, u16 tail_count
 *	               u16 common_type, u8 common_flags, u8 common_preempt_count, s32 common_pid
 *	               └─ the record begins here
 *	event fields   the rest of the record
 *
 * What is known beside the events is a stream of events, too: one kind for each list of struct
 * facts. All numbers in it are 8 bytes, texts are located by a word of 4.
 */
#ifndef READ_CTF_NATIVE_H
#define READ_CTF_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ctf_event;
struct ctf_lane;
struct ctf_meta;
struct event;
struct facts;
struct formats;
struct kernel_events;
struct trace_record;

#define CTF_NATIVE_URI	    "holdup:?record="
#define CTF_NATIVE_VERSION  1
#define CTF_NATIVE_BEFORE   16u /* bytes of an event before its record */
#define CTF_NATIVE_HEADER   10u /* of these, the event header */
#define CTF_NATIVE_MIN	    8u	/* bytes of the shortest record */
#define CTF_NATIVE_MAX_KIND 65535u

enum ctf_native {
	CTF_NATIVE_NOT,
	CTF_NATIVE_KERNEL, /* of a kernel, with its format */
	CTF_NATIVE_MADE,   /* of another tracer; the format was made by a reader */
	CTF_NATIVE_USER,   /* of a program, beside the kernel's */
	CTF_NATIVE_NAME,   /* EV_FD_NAME */
	CTF_NATIVE_STATE,  /* of the state dump */
	CTF_NATIVE_TOLD,   /* as MADE, with what its reader told of it: ctf_told.h */
	CTF_NATIVE_COUNT
};

/* "kernel", "made" ... as in the URI. */
const char *ctf_native_name(enum ctf_native native);

struct ctf_native_kind {
	enum ctf_native native;
	char *title; /* owned: free() */
	const char *text;
};

/* What the URI says; native is CTF_NATIVE_NOT when it is none of ours. */
struct ctf_native_kind ctf_native_parse(const struct ctf_event *event);

/*
 * Set event->native, ->number and ->base, and add the format to 'formats'. Returns false when it
 * is not one of ours, or cannot be.
 */
bool ctf_native_bind(struct ctf_meta *meta, struct ctf_event *event, struct formats *formats,
		     struct facts *facts);

/* The highest number of a kind of ours in 'meta'; 0 = it has none. */
uint32_t ctf_native_kinds(const struct ctf_meta *meta);

/* Does any event of it pass for the kernel's? */
bool ctf_native_has_kernel(const struct ctf_meta *meta);

/* The event of the record. False when it is damaged. 'events' is of all formats. */
bool ctf_native_decode(const struct ctf_event *kind, const struct kernel_events *events,
		       const struct trace_record *record, struct event *out_event);

/* ------------------------------------------------------------------ state */

enum ctf_state_type {
	CTF_STATE_I32,
	CTF_STATE_U32,
	CTF_STATE_U64,
	CTF_STATE_I64,
	CTF_STATE_U8, /* char, role, bool */
	CTF_STATE_TEXT,
};

struct ctf_state_field {
	const char *name;
	uint16_t offset; /* in the struct */
	uint8_t type;	 /* enum ctf_state_type */
};

/* A list of struct facts. */
struct ctf_state_list {
	const char *event; /* "holdup_thread" */
	const struct ctf_state_field *fields;
	uint16_t field_count;
	uint16_t item_bytes;
	uint16_t items_offset; /* in struct facts; the pointer and the count */
	uint16_t count_offset;
};

extern const struct ctf_state_list ctf_state_lists[];
extern const size_t ctf_state_list_count;

/* The format text of the events of a list: all fields in places of 8 bytes from byte 8 on. */
void ctf_state_format(FILE *out, const struct ctf_state_list *list, uint32_t id);

/* EV_FD_NAME as a record: the same. */
extern const char ctf_name_format[]; /* a printf format for its number */

/* Facts of the machine and of the recording, from env. True when holdup wrote it. */
bool ctf_state_env(const struct ctf_meta *meta, struct facts *facts);

/* Read the events of a lane of the dump into the facts. */
void ctf_state_read(struct ctf_lane *lane, const struct ctf_meta *meta,
		    const struct formats *formats, struct facts *facts);

#endif
