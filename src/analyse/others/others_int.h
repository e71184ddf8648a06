/* others_int.h - what the files of other lanes share. */
#ifndef ANALYSE_OTHERS_OTHERS_INT_H
#define ANALYSE_OTHERS_OTHERS_INT_H

#include "analyse/others/others.h"
#include "base/map.h"
#include "base/names.h"

#define OTHERS_NONE UINT32_MAX

struct others_locks;

struct others {
	struct others_opts opts;
	struct other_lane *lanes; /* owned */
	size_t lane_count, lane_cap;
	uint32_t in_group[OTHER_GROUP_COUNT];
	uint64_t left_out[OTHER_GROUP_COUNT];
	size_t changes, spans; /* about so many in all lanes, since they were last counted */
	size_t lane_changes, lane_spans; /* then so many of one lane are kept */
	struct names names;
	struct map cpus;	  /* CPU -> lane of its frequency */
	struct map disks, flight; /* device, request -> lane, struct request */
	struct request *requests; /* owned; places are used again */
	size_t request_count, request_cap;
	uint32_t first_free;	      /* index + 1 */
	struct names devices;	      /* of the network */
	struct map network, programs; /* names and direction, process -> lane */
	struct others_locks *locks;   /* owned */
};

/* The lane's index; OTHERS_NONE: the group has no place. 'label' is taken over. */
uint32_t others_new_lane(struct others *others, enum other_group group, enum series_kind kind,
			 char *label);
/*
 * The lane, "WHAT of NAME", of the process of a thread; of the thread, where its process is not known; of all that are
 * unknown, where tid is 0 or less. 'lanes': those of this group.
 */
uint32_t others_lane_of(struct others *others, enum other_group group, const char *what,
			struct map *lanes, int32_t tid, uint64_t time_ns);
void others_set(struct others *others, uint32_t lane, uint64_t time_ns, uint32_t value);
void others_add_amount(struct others *others, uint32_t lane, uint64_t time_ns, uint64_t amount);
void others_put_span(struct others *others, uint32_t lane, const struct other_span *span);

struct others_locks *others_locks_new(struct others *others);
void others_locks_free(struct others_locks *locks);
/* Of the kernel's: contention, and what the recorder told of the lock. */
void others_locks_kernel(struct others_locks *locks, const struct event *event);
void others_locks_lost(struct others_locks *locks, uint64_t time_ns);
void others_locks_name(struct others_locks *locks); /* the lanes */
void others_locks_end(struct others_locks *locks, uint64_t end_ns);

#endif
