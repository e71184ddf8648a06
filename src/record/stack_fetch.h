/*
 * stack_fetch.h - the top of the stack of a thread that sleeps.
 */
#ifndef RECORD_STACK_FETCH_H
#define RECORD_STACK_FETCH_H

struct raw_stack;

/*
 * Copy what is there from raw->regs[RAW_STACK_SP] on, as much as is mapped and as there is room for; sets
 * raw->bytes. May block where the memory of thread raw->tid is locked.
 */
void stack_fetch(struct raw_stack *raw);

#endif
