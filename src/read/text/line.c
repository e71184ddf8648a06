/* line.c - the columns before an event, as each tool writes them. */
#include "read/text/line.h"

#include <string.h>

#include "base/mem.h"
#include "event/event.h"

#define HEAD_BYTES   512u /* the number of the CPU stands before this */
#define MAX_BRACKETS 8u	  /* a name may have some */
#define FLAGS_MAX    9u
#define SECOND_NS    UINT64_C(1000000000)
#define MS_NS	     UINT64_C(1000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool text_line_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip(struct text_view *view, size_t bytes)
{
	view->at += bytes;
	view->bytes -= bytes;
}

void text_skip_blanks(struct text_view *view)
{
	while (view->bytes && text_line_is_blank(*view->at))
		skip(view, 1);
}

bool text_is(struct text_view view, const char *word)
{
	return view.bytes == strlen(word) && memcmp(view.at, word, view.bytes) == 0;
}

bool text_begins(const struct text_view *view, const char *prefix)
{
	size_t bytes = strlen(prefix);

	return view->bytes >= bytes && memcmp(view->at, prefix, bytes) == 0;
}

bool text_take_number(struct text_view *view, uint64_t *out_number)
{
	uint64_t number = 0;
	size_t count = 0;

	for (; count < view->bytes && is_digit(view->at[count]); count++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(view->at[count] - '0'), &number))
			return false;
	}
	if (count == 0)
		return false;
	skip(view, count);
	*out_number = number;
	return true;
}

static int text_line_hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_take_hex(struct text_view *view, uint64_t *out_number)
{
	struct text_view at = *view;
	uint64_t number = 0;
	size_t count = 0;

	if (text_begins(&at, "0x") || text_begins(&at, "0X"))
		skip(&at, 2);
	for (; count < at.bytes && text_line_hex_digit(at.at[count]) >= 0; count++) {
		if (number >> 60)
			return false;
		number = number << 4 | (uint64_t)text_line_hex_digit(at.at[count]);
	}
	if (count == 0)
		return false;
	skip(&at, count);
	*view = at;
	*out_number = number;
	return true;
}

static struct text_view text_line_take_word(struct text_view *view)
{
	struct text_view word = { view->at, 0 };

	while (word.bytes < view->bytes && !text_line_is_blank(view->at[word.bytes]))
		word.bytes++;
	skip(view, word.bytes);
	return word;
}

/* ------------------------------------------------------------------ who */

/* The digits at the end of a view, which then ends before them. */
static bool take_last_number(struct text_view *view, uint64_t *out_number)
{
	struct text_view digits;
	size_t start = view->bytes;

	while (start && is_digit(view->at[start - 1]))
		start--;
	digits = (struct text_view){ view->at + start, view->bytes - start };
	view->bytes = start;
	return text_take_number(&digits, out_number) && *out_number <= INT32_MAX;
}

static void trim_end(struct text_view *view)
{
	while (view->bytes && text_line_is_blank(view->at[view->bytes - 1]))
		view->bytes--;
}

/* "( 1977)" or "(-----)" at the end. */
static bool take_group(struct text_view *view, struct text_line *line)
{
	struct text_view inner;
	uint64_t number;
	size_t open = view->bytes;

	if (!view->bytes || view->at[view->bytes - 1] != ')')
		return true;
	while (open && view->at[open - 1] != '(')
		open--;
	if (!open)
		return false;
	inner = (struct text_view){ view->at + open, view->bytes - open - 1 };
	text_skip_blanks(&inner);
	if (text_take_number(&inner, &number) && number <= INT32_MAX)
		line->tgid = (int32_t)number;
	view->bytes = open - 1;
	trim_end(view);
	return true;
}

/*
 * trace-cmd report of several instances or files: "foo:            bash-1977". The name of a thread
 * may have a colon, too, but is set to the right behind that of an instance.
 */
static void skip_instance(struct text_view *view)
{
	struct text_view at = *view, word = text_line_take_word(&at);

	if (word.bytes > 1 && word.at[word.bytes - 1] == ':' && at.bytes > 2 &&
	    text_line_is_blank(at.at[0]) && text_line_is_blank(at.at[1])) {
		text_skip_blanks(&at);
		*view = at;
	}
}

