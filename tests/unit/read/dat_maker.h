/*
 * dat_maker.h - make files of trace-cmd byte by byte: both versions, byte orders, sizes of a
 * long and of pages, and all compressions.
 */
#ifndef UNIT_READ_DAT_MAKER_H
#define UNIT_READ_DAT_MAKER_H

#include <zlib.h>
#include <zstd.h>

#include "read/page_maker.h"

struct dat_bytes {
	uint8_t *data;
	size_t count, cap;
	bool big_endian;
};

static inline void dat_put(struct dat_bytes *to, const void *bytes, size_t count)
{
	if (to->count + count > to->cap) {
		to->cap = 2 * (to->count + count);
		to->data = realloc(to->data, to->cap);
		if (!to->data)
			abort();
	}
	if (count)
		memcpy(to->data + to->count, bytes, count);
	to->count += count;
}

static inline void dat_at(struct dat_bytes *to, size_t place, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to->data[place + (to->big_endian ? bytes - 1 - i : i)] =
			(uint8_t)(value >> (8 * i));
}

static inline void dat_num(struct dat_bytes *to, uint64_t value, uint32_t bytes)
{
	static const uint8_t zeros[8];

	dat_put(to, zeros, bytes);
	dat_at(to, to->count - bytes, value, bytes);
}

static inline void dat_str(struct dat_bytes *to, const char *text)
{
	dat_put(to, text, strlen(text) + 1);
}

/* An option: a number, a length, its bytes. */
static inline void dat_option(struct dat_bytes *to, uint32_t id, const void *bytes, size_t count)
{
	dat_num(to, id, 2);
	dat_num(to, count, 4);
	dat_put(to, bytes, count);
}

/* The pages of one CPU of one instance. */
struct dat_made_cpu {
	uint32_t cpu;
	const struct made_page *pages;
	size_t count;
};

struct dat_made_instance {
	const char *name;
	uint32_t page_bytes; /* MADE_PAGE_BYTES or more */
	struct dat_made_cpu cpus[2];
	size_t cpu_count;
};

/* A whole file. */
struct dat_made {
	int version;
	bool big_endian;
	uint32_t long_bytes;
	const char *zip; /* version 7 */
	struct dat_made_instance instances[2];
	size_t instance_count;
	struct dat_bytes options; /* more of them; freed by dat_make() */
	const char *symbols, *printk, *names;
	const char *formats[2]; /* more of them, of ftrace and of sched; NULL = none */
	bool chunk_lies;	/* a chunk says that it unpacks to more than there is memory */
};

#define DAT_HEADER_PAGE_8                                           \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"  \
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"  \
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
#define DAT_HEADER_PAGE_4                                           \
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"  \
	"\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n" \
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"  \
	"\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n"

static inline void dat_sized(struct dat_bytes *to, const char *text, uint32_t number_bytes)
{
	dat_num(to, strlen(text), number_bytes);
	dat_put(to, text, strlen(text));
}

/* The contents of section 'id', 16 to 21. */
static inline struct dat_bytes dat_contents(const struct dat_made *made, uint32_t id)
{
	struct dat_bytes to = { .big_endian = made->big_endian };

	switch (id) {
	case 16:
		dat_str(&to, "header_page");
		dat_sized(&to, made->long_bytes == 8 ? DAT_HEADER_PAGE_8 : DAT_HEADER_PAGE_4, 8);
		dat_str(&to, "header_event");
		dat_sized(&to, "type_len : 5 bits\n", 8);
		break;
	case 17:
		dat_num(&to, made->formats[0] != NULL, 4);
		if (made->formats[0])
			dat_sized(&to, made->formats[0], 8);
		break;
	case 18:
		dat_num(&to, made->formats[1] ? 2 : 1, 4);
		dat_str(&to, "irq");
		dat_num(&to, 1, 4);
		dat_sized(&to, MADE_SOFTIRQ, 8);
		if (!made->formats[1])
			break;
		dat_str(&to, "sched");
		dat_num(&to, 1, 4);
		dat_sized(&to, made->formats[1], 8);
		break;
	case 19:
		dat_sized(&to, made->symbols ? made->symbols : "", 4);
		break;
	case 20:
		dat_sized(&to, made->printk ? made->printk : "", 4);
		break;
	default:
		dat_sized(&to, made->names ? made->names : "", 8);
		break;
	}
	return to;
}

