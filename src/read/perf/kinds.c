/* kinds.c - format files for perf's own records. */
#include "read/perf/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "read/format_text.h"
#include "read/perf/file.h"
#include "store/formats.h"

#define MAX_KIND      65535u
#define HEAD_BYTES    8u
#define RECORD_SHIFT  8u /* of the fields of a record: one place before them */
#define COPY_DATA_MAX 65000u

/* ------------------------------------------------------------------ records */

struct field {
	const char *type, *name;
	uint16_t at; /* in perf's record */
	uint8_t bytes;
	const char *print;
};

/* A kind of record: its fields, and the text behind them. */
struct kind {
	uint32_t kind;
	const char *name;
	const char *text; /* name of the text; NULL = there is none */
	uint16_t text_at;
	struct field fields[10];
};

#define U16(name, at)                    \
	{                                \
		"u16", name, at, 2, "%u" \
	}
#define U32(name, at)                    \
	{                                \
		"u32", name, at, 4, "%u" \
	}
#define S32(name, at)                    \
	{                                \
		"s32", name, at, 4, "%d" \
	}
#define U64(name, at)                      \
	{                                  \
		"u64", name, at, 8, "%llu" \
	}
#define X64(name, at)                        \
	{                                    \
		"u64", name, at, 8, "0x%llx" \
	}

static const struct kind all_kinds[] = {
	{ PERF_MMAP,
	  "mmap",
	  "filename",
	  40,
	  { S32("pid", 8), S32("tid", 12), X64("addr", 16), X64("len", 24), X64("pgoff", 32) } },
	{ PERF_LOST, "lost", NULL, 0, { U64("id", 8), U64("lost", 16) } },
	{ PERF_COMM, "comm", "comm", 16, { S32("pid", 8), S32("tid", 12) } },
	{ PERF_EXIT,
	  "exit",
	  NULL,
	  0,
	  { S32("pid", 8), S32("ppid", 12), S32("tid", 16), S32("ptid", 20), U64("time", 24) } },
	{ PERF_THROTTLE,
	  "throttle",
	  NULL,
	  0,
	  { U64("time", 8), U64("id", 16), U64("stream_id", 24) } },
	{ PERF_UNTHROTTLE,
	  "unthrottle",
	  NULL,
	  0,
	  { U64("time", 8), U64("id", 16), U64("stream_id", 24) } },
	{ PERF_FORK,
	  "fork",
	  NULL,
	  0,
	  { S32("pid", 8), S32("ppid", 12), S32("tid", 16), S32("ptid", 20), U64("time", 24) } },
	{ PERF_READ, "read", NULL, 0, { S32("pid", 8), S32("tid", 12), U64("value", 16) } },
	{ PERF_MMAP2,
	  "mmap2",
	  "filename",
	  72,
	  { S32("pid", 8), S32("tid", 12), X64("addr", 16), X64("len", 24), X64("pgoff", 32),
	    U32("maj", 40), U32("min", 44), U64("ino", 48), U32("prot", 64), U32("flags", 68) } },
	{ PERF_AUX, "aux", NULL, 0, { U64("offset", 8), U64("size", 16), X64("flags", 24) } },
	{ PERF_ITRACE_START, "itrace_start", NULL, 0, { S32("pid", 8), S32("tid", 12) } },
	{ PERF_LOST_SAMPLES, "lost_samples", NULL, 0, { U64("lost", 8) } },
	{ PERF_SWITCH, "switch", NULL, 0, { { 0 } } },
	{ PERF_SWITCH_CPU_WIDE,
	  "switch_cpu_wide",
	  NULL,
	  0,
	  { S32("next_prev_pid", 8), S32("next_prev_tid", 12) } },
	{ PERF_NAMESPACES,
	  "namespaces",
	  NULL,
	  0,
	  { S32("pid", 8), S32("tid", 12), U64("count", 16) } },
	{ PERF_KSYMBOL,
	  "ksymbol",
	  "name",
	  24,
	  { X64("addr", 8), U32("len", 16), U16("ksym_type", 20), U16("flags", 22) } },
	{ PERF_BPF_EVENT,
	  "bpf_event",
	  NULL,
	  0,
	  { U16("bpf_type", 8), U16("flags", 10), U32("id", 12), X64("tag", 16) } },
	{ PERF_CGROUP, "cgroup", "path", 16, { U64("id", 8) } },
	{ PERF_TEXT_POKE,
	  "text_poke",
	  NULL,
	  0,
	  { X64("addr", 8), U16("old_len", 16), U16("new_len", 18) } },
	{ PERF_AUX_OUTPUT_HW_ID, "aux_output_hw_id", NULL, 0, { X64("hw_id", 8) } },
	{ PERF_CALLCHAIN_DEFERRED, "callchain_deferred", NULL, 0, { U64("cookie", 8) } },
	{ PERF_KIND_OTHER, "record", NULL, 0, { { 0 } } },
	{ PERF_KIND_EXEC, "exec", "comm", 16, { S32("pid", 8), S32("tid", 12) } },
};

