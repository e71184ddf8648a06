/* test_unwind.c - stacks of this very program, and of nothing at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "record/image_vdso.h"
#include "record/regs_386.h"
#include "symbol/unwind.h"

#define MAPS_MAX  64
#define STACK_MAX 65536u

struct taken {
	uint64_t regs[33];
	uint64_t sp;
	uint8_t stack[STACK_MAX];
	size_t bytes;
	struct unwind_map maps[MAPS_MAX];
	char paths[MAPS_MAX][512];
	size_t map_count;
};

static struct taken taken;

static void take_regs(const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (size_t i = 0; i < 17; i++)
		taken.regs[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	taken.sp = taken.regs[7];
#elif defined(__aarch64__)
	for (size_t i = 0; i < 31; i++)
		taken.regs[i] = context->uc_mcontext.regs[i];
	taken.regs[31] = taken.sp = context->uc_mcontext.sp;
	taken.regs[32] = context->uc_mcontext.pc;
#else
	(void)context;
#endif
}

/* By the kernel: a sanitizer forbids to read between variables. */
static void take_stack(void)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_true(pread(memory, taken.stack, taken.bytes, (off_t)taken.sp) ==
		    (ssize_t)taken.bytes);
	close(memory);
}

/* Maps of code, and the stack from its top on. */
static void take_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024], rights[8], path[512];
	uint64_t start, end, offset;

	taken.map_count = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511s", &start,
			   &end, rights, &offset, path) != 5)
			continue;
		if (start <= taken.sp && taken.sp < end) {
			taken.bytes = end - taken.sp < STACK_MAX ? end - taken.sp : STACK_MAX;
			take_stack();
		}
		if (rights[2] != 'x' || path[0] != '/' || taken.map_count >= MAPS_MAX)
			continue;
		strcpy(taken.paths[taken.map_count], path);
		taken.maps[taken.map_count] = (struct unwind_map){ start, end - start, offset,
								   open(path, O_RDONLY | O_CLOEXEC),
								   taken.paths[taken.map_count] };
		taken.map_count++;
	}
	if (maps)
		fclose(maps);
}

__attribute__((noinline)) static void innermost(void)
{
	ucontext_t context;

	getcontext(&context);
	take_regs(&context);
	take_maps();
	__asm__ volatile("");
}

/* It is no function of its own: the compiler puts it into middle(). */
__attribute__((always_inline)) static inline void within(void)
{
	innermost();
	__asm__ volatile("");
}

__attribute__((noinline)) static void middle(volatile int *room)
{
	char more[*room]; /* a frame whose size nobody knows before */

	memset(more, 0, sizeof(more));
	within();
	__asm__ volatile("" ::"r"(more) : "memory");
}

__attribute__((noinline)) static void outermost(void)
{
	volatile int room = 300;

	middle(&room);
	__asm__ volatile("");
}

static struct unwind_start start_of(size_t stack_bytes)
{
	return (struct unwind_start){ taken.regs, unwind_reg_count(), taken.stack, taken.sp,
				      stack_bytes };
}

static int take_program(void **unused)
{
	outermost();
	return unwind_reg_count() ? 0 : -1;
}

/* Returns how many were inlined there; 'out_name' is what they were inlined into. */
static size_t name_frame(const struct unwind_frame *frame, struct unwind_name *out_name,
			 struct unwind_name *out_inlined)
{
	static struct unwind_names *names[MAPS_MAX];
	struct unwind_name found[UNWIND_INLINED_MAX + 1];
	size_t count;

	*out_name = (struct unwind_name){ 0 };
	if (frame->map == UNWIND_NO_MAP || !frame->address)
		return 0;
	if (!names[frame->map])
		names[frame->map] =
			unwind_names_new(taken.maps[frame->map].fd, taken.maps[frame->map].path);
	assert_non_null(names[frame->map]);
	count = unwind_names_find(names[frame->map], frame->address, found);
	*out_inlined = found[0];
	*out_name = found[count - 1];
	return count - 1;
}

