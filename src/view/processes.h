/* processes.h - threads by process: the tree of who made whom. */
#ifndef VIEW_PROCESSES_H
#define VIEW_PROCESSES_H

#include <stdint.h>

struct rows_busy;
struct timeline;

struct view_process {
	int32_t tgid;	  /* 0 = the threads of the kernel, together */
	uint32_t slot;	  /* of its main thread, else of the first one */
	uint32_t threads; /* that lived in the window */
	uint32_t active;  /* of these, those that worked in it */
	uint32_t depth;	  /* below who made it */
};

struct view_processes {
	struct view_process *at; /* owned; parents before their children */
	uint32_t count;
	uint32_t more; /* are left out */
};

/* Those that lived in the window. */
void view_processes_make(const struct timeline *timeline, uint64_t start_ns, uint64_t end_ns,
			 struct view_processes *out_list);
void view_processes_fini(struct view_processes *list);

/* As recorded: who shows it escapes it. */
const char *view_process_name(const struct timeline *timeline, const struct view_process *process);

/* Those of 'rows' that are of the process, busiest first; at most 'most'. Returns how many. */
uint32_t view_process_threads(const struct timeline *timeline, int32_t tgid,
			      const struct rows_busy *rows, uint32_t *out_slots, uint32_t most);

#endif
