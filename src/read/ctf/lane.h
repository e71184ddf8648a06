/*
 * lane.h - the packets of one stream of CTF as a lane of events.
 *
 * Contents are read with pread(), a window at a time: a file that shrinks under us costs its
 * end, never a signal. Damage within a packet costs the rest of that packet.
 */
#ifndef READ_CTF_LANE_H
#define READ_CTF_LANE_H

#include <stdbool.h>
#include <stdint.h>

struct ctf_lane;
struct ctf_packets;
struct kernel_events;
struct lane;
struct vtid_process;
struct vtids;

/* What all lanes share; must live as long as they do. */
struct ctf_common {
	int64_t origin_ns;		    /* see ctf_time.h */
	uint64_t first_ns;		    /* recording began */
	uint64_t end_ns;		    /* recording ended */
	uint8_t context;		    /* event.context of holes */
	const struct kernel_events *events; /* of native events; NULL = there are none */
};

/* A lane over 'packets', which must outlive it. 'cpu': for packets that do not tell theirs. */
struct ctf_lane *ctf_lane_new(const struct ctf_packets *packets, const struct ctf_common *common,
			      uint16_t cpu, uint16_t number);
struct lane *ctf_lane_lane(struct ctf_lane *lane);

/* Its events (EV_CTX_VTID) are of that process, which is copied, and its threads are those in 'vtids'. */
void ctf_lane_set_process(struct ctf_lane *lane, const struct vtid_process *process,
			  const struct vtids *vtids);

/* Time of the first and last event, ns. False when there is none. The lane is at its start. */
bool ctf_lane_span(struct ctf_lane *lane, uint64_t *out_first_ns, uint64_t *out_last_ns);

/* Place of a record: which lane, and the bit in its stream. */
#define CTF_PLACE_SHIFT 48

/* The time of the record at this place. False when there is none. The lane is left as it is. */
bool ctf_lane_time_at(const struct ctf_lane *lane, uint64_t place, uint64_t *out_ns);

#endif
