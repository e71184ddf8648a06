/*
 * charge_int.h - what was charged, while it is added up: between charge.c and charge_result.c.
 */
#ifndef ANALYSE_WHY_CHARGE_INT_H
#define ANALYSE_WHY_CHARGE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct query;
struct tl_interval;
struct wait;
struct why_codes;
struct why_span;

#define NODE_NONE UINT32_MAX

/*
 * What a thread worked at (id: state word), what a disk was asked for (id: text), or who had no CPU
 * (id: slot).
 */
struct part {
	uint32_t id;
	uint64_t ns;
};

/* Time at a place in code. */
struct code_part {
	uint32_t place; /* of struct why_code; of samples with CODE_WORK */
	uint32_t stack;
	uint64_t ns;
	uint64_t longest_ns; /* of one that 'stack' is of */
};

/* A root while it is added up; texts and reasons are ids of the result. */
struct root {
	uint8_t kind;  /* enum why_kind */
	uint8_t class; /* enum why_class */
	uint32_t slot;
	uint32_t what, object, reason;
	uint32_t inferred; /* reason: from what is it that it held anybody up; 0 = it is known */
	uint64_t ns, count, longest_ns;
	struct part *parts; /* owned; 'what' or 'object' is made of them at the end */
	size_t part_count, part_cap;
	struct part *clients; /* owned; whose requests it worked at (id: slot) */
	size_t client_count, client_cap;
	struct part *told; /* owned; what it said of itself meanwhile (id: text) */
	size_t told_count, told_cap;
	struct code_part *waited; /* owned; where the target waited meanwhile */
	size_t waited_count, waited_cap;
	struct code_part *code; /* owned; where 'slot' was meanwhile */
	size_t code_count, code_cap;
	uint32_t kept_off;  /* slot; SLOT_NONE = several, or the target */
	uint32_t what_data; /* reason: as in struct why_root; of shares, made at the end */
	uint32_t objects;   /* as there; made at the end */
	bool timed_out, is_call, no_name; /* as there; follow from what and object */
	bool in_circle;			  /* as in struct why_root; follows from reason */
	struct why_span *spans;		  /* as in struct why_root; go there at the end */
	size_t span_count, span_cap;
};

struct node {
	uint32_t parent;
	uint32_t slot;
	uint32_t waker; /* slot; SLOT_NONE = hardware or unknown */
	uint32_t what, object, woken_by;
	uint32_t woken_by_data; /* reason: as of a hop */
	uint32_t lock;		/* text; 0 = the program told of none */
	uint32_t owner;		/* slot: had the lock; SLOT_NONE = the waker is followed */
	uint32_t
		inferred; /* reason: from what follows that 'answerer' is; 0 = the wait's end tells */
	uint32_t answerer; /* slot; of what is inferred */
	uint32_t
		holder; /* slot: had the kernel lock when it was asked for; SLOT_NONE = not known */
	uint32_t holding; /* text: what that one was in then */
	bool many_held;	  /* one of them did at one time, another one at another */
	bool halted;	  /* as wait_halted() */
	bool by_packet;	  /* that came in ended its waits */
	bool is_call, no_name, woken_by_call, holding_call; /* as of a hop */
	bool known; /* it is not: that one had the file lock */
	uint64_t count;
	uint64_t slices;     /* that were joined to these waits, beside the last one of each */
	uint64_t counted_ns; /* where the wait began that was counted last */
	uint32_t helper;     /* reason: what ended it for others; 0 = nothing of that kind */
	uint32_t
		expects; /* slot: who could have brought what did not come; SLOT_NONE = not known */
	uint32_t expects_by; /* reason: from what that is inferred; 0 = it is known */
	bool in_circle;	     /* and that one waits for it, maybe through others */
	uint32_t
		instead; /* reason: what happened, for what it waited for did not come; 0 = it did */
	struct part *told; /* owned; what it said that it waited for (id: text, ns: how often) */
	size_t told_count, told_cap;
	struct part *woke; /* owned; the same of who ended the waits */
	size_t woke_count, woke_cap;
	struct code_part *code; /* owned; where it waited */
	size_t code_count, code_cap;
	struct code_part *woken_in; /* owned; where who woke it was meanwhile */
	size_t woken_in_count, woken_in_cap;
};

/* Time of one root through one hop. */
struct flow {
	uint32_t root, node;
	uint64_t ns;
};

/* All of it; a view. */
struct charged {
	struct query *query;
	struct root *roots; /* are given their texts */
	size_t root_count;
	const struct node *nodes;
	size_t node_count;
	const struct flow *flows;
	size_t flow_count;
};

/*
 * charge_told.c: what threads said of themselves at known points, added up where it belongs: of a
 * root's work during 'in', of a root that is a sleep or a wait in vain, of a hop's wait and of who
 * ended it. Nothing, where they said nothing.
 */
void told_work(struct query *query, struct root *root, uint32_t slot, const struct tl_interval *in);
void told_root(struct query *query, struct root *root, uint32_t slot, const struct wait *wait,
	       uint64_t ns);
void told_wait(struct query *query, struct node *node, uint32_t slot, const struct wait *wait);

/*
 * charge_code.c: where in its code a thread was in a wait: a stack of facts->stacks; STACK_NONE = not known. A part
 * of samples has the time from one to the next.
 */
#define CODE_WORK (1u << 31)

struct code_list {
	struct code_part **parts;
	size_t *count, *cap;
};

void code_add(const struct code_list *list, uint32_t place, uint32_t stack, uint64_t ns);
void code_root(const struct query *query, struct root *root, uint32_t stack,
	       uint64_t ns); /* of the target's wait */
void code_node(const struct query *query, struct node *node, uint32_t slot,
	       const struct wait *wait);
/* What who is charged did: it worked during 'in', as samples say, or waited. */
void code_work(const struct query *query, struct root *root, uint32_t slot,
	       const struct tl_interval *in);
void code_sleep(const struct query *query, struct root *root, uint32_t slot,
		const struct wait *wait, uint64_t ns);
/* A span of work that is charged, and that there are no more: for who asked for them. */
void code_span(const struct query *query, uint32_t slot, const struct tl_interval *in);
void code_spans_end(const struct query *query);
struct why_codes code_result(const struct code_part *parts, size_t count);

/* The same, owned; NULL = no part. */
struct why_codes *code_owned(const struct code_part *parts, size_t count);
/* The same of a root: samples stand for all of its time, unless much of it had none. */
struct why_codes code_root_result(const struct root *root);

/* charge_result.c: fills roots and chain of the result, and paths if they are wanted. */
void charge_publish(const struct charged *charged);

#endif
