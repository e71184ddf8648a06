/* test_frame_base.c - how far a frame pointer is from the stack pointer, by what a function begins with. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <elfutils/libdwfl.h>
#include <unistd.h>
#endif

#include "symbol/frame_base.h"

#define CODE(...)                                         \
	{                                                 \
		sizeof((const uint8_t[]){ __VA_ARGS__ }), \
		{                                         \
			__VA_ARGS__                       \
		}                                         \
	}

/* As GNU as makes them, behind "mov %rsp,%rbp". */
static const struct {
	uint64_t room;
	struct {
		size_t bytes;
		uint8_t code[64];
	} code;
} beginnings[] = {
	/* sub $0x20,%rsp; mov %edi,-0x14(%rbp); mov -0x14(%rbp),%eax; call */
	{ 0x20,
	  CODE(0x48, 0x83, 0xec, 0x20, 0x89, 0x7d, 0xec, 0x8b, 0x45, 0xec, 0xe8, 0, 0, 0, 0) },
	/* push %r15; push %r14; push %rbx; sub $0x12348,%rsp; mov %fs:0x28,%rax; ... a number of 64 bits */
	{ 0x20 + 0x12348,
	  CODE(0x41, 0x57, 0x41, 0x56, 0x53, 0x48, 0x81, 0xec, 0x48, 0x23, 0x01, 0, 0x64, 0x48,
	       0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x50) },
	/* push %rbx; a jump; what is behind it belongs to another way */
	{ 8, CODE(0x53, 0xeb, 0x10, 0x48, 0x83, 0xec, 0x20) },
	/* movsd %xmm0,-0x18(%rbp); movw $5,-2(%rbp); push %rax: a number of 16 bits */
	{ 8, CODE(0xf2, 0x0f, 0x11, 0x45, 0xe8, 0x66, 0xc7, 0x45, 0xfe, 5, 0, 0x50) },
	/* mov %r12,%r12 has the bits of the stack pointer, but is none; mov %rdi,%r12; push %r12 */
	{ 8, CODE(0x4d, 0x89, 0xe4, 0x49, 0x89, 0xfc, 0x41, 0x54) },
	/* and $-32,%rsp; push %rbx: from there on it is not known */
	{ 0, CODE(0x48, 0x83, 0xe4, 0xe0, 0x53) },
	/* lea -0x1000(%rsp),%rsp and mov %rax,%rsp, likewise; pop %rbx */
	{ 0, CODE(0x48, 0x8d, 0xa4, 0x24, 0, 0xf0, 0xff, 0xff, 0x53) },
	{ 0, CODE(0x48, 0x89, 0xc4, 0x53) },
	{ 8, CODE(0x53, 0x5b, 0x53) },
	/* one that is cut */
	{ 8, CODE(0x53, 0x48, 0x81, 0xec, 0x48, 0x23) },
};

static void a_beginning_tells_the_room_that_it_takes(void **unused)
{
	(void)unused;
#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		size_t bytes = beginnings[i].code.bytes;
		uint8_t *code = malloc(bytes); /* no more than there is */
		uint64_t room = 1;

		memcpy(code, beginnings[i].code.code, bytes);
		assert_true(frame_base_bytes(code, bytes, &room));
		if (room != beginnings[i].room)
			fail_msg("%zu: %lu", i, (unsigned long)room);
		free(code);
	}
}

static void any_bytes_are_no_more_than_they_are(void **unused)
{
	unsigned int state = 7;

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		size_t bytes = 1 + (size_t)rand_r(&state) % 24;
		uint8_t *code = malloc(bytes);
		uint64_t room;

		for (size_t n = 0; n < bytes; n++)
			code[n] = (uint8_t)(rand_r(&state) >> 8);
		/* Most of them begin as code does. */
		for (size_t n = 0; n < bytes && i % 4; n += 4)
			code[n] = "\x48\x0f\x66\x8b\x89\x81\xc7\x83"[rand_r(&state) % 8];
		if (frame_base_bytes(code, bytes, &room))
			assert_true(room % 8 == 0 && room < INT32_MAX);
		free(code);
	}
}

#if defined(__x86_64__)

/*
 * returns_within() returns before the call, for whoever does not jump over that. behind_another() is a part of a
 * function, whose frame is there already, behind another function.
 */
asm(".text\n"
    ".type returns_within, @function\n"
    "returns_within: .cfi_startproc\n"
    "push %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset 6, -16\n"
    "mov %rsp, %rbp\n"
    ".cfi_def_cfa_register 6\n"
    "push %rbx\n"
    "sub $0x28, %rsp\n"
    "test %edi, %edi\n"
    "jne 1f\n"
    "add $0x28, %rsp\n"
    "pop %rbx\n"
    "pop %rbp\n"
    ".cfi_remember_state\n"
    ".cfi_def_cfa 7, 8\n"
    "ret\n"
    ".cfi_restore_state\n"
    "1: call *%rsi\n"
    "returns_within_call: add $0x28, %rsp\n"
    "pop %rbx\n"
    "pop %rbp\n"
    ".cfi_def_cfa 7, 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size returns_within, . - returns_within\n"
    ".type behind_another, @function\n"
    "behind_another: .cfi_startproc\n"
    ".cfi_def_cfa 6, 16\n"
    ".cfi_offset 6, -16\n"
    "call *%rsi\n"
    "behind_another_call: nop\n"
    ".cfi_endproc\n"
    ".size behind_another, . - behind_another\n");

extern const char returns_within[], returns_within_call[], behind_another_call[];

static void a_return_within_a_function_is_not_its_beginning(void **unused)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	uint64_t call = (uint64_t)(uintptr_t)returns_within_call - 1, bytes, entry;

	(void)unused;
	assert_int_equal(dwfl_linux_proc_report(dwfl, getpid()), 0);
	assert_int_equal(dwfl_report_end(dwfl, NULL, NULL), 0);
	assert_true(frame_base_find(dwfl_addrmodule(dwfl, call), call, &bytes, &entry));
	assert_int_equal(bytes, 0x30);
	assert_int_equal(entry, (uintptr_t)returns_within);
	call = (uint64_t)(uintptr_t)behind_another_call - 1;
	assert_false(frame_base_find(dwfl_addrmodule(dwfl, call), call, &bytes, &entry) &&
		     entry == (uintptr_t)returns_within);
	dwfl_end(dwfl);
}

#else

static void a_return_within_a_function_is_not_its_beginning(void **unused)
{
	(void)unused;
	skip();
}

#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_beginning_tells_the_room_that_it_takes),
		cmocka_unit_test(any_bytes_are_no_more_than_they_are),
		cmocka_unit_test(a_return_within_a_function_is_not_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
