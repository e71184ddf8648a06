/*
 * call_width.h - which system calls are those of 32-bit programs.
 *
 * The kernel's events of x86 do not say, and a number means another call there. A source around
 * another one marks the calls of threads that are known to be of 32-bit programs: the dump saw
 * them, or their execve() or their parent's is in the trace.
 */
#ifndef READ_CALL_WIDTH_H
#define READ_CALL_WIDTH_H

struct facts;
struct source;

/*
 * A source over 'inner', which it does not own and whose events it changes. 'facts' must live as
 * long. What was learnt on the way stays known after a seek; what a seek leaves out is not.
 * Free with source_close().
 */
struct source *call_width_new(struct source *inner, const struct facts *facts);

/* Both are such sources: what one learnt the other knows, too, from its next seek on. */
void call_width_learn(struct source *source, const struct source *from);

#endif