/* "COMM-TID", "COMM TID" or "COMM PID/TID", with or without the process behind it. */
static bool parse_thread(struct text_view view, struct text_line *line)
{
	uint64_t tid, pid;

	trim_end(&view);
	if (!take_group(&view, line) || !take_last_number(&view, &tid) || !view.bytes)
		return false;
	line->tid = (int32_t)tid;
	if (view.at[view.bytes - 1] == '/') {
		struct text_view before = { view.at, view.bytes - 1 };

		if (take_last_number(&before, &pid)) {
			line->tgid = (int32_t)pid;
			view = before;
			if (!view.bytes)
				return false;
		}
	}
	if (view.at[view.bytes - 1] != '-' && !text_line_is_blank(view.at[view.bytes - 1]))
		return false;
	view.bytes--;
	trim_end(&view);
	text_skip_blanks(&view);
	skip_instance(&view);
	line->comm = view;
	return true;
}

/* ------------------------------------------------------------------ when */

/* Up to nine digits behind the point. */
static bool take_fraction(struct text_view *view, uint64_t *out_ns)
{
	uint64_t ns = 0;
	size_t count = 0;

	for (; count < view->bytes && is_digit(view->at[count]); count++) {
		if (count < 9)
			ns = ns * 10 + (uint64_t)(view->at[count] - '0');
	}
	for (size_t i = count; i < 9; i++)
		ns *= 10;
	skip(view, count);
	*out_ns = ns;
	return count > 0;
}

/* "1234.567890:", "1234567:", "12us+:" and "12us :" */
static bool take_time(struct text_view *view, struct text_line *line)
{
	struct text_view at = *view;
	uint64_t whole, part = 0;

	if (!text_take_number(&at, &whole))
		return false;
	if (at.bytes && *at.at == '.') {
		skip(&at, 1);
		if (!take_fraction(&at, &part) || whole > INT64_MAX / SECOND_NS - 1)
			return false;
		line->time_ns = whole * SECOND_NS + part;
	} else if (text_begins(&at, "us")) {
		skip(&at, 2);
		while (at.bytes && strchr(" +!#*@$", *at.at))
			skip(&at, 1);
		if (whole > INT64_MAX / 1000)
			return false;
		line->time_ns = whole * 1000;
	} else {
		line->is_counter = true;
		line->time_ns = whole;
	}
	if (line->time_ns > INT64_MAX || !at.bytes || *at.at != ':')
		return false;
	skip(&at, 1);
	*view = at;
	return true;
}

/* include/linux/trace_events.h: enum trace_flag_type */
static const struct {
	uint8_t column;
	char letter;
	uint8_t flags;
} flag_rows[] = {
	{ 0, 'd', 0x01 }, { 0, 'D', 0x81 }, { 0, 'b', 0x80 }, { 1, 'N', 0x24 },
	{ 1, 'n', 0x04 }, { 1, 'p', 0x20 }, { 2, 'h', 0x08 }, { 2, 's', 0x10 },
	{ 2, 'H', 0x18 }, { 2, 'z', 0x40 }, { 2, 'Z', 0x48 },
};
#define FLAG_HARDIRQ 0x08u
#define FLAG_SOFTIRQ 0x10u
#define FLAG_NMI     0x40u

static uint8_t kernel_flags(struct text_view letters)
{
	uint8_t flags = 0;

	for (size_t i = 0; i < ARRAY_LEN(flag_rows); i++) {
		if (letters.at[flag_rows[i].column] == flag_rows[i].letter)
			flags |= flag_rows[i].flags;
	}
	return flags;
}

static uint8_t depth(char letter)
{
	int digit = text_line_hex_digit(letter);

	return digit < 0 ? 0 : (uint8_t)digit;
}

static bool text_line_is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

/* "d..2.": interrupts off, reschedule, context, preemption, migration. */
static bool take_flags(struct text_view flags, struct text_line *line)
{
	char context;

	if (flags.bytes < 3 || flags.bytes > FLAGS_MAX)
		return false;
	for (size_t i = 0; i < flags.bytes; i++) {
		if (!text_line_is_one_of(flags.at[i], ".dDbBXnNpPlLhHsSzZ#x0123456789abcdefABCDEF"))
			return false;
	}
	context = flags.at[2];
	line->context = EV_CTX_KNOWN;
	line->flags = kernel_flags(flags);
	line->preempt = flags.bytes > 3 ? depth(flags.at[3]) : 0;
	if (flags.bytes > 4)
		line->preempt |= (uint8_t)(depth(flags.at[4]) << 4);
	if (text_line_is_one_of(context, "hHzZ"))
		line->context |= EV_CTX_HARDIRQ;
	if (text_line_is_one_of(context, "sSH"))
		line->context |= EV_CTX_SOFTIRQ;
	return true;
}

