/* match.c - the values of a line, by the patterns of its kind. */
#include <string.h>

#include "base/mem.h"
#include "event/event.h"
#include "read/ctf/record.h"
#include "read/text/kinds_int.h"
#include "read/text/line.h"

#define MAX_TRIES 4096u /* places where a text may end, of one line */

/* ------------------------------------------------------------------ values */

uint64_t text_take_signed(struct text_view *view, bool *out_good)
{
	bool negative = view->bytes && (*view->at == '-' || *view->at == '+') && *view->at == '-';
	struct text_view at = *view;
	uint64_t number = 0;

	if (negative) {
		at.at++;
		at.bytes--;
	}
	/* trace-cmd writes some in hexadecimal, when it could not understand the format. */
	*out_good = text_begins(&at, "0x") ? text_take_hex(&at, &number)
					   : text_take_number(&at, &number);
	if (*out_good)
		*view = at;
	return negative ? 0 - number : number;
}

struct text_view text_take_until(struct text_view *view, const char *ends)
{
	struct text_view word = { view->at, 0 };

	while (word.bytes < view->bytes && !strchr(ends, word.at[word.bytes]))
		word.bytes++;
	view->at += word.bytes;
	view->bytes -= word.bytes;
	return word;
}

bool text_looks_like_address(struct text_view view)
{
	uint64_t number;

	return text_take_hex(&view, &number) && view.bytes == 0;
}

uint64_t text_lock_flags(struct text_view view)
{
	static const char *const words[] = { "SPIN", "READ", "WRITE", "RT", "PERCPU", "MUTEX" };
	uint64_t flags = 0;

	if (text_looks_like_address(view)) {
		(void)text_take_hex(&view, &flags);
		return flags;
	}
	while (view.bytes) {
		struct text_view word = text_take_until(&view, "|");

		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			if (word.bytes == strlen(words[i]) &&
			    memcmp(word.at, words[i], word.bytes) == 0)
				flags |= (uint64_t)1 << i;
		}
		if (view.bytes) {
			view.at++;
			view.bytes--;
		}
	}
	return flags;
}

uint8_t text_state_of(struct text_view view)
{
	uint64_t bits;

	if (text_take_number(&view, &bits))
		return ctf_task_state(bits);
	switch (view.bytes ? *view.at : '?') {
	case 'R':
		return TASK_STATE_RUNNABLE;
	case 'S':
		return TASK_STATE_SLEEPING;
	case 'D':
		return TASK_STATE_DISK;
	case 'I':
		return TASK_STATE_IDLE;
	case 'T':
	case 't':
		return TASK_STATE_STOPPED;
	case 'X':
	case 'Z':
	case 'x':
		return TASK_STATE_DEAD;
	case 'P':
		return TASK_STATE_PARKED;
	default:
		return TASK_STATE_UNKNOWN;
	}
}

/* Up to six, with commas. */
void text_read_args(struct text_view view, uint64_t out_args[6])
{
	memset(out_args, 0, 6 * sizeof(*out_args));
	for (uint32_t i = 0; i < 6; i++) {
		text_skip_blanks(&view);
		if (!text_take_hex(&view, &out_args[i]))
			return;
		if (view.bytes && *view.at == ',') {
			view.at++;
			view.bytes--;
		}
	}
}

static bool text_match_take_device(struct text_view *view, struct value *value)
{
	uint64_t major, minor;

	if (!text_take_number(view, &major) || !view->bytes || *view->at != ',')
		return false;
	view->at++;
	view->bytes--;
	if (!text_take_number(view, &minor))
		return false;
	value->number = major << 20 | minor;
	return true;
}

/*
 * With the option "fields" a number stands twice: "0x3a39 (14905)". The view goes behind the second,
 * which alone has a sign. False when there is none.
 */
static bool take_twin(struct text_view *view, struct text_view *out_twin)
{
	struct text_view at = *view;
	bool good;

	if (!text_begins(&at, " ("))
		return false;
	at = (struct text_view){ at.at + 2, at.bytes - 2 };
	*out_twin = at;
	(void)text_take_signed(&at, &good);
	out_twin->bytes = (size_t)(at.at - out_twin->at);
	if (!good || !text_begins(&at, ")"))
		return false;
	*view = (struct text_view){ at.at + 1, at.bytes - 1 };
	return true;
}

/* A number that stands there in hexadecimal, and then once more. */
static void text_match_take_other(struct text_view start, struct text_view *view, char letter,
				  struct value *value)
{
	struct text_view twin;
	bool good;

	/* What stands before it may be the name of a function, too. */
	if ((letter != 'F' && !text_begins(&start, "0x")) || !take_twin(view, &twin))
		return;
	if (letter == 'd')
		value->number = text_take_signed(&twin, &good);
	else if (letter != 'x' && letter != 'F')
		value->text = twin;
}

/* Behind the name of a function stands that of its module, if it has one: "fn+0x1/0x2 [kvm]". */
static void take_module(struct text_view *view, struct value *value)
{
	struct text_view at = *view;

	if (!value->text.bytes || !text_begins(&at, " ["))
		return;
	at = (struct text_view){ at.at + 2, at.bytes - 2 };
	if (!text_take_until(&at, "] \t").bytes || !text_begins(&at, "]"))
		return;
	*view = (struct text_view){ at.at + 1, at.bytes - 1 };
	value->text.bytes = (size_t)(view->at - value->text.at);
}

