/*
 * ring.h - hand a record on to user space.
 */
#ifndef RECORD_BPF_RING_H
#define RECORD_BPF_RING_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* A ring of 'room' bytes, a power of two. */
#define RING_MAP(name, room)                        \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, room);          \
	} name SEC(".maps")

/* The reader is woken when 'wake_bytes' wait; what finds no room is counted in *lost, and 0 returned. */
static __always_inline int ring_send(void *ring, void *record, __u64 bytes, __u64 room,
				     __u32 wake_bytes, __u64 *lost)
{
	__u64 waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);

	if (bytes > room)
		return 0;
	if (bpf_ringbuf_output(ring, record, bytes,
			       waiting >= wake_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(lost, 1);
		return 0;
	}
	return 1;
}

/* A record with a used part of its text; of 'ring' and 'control' of the program. */
#define RING_SEND(raw)                                                                       \
	ring_send(&ring, raw, offsetof(__typeof__(*(raw)), text) + (__u64)(raw)->text_bytes, \
		  sizeof(*(raw)), control.wake_bytes, &control.lost)

#endif

#endif
