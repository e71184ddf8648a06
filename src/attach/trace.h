/*
 * trace.h - the files that a process's libholdup left: cut them clean, or copy what is whole.
 *
 * A folder has 'metadata' and files cpuN-NNNNNN of packets (wire/user.h). At any moment it is a
 * valid trace, but for what a process that died left at the end: packets that were never begun,
 * hidden files, the end of a description that was not written to its end.
 */
#ifndef ATTACH_TRACE_H
#define ATTACH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct user_packet;

enum user_packet_state {
	USER_PACKET_BEGUN,
	USER_PACKET_NOT_BEGUN,
	USER_PACKET_BAD,
};

/* Of the head of a packet, which may be anything: of one that is not bad all sizes are possible. */
enum user_packet_state user_packet_state(const struct user_packet *packet);

/* The name of a file of packets, cpuN-NNNNNN: the CPU and its number, or -1. */
int64_t user_cpu_of_name(const char *name, uint32_t *out_index);

/* What is in a folder. */
struct user_sum {
	bool in_use;	       /* its process lives, or may live */
	uint64_t packets;      /* with content */
	uint64_t bytes;	       /* of events */
	uint64_t lost;	       /* events that found no room */
	uint64_t half_bytes;   /* reserved, but not written to their end */
	uint64_t overwritten;  /* packets that were written anew while they were copied */
	uint64_t damaged;      /* packets that are none */
	uint64_t unread_bytes; /* of files: there was no time for them, or they could not be read */
	char comm[64];	       /* what the metadata says of the process */
	uint64_t pid;
	uint64_t start; /* of the process: field 22 of /proc/PID/stat */
	bool is_flight;
	bool has_counter; /* its times are of the counter that the kernel's are of, else of CLOCK_MONOTONIC */
};

/* Times of one clock. */
struct user_times {
	uint64_t from, until;
};

/* What is asked for of a trace: packets with events of a time, and how many bytes of them there is room for. */
struct user_part {
	struct user_times counter, monotonic; /* the same, of each clock that a trace may have */
	uint64_t most_bytes;
};

/*
 * Cut the folder at 'fd' clean when nobody writes to its files any more; else leave it alone.
 * A folder without a single packet is emptied. Returns whether something is left in it.
 */
bool user_trace_trim(int fd, struct user_sum *out_sum);

/*
 * Copy what is whole into the empty folder at 'to_fd'; 'part' NULL = all. The process may be alive: packets are
 * looked at again after they were copied. Returns 0, or a negative errno with err filled: -EFBIG = it is more than
 * there is room for.
 */
int user_trace_copy(int fd, int to_fd, const struct user_part *part, struct user_sum *out_sum,
		    struct err *err);

/* Only what the metadata says. */
void user_trace_describe(int fd, struct user_sum *out_sum);

/* Only count. */
void user_trace_count(int fd, struct user_sum *out_sum);

/*
 * Call for every folder with metadata at 'fd' or below; 'parent_fd' and 'name' open it. Returns
 * whether there was time for all of them.
 */
typedef void (*user_trace_fn)(void *context, int parent_fd, const char *name);
bool user_traces_each(int fd, user_trace_fn fn, void *context);

/* How much of the text of metadata are whole blocks. Exported for tests. */
size_t user_whole_blocks(const char *text, size_t bytes);

#endif
