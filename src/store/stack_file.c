/* stack_file.c - see stack_file.h. */
#include "store/stack_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "event/stacks.h"
#include "store/file.h"

#define FIRST_LINE    "holdup-stacks 5"
#define FIRST_WORDS   "holdup-stacks "
#define VERSIONS      "12345"
#define FUTEX_KINDS   "pvgas" /* of enum stack_futex_kind */
#define BYTES_MAX     STACK_FILE_BYTES_MAX
#define FRAMES_MAX    STACK_FILE_FRAMES_MAX
#define PARTS_MAX     (FRAMES_MAX + 2)
#define ITEMS_MAX     STACK_FILE_ITEMS_MAX
#define PERIOD_MAX_NS UINT64_C(1000000000000)
#define BAD_MAX	      STACK_FILE_BAD_MAX

/* ------------------------------------------------------------------ writing */

/* A part of a line, with the tab before it. */
static void put_part(FILE *out, const char *text)
{
	putc('\t', out);
	for (; text && *text; text++)
		putc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, out);
}

void stack_file_begin(FILE *out)
{
	fputs(FIRST_LINE "\n", out);
}

void stack_file_frame(FILE *out, const struct stack_frame *frame)
{
	bool has_none =
		!frame->is_kernel && !frame->is_inlined && !frame->is_script && !frame->is_unnamed;

	fprintf(out, "F\t%s%s%s%s%s\t%" PRIx64 "\t%" PRIu32, frame->is_kernel ? "k" : "",
		frame->is_inlined ? "i" : "", frame->is_script ? "s" : "",
		frame->is_unnamed ? "u" : "", has_none ? "-" : "", frame->offset, frame->line);
	put_part(out, frame->function);
	put_part(out, frame->signature);
	put_part(out, frame->module);
	put_part(out, frame->path);
	put_part(out, frame->build_id);
	put_part(out, frame->file);
	if (frame->start)
		fprintf(out, "\t%" PRIx64, frame->start);
	putc('\n', out);
}

void stack_file_stack(FILE *out, const uint32_t *frames, size_t count, const char *end)
{
	putc('S', out);
	put_part(out, end);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "\t%" PRIu32, frames[i]);
	putc('\n', out);
}

void stack_file_wait(FILE *out, const struct stack_wait *wait)
{
	fprintf(out, "W\t%" PRId32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s%s%s\t%" PRIu32 "\n",
		wait->tid, wait->begin_ns, wait->end_ns, wait->slept_ns, wait->is_short ? "s" : "",
		wait->is_open ? "o" : "", wait->is_short || wait->is_open ? "" : "-", wait->stack);
}

void stack_file_sampling(FILE *out, const struct stack_sampling *sampling)
{
	fprintf(out, "P\t%" PRIu64 "\t%" PRIu64 "\t%s\n", sampling->period_ns, sampling->lost,
		sampling->is_all ? "all" : "tree");
}

void stack_file_sample(FILE *out, const struct stack_sample *sample)
{
	fprintf(out, "C\t%" PRId32 "\t%" PRIu64 "\t%" PRIu32 "\n", sample->tid, sample->time_ns,
		sample->stack);
}

void stack_file_futex(FILE *out, const struct stack_futex *futex)
{
	fprintf(out, "L\t%" PRId32 "\t%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%c", futex->tgid,
		futex->address, futex->from_ns, futex->until_ns, FUTEX_KINDS[futex->kind]);
	put_part(out, futex->name);
	put_part(out, futex->module);
	fprintf(out, "\t%" PRIu32 "\n", futex->stack);
}

/* ------------------------------------------------------------------ reading */

static size_t split_line(char *line, char **parts)
{
	size_t count = 0;
	char *at = line;

	while (at && count < PARTS_MAX) {
		parts[count++] = at;
		at = strchr(at, '\t');
		if (at)
			*at++ = '\0';
	}
	return at ? 0 : count; /* more than there can be */
}

