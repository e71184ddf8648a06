/* test_probe_args.c - operands of USDT points in the kernel's words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/probe_args.h"

/* "FETCH:TYPE", or "-" for what cannot be recorded; blanks between. */
static void check(enum elf_machine machine, const char *args, const char *expected)
{
	struct usdt_operand operand;
	char *all = xstrdup("");

	while (usdt_next_operand(machine, NULL, &args, &operand)) {
		char *longer = operand.fetch[0] ? xasprintf("%s%s%s:%s", all, all[0] ? " " : "",
							    operand.fetch, operand.type)
						: xasprintf("%s%s-", all, all[0] ? " " : "");

		if (!operand.fetch[0])
			assert_non_null(operand.why);
		free(all);
		all = longer;
	}
	assert_string_equal(all, expected);
	free(all);
}

static void registers_of_x86_of_every_width(void **state)
{
	check(ELF_MACHINE_X86_64, "8@%rdi -4@%esi 2@%dx -1@%cl", "%di:u64 %si:s32 %dx:u16 %cx:s8");
	check(ELF_MACHINE_X86_64, "8@%r8 4@%r9d 2@%r10w 1@%r15b",
	      "%r8:u64 %r9:u32 %r10:u16 %r15:u8");
	check(ELF_MACHINE_X86_64, "1@%sil -1@%bpl 8@%rsp", "%si:u8 %bp:s8 %sp:u64");
	check(ELF_MACHINE_X86_64, "1@%ah -1@%bh", "%ax:b8@8/16 -");
	check(ELF_MACHINE_X86_64, "8@%rip 8@%r16 8@%r7 8@%xmm0 8f@%rax 4@%fs:8", "- - - - - -");
}

static void memory_of_x86(void **state)
{
	check(ELF_MACHINE_X86_64, "-4@-8(%rbp) 8@(%rax) 4@0x10(%r12)",
	      "-8(%bp):s32 +0(%ax):u64 +16(%r12):u32");
	check(ELF_MACHINE_X86_64, "8@(%rax,%rbx,4) 8@8(,%rbx,4) 8@8(%rax 8@8", "- - - -");
	check(ELF_MACHINE_X86_64, "8@nowhere(%rip) 8@8(%rip) 8@sym(%rax)", "- - -");
}

static void constants(void **state)
{
	check(ELF_MACHINE_X86_64, "-4@$5 -4@$-6 8@$0xff 8@$18446744073709551615",
	      "\\5:s32 \\-6:s32 \\255:u64 \\-1:u64");
	check(ELF_MACHINE_X86_64, "8@$.LC0 8@$ 8@$5x", "- - -");
}

static void operands_of_aarch64(void **state)
{
	check(ELF_MACHINE_AARCH64, "8@x0 -4@w19 8@sp 8@xzr 4@5 -4@-6 8@#7",
	      "%x0:u64 %x19:s32 %sp:u64 \\0:u64 \\5:u32 \\-6:s32 \\7:u64");
	check(ELF_MACHINE_AARCH64, "-4@[sp, 60] 8@[x0] 4@[x29, -20] 2@[x1,#4]",
	      "+60(%sp):s32 +0(%x0):u64 -20(%x29):u32 +4(%x1):u16");
	check(ELF_MACHINE_AARCH64, "8@[x0, x1] 8@d0 8@x31 8@[x0 8@[x0]!", "- - - -");
}

static void what_is_no_argument_is_left_out(void **state)
{
	check(ELF_MACHINE_X86_64, "", "");
	check(ELF_MACHINE_X86_64, "   ", "");
	check(ELF_MACHINE_X86_64, "3@%rax @%rax x@%rax 8x@%rax 8@", "- - - - -");
	check(ELF_MACHINE_X86_64, "%edi", "%di:u64");
	check(ELF_MACHINE_OTHER, "8@%rax", "-");
}

static void any_text_ends(void **state)
{
	static const char letters[] = "1248-@%$()[],+xrabcdisp. \\\n";
	unsigned int random = 7;
	char text[400];

	for (int round = 0; round < 50000; round++) {
		size_t bytes = (size_t)rand_r(&random) % (sizeof(text) - 1);
		const char *at = text;
		struct usdt_operand operand;

		for (size_t i = 0; i < bytes; i++)
			text[i] = letters[(size_t)rand_r(&random) % (sizeof(letters) - 1)];
		text[bytes] = '\0';
		while (usdt_next_operand(1 + round % 2, NULL, &at, &operand)) {
			assert_true(at > text && at <= text + bytes);
			/* The kernel's list has blanks between arguments, and lines. */
			assert_null(strpbrk(operand.fetch, " \n#"));
		}
	}
}

static void arguments_of_functions_are_where_the_abi_says(void **state)
{
	assert_string_equal(probe_abi_arg(ELF_MACHINE_X86_64, 0).text, "%di");
	assert_string_equal(probe_abi_arg(ELF_MACHINE_X86_64, 3).text, "%cx");
	assert_string_equal(probe_abi_arg(ELF_MACHINE_X86_64, 6).text, "+8(%sp)");
	assert_string_equal(probe_abi_arg(ELF_MACHINE_X86_64, 7).text, "+16(%sp)");
	assert_string_equal(probe_abi_arg(ELF_MACHINE_AARCH64, 7).text, "%x7");
	assert_string_equal(probe_abi_arg(ELF_MACHINE_AARCH64, 8).text, "+0(%sp)");
}

static void a_text_is_what_the_value_points_to(void **state)
{
	AUTO_FREE char *text = probe_arg_text("path", "%di", "string");
	AUTO_FREE char *number = probe_arg_text("n", "-8(%bp)", "s32");

	assert_string_equal(text, "path=+0(%di):string");
	assert_string_equal(number, "n=-8(%bp):s32");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_of_x86_of_every_width),
		cmocka_unit_test(memory_of_x86),
		cmocka_unit_test(constants),
		cmocka_unit_test(operands_of_aarch64),
		cmocka_unit_test(what_is_no_argument_is_left_out),
		cmocka_unit_test(any_text_ends),
		cmocka_unit_test(arguments_of_functions_are_where_the_abi_says),
		cmocka_unit_test(a_text_is_what_the_value_points_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
