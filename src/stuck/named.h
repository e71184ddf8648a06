/*
 * named.h - words that threads wait for, by what is known of them: "mutex of ledger_lock (server)".
 */
#ifndef STUCK_NAMED_H
#define STUCK_NAMED_H

struct stacks;
struct stuck;

/*
 * Objects with the address of a word that 'stacks' knows get its name instead. What kind of object it is, is told by
 * the functions of a stack where nothing in memory does: see waited_kind.h.
 */
void stuck_name_futexes(struct stuck *stuck, const struct stacks *stacks);

#endif
