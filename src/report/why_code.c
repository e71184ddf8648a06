/* why_code.c - in which code threads waited and worked, as text and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/wait_code.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"
#include "report/frames.h"
#include "report/why_int.h"

#define PLACES_TOLD 3  /* of a row, in text */
#define SHARE_LEAST 10 /* the share of a place that is told, as a part of the row: one in ... */
#define STACKS_TOLD 3  /* of a row, with --code */
/* Keys of a place that only some reports have. */
#define PLACE_STACK (1u << 0)
#define PLACE_STATE (1u << 1)

#define SAMPLES_FEW 10 /* a share of less may as well be chance */

static const struct stack_frame *code_frame(const struct stacks *stacks, uint32_t stack, uint32_t i)
{
	return i == FRAME_NONE ? NULL : stacks_frame(stacks, stack, i);
}

/* The place of work is where it was, that of a wait behind all that waits for others. */
static uint32_t code_place_index(const struct stacks *stacks, const struct why_code *code)
{
	const struct stack *stack = &stacks->stacks[code->stack];

	if (!code->is_work)
		return stack->place;
	return stack->script == FRAME_NONE ? 0 : stack->script;
}

static uint32_t code_caller_index(const struct stacks *stacks, const struct why_code *code)
{
	return stacks_caller(stacks, code->stack, code_place_index(stacks, code));
}

static const struct stack_frame *code_caller(const struct stacks *stacks,
					     const struct why_code *code)
{
	return code_frame(stacks, code->stack, code_caller_index(stacks, code));
}

static const struct stack_frame *code_named_caller(const struct stacks *stacks,
						   const struct why_code *code)
{
	return code_frame(stacks, code->stack,
			  stacks_named_caller(stacks, code->stack, code_place_index(stacks, code)));
}

/* Who called that; of code without a name, which function with one that was in. */
static void code_put_caller(FILE *out, const struct stacks *stacks, const struct why_code *code,
			    bool has_name)
{
	const struct stack_frame *caller =
		has_name ? code_caller(stacks, code) : code_named_caller(stacks, code);

	if (!caller)
		return;
	fputs(has_name ? ", called by " : ", below ", out);
	frame_put_function(out, caller);
}

char *words_codes(const struct facts *facts, const struct why_codes *codes, uint64_t ns,
		  const char *sleeping)
{
	const struct stacks *stacks = facts->stacks;
	const char *said = NULL;
	struct words words;

	words_begin(&words);
	for (uint32_t i = 0; stacks && i < codes->count && i < PLACES_TOLD; i++) {
		const struct why_code *code = &codes->at[i];
		const struct stack_frame *place =
			code_frame(stacks, code->stack, code_place_index(stacks, code));
		const char *doing = code->is_work ? "at work in " : sleeping;

		if (!place || code->ns * SHARE_LEAST < ns)
			continue;
		fprintf(words.out, "%s%s", said ? "; " : "", said == doing ? "in " : doing);
		frame_put(words.out, place);
		if (codes->at[i].ns * 100 < ns * 99)
			fprintf(words.out, " %s", text_percent(codes->at[i].ns, ns).s);
		if (code->is_work && code->ns < SAMPLES_FEW * stacks->sampling.period_ns)
			fputs(" (few samples)", words.out);
		code_put_caller(words.out, stacks, code, place->function != NULL);
		said = doing;
	}
	return words_end(&words);
}

char *words_root_done(const struct facts *facts, const struct why *why, const struct why_root *root)
{
	const struct why_codes *code = &root->code;

	/* Its own sleep is told once: as where it waited. */
	if (!code->count || (!code->at[0].is_work && root->who.tid == why->target.tid))
		return xstrdup("");
	return words_codes(facts, code, root->ns, "asleep in ");
}

char *words_root_waited(const struct facts *facts, const struct why_root *root)
{
	return words_codes(facts, &root->waited, root->ns, "waited in ");
}

/* ------------------------------------------------------------------ whole stacks */

static void code_print_stack(const struct page *page, const struct stacks *stacks,
			     const struct why_code *code)
{
	fprintf(page->out, "    %s:\n", page_duration(page, code->ns).s);
	frame_print_stack(page->out, stacks, code->stack, code_place_index(stacks, code), "  ");
}

void why_text_code(const struct page *page)
{
	const struct stacks *stacks = page->facts->stacks;
	struct why_rows rows;

	if (!page->opts->code || !stacks || page->why->root_count == 0)
		return;
	page_heading(page, "Stacks, innermost function first (> marks the place named above):");
	why_fold(page->why, page->opts->unfold ? SIZE_MAX : page_top(page), &rows);
	for (size_t i = 0; i < rows.count && i < page_top(page); i++) {
		const struct why_codes *waited = &rows.at[i].sum.waited;
		const struct why_codes *codes = waited->count ? waited : &rows.at[i].sum.code;
		AUTO_FREE char *row = words_row_short(page->why, &rows.at[i]);
		AUTO_FREE char *safe = text_escaped(row);

		if (!codes->count)
			continue;
		fprintf(page->out, "  %s %s\n", page_duration(page, rows.at[i].sum.ns).s, safe);
		for (uint32_t k = 0; k < codes->count && k < STACKS_TOLD; k++)
			code_print_stack(page, stacks, &codes->at[k]);
	}
	why_rows_fini(&rows);
}