static bool parse_hex(const char *text, uint64_t *out_value)
{
	char *end;

	if (!*text || strspn(text, "0123456789abcdef") != strlen(text) || strlen(text) > 16)
		return false;
	*out_value = strtoull(text, &end, 16);
	return true;
}

static bool parse_u32(const char *text, uint32_t *out_value)
{
	uint64_t value;

	if (!text_parse_u64(text, &value) || value > UINT32_MAX)
		return false;
	*out_value = (uint32_t)value;
	return true;
}

static bool read_frame(char **parts, size_t count, struct stacks *stacks)
{
	struct stack_frame frame = { 0 };

	if (count < 10 || count > 11 || stacks->frame_count >= ITEMS_MAX ||
	    !parse_hex(parts[2], &frame.offset) || !parse_u32(parts[3], &frame.line) ||
	    (count == 11 && !parse_hex(parts[10], &frame.start)))
		return false;
	frame.is_kernel = strchr(parts[1], 'k') != NULL;
	frame.is_inlined = strchr(parts[1], 'i') != NULL;
	frame.is_script = strchr(parts[1], 's') != NULL;
	frame.is_unnamed = strchr(parts[1], 'u') != NULL;
	frame.function = parts[4];
	frame.signature = parts[5];
	frame.module = parts[6];
	frame.path = parts[7];
	frame.build_id = parts[8];
	frame.file = parts[9];
	stacks_add_frame(stacks, &frame);
	return true;
}

static bool read_stack(char **parts, size_t count, struct stacks *stacks)
{
	uint32_t frames[FRAMES_MAX];

	if (count < 2 || count - 2 > FRAMES_MAX || stacks->stack_count >= ITEMS_MAX ||
	    stacks->frame_id_count >= ITEMS_MAX * 4)
		return false;
	for (size_t i = 2; i < count; i++) {
		if (!parse_u32(parts[i], &frames[i - 2]))
			return false;
	}
	return stacks_add_stack(stacks, frames, count - 2, parts[1]);
}

static bool read_wait(char **parts, size_t count, struct stacks *stacks)
{
	struct stack_wait wait = { 0 };
	uint32_t tid;

	if (count != 7 || stacks->wait_count >= ITEMS_MAX || !parse_u32(parts[1], &tid) ||
	    tid > INT32_MAX || !text_parse_u64(parts[2], &wait.begin_ns) ||
	    !text_parse_u64(parts[3], &wait.end_ns) || !text_parse_u64(parts[4], &wait.slept_ns) ||
	    !parse_u32(parts[6], &wait.stack) || wait.stack >= stacks->stack_count ||
	    wait.end_ns < wait.begin_ns)
		return false;
	wait.tid = (int32_t)tid;
	wait.is_short = strchr(parts[5], 's') != NULL;
	wait.is_open = strchr(parts[5], 'o') != NULL;
	stacks_add_wait(stacks, &wait);
	return true;
}

static bool read_sampling(char **parts, size_t count, struct stacks *stacks)
{
	struct stack_sampling sampling = { 0 };

	if (count != 4 || !text_parse_u64(parts[1], &sampling.period_ns) ||
	    !text_parse_u64(parts[2], &sampling.lost) || sampling.period_ns > PERIOD_MAX_NS)
		return false;
	sampling.is_all = strcmp(parts[3], "all") == 0;
	stacks->sampling = sampling;
	return true;
}

static bool read_sample(char **parts, size_t count, struct stacks *stacks)
{
	struct stack_sample sample = { 0 };
	uint32_t tid;

	if (count != 4 || stacks->sample_count >= ITEMS_MAX || !parse_u32(parts[1], &tid) ||
	    tid > INT32_MAX || !text_parse_u64(parts[2], &sample.time_ns) ||
	    !parse_u32(parts[3], &sample.stack) || sample.stack >= stacks->stack_count)
		return false;
	sample.tid = (int32_t)tid;
	stacks_add_sample(stacks, &sample);
	return true;
}

