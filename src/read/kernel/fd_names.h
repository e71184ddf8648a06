/*
 * fd_names.h - kernel/names as a lane of EV_FD_NAME events.
 */
#ifndef READ_KERNEL_FD_NAMES_H
#define READ_KERNEL_FD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct facts;
struct lane;

/*
 * Read the file at 'path', whose records are in no order, but none is written seconds late. Damage
 * is noted in 'facts' and costs what follows it. 'from_ns': records before it are not asked for;
 * then only the end of a large file is read. What was learnt after the recording's end is left out.
 * Returns a lane, or NULL when there is nothing in it.
 */
struct lane *fd_names_open(const char *path, bool big_endian, uint64_t from_ns,
			   struct facts *facts);

#endif