/* A field that says itself where it ends. */
static bool match_take_value(struct text_view *view, char letter, struct value *value)
{
	const struct text_view start = *view;
	bool good = false;

	switch (letter) {
	case 'd':
		value->number = text_take_signed(view, &good);
		text_match_take_other(start, view, letter, value);
		return good;
	case 'x':
		good = text_take_hex(view, &value->number);
		text_match_take_other(start, view, letter, value);
		return good;
	case 'a':
		value->text = text_take_until(view, ")");
		return true;
	case 'D':
		return text_match_take_device(view, value);
	case 'e':
		value->text = *view;
		*view = (struct text_view){ view->at + view->bytes, 0 };
		return true;
	case 'F':
		value->text = text_take_until(view, " \t]),");
		take_module(view, value);
		break;
	case 'S':
		value->text = text_take_until(view, " \t)");
		break;
	default:
		value->text = text_take_until(view, " \t]),");
		break;
	}
	text_match_take_other(start, view, letter, value);
	if (letter == 'b')
		value->number = text_begins(&value->text, "true") ||
				text_begins(&value->text, "1") || text_begins(&value->text, "(1");
	else if (letter == 'h')
		value->number =
			text_begins(&value->text, "handled") || text_begins(&value->text, "1");
	return value->text.bytes > 0 || letter == 'L';
}

/* ------------------------------------------------------------------ matching */

struct matching {
	const struct pattern *pattern;
	struct value *values;
	uint32_t tries;
	bool passes_over; /* what a field has more than is known, up to the next name */
};

static bool take_literal(struct text_view *view, const struct step *step)
{
	struct text_view at = *view;

	for (size_t i = 0; i < step->bytes; i++) {
		if (step->literal[i] == ' ') {
			if (!at.bytes || (*at.at != ' ' && *at.at != '\t'))
				return false;
			text_skip_blanks(&at);
			continue;
		}
		if (!at.bytes || *at.at != step->literal[i])
			return false;
		at.at++;
		at.bytes--;
	}
	*view = at;
	return true;
}

/*
 * " now=" wherever it stands: kernels come to print more of a field, and more fields. Only a
 * name may be looked for; between fields without names nothing tells which is which.
 */
static bool find_name(struct matching *matching, struct text_view *view, const struct step *step)
{
	bool is_name = *step->literal == ' ' && step->literal[step->bytes - 1] == '=';
	const char *blank;

	while (is_name && (blank = memchr(view->at, ' ', view->bytes))) {
		view->bytes -= (size_t)(blank - view->at);
		view->at = blank;
		if (++matching->tries > MAX_TRIES)
			return false;
		if (take_literal(view, step))
			return true;
		view->at++;
		view->bytes--;
	}
	return false;
}

static bool match_steps(struct matching *matching, uint32_t first, struct text_view view);

/* A text ends where what follows it fits. */
static bool match_text(struct matching *matching, uint32_t index, struct text_view view)
{
	const struct pattern *pattern = matching->pattern;
	struct value *value = &matching->values[pattern->steps[index].field];
	char next = index + 1 < pattern->count ? *pattern->steps[index + 1].literal : '\0';

	for (size_t bytes = 0; bytes < view.bytes; bytes++) {
		const char *at = memchr(view.at + bytes, next, view.bytes - bytes);

		if (!at || ++matching->tries > MAX_TRIES)
			return false;
		bytes = (size_t)(at - view.at);
		if (match_steps(matching, index + 1,
				(struct text_view){ at, view.bytes - bytes })) {
			value->text = (struct text_view){ view.at, bytes };
			value->is_set = true;
			return true;
		}
	}
	return false;
}

static bool match_steps(struct matching *matching, uint32_t first, struct text_view view)
{
	for (uint32_t i = first; i < matching->pattern->count; i++) {
		const struct step *step = &matching->pattern->steps[i];
		struct value *value = &matching->values[step->field];

		if (step->bytes) {
			if (!take_literal(&view, step) &&
			    !(matching->passes_over && i && find_name(matching, &view, step)))
				return false;
			continue;
		}
		if (step->letter == 's')
			return match_text(matching, i, view);
		if (!match_take_value(&view, step->letter, value))
			return false;
		value->is_set = true;
	}
	return true;
}

static bool match_any(const struct kind *kind, struct text_view text, bool passes_over,
		      struct value *values)
{
	for (uint32_t i = 0; i < kind->pattern_count; i++) {
		struct matching matching = {
			.values = values,
			.pattern = &kind->patterns[i],
			.passes_over = passes_over,
		};

		memset(values, 0, kind->field_count * sizeof(*values));
		if (match_steps(&matching, 0, text))
			return true;
	}
	return false;
}

/* The values of the fields, by the first pattern that fits. */
bool text_match(const struct kind *kind, struct text_view text, struct value *values)
{
	if (match_any(kind, text, false, values) || match_any(kind, text, true, values))
		return true;
	memset(values, 0, kind->field_count * sizeof(*values));
	return kind->pattern_count == 0;
}
