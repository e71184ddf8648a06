/*
 * beside.h - traces of CTF that programs wrote, read beside a recording of the kernel.
 *
 * What libholdup stamps with the raw counter is converted with the recording's own clock, as
 * the kernel's events are: so the order of the two is that of the counter. Their lanes are
 * merged by whoever has the kernel's; their kinds of events get numbers behind the kernel's.
 * A program cannot pass for the kernel: all its events are EV_OTHER, with EV_CTX_USER.
 */
#ifndef READ_CTF_BESIDE_H
#define READ_CTF_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct ctf_dir;
struct facts;
struct formats;
struct lane;
struct vtids;

/* The recording that the traces lie beside. */
struct ctf_host {
	const struct clock *clock;
	bool is_counter;	   /* its clock is the x86 time stamp counter */
	struct formats *formats;   /* the kinds of events are added */
	struct facts *facts;	   /* damage is noted */
	const struct vtids *vtids; /* must live as long as the traces are open */
	uint32_t kinds;		   /* numbers up to here are taken */
};

/*
 * Open all traces below 'path'. NULL when there are none. What cannot be read is noted as
 * damage, and costs no more than the trace it is in. The lanes are the caller's from now on;
 * the rest must outlive them: ctf_beside_close().
 */
struct ctf_dir *ctf_beside_open(const char *path, const struct ctf_host *host);
void ctf_beside_close(struct ctf_dir *dir);

size_t ctf_beside_lanes(const struct ctf_dir *dir);
struct lane *ctf_beside_lane(const struct ctf_dir *dir, size_t i);

/* Is the place one of these lanes' (the kernel's are below 2^48)? Its time; false = no event. */
bool ctf_beside_has_place(const struct ctf_dir *dir, uint64_t place);
bool ctf_beside_time_at(const struct ctf_dir *dir, uint64_t place, uint64_t *out_ns);

#endif