const char *perf_kind_name(uint32_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(all_kinds); i++) {
		if (all_kinds[i].kind == kind)
			return all_kinds[i].name;
	}
	return "callchain";
}

/* ------------------------------------------------------------------ format files */

struct made {
	FILE *out;
	char *text;
	size_t bytes;
	char *print;	/* owned; print format */
	char *operands; /* owned */
};

static void made_begin(struct made *made, const char *name, uint32_t id)
{
	*made = (struct made){ .print = xstrdup(""), .operands = xstrdup("") };
	made->out = open_memstream(&made->text, &made->bytes);
	if (!made->out)
		abort(); /* only without memory */
	fprintf(made->out,
		"name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
		name, id);
}

/* "NAME=%u", and REC->NAME. */
static void print_as(struct made *made, const char *name, const char *print, const char *operand)
{
	char *longer = xasprintf("%s%s%s=%s", made->print, *made->print ? " " : "", name, print);
	char *operands = xasprintf("%s, %s", made->operands, operand);

	free(made->print);
	free(made->operands);
	made->print = longer;
	made->operands = operands;
}

static void made_add_number(struct made *made, const struct field *field, uint32_t at)
{
	AUTO_FREE char *operand = xasprintf("REC->%s", field->name);

	fprintf(made->out, "\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", field->type,
		field->name, at, field->bytes, field->type[0] == 's');
	if (field->print)
		print_as(made, field->name, field->print, operand);
}

static void perf_kinds_add_text(struct made *made, const char *name, uint32_t at)
{
	AUTO_FREE char *operand = xasprintf("__get_str(%s)", name);

	fprintf(made->out, "\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n", name,
		at);
	print_as(made, name, "%s", operand);
}

static void add_array(struct made *made, const char *name, uint32_t at)
{
	AUTO_FREE char *operand = xasprintf("__print_array(__get_dynamic_array(%s), "
					    "__get_dynamic_array_len(%s) / 8, 8)",
					    name, name);

	fprintf(made->out, "\tfield:__data_loc u64[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n", name,
		at);
	print_as(made, name, "%s", operand);
}

static void perf_kinds_end(struct made *made, const char *name, struct formats *formats)
{
	fprintf(made->out, "\nprint fmt: \"%s\"%s\n", made->print, made->operands);
	fclose(made->out);
	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ xasprintf("perf/%s", name), made->text, made->bytes };
	free(made->print);
	free(made->operands);
}

static void perf_kinds_add_kind(const struct kind *kind, uint32_t id, struct formats *formats)
{
	struct made made;

	made_begin(&made, kind->name, id);
	for (size_t i = 0; i < ARRAY_LEN(kind->fields) && kind->fields[i].name; i++)
		made_add_number(&made, &kind->fields[i], kind->fields[i].at + RECORD_SHIFT);
	if (kind->text)
		perf_kinds_add_text(&made, kind->text, HEAD_BYTES);
	made_add_number(&made, &(struct field){ "u16", "misc", 12, 2, "0x%x" }, HEAD_BYTES + 4);
	perf_kinds_end(&made, kind->name, formats);
}

static void add_chain_kind(uint32_t id, struct formats *formats)
{
	struct made made;

	made_begin(&made, "callchain", id);
	add_array(&made, "ips", HEAD_BYTES);
	perf_kinds_end(&made, "callchain", formats);
}

/* ------------------------------------------------------------------ samples */

/* Fields of samples that stand behind others without a fixed length, in the order of places. */
enum late {
	LATE_MISC,
	LATE_CHAIN,
	LATE_RAW,
	LATE_READ,
	LATE_WEIGHT,
	LATE_DATA_SRC,
	LATE_TRANSACTION,
	LATE_PHYS_ADDR,
	LATE_CGROUP,
	LATE_DATA_PAGE,
	LATE_CODE_PAGE,
	LATE_COUNT
};

#define BODY_AT (HEAD_BYTES + 8u * LATE_COUNT)

