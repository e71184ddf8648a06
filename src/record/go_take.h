/*
 * go_take.h - the goroutines of the Go programs among processes that were looked at, without a recording.
 *
 * One child reads what their files say of Go's runtime, and then has nothing to lose; another reads their memory, which
 * may hang. Both are ended when they take too long. Nothing is stopped and nothing written to.
 */
#ifndef RECORD_GO_TAKE_H
#define RECORD_GO_TAKE_H

struct err;
struct goroutines;
struct stuck;

/*
 * Of the processes that were asked for, right behind stuck_look(). Fills 'goroutines' (zeroed before); there are none
 * where there is no Go program, and of a program that could not be read it says why. Returns 0, or a negative errno with
 * err filled when it is not known which of them are Go programs. Free them with goroutines_fini() in any case.
 */
int go_take(const struct stuck *stuck, int wait_ms, struct goroutines *goroutines, struct err *err);

#endif