/* ------------------------------------------------------------------ JSON */

static void code_json_place(struct json *json, const struct stacks *stacks,
			    const struct why_code *code, uint64_t ns, uint32_t keys)
{
	uint32_t place = code_place_index(stacks, code);
	const struct stack_frame *caller = code_caller(stacks, code);
	const struct stack_frame *below = code_named_caller(stacks, code);
	AUTO_FREE char *id = xasprintf("%u", code->stack);

	if (place == FRAME_NONE)
		return;
	json_begin_object(json, NULL);
	frame_json_keys(json, stacks_frame(stacks, code->stack, place));
	json_print_share(json, "share", code->ns, ns);
	json_print_u64(json, "ns", code->ns);
	json_print_string(json, "caller", caller ? caller->function : NULL);
	json_print_string(json, "below", below ? below->function : NULL);
	if (keys & PLACE_STATE)
		json_print_string(json, "state", code->is_work ? "working" : "blocked");
	if (keys & PLACE_STACK)
		json_print_string(json, "stack", id);
	json_end_object(json);
}

static void code_json_places(struct json *json, const struct facts *facts, const char *key,
			     const struct why_codes *codes, uint64_t ns, uint32_t keys)
{
	if (!facts->stacks)
		return;
	json_begin_array(json, key);
	for (uint32_t i = 0; codes && i < codes->count; i++)
		code_json_place(json, facts->stacks, &codes->at[i], ns, keys);
	json_end_array(json);
}

void why_json_codes(struct json *json, const struct facts *facts, const char *key,
		    const struct why_codes *codes, uint64_t ns)
{
	code_json_places(json, facts, key, codes, ns, PLACE_STACK);
}

void why_json_places(struct json *json, const struct facts *facts, const char *key,
		     const struct why_codes *codes, uint64_t ns)
{
	code_json_places(json, facts, key, codes, ns, PLACE_STATE);
}

void why_json_root_code(struct json *json, const struct facts *facts, const struct why_root *root,
			bool has_stacks)
{
	uint64_t seen_ns = root->waited.seen_ns > root->code.seen_ns ? root->waited.seen_ns
								     : root->code.seen_ns;
	uint32_t keys = has_stacks ? PLACE_STACK : 0;

	code_json_places(json, facts, "waited_in", &root->waited, root->ns, keys);
	code_json_places(json, facts, "code", &root->code, root->ns, keys);
	if (facts->stacks)
		json_print_share(json, "code_seen", seen_ns < root->ns ? seen_ns : root->ns,
				 root->ns);
}

static void code_mark(bool *is_told, const struct why_codes *codes)
{
	for (uint32_t i = 0; codes && i < codes->count; i++)
		is_told[codes->at[i].stack] = true;
}

/* Those of single waits, too. */
static void code_mark_waits(bool *is_told, const struct stacks *stacks, const struct why *details)
{
	for (size_t i = 0; i < details->wait_count; i++) {
		struct why_codes codes;

		wait_code(stacks, &details->waits[i], &codes);
		code_mark(is_told, &codes);
		wait_waker_code(stacks, &details->waits[i], &codes);
		code_mark(is_told, &codes);
	}
}

static void code_json_stack(struct json *json, const struct stacks *stacks, uint32_t stack)
{
	AUTO_FREE char *id = xasprintf("%u", stack);

	json_begin_array(json, id);
	for (uint32_t i = 0; i < stacks->stacks[stack].count; i++) {
		json_begin_object(json, NULL);
		frame_json_keys(json, stacks_frame(stacks, stack, i));
		json_end_object(json);
	}
	json_end_array(json);
}

void why_json_stacks(struct json *json, const struct facts *facts, const struct why *why,
		     const struct why *details)
{
	const struct stacks *stacks = facts->stacks;
	AUTO_FREE bool *is_told = NULL;

	if (!stacks)
		return;
	is_told = xcalloc(stacks->stack_count + 1, sizeof(*is_told));
	for (size_t i = 0; i < why->root_count; i++)
		code_mark(is_told, &why->roots[i].waited);
	for (size_t i = 0; i < why->root_count; i++)
		code_mark(is_told, &why->roots[i].code);
	for (size_t i = 0; i < details->chain_count; i++)
		code_mark(is_told, details->chain[i].code);
	for (size_t i = 0; i < details->chain_count; i++)
		code_mark(is_told, details->chain[i].waker_code);
	code_mark_waits(is_told, stacks, details);
	json_begin_object(json, "stacks");
	for (uint32_t i = 0; i < stacks->stack_count; i++) {
		if (is_told[i])
			code_json_stack(json, stacks, i);
	}
	json_end_object(json);
}