static const struct {
	uint64_t has;
	enum late late;
	struct field field;
} late_numbers[] = {
	{ PERF_HAS_WEIGHT | PERF_HAS_WEIGHTS, LATE_WEIGHT, U64("weight", 0) },
	{ PERF_HAS_DATA_SRC, LATE_DATA_SRC, X64("data_src", 0) },
	{ PERF_HAS_TRANSACTION, LATE_TRANSACTION, X64("transaction", 0) },
	{ PERF_HAS_PHYS_ADDR, LATE_PHYS_ADDR, X64("phys_addr", 0) },
	{ PERF_HAS_CGROUP, LATE_CGROUP, U64("cgroup", 0) },
	{ PERF_HAS_DATA_PAGE, LATE_DATA_PAGE, U64("data_page_size", 0) },
	{ PERF_HAS_CODE_PAGE, LATE_CODE_PAGE, U64("code_page_size", 0) },
};

static uint32_t late_at(enum late late)
{
	return HEAD_BYTES + 8u * late;
}

/* The fields in front, in their order; those that are columns anyway are not printed. */
static void add_fixed(struct made *made, const struct perf_attr *attr)
{
	static const struct {
		uint64_t has;
		struct field field;
	} fixed[] = {
		{ PERF_HAS_IDENTIFIER, { "u64", "identifier", 0, 8, NULL } },
		{ PERF_HAS_IP, { "u64", "ip", 0, 8, NULL } },
		{ PERF_HAS_TID, { "u64", "", 0, 8, NULL } },
		{ PERF_HAS_TIME, { "u64", "", 0, 8, NULL } },
		{ PERF_HAS_ADDR, X64("addr", 0) },
		{ PERF_HAS_ID, { "u64", "id", 0, 8, NULL } },
		{ PERF_HAS_STREAM_ID, { "u64", "stream_id", 0, 8, NULL } },
		{ PERF_HAS_CPU, { "u64", "", 0, 8, NULL } },
		{ PERF_HAS_PERIOD, U64("period", 0) },
	};
	uint32_t at = BODY_AT;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		if (!(attr->sample_type & fixed[i].has))
			continue;
		if (fixed[i].has == PERF_HAS_TID)
			made_add_number(made, &(struct field){ "s32", "pid", 0, 4, NULL }, at);
		if (fixed[i].field.name[0])
			made_add_number(made, &fixed[i].field, at);
		if (fixed[i].has == PERF_HAS_IP)
			print_as(made, "ip", "%pS", "(void *)REC->ip");
		at += 8;
	}
}

static void add_sample_kind(const struct perf_attr *attr, uint32_t id, struct formats *formats)
{
	struct made made;

	made_begin(&made, attr->title, id);
	add_fixed(&made, attr);
	made_add_number(&made, &(struct field){ "u16", "misc", 0, 2, NULL }, late_at(LATE_MISC));
	print_as(
		&made, "mode", "%s",
		"__print_symbolic(REC->misc & 7, {0, \"unknown\"}, {1, \"kernel\"}, {2, \"user\"}, "
		"{3, \"hypervisor\"}, {4, \"guest_kernel\"}, {5, \"guest_user\"})");
	for (size_t i = 0; i < ARRAY_LEN(late_numbers); i++) {
		if (attr->sample_type & late_numbers[i].has)
			made_add_number(&made, &late_numbers[i].field,
					late_at(late_numbers[i].late));
	}
	if (attr->sample_type & PERF_HAS_READ)
		add_array(&made, "read", late_at(LATE_READ));
	if (attr->sample_type & PERF_HAS_RAW)
		fprintf(made.out, "\tfield:__data_loc u8[] raw;\toffset:%u;\tsize:4;\tsigned:0;\n",
			late_at(LATE_RAW));
	if (attr->sample_type & PERF_HAS_CALLCHAIN)
		add_array(&made, "callchain", late_at(LATE_CHAIN));
	perf_kinds_end(&made, attr->title, formats);
}

/* ------------------------------------------------------------------ names */

static const char *const hardware[] = { "cycles",
					"instructions",
					"cache-references",
					"cache-misses",
					"branches",
					"branch-misses",
					"bus-cycles",
					"stalled-cycles-frontend",
					"stalled-cycles-backend",
					"ref-cycles" };

static const char *const software[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches"
};

/* The formats of tracepoints, by their numbers: the first of each. */
static void perf_kinds_find_formats(const struct formats *formats, struct map *by_id)
{
	for (size_t i = 0; i < formats->count; i++) {
		int32_t id = format_text_id(formats->sections[i].text);
		bool is_new;
		uint64_t *index;

		if (id < 0 || !strchr(formats->sections[i].name, '/'))
			continue;
		index = map_add(by_id, (uint64_t)id, &is_new);
		if (is_new)
			*index = i;
	}
}

