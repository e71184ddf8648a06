/*
 * probe_args.c - where the values of arguments are, in the kernel's words.
 *
 * USDT arguments look like SIZE@OPERAND with blanks between, a negative size for a
 * signed value. Operands are as the compiler writes them in assembler:
 *
 *	x86-64    %edi  -8(%rbp)  $5  sym(%rip)  sym+4(%rip)  (%rax,%rbx,4)
 *	aarch64   x19  w3  [sp, 60]  [x0]  5
 */
#include "record/probe_args.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define OPERAND_MAX 256

static const char why_float[] = "floating point";
static const char why_unclear[] = "its operand has an unknown form";
static const char why_index[] = "its address is the sum of two registers";
static const char why_symbol[] = "the symbol in its operand is not in the program's tables";
static const char why_segment[] = "its location is thread-local memory";

static const char *const x86_args[] = { "%di", "%si", "%dx", "%cx", "%r8", "%r9" };

struct probe_fetch probe_abi_arg(enum elf_machine machine, size_t index)
{
	struct probe_fetch fetch = { "" };
	size_t known = ARRAY_LEN(x86_args);

	if (machine == ELF_MACHINE_X86_64 && index < known)
		snprintf(fetch.text, sizeof(fetch.text), "%s", x86_args[index]);
	else if (machine == ELF_MACHINE_X86_64) /* above the return address */
		snprintf(fetch.text, sizeof(fetch.text), "+%zu(%%sp)", 8 + 8 * (index - known));
	else if (machine == ELF_MACHINE_AARCH64 && index < 8)
		snprintf(fetch.text, sizeof(fetch.text), "%%x%zu", index);
	else if (machine == ELF_MACHINE_AARCH64)
		snprintf(fetch.text, sizeof(fetch.text), "+%zu(%%sp)", 8 * (index - 8));
	return fetch;
}

/* ------------------------------------------------------------------ registers */

/* The kernel's name of an x86-64 register of any width; 'high': the second byte. */
static bool x86_register(const char *name, char out_name[8], bool *out_high)
{
	static const char *const halves[] = { "ax", "bx", "cx", "dx" };
	static const char *const whole[] = { "si", "di", "bp", "sp" };
	char *end;
	long number;

	*out_high = false;
	for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
		const char letter = halves[i][0];
		bool wide = (name[0] == 'r' || name[0] == 'e') && !strcmp(name + 1, halves[i]);
		bool byte = name[0] == letter && (name[1] == 'l' || name[1] == 'h') && !name[2];

		if (!wide && !byte && strcmp(name, halves[i]) != 0)
			continue;
		*out_high = byte && name[1] == 'h';
		strcpy(out_name, halves[i]);
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		bool wide = (name[0] == 'r' || name[0] == 'e') && !strcmp(name + 1, whole[i]);
		bool byte = !strncmp(name, whole[i], 2) && name[2] == 'l' && !name[3];

		if (!wide && !byte && strcmp(name, whole[i]) != 0)
			continue;
		strcpy(out_name, whole[i]);
		return true;
	}
	if (name[0] != 'r' || !isdigit((unsigned char)name[1]))
		return false;
	number = strtol(name + 1, &end, 10);
	if (number < 8 || number > 15 || (*end && (!strchr("dwb", *end) || end[1])))
		return false;
	snprintf(out_name, 8, "r%d", (int)(number & 15));
	return true;
}

/* "x3", "w3", "sp"; "zero" for xzr and wzr. */
static bool arm_register(const char *name, char out_name[8])
{
	char *end;
	long number;

	if (!strcmp(name, "sp") || !strcmp(name, "wsp")) {
		strcpy(out_name, "sp");
		return true;
	}
	if (!strcmp(name, "xzr") || !strcmp(name, "wzr")) {
		strcpy(out_name, "zero");
		return true;
	}
	if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]))
		return false;
	number = strtol(name + 1, &end, 10);
	if (*end || number > 30)
		return false;
	snprintf(out_name, 8, "x%d", (int)(number & 31));
	return true;
}