/* Behind the CPU: flags, if there are some, maybe the mark of a delay, and the time. */
static bool parse_when(struct text_view *view, struct text_line *line)
{
	struct text_view flags;

	text_skip_blanks(view);
	if (take_time(view, line))
		return true;
	flags = text_line_take_word(view);
	if (!take_flags(flags, line))
		return false;
	text_skip_blanks(view);
	if (view->bytes > 1 && text_line_is_one_of(*view->at, "+!#*@$")) {
		skip(view, 1);
		text_skip_blanks(view);
	}
	return take_time(view, line);
}

/* "[003]" at the bracket. */
static bool text_line_take_cpu(struct text_view *view, uint32_t *out_cpu)
{
	uint64_t cpu;

	skip(view, 1);
	if (!text_take_number(view, &cpu) || cpu >= TEXT_MAX_CPUS || !view->bytes ||
	    *view->at != ']')
		return false;
	skip(view, 1);
	*out_cpu = (uint32_t)cpu;
	return true;
}

static void line_forget(struct text_line *line)
{
	*line = (struct text_line){ .kind = TEXT_UNKNOWN, .tid = -1, .tgid = -1 };
}

/* Everything before the event; what is left is the event. */
static bool text_line_parse_head(struct text_view *view, struct text_line *line)
{
	struct text_view from = *view;

	for (uint32_t i = 0; i < MAX_BRACKETS; i++) {
		size_t room = from.bytes < HEAD_BYTES ? from.bytes : HEAD_BYTES;
		const char *bracket = room ? memchr(from.at, '[', room) : NULL;
		struct text_view rest;

		if (!bracket)
			return false;
		rest = (struct text_view){ bracket, view->bytes - (size_t)(bracket - view->at) };
		from = (struct text_view){ bracket + 1, rest.bytes - 1 };
		line_forget(line);
		if (!text_line_take_cpu(&rest, &line->cpu))
			continue;
		if (parse_thread((struct text_view){ view->at, (size_t)(bracket - view->at) },
				 line) &&
		    parse_when(&rest, line)) {
			*view = rest;
			return true;
		}
	}
	return false;
}

/* "bash-1977    0d..2 12us : ", without brackets. */
static bool parse_latency_head(struct text_view *view, struct text_line *line)
{
	struct text_view at = *view;

	while (at.bytes) {
		struct text_view rest, flags, word;
		uint64_t cpu;

		(void)text_line_take_word(&at);
		word = (struct text_view){ view->at, view->bytes - at.bytes };
		if (word.bytes > HEAD_BYTES)
			return false;
		text_skip_blanks(&at);
		rest = at;
		line_forget(line);
		if (!is_digit(rest.bytes ? *rest.at : ' ') || !text_take_number(&rest, &cpu) ||
		    cpu >= TEXT_MAX_CPUS)
			continue;
		flags = text_line_take_word(&rest);
		text_skip_blanks(&rest);
		if (!take_flags(flags, line) || !take_time(&rest, line) ||
		    !parse_thread(word, line))
			continue;
		line->cpu = (uint32_t)cpu;
		*view = rest;
		return true;
	}
	return false;
}

/* "16.135ms (+0.085ms): ", or "16135 (+85): " of a counter. */
static bool take_long_time(struct text_view *view, struct text_line *line)
{
	struct text_view at = *view;
	uint64_t whole, part = 0;
	const char *colon;

	if (!text_take_number(&at, &whole) || whole > INT64_MAX / MS_NS - 1)
		return false;
	line->is_counter = !at.bytes || *at.at != '.';
	line->time_ns = whole;
	if (!line->is_counter) {
		skip(&at, 1);
		if (!take_fraction(&at, &part) || !text_begins(&at, "ms"))
			return false;
		skip(&at, 2);
		line->time_ns = whole * MS_NS + part / 1000;
	}
	colon = text_begins(&at, " (+") ? memmem(at.at, at.bytes, "):", 2) : NULL;
	if (!colon)
		return false;
	skip(&at, (size_t)(colon + 2 - at.at));
	*view = at;
	return true;
}

/* The last word of a view, which then ends before it, as a number. */
static bool take_last_word(struct text_view *view, bool is_hex, uint64_t *out_number)
{
	struct text_view word;
	size_t start;

	trim_end(view);
	for (start = view->bytes; start && !text_line_is_blank(view->at[start - 1]);)
		start--;
	word = (struct text_view){ view->at + start, view->bytes - start };
	view->bytes = start;
	return (is_hex ? text_take_hex(&word, out_number) : text_take_number(&word, out_number)) &&
	       word.bytes == 0;
}