static char *pmu_event_name(const struct perf_file *file, const struct perf_attr *attr)
{
	AUTO_FREE char *type = xasprintf("%u", attr->type);
	const char *pmu = NULL;

	for (size_t i = 0; i < file->pmus.count && !pmu; i++) {
		if (strcmp(file->pmus.sections[i].name, type) == 0)
			pmu = file->pmus.sections[i].text;
	}
	if (pmu)
		return xasprintf("%s/config=0x%llx", pmu, (unsigned long long)attr->config);
	return xasprintf("type-%u/config=0x%llx", attr->type, (unsigned long long)attr->config);
}

static char *attr_name(const struct perf_file *file, const struct perf_attr *attr)
{
	if (attr->name && *attr->name)
		return xstrdup(attr->name);
	if (attr->type == PERF_KIND_HARDWARE && attr->config < ARRAY_LEN(hardware))
		return xstrdup(hardware[attr->config]);
	if (attr->type == PERF_KIND_SOFTWARE && attr->config < ARRAY_LEN(software))
		return xstrdup(software[attr->config]);
	return pmu_event_name(file, attr);
}

/* As a name of a format may be: no blanks, nothing that ends a line. */
static char *perf_kinds_title_of(const struct perf_file *file, const struct perf_attr *attr)
{
	char *title = attr_name(file, attr);

	for (char *c = title; *c; c++) {
		if (!isgraph((unsigned char)*c) || *c == '/' || *c == '"' || *c == '\\')
			*c = '_';
	}
	if (strlen(title) > 100)
		title[100] = '\0';
	return title;
}

/* Two events may have one name: one kind for both, when their fields are the same. */
static bool share_kind(const struct perf_file *file, size_t index)
{
	struct perf_attr *attr = file->attrs.items[index];

	for (size_t i = 0; i < index && i < 64; i++) {
		const struct perf_attr *other = file->attrs.items[i];

		if (!other->is_tracepoint && other->sample_type == attr->sample_type &&
		    strcmp(other->title, attr->title) == 0) {
			attr->kind = other->kind;
			return true;
		}
	}
	return false;
}

/* "sched:sched_switch", whatever it is called in the recording. */
static char *title_of_format(const struct format_section *format)
{
	char *title = xstrdup(format->name);

	*strchr(title, '/') = ':';
	return title;
}

static void name_events(struct perf_file *file)
{
	struct map formats = { 0 };

	perf_kinds_find_formats(&file->formats, &formats);
	for (size_t i = 0; i < file->attrs.count; i++) {
		struct perf_attr *attr = file->attrs.items[i];
		const uint64_t *format =
			attr->is_tracepoint ? map_find(&formats, attr->config) : NULL;

		/* Without its format a tracepoint is a sample as any other. */
		attr->is_tracepoint = format != NULL;
		attr->title = format ? title_of_format(&file->formats.sections[*format])
				     : perf_kinds_title_of(file, attr);
	}
	map_fini(&formats);
}

void perf_kinds_init(struct perf_kinds *kinds, struct perf_file *file)
{
	struct formats *formats = &file->formats;
	uint32_t id = format_text_highest_id(formats);

	kinds->swap = file->swap;
	name_events(file);
	for (size_t i = 0; i < file->attrs.count; i++) {
		struct perf_attr *attr = file->attrs.items[i];

		if (attr->is_tracepoint || share_kind(file, i))
			continue;
		attr->kind = (uint16_t)(id < MAX_KIND ? ++id : MAX_KIND);
		add_sample_kind(attr, attr->kind, formats);
	}
	for (size_t i = 0; i < ARRAY_LEN(all_kinds); i++) {
		kinds->ids[all_kinds[i].kind] = (uint16_t)(id < MAX_KIND ? ++id : MAX_KIND);
		perf_kinds_add_kind(&all_kinds[i], kinds->ids[all_kinds[i].kind], formats);
	}
	kinds->ids[PERF_KIND_CALLCHAIN] = (uint16_t)(id < MAX_KIND ? ++id : MAX_KIND);
	add_chain_kind(kinds->ids[PERF_KIND_CALLCHAIN], formats);
}

/* ------------------------------------------------------------------ copies */

static void put_u16(const struct perf_kinds *kinds, uint8_t *to, uint16_t number)
{
	number = order_u16(number, kinds->swap);
	memcpy(to, &number, sizeof(number));
}

static void put_u32(const struct perf_kinds *kinds, uint8_t *to, uint32_t number)
{
	number = order_u32(number, kinds->swap);
	memcpy(to, &number, sizeof(number));
}

static void kinds_put_head(const struct perf_kinds *kinds, uint16_t id, int32_t tid, uint8_t *to)
{
	memset(to, 0, HEAD_BYTES);
	put_u16(kinds, to, id);
	put_u32(kinds, to + 4, (uint32_t)tid);
}

