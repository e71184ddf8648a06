/*
 * go_layout.h - where Go's runtime has its goroutines: addresses of its variables, and where fields lie, by the
 * symbols and the DWARF of a program.
 *
 * Go's linker writes both unless it is told not to (-ldflags=-s -w). The file may be anything, and libdw is meant
 * for files that one trusts: do this in a process that has nothing to lose.
 */
#ifndef SYMBOL_GO_LAYOUT_H
#define SYMBOL_GO_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Fields, by the structure that has them. Those before GO_NEEDED must be there. */
enum go_field {
	GO_G_STACK,
	GO_G_SCHED,
	GO_G_SYSCALL_SP,
	GO_G_SYSCALL_PC,
	GO_G_STATUS,
	GO_G_ID,
	GO_G_WAIT_SINCE,
	GO_G_WAIT_REASON,
	GO_G_M,
	GO_G_WAITING,
	GO_G_CREATED_PC,
	GO_G_START_PC,
	GO_STACK_LO,
	GO_STACK_HI,
	GO_SCHED_SP,
	GO_SCHED_PC,
	GO_SCHED_LR,
	GO_M_THREAD,
	GO_SUDOG_G,
	GO_SUDOG_NEXT,
	GO_SUDOG_PREV,
	GO_SUDOG_ELEM,
	GO_SUDOG_WAIT_LINK,
	GO_SUDOG_C,
	GO_CHAN_COUNT,
	GO_CHAN_ROOM,
	GO_CHAN_TYPE,
	GO_MODULE_NAMES,
	GO_MODULE_UNITS,
	GO_MODULE_FILES,
	GO_MODULE_PCS,
	GO_MODULE_FUNCTIONS,
	GO_MODULE_TABLE,
	GO_MODULE_TEXT,
	GO_MODULE_TEXT_END,
	GO_MODULE_TEXTS,
	GO_MODULE_TYPES,
	GO_MODULE_DATA,
	GO_FUNC_ENTRY,
	GO_FUNC_NAME,
	GO_FUNC_SP,
	GO_FUNC_FILE,
	GO_FUNC_LINE,
	GO_FUNC_PCDATA,
	GO_FUNC_UNIT,
	GO_FUNC_FUNCDATA,
	GO_INLINED_NAME,
	GO_INLINED_PC,
	GO_NEEDED,
	GO_TYPE_NAME =
		GO_NEEDED, /* without these two it is not known which channels are for signals */
	GO_TYPE_FLAGS,
	GO_SEMA_TREE,
	GO_P_TIMERS,
	GO_P_DELETED,	/* of these, those that were stopped: up to 1.22 */
	GO_TIMERS_HEAP, /* since 1.23; before, they are a slice of P itself */
	GO_TIMERS_STOPPED,
	GO_MUTEX_SEMA,
	GO_MUTEX_INNER_SEMA, /* since 1.24 */
	GO_RWMUTEX_WRITER,
	GO_RWMUTEX_READER,
	GO_GROUP_SEMA,	 /* of sync.WaitGroup */
	GO_GROUP_STATE2, /* the same up to 1.19 */
	GO_CHAN_TIMER,	 /* since 1.23: whose timer it is that sends to it */
	GO_TRACED_ELEM, /* since 1.26: where the address is in the two of an entry that the collector may be shown */
	GO_TRACED_C,
	GO_POLL_FD, /* of a descriptor that is polled */
	GO_POLL_SELF,
	GO_POLL_READER,
	GO_POLL_WRITER,
	GO_FIELDS,
};

enum go_size {
	GO_SIZE_G,
	GO_SIZE_FUNC,
	GO_SIZE_INLINED,
	GO_SIZES
};

/* Variables. Those before GO_VARIABLES_NEEDED must be there. */
enum go_variable {
	GO_ALL_GS,
	GO_REASONS,
	GO_FIRST_MODULE,
	GO_VARIABLES_NEEDED,
	GO_ALL_PS = GO_VARIABLES_NEEDED,
	GO_SEMAPHORES,
	GO_VARIABLES,
};

struct go_layout {
	uint64_t at[GO_FIELDS];
	uint64_t sizes[GO_SIZES];
	uint64_t variables[GO_VARIABLES]; /* addresses of the file */
	uint64_t variable_bytes[GO_VARIABLES];
	uint64_t entry; /* of the program, as the file counts */
	bool has[GO_FIELDS];
	bool has_variables[GO_VARIABLES];
	bool is_arm; /* arm64; else x86-64 */
};

/* Whether Go's linker made the file: by the note with its build ID. Reads no more than its first bytes. */
bool go_layout_is_go(int fd);

/* Of an open file. Returns NULL with *out_layout filled, or why it is not known: a constant. */
const char *go_layout_read(int fd, struct go_layout *out_layout);

#endif
