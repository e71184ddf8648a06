/*
 * texts.c - what the kernel says about its events and its symbols, kept with the trace.
 */
#include "record/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "record/buffer.h"
#include "record/ftrace.h"
#include "record/interrupt.h"
#include "record/probes.h"
#include "store/formats.h"
#include "store/manifest.h"

#define SYMBOL_NAME_MAX 255

struct symbol {
	uint64_t address;
	const char *name; /* in the text that was read */
	size_t name_bytes;
};

static int make_file(int kernel_fd, const char *name, FILE **out_file, struct err *err)
{
	int fd =
		openat(kernel_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int code = -errno;

	if (!file) {
		mem_close_fd(&fd);
		return err_set(err, code, "cannot make kernel/%s: %s", name, strerror(-code));
	}
	*out_file = file;
	return 0;
}

static int close_file(FILE *file, const char *name, struct err *err)
{
	bool bad = ferror(file);

	if (fclose(file) || bad)
		return err_set(err, errno ? -errno : -EIO, "cannot write kernel/%s: %s", name,
			       strerror(errno));
	return 0;
}

/* Of our own, which the kernel does not have: see read/kernel/ring.c. Its number is behind the kernel's. */
static const char blocked_format[] =
	"name: blocked_in\n"
	"ID: %u\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned char compat;\toffset:16;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char ended;\toffset:17;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:24;\tsize:48;\tsigned:0;\n"
	"\n"
	"print fmt: \"NR %%ld (%%lx, %%lx, %%lx, %%lx, %%lx, %%lx)\", REC->id, REC->args[0], "
	"REC->args[1], REC->args[2], REC->args[3], REC->args[4], REC->args[5]\n";

/* The highest number that the kernel has given to an event. */
static unsigned int highest_id(int instance_fd, const struct manifest *manifest)
{
	unsigned int highest = 0;

	for (size_t i = 0; i < manifest->event_count; i++) {
		const char *colon = strchr(manifest->events[i], ':');
		AUTO_FREE char *path =
			xasprintf("events/%.*s/%s/id", (int)(colon - manifest->events[i]),
				  manifest->events[i], colon + 1);
		AUTO_FREE char *text = ftrace_read(instance_fd, path, NULL);
		unsigned long id = text ? strtoul(text, NULL, 10) : 0;

		if (id > highest && id < UINT16_MAX)
			highest = (unsigned int)id;
	}
	return highest;
}

static void print_blocked(FILE *out, int instance_fd, const struct manifest *manifest)
{
	AUTO_FREE char *text = xasprintf(blocked_format, highest_id(instance_fd, manifest) + 1);

	(void)formats_print(out, "holdup/blocked_in", text, strlen(text)); /* seen on closing */
}

static void print_event(FILE *out, int instance_fd, const char *system, const char *event)
{
	AUTO_FREE char *path = xasprintf("events/%s/%s/format", system, event);
	AUTO_FREE char *name = xasprintf("%s/%s", system, event);
	size_t bytes;
	AUTO_FREE char *text = ftrace_read(instance_fd, path, &bytes);

	if (text)
		(void)formats_print(out, name, text, bytes); /* seen by ferror() on closing */
}

int texts_write_formats(int instance_fd, int kernel_fd, const struct manifest *manifest,
			const struct probes *probes, bool stacks, struct err *err)
{
	FILE *out;
	int rc = make_file(kernel_fd, "formats", &out, err);
	size_t page_bytes = 0, event_bytes = 0;
	AUTO_FREE char *page = buffer_header_page(instance_fd, &page_bytes);
	AUTO_FREE char *event = ftrace_read(instance_fd, "events/header_event", &event_bytes);

	if (rc < 0)
		return rc;
	if (!event)
		event = ftrace_read(instance_fd, "../../events/header_event", &event_bytes);
	if (page)
		(void)formats_print(out, "header_page", page, page_bytes);
	if (event)
		(void)formats_print(out, "header_event", event, event_bytes);
	for (size_t i = 0; i < manifest->event_count && !interrupt_pending(); i++) {
		AUTO_FREE char *system = xstrdup(manifest->events[i]);
		AUTO_FREE char *own = probes_format(probes, instance_fd, system);
		char *colon = strchr(system, ':');

		if (own) {
			*colon = '/';
			(void)formats_print(out, system, own, strlen(own)); /* seen on closing */
			continue;
		}
		*colon = '\0';
		print_event(out, instance_fd, system, colon + 1);
	}
	if (manifest->is_lean || manifest->cost.budget_ppm)
		print_blocked(out, instance_fd, manifest);
	if (stacks) {
		print_event(out, instance_fd, "ftrace", "kernel_stack");
		print_event(out, instance_fd, "ftrace", "user_stack");
	}
	return close_file(out, "formats", err);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : 1; /* in the order of the kernel */
}

/* The value of hexadecimal digits, as the kernel prints them. There are 200,000 lines: strtoull() costs more. */
static uint64_t parse_address(const char *text, const char **out_end)
{
	uint64_t address = 0;

	for (;; text++) {
		unsigned digit = (unsigned char)*text - '0';

		if (digit > 9)
			digit = *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10 : 16;
		if (digit > 15)
			break;
		address = address << 4 | digit;
	}
	*out_end = text;
	return address;
}

/* "ffffffff81000000 T _stext\t[module]": true when it is a function with an address. */
static bool parse_symbol(const char *line, struct symbol *out_symbol, const char **out_end)
{
	const char *at, *end;

	out_symbol->address = parse_address(line, &at);
	*out_end = at;
	if (!out_symbol->address || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) ||
	    at[2] != ' ')
		return false;
	out_symbol->name = at + 3;
	for (end = out_symbol->name; *end && *end != '\t' && *end != ' ' && *end != '\n'; end++)
		;
	*out_end = end;
	out_symbol->name_bytes = (size_t)(end - out_symbol->name);
	return out_symbol->name_bytes && out_symbol->name_bytes <= SYMBOL_NAME_MAX;
}

