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

/* "ffffffff81000000 T _stext\t[module]": true when it is a function with an address. */
static bool parse_symbol(const char *line, struct symbol *out_symbol)
{
	char *at;

	out_symbol->address = strtoull(line, &at, 16);
	if (!out_symbol->address || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) ||
	    at[2] != ' ')
		return false;
	out_symbol->name = at + 3;
	out_symbol->name_bytes = strcspn(out_symbol->name, "\t \n");
	return out_symbol->name_bytes && out_symbol->name_bytes <= SYMBOL_NAME_MAX;
}

static struct symbol *parse_symbols(const char *text, size_t *out_count)
{
	struct symbol *symbols = NULL;
	size_t count = 0, cap = 0;
	bool sorted = true;

	while (*text) {
		struct symbol symbol;

		if (parse_symbol(text, &symbol)) {
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

int texts_write_symbols(int kernel_fd, struct manifest *manifest, struct err *err)
{
	AUTO_FREE char *text = ftrace_read(AT_FDCWD, "/proc/kallsyms", NULL);
	size_t count = 0;
	AUTO_FREE struct symbol *symbols = text ? parse_symbols(text, &count) : NULL;
	FILE *out;
	int rc;

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
