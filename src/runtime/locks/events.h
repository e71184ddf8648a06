/*
 * events.h - the events of libholdup-locks: class "lock".
 *
 * All carry the process, since an address says nothing without it, and so that a reader needs
 * no other source for it. A lock is held from 'acquired', or from a 'wait_end' with result 0 or
 * EOWNERDEAD, to 'released'; a wait on a condition lets its mutex go from 'cond_begin' to
 * 'cond_end'. 'acquired' and 'released' are the ones there are many of: the rest tells of
 * waiting alone, and costs nothing while nobody waits.
 *
 * Up to 32 bytes of fields are written without a call: so much has what is frequent.
 */
#ifndef RUNTIME_LOCKS_EVENTS_H
#define RUNTIME_LOCKS_EVENTS_H

#include <holdup/trace.h>

/* enum lock_kind of event/event.h, whose numbers are in traces. */
#define KIND_MUTEX   1
#define KIND_READ    2
#define KIND_WRITE   3
#define KIND_SPIN    4
#define KIND_BARRIER 5

HOLDUP_ENUM(kinds, { "mutex", KIND_MUTEX }, { "read", KIND_READ }, { "write", KIND_WRITE },
	    { "spin", KIND_SPIN }, { "barrier", KIND_BARRIER })

/* A process begins to tell. 'site' everywhere: where the call came from. */
HOLDUP_EVENT(lock, begin, (u32, pid), (u32, ppid))

/* A program or library is loaded here; 'bias' is added to the addresses in its file. */
HOLDUP_EVENT(lock, module, (u32, pid), (x64, start), (x64, end), (x64, bias), (str, path))

HOLDUP_EVENT(lock, acquired, (x64, lock), (x64, site), (u32, pid), (enum, kind, kinds))
HOLDUP_EVENT(lock, released, (x64, lock), (u32, pid), (enum, kind, kinds))

/* It is taken. 'owner': the thread that held it then, as the lock itself says; 0 = not told. */
HOLDUP_EVENT(lock, wait_begin, (x64, lock), (x64, site), (u32, pid), (enum, kind, kinds),
	     (u32, owner))
/* 'result': what the call returned. */
HOLDUP_EVENT(lock, wait_end, (x64, lock), (u32, pid), (enum, kind, kinds), (i32, result))

HOLDUP_EVENT(lock, cond_begin, (x64, cond), (x64, mutex), (x64, site), (u32, pid))
HOLDUP_EVENT(lock, cond_end, (x64, cond), (x64, mutex), (u32, pid), (i32, result))
HOLDUP_EVENT(lock, signal, (x64, cond), (x64, site), (u32, pid))
HOLDUP_EVENT(lock, broadcast, (x64, cond), (x64, site), (u32, pid))

/* What is at this address from now on is another lock. */
HOLDUP_EVENT(lock, destroyed, (x64, lock), (u32, pid))

#endif
