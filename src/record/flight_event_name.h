/*
 * flight_event_name.h - whose name stands in the kernel's line about an event.
 *
 * The kernel notes a thread's name when the thread leaves its CPU. A line that is read before says an older name, or
 * "<...>". What the thread is called now says /proc; of one that has exited, the kernel's note is the last name.
 */
#ifndef RECORD_FLIGHT_EVENT_NAME_H
#define RECORD_FLIGHT_EVENT_NAME_H

#include <stdint.h>

/* The thread of a line of trace_pipe, "            true-4711    [000] ..."; 0 = it is no such line, or an idle CPU. */
int32_t flight_event_tid(const char *line);

/* The name of 'tid' in the text of saved_cmdlines, "4711 true"; NULL = it has none. To be freed. */
char *flight_event_saved(const char *text, int32_t tid);

/* The line with the name that its thread has now, or else had last; to be freed. 'tracing_fd': the tracing directory. */
char *flight_event_rename(const char *line, int tracing_fd);

#endif