/* ------------------------------------------------------------------- operands */

static bool parse_signed(const char *text, char **out_end, int64_t *out_value)
{
	errno = 0;
	*out_value = strtoll(text, out_end, 0);
	if (errno) {
		errno = 0;
		*out_value = (int64_t)strtoull(text, out_end, 0);
	}
	return !errno && *out_end != text;
}

static void constant(const char *text, struct usdt_operand *operand)
{
	int64_t value;
	char *end;

	if (parse_signed(text, &end, &value) && !*end)
		snprintf(operand->fetch, sizeof(operand->fetch), "\\%" PRId64, value);
	else
		operand->why = isalpha((unsigned char)*text) || strchr("._", *text) ? why_symbol
										    : why_unclear;
}

static void memory_at(const char *name, int64_t offset, struct usdt_operand *operand)
{
	snprintf(operand->fetch, sizeof(operand->fetch), "%+" PRId64 "(%%%s)", offset, name);
}

/*
 * Memory of the program. The kernel knows where the point is in memory and counts from
 * there: its offset is that in the point's segment, also where the data is in another.
 */
static void memory_of(const struct probe_place *place, const char *symbol, int64_t add,
		      struct usdt_operand *operand)
{
	uint64_t address;

	if (!place || !elf_file_find(place->file, symbol, &address)) {
		operand->why = why_symbol;
		return;
	}
	address += (uint64_t)add - place->address + place->offset;
	if (address > INT64_MAX)
		operand->why = why_unclear;
	else
		snprintf(operand->fetch, sizeof(operand->fetch), "@+0x%" PRIx64, address);
}

/* "-8", "sym", "sym+4", "-4+sym": a number and a symbol. */
static bool parse_displacement(char *text, const char **out_symbol, int64_t *out_add)
{
	char *end;

	*out_symbol = NULL;
	*out_add = 0;
	if (!*text)
		return true;
	if (isdigit((unsigned char)*text) || *text == '-' || *text == '+') {
		if (!parse_signed(text, &end, out_add) || (*end && *end != '+'))
			return false;
		*out_symbol = *end ? end + 1 : NULL;
		return true;
	}
	*out_symbol = text;
	end = strpbrk(text, "+-");
	if (!end)
		return true;
	if (!parse_signed(end, &text, out_add) || *text)
		return false;
	*end = '\0';
	return true;
}

static void x86_memory(const struct probe_place *place, char *text, struct usdt_operand *operand)
{
	char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;
	char name[8];
	const char *symbol;
	int64_t add;
	bool high;

	operand->why = why_unclear;
	if (open && (!close || close[1]))
		return;
	if (open) {
		*open++ = '\0';
		*close = '\0';
	}
	if (!parse_displacement(text, &symbol, &add) || (!open && !symbol))
		return;
	if (open && strchr(open, ',')) {
		operand->why = why_index;
	} else if (!open || !strcmp(open, "%rip")) {
		if (symbol)
			memory_of(place, symbol, add, operand);
	} else if (!symbol && open[0] == '%' && x86_register(open + 1, name, &high)) {
		memory_at(name, add, operand);
	}
}

static void x86_operand(const struct probe_place *place, char *text, struct usdt_operand *operand)
{
	char name[8];
	bool high;

	operand->why = why_unclear;
	if (text[0] == '$') {
		constant(text + 1, operand);
	} else if (text[0] == '%' && strchr(text, ':')) {
		operand->why = why_segment;
	} else if (!strncmp(text, "%xmm", 4) || !strncmp(text, "%ymm", 4)) {
		operand->why = why_float;
	} else if (text[0] != '%') {
		x86_memory(place, text, operand);
	} else if (x86_register(text + 1, name, &high)) {
		snprintf(operand->fetch, sizeof(operand->fetch), "%%%s", name);
		if (high && !strcmp(operand->type, "u8"))
			operand->type = "b8@8/16";
		else if (high)
			operand->fetch[0] = '\0';
	}
}