static inline size_t dat_pack(const char *zip, const uint8_t *from, size_t bytes, uint8_t *to,
			      size_t room)
{
	uLongf made = room;

	if (strcmp(zip, "zstd") == 0)
		return ZSTD_compress(to, room, from, bytes, 3);
	if (compress(to, &made, from, bytes) != Z_OK)
		abort();
	return made;
}

/* A block: compressed length, length, bytes. */
static inline void dat_block(struct dat_bytes *to, const char *zip, const uint8_t *from,
			     size_t bytes)
{
	size_t room = 2 * bytes + 256;
	uint8_t *packed = malloc(room);
	size_t count = dat_pack(zip, from, bytes, packed, room);

	dat_num(to, count, 4);
	dat_num(to, bytes, 4);
	dat_put(to, packed, count);
	free(packed);
}

/* A section with its head. Returns where it begins. */
static inline size_t dat_section(struct dat_bytes *to, const char *zip, uint32_t id,
				 const struct dat_bytes *contents)
{
	size_t begin = to->count;
	bool zipped = strcmp(zip, "none") != 0;

	dat_num(to, id, 2);
	dat_num(to, zipped, 2);
	dat_num(to, 0, 4);
	dat_num(to, 0, 8);
	if (zipped)
		dat_block(to, zip, contents->data, contents->count);
	else
		dat_put(to, contents->data, contents->count);
	dat_at(to, begin + 8, to->count - begin - 16, 8);
	return begin;
}

static inline void dat_head(struct dat_bytes *to, const struct dat_made *made)
{
	dat_put(to, "\x17\x08\x44tracing", 10);
	dat_str(to, made->version == 6 ? "6" : "7");
	dat_num(to, made->big_endian, 1);
	dat_num(to, made->long_bytes, 1);
	dat_num(to, MADE_PAGE_BYTES, 4);
}

static inline void dat_align(struct dat_bytes *to)
{
	while (to->count % MADE_PAGE_BYTES)
		dat_num(to, 0, 1);
}

/* All pages of a CPU, each in its size. */
static inline struct dat_bytes dat_pages(const struct dat_made_instance *instance,
					 const struct dat_made_cpu *cpu)
{
	struct dat_bytes to = { 0 };

	for (size_t i = 0; i < cpu->count; i++) {
		dat_put(&to, cpu->pages[i].bytes, MADE_PAGE_BYTES);
		for (uint32_t j = MADE_PAGE_BYTES; j < instance->page_bytes; j++)
			dat_num(&to, 0, 1);
	}
	return to;
}

/* ----------------------------------------------------------------- version 6 */

/* "flyrecord", the list of CPUs, room for offsets. Returns where the list begins. */
static inline size_t dat_table(struct dat_bytes *to, uint32_t cpus)
{
	size_t begin;

	dat_put(to, "flyrecord\0", 10);
	begin = to->count;
	for (uint32_t i = 0; i < 2 * cpus; i++)
		dat_num(to, 0, 8);
	return begin;
}

static inline void dat_fill_table(struct dat_bytes *to, size_t table,
				  const struct dat_made_instance *instance)
{
	for (size_t i = 0; i < instance->cpu_count; i++) {
		const struct dat_made_cpu *cpu = &instance->cpus[i];
		struct dat_bytes pages = dat_pages(instance, cpu);

		dat_align(to);
		dat_at(to, table + (size_t)16 * cpu->cpu, to->count, 8);
		dat_at(to, table + (size_t)16 * cpu->cpu + 8, pages.count, 8);
		dat_put(to, pages.data, pages.count);
		free(pages.data);
	}
}

static inline void dat_make_v6(struct dat_bytes *to, const struct dat_made *made)
{
	size_t option = 0, table;

	for (uint32_t id = 16; id <= 21; id++) {
		struct dat_bytes contents = dat_contents(made, id);

		dat_put(to, contents.data, contents.count);
		free(contents.data);
	}
	dat_num(to, 2, 4);
	dat_put(to, "options  \0", 10);
	dat_put(to, made->options.data, made->options.count);
	if (made->instance_count > 1) {
		dat_num(to, 3, 2);
		dat_num(to, 8 + strlen(made->instances[1].name) + 1, 4);
		option = to->count;
		dat_num(to, 0, 8);
		dat_str(to, made->instances[1].name);
	}
	dat_num(to, 0, 2);
	table = dat_table(to, 2);
	dat_fill_table(to, table, &made->instances[0]);
	if (made->instance_count > 1) {
		dat_at(to, option, to->count, 8);
		table = dat_table(to, 2);
		dat_fill_table(to, table, &made->instances[1]);
	}
}

