/*
 * waited_kind.h - what a thread waits for in a futex, by the function of a library that waits: "Rust Mutex".
 *
 * Words that std::latch, std::future or Rust's std::sync wait for have nothing around them that tells.
 */
#ifndef STUCK_WAITED_KIND_H
#define STUCK_WAITED_KIND_H

#include <stdint.h>

struct stacks;

/* The one kind that is no wait for anybody. */
#define WAITED_SLEEP "Thread.sleep of Java"

/* A constant; NULL = the functions do not tell. 'stack' is a number of a stack. */
const char *waited_kind(const struct stacks *stacks, uint32_t stack);

#endif
