/*
 * lock_names.h - addresses of a process by name: the file that is loaded there, and the symbol.
 *
 * The files are read as they are now, on this machine; one that was replaced since gives
 * wrong names, one that is gone gives none.
 */
#ifndef ANALYSE_LOCKS_LOCK_NAMES_H
#define ANALYSE_LOCKS_LOCK_NAMES_H

#include <stdint.h>

struct ev_user_lock;
struct lock_names;

struct lock_names *lock_names_new(void);
void lock_names_free(struct lock_names *names); /* NULL is fine */

/* A file is loaded in this process: USER_LOCK_MODULE. A later one wins. */
void lock_names_add(struct lock_names *names, uint32_t process, const struct ev_user_lock *module);

/* "worker+0x1f (server)" or "+0x3f1f (server)"; NULL when no file is there. Free it with free(). */
char *lock_names_find(struct lock_names *names, uint32_t process, uint64_t address);

/* The name of the program that the process executes, as the first file says; "" = not told. */
const char *lock_names_program(struct lock_names *names, uint32_t process);

#endif