static struct symbol *parse_symbols(const char *text, size_t *out_count)
{
	struct symbol *symbols = NULL;
	size_t count = 0, cap = 0;
	bool sorted = true;

	while (*text) {
		struct symbol symbol;

		if (parse_symbol(text, &symbol, &text)) {
			sorted = sorted && (!count || symbols[count - 1].address <= symbol.address);
			symbols = vec_room(symbols, count, &cap, sizeof(*symbols));
			symbols[count++] = symbol;
		}
		text = strchrnul(text, '\n');
		text += *text == '\n';
	}
	if (!sorted)
		qsort(symbols, count, sizeof(*symbols), compare_symbols);
	*out_count = count;
	return symbols;
}

/* 16 hexadecimal digits; a tenth of the cost of printf. */
static void print_address(FILE *out, uint64_t address)
{
	char digits[16];

	for (int i = 15; i >= 0; i--, address >>= 4)
		digits[i] = "0123456789abcdef"[address & 15];
	fwrite_unlocked(digits, 1, sizeof(digits), out);
}

static uint64_t find_symbol(const struct symbol *symbols, size_t count, const char *name)
{
	size_t bytes = strlen(name);

	for (size_t i = 0; i < count; i++) {
		if (symbols[i].name_bytes == bytes && memcmp(symbols[i].name, name, bytes) == 0)
			return symbols[i].address;
	}
	return 0;
}

int texts_write_symbols(int kernel_fd, struct manifest *manifest, uint64_t *out_dispatch,
			struct err *err)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/proc/kallsyms", NULL);
	size_t count = 0;
	AUTO_FREE struct symbol *symbols = text ? parse_symbols(text, &count) : NULL;
	FILE *out;
	int rc;

	*out_dispatch = find_symbol(symbols, count, DISPATCH_SYMBOL);
	if (!count) {
		manifest_add_missing(manifest, "names of kernel functions",
				     text ? "kernel.kptr_restrict hides the addresses in "
					    "/proc/kallsyms"
					  : "/proc/kallsyms cannot be read");
		return 0;
	}
	rc = make_file(kernel_fd, "kallsyms", &out, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		print_address(out, symbols[i].address);
		putc_unlocked(' ', out);
		fwrite_unlocked(symbols[i].name, 1, symbols[i].name_bytes, out);
		putc_unlocked('\n', out);
	}
	return close_file(out, "kallsyms", err);
}
