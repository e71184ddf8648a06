/*
 * ctf_layout.h - the record of a kind of event as a struct of CTF, and back into its fixed form.
 *
 * A record is fixed fields, then what some of them locate: texts and arrays. In CTF a field of the
 * same name stands behind the fixed ones for each of those; the word that locates it is a struct
 * NAME_loc, whose length counts it. For that they must lie in order and touch, which those of the
 * kernel do; others are moved.
 */
#ifndef EXPORT_CTF_LAYOUT_H
#define EXPORT_CTF_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ctf_layout;
struct print_event;
struct trace_record;

#define CTF_LAYOUT_MAX_BYTES 65528u /* of a record */

/* NULL when records of this kind do not begin as the kernel's do. Free with ctf_layout_free(). */
struct ctf_layout *ctf_layout_new(const struct print_event *kind, bool big_endian);
void ctf_layout_free(struct ctf_layout *layout);

/* The members of "fields := struct { ... }" in TSDL. */
void ctf_layout_print(const struct ctf_layout *layout, FILE *out);

/*
 * Write the record in its fixed form to 'to', which has room for CTF_LAYOUT_MAX_BYTES. Returns its
 * length; *out_tail is the number of elements of the array that ends it, if it has one.
 */
uint32_t ctf_layout_put(const struct ctf_layout *layout, const struct trace_record *record,
			uint8_t *to, uint32_t *out_tail);

#endif
