/*
 * chain.h - the chains of a cause: which waits of the thread that is told led to it, and through whom.
 *
 * By what is known of who ended each wait, never by time alone. model.js has the same for the page.
 */
#ifndef VIEW_CHAIN_H
#define VIEW_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

struct why;
struct why_root;
struct why_wait;

#define VIEW_CHAIN_HOPS 64u

/* Did a thread end the wait, by what it did then? Of a timer, a disk, a packet it is who set it, asked, sent. */
bool view_wait_has_actor(const struct why_wait *wait);

/*
 * The told thread's own waits through which 'root' was charged, longest first: their indices in the waits of
 * verdict_told(), at most 'most'. Returns how many. The root has its spans.
 */
uint32_t view_chains(const struct why *why, const struct why_root *root, uint32_t *out_waits,
		     uint32_t most);

/*
 * One of them as a path, from the wait 'first' on: at each the longest of those below it that leads to 'root'; NULL =
 * any. Fills indices of waits, at most VIEW_CHAIN_HOPS. Returns how many.
 */
uint32_t view_chain_path(const struct why *told, uint32_t first, const struct why_root *root,
			 uint32_t *out_waits);

#endif
