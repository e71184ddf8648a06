/*
 * dump.h - the state dump that LTTng writes into a trace, as facts.
 */
#ifndef READ_CTF_DUMP_H
#define READ_CTF_DUMP_H

#include <stddef.h>

struct ctf_lane;
struct facts;
struct formats;

/*
 * Read the lanes from their start up to the end of the dump, and fill the facts. Lanes are at
 * their start afterwards. Does nothing when no event of a dump is in 'formats'.
 */
void ctf_dump_read(struct ctf_lane *const *lanes, size_t count, const struct formats *formats,
		   struct facts *facts);

#endif