/* Where a text or an array is. */
static void perf_kinds_put_location(const struct perf_kinds *kinds, uint8_t *to, uint32_t at,
				    uint32_t bytes)
{
	if (at <= UINT16_MAX && bytes <= UINT16_MAX)
		put_u32(kinds, to, bytes << 16 | at);
}

static const struct kind *other_kind(uint32_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(all_kinds); i++) {
		if (all_kinds[i].kind == kind)
			return &all_kinds[i];
	}
	return NULL;
}

uint32_t perf_kind_copy(const struct perf_kinds *kinds, uint32_t kind, const struct perf_attr *attr,
			const struct perf_record *record, int32_t tid, uint8_t *to)
{
	const struct kind *row = other_kind(kind);
	uint32_t tail = attr ? attr->tail_bytes : 0, end;

	end = record->bytes - PERF_RECORD_HEADER < tail ? PERF_RECORD_HEADER : record->bytes - tail;
	if (end > COPY_DATA_MAX)
		end = COPY_DATA_MAX;
	kinds_put_head(kinds, kinds->ids[kind], tid, to);
	memset(to + HEAD_BYTES, 0, 8);
	put_u16(kinds, to + HEAD_BYTES + 4, record->misc);
	memcpy(to + 2 * HEAD_BYTES, record->data + PERF_RECORD_HEADER, end - PERF_RECORD_HEADER);
	if (row && row->text && end > row->text_at)
		perf_kinds_put_location(kinds, to + HEAD_BYTES, row->text_at + RECORD_SHIFT,
					end - row->text_at);
	return end + RECORD_SHIFT;
}

uint32_t perf_kind_sample(const struct perf_kinds *kinds, const struct perf_attr *attr,
			  const struct perf_record *record, int32_t tid, uint8_t *to)
{
	uint32_t end = record->bytes < COPY_DATA_MAX ? record->bytes : COPY_DATA_MAX;
	uint32_t shift = BODY_AT - PERF_RECORD_HEADER;
	struct perf_rest rest;
	const uint8_t *late[LATE_COUNT] = { NULL };

	kinds_put_head(kinds, attr->kind, tid, to);
	memset(to + HEAD_BYTES, 0, BODY_AT - HEAD_BYTES);
	put_u16(kinds, to + late_at(LATE_MISC), record->misc);
	if (end > PERF_RECORD_HEADER)
		memcpy(to + BODY_AT, record->data + PERF_RECORD_HEADER, end - PERF_RECORD_HEADER);
	if (!perf_attr_rest(attr, record, kinds->swap, &rest))
		return end + shift;
	late[LATE_WEIGHT] = rest.weight;
	late[LATE_DATA_SRC] = rest.data_src;
	late[LATE_TRANSACTION] = rest.transaction;
	late[LATE_PHYS_ADDR] = rest.phys_addr;
	late[LATE_CGROUP] = rest.cgroup;
	late[LATE_DATA_PAGE] = rest.data_page;
	late[LATE_CODE_PAGE] = rest.code_page;
	for (int i = 0; i < LATE_COUNT; i++) {
		if (late[i])
			memcpy(to + late_at((enum late)i), late[i], 8);
	}
	if (rest.chain_count)
		perf_kinds_put_location(kinds, to + late_at(LATE_CHAIN),
					(uint32_t)(rest.chain - record->data) + shift,
					rest.chain_count * 8);
	if (rest.raw_bytes)
		perf_kinds_put_location(kinds, to + late_at(LATE_RAW),
					(uint32_t)(rest.raw - record->data) + shift,
					rest.raw_bytes);
	if (rest.read_bytes)
		perf_kinds_put_location(kinds, to + late_at(LATE_READ),
					(uint32_t)(rest.read - record->data) + shift,
					rest.read_bytes);
	return end + shift;
}

uint32_t perf_kind_chain(const struct perf_kinds *kinds, const uint8_t *chain, uint32_t count,
			 int32_t tid, uint8_t *to)
{
	uint32_t bytes = (count < PERF_CHAIN_MAX ? count : PERF_CHAIN_MAX) * 8;

	kinds_put_head(kinds, kinds->ids[PERF_KIND_CALLCHAIN], tid, to);
	memset(to + HEAD_BYTES, 0, 8);
	perf_kinds_put_location(kinds, to + HEAD_BYTES, PERF_CHAIN_AT, bytes);
	memcpy(to + PERF_CHAIN_AT, chain, bytes);
	return PERF_CHAIN_AT + bytes;
}