/*
 * With the options "latency-format" and "verbose": "bash 3144 1 0 00000000 00000001 [780a2beb]
 * 16.220ms (+0.001ms): ", which is name, thread, CPU, flags, depth, number and time.
 */
static bool parse_verbose_head(struct text_view *view, struct text_line *line)
{
	const char *bracket = memchr(view->at, '[', view->bytes);
	struct text_view head, rest;
	uint64_t stamp, number, depth_of, flags, cpu;

	if (!bracket)
		return false;
	head = (struct text_view){ view->at, (size_t)(bracket - view->at) };
	rest = (struct text_view){ bracket + 1, view->bytes - head.bytes - 1 };
	if (head.bytes > HEAD_BYTES || !text_take_hex(&rest, &stamp) || !text_begins(&rest, "] ") ||
	    !take_last_word(&head, true, &number) || !take_last_word(&head, true, &depth_of) ||
	    !take_last_word(&head, false, &flags) || !take_last_word(&head, false, &cpu) ||
	    cpu >= TEXT_MAX_CPUS || flags > UINT8_MAX || !parse_thread(head, line))
		return false;
	skip(&rest, 2);
	line->cpu = (uint32_t)cpu;
	line->flags = (uint8_t)flags;
	line->preempt = (uint8_t)(depth_of & 0xf);
	line->context = EV_CTX_KNOWN;
	line->context |= flags & (FLAG_HARDIRQ | FLAG_NMI) ? EV_CTX_HARDIRQ : 0;
	line->context |= flags & FLAG_SOFTIRQ ? EV_CTX_SOFTIRQ : 0;
	if (!take_long_time(&rest, line))
		return false;
	*view = rest;
	return true;
}

/* ------------------------------------------------------------------ what */

static bool word_is_name(struct text_view word)
{
	for (size_t i = 0; i < word.bytes; i++) {
		unsigned char c = (unsigned char)word.at[i];

		if (c <= ' ' || c >= 0x7f)
			return false;
	}
	return word.bytes > 0 && word.bytes < 256;
}

/* perf may print a period before the event: "1234.567890:          1 sched:sched_switch:" */
static void skip_period(struct text_view *view)
{
	struct text_view at = *view;
	uint64_t period;

	if (!text_take_number(&at, &period) || !at.bytes || !text_line_is_blank(*at.at))
		return;
	text_skip_blanks(&at);
	*view = at;
}

static bool text_line_parse_call(struct text_view view, struct text_line *line)
{
	const char *open;
	size_t name;

	if (!text_begins(&view, "sys_") && !text_begins(&view, "compat_sys_"))
		return false;
	skip(&view, *view.at == 'c' ? 11 : 4);
	open = memchr(view.at, '(', view.bytes);
	name = (size_t)(text_line_take_word(&(struct text_view){ view.at, view.bytes }).bytes);
	line->name = (struct text_view){ view.at, name };
	if (open && (size_t)(open - view.at) <= name) {
		line->kind = TEXT_ENTER;
		line->name.bytes = (size_t)(open - view.at);
		skip(&view, line->name.bytes + 1);
	} else {
		skip(&view, name);
		text_skip_blanks(&view);
		if (!text_begins(&view, "->"))
			return false;
		line->kind = TEXT_EXIT;
		skip(&view, 2);
		text_skip_blanks(&view);
	}
	line->text = view;
	return word_is_name(line->name);
}

/*
 * "PERF_RECORD_FORK(61:61):(60:60)", of perf script --show-task-events. What was there before the
 * recording has no time: it is no event.
 */
static bool parse_perf_record(struct text_view view, struct text_line *line)
{
	struct text_view rest = view;

	if (!text_begins(&view, "PERF_RECORD_"))
		return false;
	while (rest.bytes && *rest.at != ':' && *rest.at != '(' && !text_line_is_blank(*rest.at))
		skip(&rest, 1);
	line->name = (struct text_view){ view.at, view.bytes - rest.bytes };
	if (rest.bytes && *rest.at == ':')
		skip(&rest, 1);
	text_skip_blanks(&rest);
	line->text = rest;
	if (line->time_ns == 0)
		line->kind = TEXT_NOISE;
	return word_is_name(line->name);
}