static void arm_memory(char *text, struct usdt_operand *operand)
{
	char *comma = strchr(text, ','), *close = strchr(text, ']'), *end;
	int64_t add = 0;
	char name[8];

	if (!close || close[1])
		return;
	*close = '\0';
	if (comma) {
		*comma++ = '\0';
		comma += strspn(comma, " #");
		if (isalpha((unsigned char)*comma)) {
			operand->why = why_index;
			return;
		}
		if (!parse_signed(comma, &end, &add) || *end)
			return;
	}
	if (arm_register(text, name) && strcmp(name, "zero") != 0)
		memory_at(name, add, operand);
}

static void arm_operand(char *text, struct usdt_operand *operand)
{
	char name[8];

	operand->why = why_unclear;
	if (text[0] == '[') {
		arm_memory(text + 1, operand);
	} else if (arm_register(text, name)) {
		if (!strcmp(name, "zero"))
			strcpy(operand->fetch, "\\0");
		else
			snprintf(operand->fetch, sizeof(operand->fetch), "%%%s", name);
	} else if ((text[0] == 'd' || text[0] == 's' || text[0] == 'q' || text[0] == 'v') &&
		   isdigit((unsigned char)text[1])) {
		operand->why = why_float;
	} else {
		constant(text + (text[0] == '#'), operand);
	}
}

/* The end of one argument: a blank outside of brackets. */
static size_t operand_bytes(const char *text)
{
	size_t bytes = 0;
	int depth = 0;

	for (; text[bytes] && (text[bytes] != ' ' || depth > 0); bytes++)
		depth += (text[bytes] == '[') - (text[bytes] == ']');
	return bytes;
}

static const char *type_of(long size)
{
	switch (size) {
	case 1:
		return "u8";
	case 2:
		return "u16";
	case 4:
		return "u32";
	case 8:
		return "u64";
	case -1:
		return "s8";
	case -2:
		return "s16";
	case -4:
		return "s32";
	case -8:
		return "s64";
	default:
		return NULL;
	}
}

/* "-4@" or "8f@" at the start; without it a value is a word. Returns the operand. */
static char *take_size(char *text, const char **out_type, bool *out_float)
{
	char *end, *at = strchr(text, '@');
	long size;

	*out_type = "u64";
	*out_float = false;
	if (!at)
		return text;
	size = strtol(text, &end, 10);
	if (*end == 'f') {
		*out_float = true;
		end++;
	}
	*out_type = end == at && end != text ? type_of(size) : NULL;
	return at + 1;
}

bool usdt_next_operand(enum elf_machine machine, const struct probe_place *place, const char **text,
		       struct usdt_operand *out_operand)
{
	char copy[OPERAND_MAX], *operand;
	size_t bytes;
	bool is_float;

	*text += strspn(*text, " ");
	bytes = operand_bytes(*text);
	if (bytes == 0)
		return false;
	*out_operand = (struct usdt_operand){ .why = why_unclear, .type = "u64" };
	snprintf(copy, sizeof(copy), "%.*s", (int)(bytes < INT16_MAX ? bytes : INT16_MAX), *text);
	*text += bytes;
	if (bytes >= sizeof(copy))
		return true;
	operand = take_size(copy, &out_operand->type, &is_float);
	if (is_float)
		out_operand->why = why_float;
	else if (out_operand->type && machine == ELF_MACHINE_X86_64)
		x86_operand(place, operand, out_operand);
	else if (out_operand->type && machine == ELF_MACHINE_AARCH64)
		arm_operand(operand, out_operand);
	if (!out_operand->type)
		out_operand->type = "u64";
	return true;
}

char *probe_arg_text(const char *name, const char *fetch, const char *type)
{
	if (!strcmp(type, "string"))
		return xasprintf("%s=+0(%s):string", name, fetch);
	return xasprintf("%s=%s:%s", name, fetch, type);
}
