/*
 * python_walk.h - the frames of a thread of a Python program that sleeps, from its memory.
 *
 * The same as bpf/python_frames.h, for threads that are looked at from outside. The memory may hold anything.
 */
#ifndef RECORD_PYTHON_WALK_H
#define RECORD_PYTHON_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_codes;
struct raw_python;
struct raw_stack;

struct python_memory {
	bool (*read)(void *context, uint64_t address, void *to, size_t bytes); /* all, or false */
	void *context;
};

/*
 * Sets raw->python, and what belongs to it; 'number' is that of the thread as itself sees it. Where the chain
 * holds what is no frame, it ends there.
 */
void python_walk(const struct raw_python *python, const struct python_memory *memory,
		 uint64_t number, struct python_codes *codes, struct raw_stack *raw);

/*
 * The same of thread raw->tid of process raw->tgid, now. May block where its memory is locked. What is read is
 * of use only when the thread slept all the while.
 */
void python_fetch(const struct raw_python *python, struct python_codes *codes,
		  struct raw_stack *raw);

#endif
