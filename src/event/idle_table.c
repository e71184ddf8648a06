/* idle_table.c - lines into rows, and stacks compared with them. */
#include "event/idle_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "event/idle_known.h"
#include "event/stacks.h"

#define LINE_BYTES  1000
#define ROWS_MAX    4096
#define WORDS_MAX   16
#define CALLERS_MAX 4
#define IDLE_WITH   3 /* own frames in which a program may have put what it waits with */

enum idle_kind {
	IDLE_THROUGH,
	IDLE_WAIT,
	IDLE_LOCK,
	IDLE_CONDITION,
	IDLE_TASK,
};

/* "FUNCTION", or "FUNCTION@PATH" of a script */
struct idle_function {
	char *glob;	  /* owned, with the path */
	const char *path; /* NULL = of no script */
};

struct idle_row {
	enum idle_kind kind;
	enum stack_idle idle;			     /* of IDLE_WAIT */
	uint32_t program;			     /* line of 'files' */
	struct idle_function functions[CALLERS_MAX]; /* innermost first */
	uint32_t count;
};

/* The words behind "program". */
struct idle_files {
	char *names[WORDS_MAX]; /* owned */
	uint32_t count;
};

struct idle_table {
	struct idle_row *rows;
	size_t row_count, row_cap;
	struct idle_files *files;
	size_t file_count, file_cap;
};

/* ------------------------------------------------------------------- lines */

/* The next word, cut off; "" at the end. */
static char *idle_take_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t bytes = strcspn(word, " \t");

	*rest = word + bytes + (word[bytes] != '\0');
	word[bytes] = '\0';
	return word;
}

static bool idle_add_program(struct idle_table *table, char *rest)
{
	struct idle_files files = { .count = 0 };
	const char *word;

	while (*(word = idle_take_word(&rest)) && files.count < WORDS_MAX)
		files.names[files.count++] = xstrdup(word);
	table->files =
		vec_room(table->files, table->file_count, &table->file_cap, sizeof(*table->files));
	table->files[table->file_count++] = files;
	return files.count && !*word;
}

static struct idle_row *idle_add_row(struct idle_table *table, enum idle_kind kind)
{
	struct idle_row *row;

	table->rows =
		vec_room(table->rows, table->row_count, &table->row_cap, sizeof(*table->rows));
	row = &table->rows[table->row_count++];
	*row = (struct idle_row){ .kind = kind };
	if (table->file_count)
		row->program = (uint32_t)table->file_count - 1;
	return row;
}

static void idle_put_function(struct idle_row *row, const char *word)
{
	char *glob = xstrdup(word), *at = strchr(glob, '@');

	if (at)
		*at = '\0';
	row->functions[row->count++] = (struct idle_function){ glob, at ? at + 1 : NULL };
}

/* A row for each function. */
static bool idle_add_functions(struct idle_table *table, enum idle_kind kind, char *rest)
{
	const char *word = idle_take_word(&rest);
	bool any = *word != '\0';

	for (; *word && table->row_count < ROWS_MAX; word = idle_take_word(&rest)) {
		idle_put_function(idle_add_row(table, kind), word);
	}
	return any && !*word;
}

/* "FUNCTION < CALLER < CALLER" */
static bool idle_add_wait(struct idle_table *table, enum stack_idle idle, char *rest)
{
	struct idle_row row = { .kind = IDLE_WAIT, .idle = idle };
	bool good = table->row_count < ROWS_MAX;

	while (good) {
		const char *word = idle_take_word(&rest);

		good = *word && row.count < CALLERS_MAX;
		if (good)
			idle_put_function(&row, word);
		word = idle_take_word(&rest);
		if (!*word)
			break;
		good &= strcmp(word, "<") == 0;
	}
	if (good) {
		row.program = (uint32_t)table->file_count - 1;
		*idle_add_row(table, IDLE_WAIT) = row;
		return true;
	}
	for (uint32_t i = 0; i < row.count; i++)
		free(row.functions[i].glob);
	return false;
}

