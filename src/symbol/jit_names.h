/*
 * jit_names.h - what code is called that a program made while it ran: by what its runtime wrote.
 *
 *	/tmp/perf-PID.map   a line each: "START SIZE NAME", hexadecimal
 *	jit-PID.dump        records, see the kernel's jitdump-specification.txt
 *
 * Where code was made anew at an address, the last one is told. Files may be anything: their size, the
 * number of entries and the length of names have bounds; what makes no sense is left out.
 *
 * One thread at a time.
 */
#ifndef SYMBOL_JIT_NAMES_H
#define SYMBOL_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_names;

struct jit_name {
	const char *function; /* "crunch" */
	const char *whole;    /* as the runtime wrote it: "JS:*crunch /srv/app.js:12:9" */
	const char *file;     /* "/srv/app.js"; NULL = not known */
	uint32_t line;	      /* where the function begins; 0 = not known */
};

struct jit_names *jit_names_new(void);
void jit_names_free(struct jit_names *names); /* NULL is fine */

/* Take what is in a file, which is read from its start; the descriptor stays the caller's. */
void jit_names_read_map(struct jit_names *names, int fd);
void jit_names_read_dump(struct jit_names *names, int fd);

/* Is the address in code of which something was told? */
bool jit_names_has(struct jit_names *names, uint64_t address);

/* False when it is not. The texts live until the next call. */
bool jit_names_find(struct jit_names *names, uint64_t address, struct jit_name *out_name);

#endif
