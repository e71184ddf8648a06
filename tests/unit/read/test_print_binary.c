/* test_print_binary.c - what trace_printk() packed, as the text that it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/outbuf.h"
#include "event/facts.h"
#include "fields/print.h"
#include "read/read.h"
#include "store/formats.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static char bprint[] = "name: bprint\nID: 6\nformat:\n" COMMON
		       "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		       "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
		       "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
		       "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";

#define FORMAT_AT 0x5000u
#define CODE_AT	  0x1000u

/* The record's head, then 'args'; its text. */
static void prints(const char *format, const void *args, uint32_t bytes, const char *expected)
{
	struct fact_symbol symbol = { CODE_AT, "function" };
	struct fact_name text = { FORMAT_AT, format };
	struct facts facts = {
		.symbols = &symbol, .symbol_count = 1, .printks = &text, .printk_count = 1
	};
	struct format_section section = { "ftrace/bprint", bprint, sizeof(bprint) - 1 };
	struct formats formats = { .sections = &section, .count = 1 };
	struct print_setup setup = { .formats = &formats, .facts = &facts, .long_bytes = 8 };
	struct printer *printer = printer_new(&setup);
	struct print_memory *memory = print_memory_new(printer);
	uint8_t data[256] = { 6 };
	uint64_t numbers[] = { CODE_AT + 8, FORMAT_AT };
	struct trace_record record = { .data = data, .bytes = 24 + bytes };
	struct outbuf out;

	memcpy(data + 8, numbers, sizeof(numbers));
	memcpy(data + 24, args, bytes);
	outbuf_to_memory(&out);
	print_text(printer, memory, printer_event_of(printer, &record), &record, &out);
	outbuf_char(&out, '\0');
	assert_string_equal(out.start, expected);
	outbuf_fini(&out);
	print_memory_free(memory);
	printer_free(printer);
}

static void numbers_stand_at_multiples_of_their_size(void **unused)
{
	/* A char, two bytes of padding before a short, an int, 8 bytes at a multiple of 4. */
	static const uint8_t args[] = { 0xff, 0, 0xfe, 0xff, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0 };

	prints("%hhd %hd %d %lx\n", args, sizeof(args), "function: -1 -2 7 100000001");
}

static void texts_stand_in_place(void **unused)
{
	prints("<%s> <%5s> <%-4s|", "ab\0c\0d", 7, "function: <ab> <    c> <d   |");
}

static void functions_have_names_and_other_pointers_are_texts(void **unused)
{
	uint8_t args[16] = { 0 };
	uint64_t address = CODE_AT + 4;

	memcpy(args, &address, 8);
	memcpy(args + 8, "1.2.3.4", 8);
	prints("%pS %pI4", args, sizeof(args), "function: function+0x4 1.2.3.4");
	prints("%p", args, 8, "function: 0x1004");
}

static void widths_may_be_arguments(void **unused)
{
	static const uint8_t args[] = {
		4, 0, 0, 0, 9, 0, 0, 0, 0xfc, 0xff, 0xff, 0xff, 8, 0, 0, 0
	};

	prints("[%*d][%*d]100%%", args, sizeof(args), "function: [   9][8   ]100%");
}

static void arguments_that_are_missing_are_zero(void **unused)
{
	prints("%d %s %lld %*d %c.", "", 0, "function: 0  0 0 .");
	prints("%", "", 0, "function: ");
	prints("%l", "", 0, "function: ");
	prints("a\nb\n", "", 0, "function: a b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stand_at_multiples_of_their_size),
		cmocka_unit_test(texts_stand_in_place),
		cmocka_unit_test(functions_have_names_and_other_pointers_are_texts),
		cmocka_unit_test(widths_may_be_arguments),
		cmocka_unit_test(arguments_that_are_missing_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