static bool idle_add_line(struct idle_table *table, char *line)
{
	static const struct {
		const char *word;
		enum stack_idle idle;
	} waits[] = { { "idle", STACK_IDLE },	    { "await", STACK_AWAITS },
		      { "launch", STACK_LAUNCHED }, { "park", STACK_PARKED },
		      { "poll", STACK_POLLS },	    { "sleep", STACK_SLEEPS } };
	char *rest = line;
	const char *kind = idle_take_word(&rest);

	if (!*kind || *kind == '#')
		return true;
	if (strcmp(kind, "program") == 0)
		return idle_add_program(table, rest);
	if (strcmp(kind, "lock") == 0)
		return idle_add_functions(table, IDLE_LOCK, rest);
	if (strcmp(kind, "condition") == 0)
		return idle_add_functions(table, IDLE_CONDITION, rest);
	if (!table->file_count)
		return false;
	if (strcmp(kind, "task") == 0)
		return idle_add_functions(table, IDLE_TASK, rest);
	if (strcmp(kind, "through") == 0)
		return idle_add_functions(table, IDLE_THROUGH, rest);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		if (strcmp(kind, waits[i].word) == 0)
			return idle_add_wait(table, waits[i].idle, rest);
	}
	return false;
}

struct idle_table *idle_table_new(const char *text, size_t bytes, uint32_t *out_faulty)
{
	struct idle_table *table = xcalloc(1, sizeof(*table));
	uint32_t number = 0, faulty = 0;

	for (size_t at = 0; at < bytes; number++) {
		const char *end = memchr(text + at, '\n', bytes - at);
		size_t length = end ? (size_t)(end - (text + at)) : bytes - at;
		AUTO_FREE char *line = xstrndup(text + at, length);

		at += length + (end != NULL);
		if ((length > LINE_BYTES || !idle_add_line(table, line)) && !faulty)
			faulty = number + 1;
	}
	if (out_faulty)
		*out_faulty = faulty;
	return table;
}

struct idle_table *idle_table_known(void)
{
	return idle_table_new((const char *)idle_known, idle_known_bytes, NULL);
}

void idle_table_free(struct idle_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->row_count; i++) {
		for (uint32_t k = 0; k < table->rows[i].count; k++)
			free(table->rows[i].functions[k].glob);
	}
	for (size_t i = 0; i < table->file_count; i++) {
		for (uint32_t k = 0; k < table->files[i].count; k++)
			free(table->files[i].names[k]);
	}
	free(table->rows);
	free(table->files);
	free(table);
}

/* ------------------------------------------------------------------- stacks */

/* "/usr/lib/python3.11/concurrent/futures/thread.py" ends with "concurrent/futures/thread.py" */
static bool idle_is_script(const struct stack_frame *frame, const char *path)
{
	size_t bytes = strlen(path), length = frame->path ? strlen(frame->path) : 0;

	return frame->is_script && length > bytes && frame->path[length - bytes - 1] == '/' &&
	       strcmp(frame->path + length - bytes, path) == 0;
}

static bool idle_is_function(const struct stack_frame *frame, const struct idle_function *of)
{
	if (of->path ? !idle_is_script(frame, of->path) : frame->is_script)
		return false;
	return frame->function && text_glob(of->glob, frame->function, strlen(frame->function));
}

static bool idle_is_program(const struct idle_table *table, const struct idle_row *row,
			    const struct stack_frame *frame)
{
	const struct idle_files *files = &table->files[row->program];
	const char *module = frame->module ? frame->module : "";

	for (uint32_t i = 0; i < files->count; i++) {
		if (text_glob(files->names[i], module, strlen(module)))
			return true;
	}
	return false;
}

/* Has the table such a row for the frame, as the innermost one? */
static bool idle_is_any(const struct idle_table *table, enum idle_kind kind,
			const struct stack_frame *frame)
{
	for (size_t i = 0; i < table->row_count; i++) {
		const struct idle_row *row = &table->rows[i];

		if (row->kind == kind && idle_is_function(frame, &row->functions[0]) &&
		    (kind == IDLE_LOCK || kind == IDLE_CONDITION ||
		     idle_is_program(table, row, frame)))
			return true;
	}
	return false;
}

/* What a frame is to the table. */
enum idle_mark {
	IDLE_SKIPPED = 1, /* who called it says more */
	IDLE_LOCKS = 2,
	IDLE_WAITS = 4, /* it may wait for work there */
	IDLE_CONDITIONS = 8,
	IDLE_TASKS = 16,
};

struct idle_marking {
	const struct idle_table *table;
	struct stacks *stacks;
	uint8_t *marks; /* owned; of each frame: enum idle_mark */
};

