/*
 * caps.h - after set-up a privileged process keeps only the rights that it still needs.
 *
 * Capabilities belong to threads: each one gives up its own. Nothing comes back.
 */
#ifndef GUARD_CAPS_H
#define GUARD_CAPS_H

#include <stdint.h>

struct err;

/* A set of capabilities, from CAP_... of <linux/capability.h>. */
#define GUARD_CAP(cap) (UINT64_C(1) << (cap))

/*
 * In the calling thread: permitted and effective become what they have of 'kept'; nothing is
 * inheritable or ambient. Returns 0, or a negative errno with err filled: nothing may be done then.
 */
int guard_caps_keep(uint64_t kept, struct err *err);

/*
 * In the calling thread, and what it makes: no program that is executed gets any right, by its
 * owner or otherwise, and no core is written. Needs CAP_SETPCAP for the bounding set, so it comes
 * first. A kernel that refuses is no failure: it is a wall behind a wall.
 */
void guard_caps_seal(void);

/*
 * Both, for a helper that was set up: a thread or a process that has all that it needs by open
 * descriptors. Its rights become 'kept'; when the kernel refuses, it ends. No root: nothing.
 */
void guard_caps_helper(uint64_t kept);

/*
 * For a process that serves others, without threads: become the user "nobody" for good, sealed, with
 * the capabilities 'kept' and no others. No root: nothing. Returns 0, or a negative errno with err
 * filled: nothing may be done then.
 */
int guard_caps_nobody(uint64_t kept, struct err *err);

/* What reads of BPF maps need on this kernel: CAP_BPF, or what there was before it. */
uint64_t guard_caps_bpf(void);

/* The effective set of the calling thread; 0 when it cannot be told. */
uint64_t guard_caps_now(void);

#endif