static void frames_have_the_names_of_those_who_called(void **unused)
{
	static const char *const names[] = { "innermost", "middle", "outermost", "take_program" };
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_start start = start_of(taken.bytes);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_name name, inlined;
	const char *end;
	size_t count = unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end);

	assert_null(end);
	assert_true(count > 6);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)name_frame(&frames[i], &name, &inlined);
		assert_non_null(name.function);
		assert_string_equal(name.function, names[i]);
		assert_string_equal(name.signature, names[i]);
		assert_non_null(strstr(name.file, "test_unwind.c"));
		assert_true(name.line > 0);
		assert_true(frames[i].address && frames[i].is_call == (i > 0));
		assert_true(frames[i].map < taken.map_count);
	}
	assert_int_equal(name_frame(&frames[1], &name, &inlined), 1);
	assert_string_equal(inlined.function, "within");
	assert_true(inlined.is_inlined && !name.is_inlined);
	assert_true(inlined.line > 0 && inlined.line < name.line);
	(void)name_frame(&frames[count - 1], &name, &inlined);
	assert_string_equal(name.function, "_start");
	unwinder_free(unwinder);
}

static void a_stack_that_was_cut_says_so(void **unused)
{
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_start start = start_of(64);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	const char *end;
	size_t count = unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end);

	assert_true(count >= 1 && count < 5);
	assert_non_null(strstr(end, "longer than the copied part"));
	start = start_of(taken.bytes);
	assert_int_equal(unwinder_walk(unwinder, &start, frames, 2, &end), 2);
	assert_non_null(strstr(end, "too many"));
	unwinder_free(unwinder);
}

/* No caller needs the registers that a call may change; middle() is left by way of its frame pointer. */
static void a_register_that_is_not_known_is_not_used(void **unused)
{
	const size_t pc = unwind_reg_count() - 1, sp = pc == 16 ? 7 : 31;
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_start start = start_of(taken.bytes);
	struct unwind_frame whole[UNWIND_FRAMES_MAX], frames[UNWIND_FRAMES_MAX];
	uint64_t regs[64], above;
	const char *end;
	size_t count = unwinder_walk(unwinder, &start, whole, UNWIND_FRAMES_MAX, &end);

	if (pc == 16) {
		start.absent = 0xf37; /* rax, rdx, rcx, rsi, rdi, r8 to r11 */
		assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end),
				 count);
		assert_null(end);
		assert_memory_equal(frames, whole, count * sizeof(*frames));
	}
	memcpy(regs, taken.regs, (pc + 1) * sizeof(*regs));
	above = whole[1].sp - taken.sp;
	regs[sp] = whole[1].sp;
	regs[pc] = whole[1].pc - 1;
	start = (struct unwind_start){ .regs = regs,
				       .reg_count = pc + 1,
				       .stack = taken.stack + above,
				       .stack_at = whole[1].sp,
				       .stack_bytes = taken.bytes - above,
				       .absent = UINT64_C(1) << (pc == 16 ? 6 : 29) };
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 1);
	assert_string_equal(end, "a register that leads on is not known");
	unwinder_free(unwinder);
}

#if defined(__x86_64__) && \
	!defined(__SANITIZE_ADDRESS__) /* which rounds the stack pointer in some functions */
