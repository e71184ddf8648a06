/* rows.h - which threads are shown when the verdict does not say it: those that did most. */
#ifndef VIEW_ROWS_H
#define VIEW_ROWS_H

#include <stdint.h>

struct timeline;

/* All of them, busiest first. */
struct rows_busy {
	uint32_t *slots; /* owned */
	uint64_t *ns;	 /* owned; of each: at work, or kept off by interrupts */
	uint32_t count;
};

void rows_busy_make(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
		    struct rows_busy *out_rows);
void rows_busy_fini(struct rows_busy *rows);

/*
 * Slots of threads that lived in the window, those that worked or were kept off a CPU longest
 * first; idle tasks are CPUs. Fills at most 'most', returns how many there are in all.
 */
uint32_t rows_busiest(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
		      uint32_t *out_slots, uint32_t most);

#endif
