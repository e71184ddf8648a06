/*
 * debug_file.h - the separate debug file of a program or library: by build-id, or by its name and
 * checksum (.gnu_debuglink).
 *
 * Source: "Debugging Information in Separate Files", the manual of GDB.
 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#define DEBUG_ROOT	   "/usr/lib/debug"
#define DEBUG_LINKED_BYTES (UINT64_C(256) << 20) /* a larger one is not looked at by its name */

/* What a file tells of the debug file that belongs to it. */
struct debug_wanted {
	const char *root;  /* DEBUG_ROOT */
	const char *path;  /* of the file itself; a view */
	const uint8_t *id; /* build-id */
	size_t id_bytes;   /* 0 = it has none */
	const char *link;  /* the name in .gnu_debuglink; NULL = it has none */
	uint32_t link_crc; /* the checksum of the whole debug file */
};

/*
 * Open it, below the root by build-id; else by its name beside the file, in .debug beside the file, and
 * below the root: a plain file of that checksum.
 *
 * '*out_path', to be freed by the caller, is what was opened. Returns a descriptor, or -1.
 */
int debug_file_open(const struct debug_wanted *wanted, char **out_path);

#endif
