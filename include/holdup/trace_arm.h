/*
 * trace_arm.h - private part of holdup/trace.h: one event in one restartable sequence, 64-bit
 * ARM. As trace_x86.h, which explains it; loads and stores that others pair with are ordered.
 */
#ifndef HOLDUP_TRACE_HOT_H
#include <holdup/trace_hot.h> /* which includes this one where it belongs */
#endif

#ifndef HOLDUP_TRACE_ARM_H
#define HOLDUP_TRACE_ARM_H

#if defined(__aarch64__)

/* The signature that must stand before label 4 (glibc's bits/rseq.h). */
#define HOLDUP_RSEQ_FRAME_        \
	HOLDUP_RSEQ_CS_           \
	"adrp x9, 3b\n"           \
	"add x9, x9, :lo12:3b\n"  \
	"str x9, [%[rseq], #8]\n" \
	"1:\n"

#if defined(__PIC__) && !defined(__PIE__)
#define HOLDUP_RSEQ_LEAVE_ "str xzr, [%[rseq], #8]\n" /* see trace_x86.h */
#else
#define HOLDUP_RSEQ_LEAVE_ ""
#endif

#define HOLDUP_RSEQ_ABORT_                                                 \
	"2:\n" HOLDUP_RSEQ_LEAVE_ ".pushsection __rseq_failure, \"ax?\"\n" \
	".inst 0xd428bc00\n"                                               \
	"4:\n"                                                             \
	"b %l[again]\n"                                                    \
	".popsection\n"

/* x10 = this CPU's entry, x11 = header, x12 = packet, x13 = the event, x14 = content_size with it */
#define HOLDUP_RSEQ_BEGIN_                                                        \
	HOLDUP_RSEQ_FRAME_                                                        \
	"ldrsw x10, [%[rseq], #4]\n"                                              \
	"ldr x9, [%[session]]\n"                                                  \
	"add x10, %[cpus], x10, lsl #6\n"                                         \
	"ldar x11, [x10]\n" /* pairs with room.c: the packet is this session's */ \
	"cmp x9, x11\n"                                                           \
	"b.ne %l[slow]\n"                                                         \
	"isb\n"                                                                   \
	"mrs x11, cntvct_el0\n"                                                   \
	"ldr x9, [x10, #16]\n"                                                    \
	"cmp x11, x9\n"                                                           \
	"b.hi %l[slow]\n"                                                         \
	"ldr x12, [x10, #8]\n"                                                    \
	"ldr x13, [x12, #64]\n"                                                   \
	"add x14, x13, %[bits]\n"                                                 \
	"cmp x14, %[limit]\n"                                                     \
	"b.hi %l[slow]\n"                                                         \
	"add x13, x12, x13, lsr #3\n"                                             \
	"orr x11, %[id], x11, lsl #16\n"                                          \
	"str x11, [x13]\n"                                                        \
	"str %w[tid], [x13, #8]\n"

/* A release: whoever sees the size sees the event. */
#define HOLDUP_RSEQ_END_      \
	"add x15, x12, #64\n" \
	"stlr x14, [x15]\n" HOLDUP_RSEQ_ABORT_

#define HOLDUP_RSEQ_INPUTS_                                                                    \
	[rseq] "r"((char *)__builtin_thread_pointer() + holdup_state_.rseq_offset),            \
		[cpus] "r"(holdup_state_.cpus), [session] "r"(&holdup_state_.control.session), \
		[id] "r"((uint64_t)id), [tid] "r"(tid), [limit] "r"((uint64_t)HOLDUP_LIMIT_)

#define HOLDUP_RSEQ_CLOBBERS_ "x9", "x10", "x11", "x12", "x13", "x14", "x15", "memory", "cc"

/* See trace_x86.h. The words are stored one by one; what is behind the event is free. */
#define HOLDUP_STORE_0_ "stur %[w0], [x13, #12]\n"
#define HOLDUP_STORE_1_ "stur %[w1], [x13, #20]\n"
#define HOLDUP_STORE_2_ "stur %[w2], [x13, #28]\n"
#define HOLDUP_STORE_3_ "stur %[w3], [x13, #36]\n"
#define HOLDUP_BITS_	"r"

/* In whole words. */
#define HOLDUP_LONG_           \
	"add x13, x13, #12\n"  \
	"mov x9, %[from]\n"    \
	"5:\n"                 \
	"cmp x9, %[end]\n"     \
	"b.hs 6f\n"            \
	"ldr x11, [x9], #8\n"  \
	"str x11, [x13], #8\n" \
	"b 5b\n"               \
	"6:\n"
#define HOLDUP_LONG_INPUTS_ \
	, [from] "r"(payload), [end] "r"((const char *)payload + (bytes + 7) / 8 * 8)
#define HOLDUP_LONG_CLOBBERS_

/* Piece by piece; in text '?' for 0. */
#define HOLDUP_BULK_                          \
	"add x13, x13, #12\n"                 \
	"mov x9, %[pieces]\n"                 \
	"5:\n"                                \
	"cmp x9, %[end]\n"                    \
	"b.hs 6f\n"                           \
	"ldp x10, x11, [x9], #16\n"           \
	"asr x16, x11, #63\n"                 \
	"and x16, x16, #63\n"                 \
	"and x11, x11, #0x7fffffffffffffff\n" \
	"7:\n"                                \
	"cbz x11, 5b\n"                       \
	"ldrb w15, [x10], #1\n"               \
	"cmp w15, #0\n"                       \
	"csel w15, w16, w15, eq\n"            \
	"strb w15, [x13], #1\n"               \
	"sub x11, x11, #1\n"                  \
	"b 7b\n"                              \
	"6:\n"
#define HOLDUP_BULK_INPUTS_   , [pieces] "r"(pieces), [end] "r"(pieces + count)
#define HOLDUP_BULK_CLOBBERS_ , "x16"

/* holdup_switch_() */
#define HOLDUP_RSEQ_SWITCH_                                                                        \
	__asm__ goto(                                                                              \
		HOLDUP_RSEQ_FRAME_ "ldr w10, [%[rseq], #4]\n"                                      \
				   "cmp w10, %w[cpu]\n"                                            \
				   "b.ne %l[gone]\n"                                               \
				   "add x10, %[cpus], x10, lsl #6\n"                               \
				   "ldr x9, [x10, #8]\n"                                           \
				   "cmp x9, %[old]\n"                                              \
				   "b.ne %l[gone]\n"                                               \
				   "isb\n"                                                         \
				   "mrs x11, cntvct_el0\n"                                         \
				   "str x11, [%[next], #80]\n"                                     \
				   "add x15, x10, #8\n"                                            \
				   "stlr %[next], [x15]\n" HOLDUP_RSEQ_ABORT_                      \
		:                                                                                  \
		: [rseq] "r"((char *)__builtin_thread_pointer() + holdup_state_.rseq_offset),      \
		  [cpus] "r"(holdup_state_.cpus), [cpu] "r"(cpu), [old] "r"(old), [next] "r"(next) \
		: HOLDUP_RSEQ_CLOBBERS_                                                            \
		: gone, again)

#endif
#endif
