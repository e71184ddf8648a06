/*
 * flight_share.h - what is the same in several snapshots is on disk once.
 *
 * The names of the kernel's functions are the larger part of a snapshot, and the same until the next boot or module.
 * A snapshot gets a hard link to the file of an earlier one, when both have the same bytes. So each is
 * whole: a copy of it, or one whose neighbours are removed, has all it needs.
 */
#ifndef CLI_FLIGHT_SHARE_H
#define CLI_FLIGHT_SHARE_H

/* Best effort, of the snapshot 'name' in the folder of snapshots: where links are not possible it keeps its own. */
void flight_share_symbols(int dir_fd, const char *name);

#endif
