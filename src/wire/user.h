/*
 * user.h - what libholdup writes: packets of user events, one process's, one CPU's.
 *
 * A packet is CTF 1.8 as it lies in memory: the writers' last step is to set content_bits.
 * So a file is a valid stream at any moment, also when its process is killed.
 *
 *	segment file: | packet | packet | packet | ...		(USER_PACKET bytes each)
 *	packet:       | header, 108 bytes | event | event | ... | free |
 *	event:        | 16-bit id, 48-bit time | 32-bit thread | fields |
 *
 * Packets that have not begun have begin = USER_NOT_BEGUN + number: later than all others, so
 * that times never go back in a stream.
 */
#ifndef WIRE_USER_H
#define WIRE_USER_H

#include <stddef.h>
#include <stdint.h>

#define USER_PACKET	   (128u << 10)
#define USER_MAGIC	   0xc1fc1fc1u
#define USER_NOT_BEGUN	   (UINT64_C(1) << 61)
#define USER_CLOSED	   (UINT64_C(1) << 63) /* in user_packet.reserved: no room any more */
#define USER_EVENT_HEAD	   12
#define USER_CONTROL_MAGIC 0x504c4f48u

struct user_packet {
	uint32_t magic;
	uint8_t uuid[16];  /* of the trace */
	uint32_t stream;   /* 0 */
	uint64_t instance; /* the CPU: files of one CPU are one stream */
	/*
	 * Where there are no restartable sequences: bytes of the packet that are given out, and
	 * those that are written. While they differ, some event is half-written.
	 */
	uint64_t reserved;
	uint64_t committed;
	uint64_t spare[2];
	/* Packet context. */
	uint64_t content_bits; /* published: everything before it is whole */
	uint64_t packet_bits;
	uint64_t begin;	 /* time; of no event in the packet it is later */
	uint64_t lost;	 /* events of this stream lost so far, those behind the last event too */
	uint64_t number; /* of the packet in its stream */
	uint32_t cpu;
	uint32_t pad;
};

#define USER_HEAD offsetof(struct user_packet, pad) /* bytes of an empty packet */

#endif