/* ----------------------------------------------------------------- version 7 */

/* The data of a CPU; returns its length as the option tells it. */
static inline size_t dat_put_cpu(struct dat_bytes *to, const struct dat_made *made,
				 const struct dat_made_instance *instance,
				 const struct dat_made_cpu *cpu)
{
	struct dat_bytes pages = dat_pages(instance, cpu);
	size_t begin = to->count;

	if (strcmp(made->zip, "none") == 0) {
		dat_put(to, pages.data, pages.count);
	} else { /* two pages in a chunk */
		size_t step = (size_t)2 * instance->page_bytes;

		dat_num(to, (pages.count + step - 1) / step, 4);
		for (size_t at = 0; at < pages.count; at += step) {
			size_t head = to->count;

			dat_block(to, made->zip, pages.data + at,
				  at + step < pages.count ? step : pages.count - at);
			if (made->chunk_lies)
				dat_at(to, head + 4, 0xf0000000, 4);
		}
	}
	free(pages.data);
	return to->count - begin;
}

/* The section of an instance, and its option. */
static inline void dat_put_instance(struct dat_bytes *to, const struct dat_made *made,
				    const struct dat_made_instance *instance,
				    struct dat_bytes *options)
{
	bool zipped = strcmp(made->zip, "none") != 0;
	struct dat_bytes option = { .big_endian = made->big_endian };
	size_t begin = to->count;

	dat_num(to, 3, 2);
	dat_num(to, zipped, 2);
	dat_num(to, 0, 4);
	dat_num(to, 0, 8);
	dat_num(&option, begin, 8);
	dat_str(&option, instance->name);
	dat_str(&option, "local");
	dat_num(&option, instance->page_bytes, 4);
	dat_num(&option, instance->cpu_count, 4);
	for (size_t i = 0; i < instance->cpu_count; i++) {
		size_t place, bytes;

		if (!zipped)
			dat_align(to);
		place = to->count;
		bytes = dat_put_cpu(to, made, instance, &instance->cpus[i]);
		dat_num(&option, instance->cpus[i].cpu, 4);
		dat_num(&option, place, 8);
		dat_num(&option, bytes, 8);
	}
	dat_at(to, begin + 8, to->count - begin - 16, 8);
	dat_option(options, 3, option.data, option.count);
	free(option.data);
}

/* Options in two sections: the second one follows the data. */
static inline void dat_make_v7(struct dat_bytes *to, const struct dat_made *made)
{
	struct dat_bytes first = { .big_endian = made->big_endian };
	struct dat_bytes second = { .big_endian = made->big_endian };
	uint8_t link[8] = { 0 };
	struct dat_bytes strings = { .big_endian = made->big_endian };
	size_t head, place, second_place;

	dat_str(&strings, "options");
	dat_str(to, made->zip);
	dat_str(to, "1");
	head = to->count;
	dat_num(to, 0, 8);
	for (uint32_t id = 16; id <= 21; id++) {
		struct dat_bytes contents = dat_contents(made, id);
		struct dat_bytes number = { .big_endian = made->big_endian };

		dat_num(&number, dat_section(to, made->zip, id, &contents), 8);
		dat_option(&first, id, number.data, number.count);
		free(number.data);
		free(contents.data);
	}
	for (size_t i = 0; i < made->instance_count; i++)
		dat_put_instance(to, made, &made->instances[i], &second);
	dat_put(&second, made->options.data, made->options.count);
	dat_option(&second, 0, link, 8);
	second_place = dat_section(to, made->zip, 0, &second);
	dat_option(&first, 0, link, 8);
	dat_at(&first, first.count - 8, second_place, 8);
	place = dat_section(to, made->zip, 0, &first);
	dat_at(to, head, place, 8);
	/* As trace-cmd does: no option tells where the titles of sections are. */
	(void)dat_section(to, made->zip, 15, &strings);
	free(strings.data);
	free(first.data);
	free(second.data);
}

/* The bytes of the file. */
static inline struct dat_bytes dat_make(struct dat_made *made)
{
	struct dat_bytes to = { .big_endian = made->big_endian };

	dat_head(&to, made);
	if (made->version == 6)
		dat_make_v6(&to, made);
	else
		dat_make_v7(&to, made);
	free(made->options.data);
	made->options = (struct dat_bytes){ 0 };
	return to;
}

#endif
