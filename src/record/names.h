/*
 * names.h - learn what new file descriptors name while recording.
 *
 * A BPF program looks at the calls that make descriptors (open, socket, accept,
 * connect, pipe ...) as they return, and a thread writes DIR/kernel/names from it:
 * struct wire_name records, see wire/wire.h. Not seen: descriptors that arrive by a
 * message (SCM_RIGHTS), calls of 32-bit tasks, opens through io_uring.
 *
 * The state dump (dump.h) has the descriptors that were open before.
 */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct last_calls;
struct names_recorder;
struct names_told;

/* Lean events: the call that a thread blocks in is written to DIR/kernel/cpuN.calls, and what its descriptor names. */
enum names_of {
	NAMES_OF_CALLS,	      /* all, as they return */
	NAMES_OF_WAITS,	      /* lean: no call is looked at as it returns */
	NAMES_OF_CALLS_FIRST, /* until names_turn_lean(), where the kernel takes that */
};

/*
 * Load the program and begin to write DIR/kernel/names (made, mode 0600; DIR/kernel
 * must exist). 'dispatch' is the address of DISPATCH_SYMBOL (record/texts.h), 0 = not
 * known. Returns 0 and sets *out_recorder; end it with names_stop(). Failure is not
 * fatal to a recording; err says which names are lost by it:
 *   -ENOTSUP          built without BPF, or this kernel has no type information (BTF)
 *   -EPERM, -EACCES   no right to load BPF programs
 *   -EEXIST ...       the file, as open(2) reports
 */
int names_start(const char *dir, uint64_t dispatch, enum names_of of,
		struct names_recorder **out_recorder, struct err *err);

/*
 * The same for always: nothing is written, and the newest records are kept in memory, of which, with what the
 * kernel takes for it, 'keep_bytes' are used, or little more where these are too few.
 */
int names_keep(uint64_t keep_bytes, enum names_of of, struct names_recorder **out_recorder,
	       struct err *err);

/* Of NAMES_OF_CALLS_FIRST: it is lean from now on. False: it cannot. */
bool names_turn_lean(struct names_recorder *recorder);

/*
 * Lean: calls that block are not told of for now, and the program that looks at each switch is off; or again.
 * Returns 0, or a negative errno with err filled: they are told of no more.
 */
int names_rest(struct names_recorder *recorder, bool rests, struct err *err);

/*
 * Kept: who sleeps now, for what, and on which descriptor is told anew from now on. Names of processes that ended
 * before 'before_ns' are forgotten. NULL is fine, as below.
 */
void names_renew(struct names_recorder *recorder, uint64_t before_ns);

/* Kept: what a thread waits for in a call on a descriptor is told, also if that is from before, or came by a message. */
bool names_of_waits(const struct names_recorder *recorder);

/* Kept: nobody needs what was before. */
void names_forget(struct names_recorder *recorder, uint64_t before_ns);

/* Kept: the memory that records take now, without bpf_parts_memory(), and the time of the youngest record that went for want of room; 0 = none. */
uint64_t names_bytes(struct names_recorder *recorder);
uint64_t names_gone_ns(struct names_recorder *recorder);

/* Kept: the memory that records take at most. */
uint64_t names_most_bytes(const struct names_recorder *recorder);

/* Kept: take what the programs have told until now. */
void names_take(struct names_recorder *recorder);

/*
 * Kept: write kernel/names and kernel/cpuN.calls to 'kernel_fd' for a trace that begins at 'begin_ns', and fill
 * *out_last, as blocked_snapshot(), and *out_told, as names_log_snapshot(); both are zeroed before. Returns 0, or a negative errno with err filled.
 */
int names_snapshot(struct names_recorder *recorder, int kernel_fd, uint64_t begin_ns,
		   struct last_calls *out_last, struct names_told *out_told, struct err *err);

/*
 * The recording has begun, and the state dump is written: who sleeps, and what for, is told from now on,
 * of those who slept before, too. NULL is fine.
 */
void names_begin(struct names_recorder *recorder);

/* The writing thread, for those who keep the recorder out of its own trace. */
int32_t names_tid(const struct names_recorder *recorder);

/* The process that lets go of the program after us (exits.h); 0 = there is none. */
int32_t names_holder(const struct names_recorder *recorder);

/* Why nobody tells what kernel locks are, and who has them; NULL = it is told. */
const char *names_without_locks(const struct names_recorder *recorder);

/* Why nobody looks at all threads for what sleeping ones wait for; NULL = that is done. */
const char *names_without_threads(const struct names_recorder *recorder);

/* The same of whom limits of cgroups hold back. */
const char *names_without_limits(const struct names_recorder *recorder);

/* Names that could not be kept: no room in the kernel's ring, or in the file. Any thread. */
uint64_t names_lost(const struct names_recorder *recorder);

/* Calls that threads block in: lost as well, of lean events. Any thread. */
uint64_t names_lost_calls(const struct names_recorder *recorder);

/* Records written so far. Any thread. */
uint64_t names_count(const struct names_recorder *recorder);

/*
 * Stop the program, and write what is left; detaching is left to the holder.
 * names_lost() and names_count() are final after it; free the recorder with
 * names_stop(). Calling it twice is fine.
 */
void names_end(struct names_recorder *recorder);

/*
 * names_end(), and free. NULL is fine. The holder may detach from now on, which keeps
 * everybody else's tracing from being switched: remove an instance before.
 */
void names_stop(struct names_recorder *recorder);

/*
 * Would names_start() work here? Loads the program and drops it again. For doctor.
 * Returns 0; 1 when it has to look at every call, with err saying why; or as names_start().
 */
int names_probe(struct err *err);

/* Can lean events be recorded here? 0, or a negative errno with err filled. */
int names_probe_lean(struct err *err);

#endif