static void text_line_parse_event(struct text_view view, struct text_line *line)
{
	struct text_view rest, word;

	text_skip_blanks(&view);
	skip_period(&view);
	rest = view;
	word = text_line_take_word(&rest);
	line->kind = TEXT_EVENT;
	line->name = (struct text_view){ NULL, 0 };
	line->text = view;
	if (text_line_parse_call(view, line))
		return;
	line->kind = TEXT_EVENT;
	line->name = (struct text_view){ NULL, 0 };
	if (parse_perf_record(view, line))
		return;
	text_skip_blanks(&rest);
	if (text_begins(&rest, "<-")) {
		line->kind = TEXT_FUNCTION;
	} else if (text_begins(&view, "<stack trace>") ||
		   text_begins(&view, "<user stack trace>")) {
		line->kind = TEXT_STACK;
	} else if (word.bytes > 1 && word.at[word.bytes - 1] == ':') {
		word.bytes--;
		if (!word_is_name(word))
			return;
		line->name = word;
		line->text = rest;
		/* As trace-cmd prints them: " kernel_stack:   <stack trace >" */
		if (text_is(word, "kernel_stack") || text_is(word, "user_stack"))
			line->kind = TEXT_STACK;
	}
}

/* "CPU:3 [LOST 17 EVENTS]", "CPU:3 [17 EVENTS DROPPED]", "CPU:3 [EVENTS DROPPED]" */
static bool parse_lost(struct text_view view, struct text_line *line)
{
	uint64_t cpu, lost = 0;

	if (!text_begins(&view, "CPU:"))
		return false;
	skip(&view, 4);
	if (!text_take_number(&view, &cpu) || cpu >= TEXT_MAX_CPUS)
		return false;
	text_skip_blanks(&view);
	if (!view.bytes || *view.at != '[' ||
	    (!memmem(view.at, view.bytes, "LOST", 4) && !memmem(view.at, view.bytes, "DROPPED", 7)))
		return false;
	while (view.bytes && !is_digit(*view.at))
		skip(&view, 1);
	(void)text_take_number(&view, &lost);
	line->kind = TEXT_LOST;
	line->cpu = (uint32_t)cpu;
	line->lost = lost;
	return true;
}

/* " 0)   1.234 us    |  schedule();" */
static bool is_graph(struct text_view view)
{
	uint64_t cpu;

	return text_take_number(&view, &cpu) && view.bytes && *view.at == ')' &&
	       (memchr(view.at, '|', view.bytes) || memmem(view.at, view.bytes, "=>", 2));
}

static bool is_noise(struct text_view view)
{
	static const char *const prefixes[] = {
		"version =",
		"cpus=",
		"##### CPU ",
		"--",
		"[0000",
		"trace.dat",
		"<",
		"-----",
		/* trace-cmd report -w, behind the last event */
		"Average wakeup latency:",
		"Maximum Latency:",
		"Minimum Latency:",
		"RT task timings:",
	};

	if (!view.bytes || *view.at == '#')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (text_begins(&view, prefixes[i]))
			return true;
	}
	if (text_begins(&view, "CPU ") && memmem(view.at, view.bytes, "empty", 5))
		return true;
	return text_begins(&view, "CPU:") && memmem(view.at, view.bytes, "[SUBBUFFER START]", 17);
}

/* An address of a stack of perf: "    ffffffff8a0b schedule+0x12 ([kernel.kallsyms])" */
static bool is_frame(struct text_view view)
{
	uint64_t address;
	size_t bytes = view.bytes;

	if (!text_take_hex(&view, &address) || !view.bytes || !text_line_is_blank(*view.at))
		return false;
	/* One without a mapping may be short: "    0 [unknown] ([unknown])". */
	return bytes - view.bytes >= 5 || view.at[view.bytes - 1] == ')';
}

void text_line_parse(const char *text, size_t bytes, struct text_line *out_line)
{
	struct text_view view = { text, bytes };
	bool indented = bytes && text_line_is_blank(*text);

	line_forget(out_line);
	text_skip_blanks(&view);
	if (text_line_parse_head(&view, out_line)) {
		text_line_parse_event(view, out_line);
		return;
	}
	if (!view.bytes || *view.at == '#') {
		out_line->kind = TEXT_NOISE;
		return;
	}
	line_forget(out_line);
	if (parse_lost(view, out_line))
		return;
	if (parse_latency_head(&view, out_line)) {
		text_line_parse_event(view, out_line);
		return;
	}
	line_forget(out_line);
	if (parse_verbose_head(&view, out_line)) {
		text_line_parse_event(view, out_line);
		return;
	}
	line_forget(out_line);
	if (is_noise(view))
		out_line->kind = TEXT_NOISE;
	else if (is_graph(view))
		out_line->kind = TEXT_GRAPH;
	else if (text_begins(&view, "=>") || (indented && is_frame(view)))
		out_line->kind = TEXT_FRAME;
}
