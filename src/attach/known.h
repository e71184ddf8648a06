/*
 * known.h - programs that keep their last events, remembered beyond their end.
 *
 * The files of one that has crashed are the ones that are wanted, and nobody finds them by its process any more. So their
 * folder is kept open: for KNOWN_AFTER_NS, as that also keeps the file system that they lie on.
 */
#ifndef ATTACH_KNOWN_H
#define ATTACH_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/scan.h"

#define KNOWN_MOST     256u
#define KNOWN_AFTER_NS UINT64_C(120000000000)

struct user_known_one;

/* Zeroed: none is known. */
struct user_known {
	struct user_known_one *items; /* owned */
	size_t count, cap;
	struct user_scan scan;
};

/* Look for new ones, and after the others. */
void user_known_scan(struct user_known *known);

/*
 * The open folder of the index-th one, a view, and its name, likewise; *out_has_ended: its process has. -1: it has none now, or there are
 * fewer.
 */
int user_known_folder(const struct user_known *known, size_t index, const char **out_name,
		      bool *out_has_ended);

void user_known_fini(struct user_known *known);

#endif
