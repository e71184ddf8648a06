/* code_names.c - see code_names.h. */
#include "cli/code_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/code_walk.h"
#include "event/stacks.h"
#include "read/read.h"
#include "symbol/unwind.h"

/* It was left as an offset in a file. */
static bool wants_name(const struct stack_frame *frame)
{
	return !frame->is_kernel && !frame->function && frame->path && frame->path[0] == '/' &&
	       frame->build_id;
}

static int compare_paths(const void *a, const void *b, void *context)
{
	const struct stack_frame *frames = context;
	const struct stack_frame *x = &frames[*(const size_t *)a], *y = &frames[*(const size_t *)b];
	int order = strcmp(x->path, y->path);

	return order ? order : strcmp(x->build_id, y->build_id);
}

/* Of functions that were put into each other the outermost is told: it is the one that the address lies in. */
static void name_frame(struct stacks *stacks, size_t number, struct unwind_names *names)
{
	struct unwind_name found[UNWIND_INLINED_MAX + 1] = { 0 };
	struct stack_frame frame = stacks->frames[number];
	uint64_t address;
	size_t count;

	address = frame.offset;
	if (frame.is_in_file && !unwind_names_address(names, frame.offset, &address))
		return;
	count = unwind_names_find(names, address, found);
	frame.offset = address;
	frame.is_in_file = false;
	frame.function = found[count - 1].function;
	frame.signature = found[count - 1].signature;
	frame.file = found[count - 1].file;
	frame.line = found[count - 1].line;
	frame.start = found[count - 1].start;
	stacks_set_frame(stacks, number, &frame);
}

/* All of one file, if it is the build that was recorded. */
static void name_file(struct stacks *stacks, const size_t *numbers, size_t count)
{
	const struct stack_frame *first = &stacks->frames[numbers[0]];
	int fd = file_open_plain(first->path);
	struct unwind_names *names = fd < 0 ? NULL : unwind_names_new(fd, first->path);
	const char *build_id = names ? unwind_names_build_id(names) : NULL;
	bool is_it = build_id && strcmp(build_id, first->build_id) == 0;

	for (size_t i = 0; is_it && i < count; i++)
		name_frame(stacks, numbers[i], names);
	unwind_names_free(names);
	mem_close_fd(&fd);
}

void code_names_add(struct trace *trace)
{
	struct stacks *stacks = trace_stacks(trace);
	AUTO_FREE size_t *numbers = NULL;
	size_t count = 0, from = 0;

	if (!stacks)
		return;
	code_walk(trace);
	numbers = xcalloc(stacks->frame_count + 1, sizeof(*numbers));
	for (size_t i = 0; i < stacks->frame_count; i++) {
		if (wants_name(&stacks->frames[i]))
			numbers[count++] = i;
	}
	if (!count)
		return;
	qsort_r(numbers, count, sizeof(*numbers), compare_paths, stacks->frames);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && compare_paths(&numbers[from], &numbers[i], stacks->frames) == 0)
			continue;
		name_file(stacks, numbers + from, i - from);
		from = i;
	}
	stacks_finish(stacks);
}