/* outermost() takes a room that its code tells; so do those that called it, where they keep frame pointers. */
static void the_frame_pointer_is_found_by_the_code(void **unused)
{
	const size_t pc = unwind_reg_count() - 1, sp = pc == 16 ? 7 : 31;
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_start start = start_of(taken.bytes);
	struct unwind_frame whole[UNWIND_FRAMES_MAX], frames[UNWIND_FRAMES_MAX];
	uint64_t regs[64] = { 0 }, above, slot, back;
	const char *end;
	size_t count = unwinder_walk(unwinder, &start, whole, UNWIND_FRAMES_MAX, &end);

	assert_true(count > 6);
	above = whole[2].sp - taken.sp;
	regs[sp] = whole[2].sp;
	regs[pc] = whole[2].pc - 1;
	start = (struct unwind_start){ .regs = regs,
				       .reg_count = pc + 1,
				       .stack = taken.stack + above,
				       .stack_at = whole[2].sp,
				       .stack_bytes = taken.bytes - above,
				       .absent = 0xff7f };
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end),
			 count - 2);
	assert_null(end);
	assert_memory_equal(frames + 1, whole + 3, (count - 3) * sizeof(*frames));
	/* Nor is there one where that call leads to another function, as one that is over may have left. */
	slot = whole[3].sp - taken.sp - sizeof(back);
	memcpy(&back, taken.stack + slot, sizeof(back));
	assert_int_equal(back, whole[3].pc);
	memcpy(taken.stack + slot, &whole[2].pc, sizeof(back));
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 1);
	assert_non_null(end);
	memcpy(taken.stack + slot, &back, sizeof(back));
	/* Where no call leads back to, there is no frame. */
	for (size_t at = above; at < taken.bytes && at < above + 256; at += 8)
		taken.stack[at] ^= 1;
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 1);
	assert_non_null(end);
	for (size_t at = above; at < taken.bytes && at < above + 256; at += 8)
		taken.stack[at] ^= 1;
	unwinder_free(unwinder);
}
#endif

/* glibc's loader begins with code that no table tells of; what the kernel put on the stack there shows that it is the beginning. */
static void the_entry_of_the_loader_is_an_end(void **unused)
{
	const ElfW(Ehdr) *loader = (const void *)getauxval(AT_BASE);
	uint64_t stack[] = { 1, UINT64_C(0x7fff00000000), 0, 0 }, regs[64] = { 0 };
	struct unwind_start start = { regs, unwind_reg_count(), (void *)stack, 0x7ffe00000000,
				      sizeof(stack) };
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_frame frames[4];
	const char *end;

	if (!loader)
		skip();
	memcpy(regs, taken.regs, start.reg_count * sizeof(*regs));
#if defined(__x86_64__)
	regs[6] = 0; /* no frame pointer */
	regs[7] = start.stack_at;
#else
	regs[29] = regs[30] = 0;
	regs[31] = start.stack_at;
#endif
	regs[start.reg_count - 1] = (uint64_t)loader + loader->e_entry + 8;
	assert_int_equal(unwinder_walk(unwinder, &start, frames, 4, &end), 1);
	assert_null(end);
	for (size_t i = 0; i < 3; i++) { /* of no argument, with none, without the end */
		uint64_t right = stack[i];

		stack[i] = i < 2 ? 0 : 1;
		assert_int_equal(unwinder_walk(unwinder, &start, frames, 4, &end), 1);
		assert_non_null(end);
		stack[i] = right;
	}
	regs[start.reg_count - 1] += 256; /* it is other code */
	assert_int_equal(unwinder_walk(unwinder, &start, frames, 1, &end), 1);
	assert_non_null(end);
	unwinder_free(unwinder);
}

static void code_in_no_file_ends_it(void **unused)
{
	struct unwinder *unwinder = unwinder_new(taken.maps, taken.map_count);
	struct unwind_start start = start_of(taken.bytes);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	uint64_t regs[33];
	const char *end;

	memcpy(regs, taken.regs, sizeof(regs));
	regs[start.reg_count - 1] = 0x1000;
	start.regs = regs;
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 1);
	assert_int_equal(frames[0].map, UNWIND_NO_MAP);
	assert_non_null(strstr(end, "in no file"));
	unwinder_free(unwinder);
	unwinder = unwinder_new(NULL, 0);
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 1);
	unwinder_free(unwinder);
}

