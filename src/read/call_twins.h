/*
 * call_twins.h - one system call, told twice.
 *
 * With raw_syscalls:sys_enter and syscalls:sys_enter_read both recorded, the kernel tells of
 * each read() once with either. A source around another one lets the first of the two stand;
 * the second comes as EV_OTHER: it is listed, and counts no call.
 */
#ifndef READ_CALL_TWINS_H
#define READ_CALL_TWINS_H

struct source;

/* A source over 'inner', which it does not own and whose events it changes. Free with source_close(). */
struct source *call_twins_new(struct source *inner);

#endif