static bool read_futex(char **parts, size_t count, struct stacks *stacks)
{
	struct stack_futex futex = { 0 };
	const char *kind;
	uint32_t tgid;

	if (count != 9 || stacks->futex_count >= ITEMS_MAX || !parse_u32(parts[1], &tgid) ||
	    tgid > INT32_MAX || !parse_hex(parts[2], &futex.address) ||
	    !text_parse_u64(parts[3], &futex.from_ns) ||
	    !text_parse_u64(parts[4], &futex.until_ns) || strlen(parts[5]) != 1 ||
	    !parse_u32(parts[8], &futex.stack) || futex.stack >= stacks->stack_count)
		return false;
	kind = strchr(FUTEX_KINDS, parts[5][0]);
	if (!kind || (*kind == 'v' && !parts[6][0]))
		return false;
	futex.tgid = (int32_t)tgid;
	futex.kind = (enum stack_futex_kind)(kind - FUTEX_KINDS);
	futex.name = parts[6];
	futex.module = parts[7];
	stacks_add_futex(stacks, &futex);
	return true;
}

static bool stack_read_line(char *line, struct stacks *stacks)
{
	char *parts[PARTS_MAX];
	size_t count = split_line(line, parts);

	if (count && strcmp(parts[0], "F") == 0) {
		if (read_frame(parts, count, stacks))
			return true;
		/* What comes behind it keeps its number. */
		stacks_add_frame(stacks, &(struct stack_frame){ 0 });
		return false;
	}
	if (count && strcmp(parts[0], "S") == 0) {
		if (read_stack(parts, count, stacks))
			return true;
		(void)stacks_add_stack(stacks, NULL, 0, "damaged");
		return false;
	}
	if (count && strcmp(parts[0], "W") == 0)
		return read_wait(parts, count, stacks);
	if (count && strcmp(parts[0], "C") == 0)
		return read_sample(parts, count, stacks);
	if (count && strcmp(parts[0], "L") == 0)
		return read_futex(parts, count, stacks);
	return count && strcmp(parts[0], "P") == 0 && read_sampling(parts, count, stacks);
}

char stack_file_numbered(const char *line, size_t bytes)
{
	size_t tabs = 0;

	if (!bytes || (line[0] != 'F' && line[0] != 'S') || (bytes > 1 && line[1] != '\t'))
		return 0;
	for (size_t i = 0; i < bytes; i++)
		tabs += line[i] == '\t';
	return tabs < PARTS_MAX ? line[0] : 0; /* as split_line() */
}

/* Is the first line that of a version that is known? */
static bool header_is_ours(const char *text)
{
	size_t words = strlen(FIRST_WORDS);

	return strncmp(text, FIRST_WORDS, words) == 0 && text[words] &&
	       strchr(VERSIONS, text[words]) && text[words + 1] == '\n';
}

int stack_file_parse(char *text, struct stacks *stacks, size_t *out_bad)
{
	char *line = text, *next;
	size_t bad = 0;

	*out_bad = 0;
	if (!header_is_ours(text))
		return -EBADMSG;
	for (line += strlen(FIRST_LINE "\n"); *line && bad < BAD_MAX; line = next) {
		next = strchr(line, '\n');
		next = next ? (*next = '\0', next + 1) : strchr(line, '\0');
		bad += !stack_read_line(line, stacks);
	}
	*out_bad = bad;
	return 0;
}

int stack_file_read(const char *path, struct stacks *stacks, size_t *out_bad, struct err *err)
{
	AUTO_FREE char *text = NULL;
	size_t bytes;
	int rc = file_read(path, BYTES_MAX, &text, &bytes, err);

	*out_bad = 0;
	if (rc < 0)
		return rc;
	rc = stack_file_parse(text, stacks, out_bad);
	return rc < 0 ? err_set(err, rc, "%s: not a file of stacks", path) : 0;
}