static void an_address_that_no_symbol_covers_has_no_name(void **unused)
{
	struct unwind_names *names = unwind_names_new(taken.maps[0].fd, taken.maps[0].path);
	struct unwind_name name[UNWIND_INLINED_MAX + 1];
	size_t named = 0;

	/* Behind the last function of a part that is mapped there is nothing but what fills it up. */
	for (uint64_t i = 0; i < 16; i++) {
		unwind_names_find(names, taken.maps[0].offset + taken.maps[0].bytes - 1 - i, name);
		assert_null(name[0].function);
		assert_non_null(name[0].build_id);
	}
	for (uint64_t i = 0; i < taken.maps[0].bytes; i += 64) {
		unwind_names_find(names, taken.maps[0].offset + i, name);
		named += name[0].function != NULL;
	}
	assert_true(named > 10);
	unwind_names_free(names);
	assert_null(unwind_names_new(open("/dev/null", O_RDONLY), "null"));
}

/* Any registers and stack, in a program like any other. */
static void walk_nonsense(unsigned int seed, const struct unwind_map *maps, size_t count)
{
	static uint8_t stack[16384];
	struct unwinder *unwinder = unwinder_new(maps, count);
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	uint64_t regs[33];
	struct unwind_start start = { regs, unwind_reg_count(), stack, 0x7ffd00000000,
				      sizeof(stack) };
	struct unwind_names *names;
	struct unwind_name name[UNWIND_INLINED_MAX + 1];
	const char *end;

	srand(seed);
	for (size_t i = 0; i < sizeof(stack) / 8; i++) {
		const struct unwind_map *map = &maps[(size_t)rand() % count];
		uint64_t word = rand() % 3 ? map->start + (uint64_t)rand() % map->bytes
					   : start.stack_at + (uint64_t)rand() % sizeof(stack);

		memcpy(stack + 8 * i, &word, 8);
	}
	memcpy(regs, stack + 80, sizeof(regs));
#if defined(__aarch64__)
	regs[31] = start.stack_at;
#else
	regs[7] = start.stack_at;
#endif
	regs[start.reg_count - 1] = maps[seed % count].start + (uint64_t)rand() % maps[0].bytes;
	names = unwind_names_new(maps[0].fd, maps[0].path);
	for (size_t n = unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end);
	     n > 0 && names; n--)
		unwind_names_find(names, frames[n - 1].address, name);
	unwind_names_free(names);
	unwinder_free(unwinder);
}

static void any_stack_comes_to_an_end(void **unused)
{
	for (unsigned int seed = 1; seed <= 60; seed++)
		walk_nonsense(seed, taken.maps, taken.map_count);
}

/* A copy of our own file, of which some bytes are others. */
static int damaged_copy(unsigned int seed)
{
	static uint8_t bytes[4 << 20];
	int fd = memfd_create("damaged", MFD_CLOEXEC), self = open("/proc/self/exe", O_RDONLY);
	ssize_t size = read(self, bytes, sizeof(bytes));

	srand(seed);
	for (int i = 0; i < 4000; i++)
		bytes[(size_t)rand() % (i % 2 ? 4096 : (size_t)size)] = (uint8_t)rand();
	memcpy(bytes, "\177ELF\2\1\1", 7);
	assert_int_equal(write(fd, bytes, (size_t)size), size);
	close(self);
	return fd;
}

/* As the recorder has it done: by a child, which may fail, but has to end. */
static void any_file_comes_to_an_end(void **unused)
{
	for (unsigned int seed = 1; seed <= 25; seed++) {
		struct unwind_map map = { 0x400000, 1 << 20, 0, damaged_copy(seed), "damaged" };
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			alarm(20);
			walk_nonsense(seed, &map, 1);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
		close(map.fd);
	}
}

