/* frames.c - see frames.h. */
#include "report/frames.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"

/* "inflate_fast", "libz.so.1+0x1f2a"; what no symbol covers has no name, whatever stands before it. */
void frame_put_function(FILE *out, const struct stack_frame *frame)
{
	if (frame->function)
		fputs(frame->function, out);
	else if (frame->module && frame->offset)
		fprintf(out, "%s+0x%" PRIx64, frame->module, frame->offset);
	else if (!frame->module && frame->offset)
		fprintf(out, "0x%" PRIx64, frame->offset);
	else
		fputs(frame->module ? frame->module : "?", out);
}

void frame_put_named(FILE *out, const struct stack_frame *frame)
{
	const char *module = frame->module ? frame->module : "?";

	if (frame->function)
		fprintf(out, "%s (%s)", frame->function, module);
	else if (frame->start)
		fprintf(out, "%s+0x%" PRIx64 " (function without a name)", module, frame->start);
	else
		fprintf(out, "%s: functions without a name", module);
}

/* "inflate_fast (inffast.c:212, libz.so.1)"; of a script "load (prog.py:12)" */
void frame_put(FILE *out, const struct stack_frame *frame)
{
	frame_put_function(out, frame);
	if (!frame->function || !frame->module)
		return;
	fputs(" (", out);
	if (frame->file && frame->line)
		fprintf(out, "%s:%" PRIu32 "%s", text_base_name(frame->file), frame->line,
			frame->is_script ? "" : ", ");
	/* A script is its own module. */
	fprintf(out, "%s)", frame->is_script && frame->file && frame->line ? "" : frame->module);
}

char *frame_text(const struct stack_frame *frame)
{
	AUTO_FREE char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return xstrdup("?");
	frame_put(out, frame);
	if (fclose(out) != 0)
		return xstrdup("?");
	return text_escaped(text);
}

void frame_print_stack(FILE *out, const struct stacks *stacks, uint32_t number, uint32_t place,
		       const char *indent)
{
	const struct stack *stack = &stacks->stacks[number];

	for (uint32_t i = 0; i < stack->count; i++) {
		AUTO_FREE char *text = frame_text(stacks_frame(stacks, number, i));

		fprintf(out, "%s    %c %s\n", indent, i == place ? '>' : ' ', text);
	}
	if (stack->end) {
		AUTO_FREE char *end = text_escaped(stack->end);

		fprintf(out, "%s      ... (incomplete: %s)\n", indent, end);
	}
}

void frame_json_keys(struct json *json, const struct stack_frame *frame)
{
	json_print_string(json, "function", frame->function);
	json_print_string(json, "signature", frame->signature);
	json_print_string(json, "module", frame->module);
	json_print_string(json, "path", frame->path);
	json_print_string(json, "build_id", frame->build_id);
	json_print_string(json, "file", frame->file);
	if (frame->line)
		json_print_u64(json, "line", frame->line);
	else
		json_print_null(json, "line");
	if (frame->offset)
		json_print_u64(json, "offset", frame->offset);
	else
		json_print_null(json, "offset");
	if (frame->start)
		json_print_u64(json, "start", frame->start);
	else
		json_print_null(json, "start");
	json_print_bool(json, "inlined", frame->is_inlined);
}
