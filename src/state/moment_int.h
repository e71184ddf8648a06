/*
 * moment_int.h - what the files of moment.h share: what a line of each kind may hold.
 *
 * It is one table for each kind, of places in an image: the saver fills images and prints what
 * differs from an empty one; the loader fills images from lines and takes them over. Slots and name
 * ids are of the engine that saves; lines have the numbers of the one, and the texts of the other.
 */
#ifndef STATE_MOMENT_INT_H
#define STATE_MOMENT_INT_H

#include "state/moment.h"
#include "state/state_int.h"

#define MOMENT_MAX_NAME 4096u
#define MOMENT_MAX_CPU	8191u
#define MOMENT_MAX_TID	(1 << 30)

enum type {
	TYPE_U8,
	TYPE_BOOL,
	TYPE_U32,
	TYPE_I32,
	TYPE_U64,
	TYPE_I64,
	TYPE_NAME,
	TYPE_SLOT,
	TYPE_WORD,
	TYPE_FRAMES,
	TYPE_ARGS,
	TYPE_ACTOR,
};

struct moment_field {
	const char *key;
	uint16_t offset;
	uint8_t type; /* enum type */
	uint8_t bytes;
};

/* What the lines of each kind are about. */
struct thread_image {
	uint32_t id;
	int32_t tid, tgid;
	uint32_t comm;
	uint32_t parent;
	uint32_t word;
	bool dead; /* only others' lines name it */
	bool kernel, born, has_wait;
	struct thread thread;
	struct wait wait;
};

struct cpu_image {
	uint32_t number;
	struct cpu cpu;
};

struct pending_image {
	uint8_t which; /* enum pending_kind */
	uint64_t key;
	struct actor actor;
};

struct setter_image {
	uint64_t timer;
	uint32_t slot;
};

struct lock_image {
	uint64_t address;
	struct known_lock known;
};

struct all_image {
	bool has_wakings, no_irqs, timers_end;
	uint32_t cpus; /* so many are there, seen or not */
};

struct end_image {
	uint32_t id;
	int32_t tid;
	uint32_t comm, cmdline; /* the last that were seen of it */
	uint32_t word;		/* what it was in at the end */
	uint32_t cpu;		/* WORD_RUN: where, */
	uint64_t since_ns;	/* and since when; or since when it is WORD_UNCERTAIN */
	uint32_t fault;		/* 1: within a page fault; its sleep told that, behind the end */
	struct wait wait;
};

struct ran_image {
	uint32_t id, cpu; /* where the thread came onto a CPU last */
};

struct hole_image { /* begun before the end, and over only behind it */
	uint32_t cpu;
	uint64_t since_ns;
	uint64_t lost; /* events; 0 = unknown number */
};

struct other_image {
	uint32_t id;
	int32_t tid, tgid;
	uint32_t comm, cmdline;
	uint32_t parent;
	bool kernel, born;
};

enum pending_kind {
	PENDING_WORK,
	PENDING_PACKET,
	PENDING_REQUEST,
	PENDING_COUNT
};

union moment_image {
	struct thread_image thread;
	struct cpu_image cpu;
	struct pending_image pending;
	struct setter_image setter;
	struct all_image all;
	struct end_image end;
	struct other_image other;
	struct ran_image ran;
	struct hole_image hole;
	struct lock_image lock;
};

enum moment_line_kind {
	LINE_THREAD,
	LINE_CPU,
	LINE_PENDING,
	LINE_SETTER,
	LINE_ALL,
	LINE_END,
	LINE_OTHER,
	LINE_RAN,
	LINE_HOLE,
	LINE_LOCK,
	LINE_COUNT
};

struct moment_line {
	const char *name;
	const struct moment_field *fields;
	size_t field_count;
};

#define MOMENT_ACTOR_FIELDS 7u

extern const struct moment_field moment_actor_fields[MOMENT_ACTOR_FIELDS];
extern const struct moment_line moment_lines[LINE_COUNT];
extern const char *const moment_word_names[WORD_KIND_COUNT];

/* The argument of such a word is a name id. */
static inline bool moment_has_name(enum word_kind kind)
{
	return kind == WORD_IRQ || kind == WORD_WORK;
}

/* What a line without any key says. */
union moment_image moment_empty(enum moment_line_kind kind);

#endif