static uint8_t idle_frame_mark(const struct idle_table *table, const struct stack_frame *frame,
			       bool is_plain)
{
	uint8_t mark = 0;

	if (frame->is_kernel)
		return IDLE_SKIPPED;
	if (is_plain || idle_is_any(table, IDLE_THROUGH, frame))
		mark |= IDLE_SKIPPED;
	if (idle_is_any(table, IDLE_LOCK, frame))
		mark |= IDLE_LOCKS;
	if (idle_is_any(table, IDLE_CONDITION, frame))
		mark |= IDLE_CONDITIONS;
	if (idle_is_any(table, IDLE_TASK, frame))
		mark |= IDLE_TASKS;
	if (!(mark & IDLE_SKIPPED) && idle_is_any(table, IDLE_WAIT, frame))
		mark |= IDLE_WAITS;
	return mark;
}

/* The index of the next frame, from 'at' on, that says what is waited for: of a script's stack a script's. */
static uint32_t idle_next(const struct idle_marking *marking, const struct stack *stack,
			  uint32_t at)
{
	const struct stacks *stacks = marking->stacks;

	for (; at < stack->count; at++) {
		uint32_t frame = stacks->frame_ids[stack->first + at];

		if (!(marking->marks[frame] & IDLE_SKIPPED) &&
		    (stack->script == FRAME_NONE || stacks->frames[frame].is_script))
			return at;
	}
	return FRAME_NONE;
}

/* Is frame 'at', which may be, called as the row says? */
static bool idle_is_called(const struct idle_marking *marking, const struct idle_row *row,
			   uint32_t number, uint32_t at)
{
	const struct stack *stack = &marking->stacks->stacks[number];

	for (uint32_t i = 0; i < row->count; i++) {
		const struct stack_frame *frame;

		if (i)
			at = idle_next(marking, stack, at + 1);
		if (at == FRAME_NONE)
			return false;
		frame = stacks_frame(marking->stacks, number, at);
		if (!idle_is_function(frame, &row->functions[i]) ||
		    (i == 0 && !idle_is_program(marking->table, row, frame)))
			return false;
	}
	return true;
}

static enum stack_idle idle_of_stack(const struct idle_marking *marking, uint32_t number)
{
	const struct idle_table *table = marking->table;
	const struct stack *stack = &marking->stacks->stacks[number];
	const uint32_t *frames = marking->stacks->frame_ids + stack->first;
	uint32_t at = idle_next(marking, stack, 0);

	if (at == FRAME_NONE || !(marking->marks[frames[at]] & IDLE_WAITS))
		return STACK_NOT_IDLE;
	for (uint32_t i = 0; i < at; i++) {
		if (marking->marks[frames[i]] & IDLE_LOCKS)
			return STACK_NOT_IDLE;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->rows[i].kind == IDLE_WAIT &&
		    idle_is_called(marking, &table->rows[i], number, at))
			return table->rows[i].idle;
	}
	return STACK_NOT_IDLE;
}

/* How deep it is in its own code, and what of others it waits with. */
static void idle_measure(const struct idle_marking *marking, struct stack *stack)
{
	const struct stacks *stacks = marking->stacks;
	uint8_t with = 0;

	stack->depth = 0;
	stack->in_task = false;
	for (uint32_t at = 0; at < stack->count; at++) {
		uint32_t frame = stacks->frame_ids[stack->first + at];
		bool own = !(marking->marks[frame] & IDLE_SKIPPED) &&
			   (stack->script == FRAME_NONE || stacks->frames[frame].is_script);

		stack->in_task |= (marking->marks[frame] & IDLE_TASKS) != 0;
		if (stack->depth < IDLE_WITH)
			with |= marking->marks[frame];
		stack->depth += own && stack->depth < UINT8_MAX;
	}
	stack->at_condition = (with & (IDLE_CONDITIONS | IDLE_LOCKS)) == IDLE_CONDITIONS;
}

void idle_table_mark(const struct idle_table *table, struct stacks *stacks,
		     bool (*is_plain)(const struct stack_frame *frame))
{
	struct idle_marking marking = { .table = table, .stacks = stacks };

	marking.marks = xcalloc(stacks->frame_count + 1, 1);
	for (size_t i = 0; i < stacks->frame_count; i++)
		marking.marks[i] =
			idle_frame_mark(table, &stacks->frames[i], is_plain(&stacks->frames[i]));
	for (uint32_t i = 0; i < stacks->stack_count; i++) {
		stacks->stacks[i].idle = (uint8_t)idle_of_stack(&marking, i);
		idle_measure(&marking, &stacks->stacks[i]);
	}
	free(marking.marks);
}
