/*
 * charge_add.h - roots, hops and flows, while time is added to them: between charge.c and charge_add.c.
 */
#ifndef ANALYSE_WHY_CHARGE_ADD_H
#define ANALYSE_WHY_CHARGE_ADD_H

#include "analyse/why/charge_int.h"
#include "analyse/why/why_int.h"
#include "base/map.h"

/* What leads from a wait to the next hop, beside the wait. */
struct led {
	uint32_t lock, owner, inferred; /* as those of a node */
	bool known;			/* 'inferred' is: it had the file lock */
};

#define MEMO 1024 /* of each kind; a power of two */

/* All of a wait that its hop is made of; without padding, for it is compared as bytes. */
struct hop_key {
	uint32_t parent, slot, waker, in, object, flags, name, word, below, lock, owner, origin,
		inferred, by;
	int32_t fd;
	uint8_t kind, signal, woken, origin_kind;
	const struct stack_futex *futex; /* that the object is */
};

struct hop_memo {
	struct hop_key key;
	uint32_t node; /* number + 1; 0 = empty */
};

struct flow_memo {
	uint64_t key;
	uint32_t flow; /* index + 1; 0 = empty */
};

struct word_memo {
	uint32_t word;
	uint32_t text; /* id + 1; 0 = empty */
};

#define WHATS 31

struct what_memo {
	const char *text; /* NULL = empty */
	uint32_t id;
};

struct charger {
	struct query *query;
	uint32_t waited;	/* stack of the target's wait that is being charged; STACK_NONE */
	struct tl_interval own; /* of the target: what is being charged */
	struct client client;
	struct what_memo what_memo[WHATS];
	uint32_t root_memo[MEMO]; /* by hash; index + 1 */
	struct flow_memo flow_memo[MEMO];
	struct hop_memo hop_memo[MEMO];
	struct word_memo word_memo[MEMO];
	uint32_t reason_memo[WHY_REASON_KINDS]; /* of reasons that are only a kind; 0 = empty */
	uint32_t unsure_memo[8];		/* of those of time that is uncertain */
	uint32_t scheduled_key, scheduled;	/* how two threads are scheduled; the reason */
	uint32_t allowed_key, allowed;		/* the CPUs that one may use; the reason */
	struct root *roots;
	size_t root_count, root_cap;
	struct node *nodes;
	size_t node_count, node_cap;
	struct flow *flows;
	size_t flow_count, flow_cap;
	struct map root_index, node_index, flow_index; /* hash of the key -> index + 1 */
};

/* Where on the way down a charge happens. */
struct place {
	uint32_t node;	 /* the hop that led here; NODE_NONE at the target itself */
	uint32_t depth;	 /* 0 = the target */
	uint8_t class;	 /* enum why_class of the target's own wait */
	bool lock;	 /* the wait that led here was for a lock */
	uint32_t object; /* of that wait, text id */
	bool no_name;	 /* as of a root; of 'object' */
	uint32_t owner;	 /* slot: had the lock of that wait, and waits above; SLOT_NONE = no such */
	uint32_t inferred; /* reason: from what the way here is; 0 = it is known */
	uint32_t server;   /* slot: is at work for the requests of a disk; SLOT_NONE = no such */
	uint32_t served;   /* text: that disk, and the file behind it */
	uint64_t until_ns; /* it woke whoever waits for it then; 0 = that is not what led here */
	uint64_t acted_ns; /* what led here is what the thread did then; 0 = it is another thing */
};

#define KEPT_OFF_MAX 16 /* threads without a CPU, and clients, that are told apart */

uint32_t charge_text(struct charger *charger, const char *text);
/* The same for a text that is a constant. */
uint32_t charge_what(struct charger *charger, const char *text);
/* A reason that has nothing beside its kind; and why the states of a thread are not known. */
uint32_t charge_reason(struct charger *charger, enum why_reason_kind kind);
uint32_t charge_unsure(struct charger *charger, uint32_t unsure);
uint32_t charge_add(struct charger *charger, const struct place *place, struct root key,
		    uint64_t ns);
void charge_part(struct root *root, uint32_t id, uint64_t ns);
/* Waits alike make the same hop: its texts are not made again. */
uint32_t charge_hop(struct charger *charger, const struct place *place, uint32_t slot,
		    const struct wait *wait, const struct led *led);
/* Who had the kernel lock that it asked for, as the recorder read out of the lock. */
void charge_note_holder(struct charger *charger, struct node *node, const struct wait *wait);
/* The text of a state word; there are few of them, and they come again and again. */
uint32_t charge_word_text(struct charger *charger, uint32_t word);

/* charge_open.c: what the root's wait was in, and for what. */
void root_in(struct charger *charger, struct root *root, const struct wait *wait);
void root_for(struct charger *charger, struct root *root, uint32_t slot, const struct wait *wait);
/* What was awaited did not come: what happened 'instead'; NULL = nothing tells what ended the wait. */
void charge_open(struct charger *charger, const struct place *place, uint32_t slot,
		 const struct wait *wait, const struct why_reason *instead, uint64_t ns);
void charge_grace(struct charger *charger, const struct place *place, uint32_t slot,
		  const struct wait *wait, enum why_reason_kind grace, uint64_t ns);

/* charge_cpu.c: nothing tells, for that reason; interrupts and softirqs; runnable without a CPU. */
uint32_t charge_unknown(struct charger *charger, const struct place *place, uint32_t slot,
			enum why_reason_kind why, uint64_t ns);
void charge_irq(struct charger *charger, const struct place *place, const struct tl_interval *in);
void charge_queue(struct charger *charger, const struct place *place, uint32_t slot,
		  const struct tl_interval *in);

#endif