static void registers_of_32_bits_have_their_own_numbers(void **unused)
{
	/* By x86-64's numbers: ax, dx, cx, bx, si, di, bp, sp, eight that 32-bit code has not, and the program counter. */
	static const __u64 regs[] = { 0xf0000000a, 0xd, 0xc, 0xb, 0x51, 0xd1, 0xbb, 0x55, 0,
				      0,	   0,	0,   0,	  0,	0,    0,    0x99 };
	static const uint64_t wanted[] = { 0xa, 0xc, 0xd, 0xb, 0x55, 0xbb, 0x51, 0xd1, 0x99 };
	uint64_t found[UNWIND_REGS_32];

	regs_386(regs, found);
	assert_memory_equal(found, wanted, sizeof(wanted));
}

#define VDSO_AT UINT64_C(0xf7f00000)

/* Where its system calls go on; 0 = it does not say. */
static uint64_t landing_pad(int fd, size_t bytes)
{
	struct unwind_names *names = unwind_names_new(fd, "[vdso]");
	struct unwind_name name[UNWIND_INLINED_MAX + 1];
	uint8_t code[2];
	uint64_t found = 0;

	for (uint64_t at = 0; names && at + 2 < bytes && !found; at++) {
		unwind_names_find(names, at, name);
		if (name[0].function && strcmp(name[0].function, "__kernel_vsyscall") == 0 &&
		    pread(fd, code, 2, (off_t)at) == 2 && code[0] == 0xcd && code[1] == 0x80)
			found = at + 2;
	}
	unwind_names_free(names);
	return found;
}

/* The kernel's code for them: its system calls have saved three registers on the stack, in 4 bytes each. */
static void stacks_of_32_bits_are_walked(void **unused)
{
	int fd = image_vdso_32();
	off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	struct unwind_map maps[] = { { VDSO_AT, (uint64_t)bytes, 0, fd, "[vdso]" }, taken.maps[0] };
	const uint32_t stack[] = { 0xbb, 0xd, 0xc, 0x8049123, 0x77777777 };
	uint64_t regs[UNWIND_REGS_32] = { [4] = 0xff800000, [8] = VDSO_AT };
	const struct unwind_start start = { regs, UNWIND_REGS_32, (const uint8_t *)stack, regs[4],
					    sizeof(stack) };
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwinder *unwinder;
	uint64_t pad = fd < 0 ? 0 : landing_pad(fd, (size_t)bytes);
	const char *end;

	if (!pad)
		skip();
	regs[8] += pad;
	unwinder = unwinder_new(maps, 1);
	assert_int_equal(unwinder_reg_count(unwinder), UNWIND_REGS_32);
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 2);
	assert_int_equal(frames[0].address, pad);
	assert_int_equal(frames[1].pc, stack[3]);
	assert_int_equal(frames[1].sp, regs[4] + 16);
	unwinder_free(unwinder);
	/* Beside a file of x86-64 it is no 32-bit program. */
	unwinder = unwinder_new(maps, 2);
	assert_int_equal(unwinder_reg_count(unwinder), unwind_reg_count());
	assert_int_equal(unwinder_walk(unwinder, &start, frames, UNWIND_FRAMES_MAX, &end), 0);
	unwinder_free(unwinder);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_have_the_names_of_those_who_called),
		cmocka_unit_test(a_stack_that_was_cut_says_so),
		cmocka_unit_test(a_register_that_is_not_known_is_not_used),
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(the_frame_pointer_is_found_by_the_code),
#endif
		cmocka_unit_test(the_entry_of_the_loader_is_an_end),
		cmocka_unit_test(code_in_no_file_ends_it),
		cmocka_unit_test(an_address_that_no_symbol_covers_has_no_name),
		cmocka_unit_test(registers_of_32_bits_have_their_own_numbers),
		cmocka_unit_test(stacks_of_32_bits_are_walked),
		cmocka_unit_test(any_stack_comes_to_an_end),
		cmocka_unit_test(any_file_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, take_program, NULL);
}
