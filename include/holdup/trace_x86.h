/*
 * trace_x86.h - private part of holdup/trace.h: one event in one restartable sequence, x86-64.
 *
 * Between labels 1 and 2 the kernel sends a thread that is preempted, migrated or interrupted
 * by a signal to label 4 (rseq(2)), which begins again. So nobody else writes to this CPU's
 * packet meanwhile, and the last instruction publishes the event: it sets the packet's
 * content_size, which is part of the trace format. Until then the event does not exist.
 *
 * rseq_abi: cpu_id is at byte 4, rseq_cs at byte 8. Packet: wire/user.h.
 */
#ifndef HOLDUP_TRACE_HOT_H
#include <holdup/trace_hot.h> /* which includes this one where it belongs */
#endif

#ifndef HOLDUP_TRACE_X86_H
#define HOLDUP_TRACE_X86_H

#if defined(__x86_64__) && !defined(__ILP32__)

#define HOLDUP_STR__(x) #x
#define HOLDUP_STR_(x)	HOLDUP_STR__(x)

/*
 * So far ahead lines are asked for: the helper has read them last, on another CPU. It changes
 * nothing that anybody sees, also behind the end of what is mapped.
 */
#define HOLDUP_AHEAD_ 512

/*
 * '?' after the flags of a section: it belongs to the group that the function is in, if any, as
 * inline functions of C++ do, and goes with it.
 *
 * The beginning: rcx = this CPU's struct holdup_cpu_, r8 = packet, rax = time, rdx = where the
 * event begins in the packet, r9 = content_size with it. The time's upper 16 bits are those of
 * the packet's beginning, or another packet must begin.
 */
#define HOLDUP_RSEQ_BEGIN_                                            \
	HOLDUP_RSEQ_CS_                                               \
	"movq %[rseq], %%rcx\n"                                       \
	"leaq 3b(%%rip), %%rax\n"                                     \
	"movq %%rax, %%fs:8(%%rcx)\n"                                 \
	"1:\n"                                                        \
	"movslq %%fs:4(%%rcx), %%rcx\n"                               \
	"shlq $6, %%rcx\n"                                            \
	"addq %[cpus], %%rcx\n"                                       \
	"movq %[session], %%rax\n"                                    \
	"cmpq %%rax, (%%rcx)\n"                                       \
	"jne %l[slow]\n"                                              \
	"rdtsc\n"                                                     \
	"shlq $32, %%rdx\n"                                           \
	"orq %%rdx, %%rax\n"                                          \
	"cmpq 16(%%rcx), %%rax\n"                                     \
	"ja %l[slow]\n"                                               \
	"movq 8(%%rcx), %%r8\n"                                       \
	"movq 64(%%r8), %%r9\n"                                       \
	"movq %%r9, %%rdx\n"                                          \
	"addq %[bits], %%r9\n"                                        \
	"cmpq $" HOLDUP_STR_(HOLDUP_LIMIT_) ", %%r9\n"                \
					    "ja %l[slow]\n"           \
					    "shrq $3, %%rdx\n"        \
					    "addq %%r8, %%rdx\n"      \
					    "shlq $16, %%rax\n"       \
					    "orq %[id], %%rax\n"      \
					    "movq %%rax, (%%rdx)\n"   \
					    "movl %[tid], 8(%%rdx)\n" \
					    "prefetchw " HOLDUP_STR_(HOLDUP_AHEAD_) "(%%rdx)\n"

/*
 * What may be unloaded does not leave the kernel a pointer to its sequence: the kernel looks at
 * it when the thread next comes from elsewhere, however long it has slept.
 */
#if defined(__PIC__) && !defined(__PIE__)
#define HOLDUP_RSEQ_LEAVE_ "movq %[rseq], %%rcx\nmovq $0, %%fs:8(%%rcx)\n"
#else
#define HOLDUP_RSEQ_LEAVE_ ""
#endif

/* The end: publish. The signature must stand before label 4. */
#define HOLDUP_RSEQ_END_                                                   \
	"movq %%r9, 64(%%r8)\n"                                            \
	"2:\n" HOLDUP_RSEQ_LEAVE_ ".pushsection __rseq_failure, \"ax?\"\n" \
	".byte 0x0f, 0xb9, 0x3d\n"                                         \
	".long 0x53053053\n"                                               \
	"4:\n"                                                             \
	"jmp %l[again]\n"                                                  \
	".popsection\n"

#define HOLDUP_RSEQ_INPUTS_                                                           \
	[rseq] "m"(holdup_state_.rseq_offset), [cpus] "m"(holdup_state_.cpus),        \
		[session] "m"(holdup_state_.control.session), [id] "r"((uint64_t)id), \
		[tid] "r"(tid)

#define HOLDUP_RSEQ_CLOBBERS_ "rax", "rcx", "rdx", "r8", "r9", "memory", "cc"

/* Where holdup_put_words_() stores a word of the payload. Whole words: what is behind the event is free. */
#define HOLDUP_STORE_0_ "movq %[w0], 12(%%rdx)\n"
#define HOLDUP_STORE_1_ "movq %[w1], 20(%%rdx)\n"
#define HOLDUP_STORE_2_ "movq %[w2], 28(%%rdx)\n"
#define HOLDUP_STORE_3_ "movq %[w3], 36(%%rdx)\n"
#define HOLDUP_BITS_	"er"

/* A payload of any length, in whole words. */
#define HOLDUP_LONG_                        \
	"movq %[left], %%rcx\n"             \
	"jrcxz 6f\n"                        \
	"leaq (%[from], %%rcx, 8), %%rax\n" \
	"leaq 12(%%rdx, %%rcx, 8), %%rdx\n" \
	"negq %%rcx\n"                      \
	"5:\n"                              \
	"movq (%%rax, %%rcx, 8), %%r10\n"   \
	"movq %%r10, (%%rdx, %%rcx, 8)\n"   \
	"incq %%rcx\n"                      \
	"jnz 5b\n"                          \
	"6:\n"
#define HOLDUP_LONG_INPUTS_   , [from] "r"(payload), [left] "r"((bytes + 7) / 8)
#define HOLDUP_LONG_CLOBBERS_ , "r10"

/* Piece by piece. In text, what another thread has made 0 meanwhile becomes '?'. */
#define HOLDUP_BULK_              \
	"leaq 12(%%rdx), %%rdi\n" \
	"movq %[pieces], %%rax\n" \
	"movq %[left], %%rdx\n"   \
	"5:\n"                    \
	"subq $1, %%rdx\n"        \
	"jb 6f\n"                 \
	"movq (%%rax), %%rsi\n"   \
	"movq 8(%%rax), %%rcx\n"  \
	"addq $16, %%rax\n"       \
	"movq %%rdi, %%r10\n"     \
	"btrq $63, %%rcx\n"       \
	"rep movsb\n"             \
	"jnc 5b\n"                \
	"7:\n"                    \
	"cmpq %%rdi, %%r10\n"     \
	"je 5b\n"                 \
	"incq %%r10\n"            \
	"cmpb $0, -1(%%r10)\n"    \
	"jne 7b\n"                \
	"movb $'?', -1(%%r10)\n"  \
	"jmp 7b\n"                \
	"6:\n"
#define HOLDUP_BULK_INPUTS_   , [pieces] "r"(pieces), [left] "r"(count)
#define HOLDUP_BULK_CLOBBERS_ , "rsi", "rdi", "r10"

/* holdup_switch_() */
#define HOLDUP_RSEQ_SWITCH_                                                                   \
	__asm__ goto(HOLDUP_RSEQ_CS_ "leaq 3b(%%rip), %%rax\n"                                \
				     "movq %%rax, %%fs:8(%[rseq])\n"                          \
				     "1:\n"                                                   \
				     "cmpl %[cpu], %%fs:4(%[rseq])\n"                         \
				     "jne %l[gone]\n"                                         \
				     "movl %[cpu], %%ecx\n"                                   \
				     "shlq $6, %%rcx\n"                                       \
				     "addq %[cpus], %%rcx\n"                                  \
				     "cmpq %[old], 8(%%rcx)\n"                                \
				     "jne %l[gone]\n"                                         \
				     "rdtsc\n"                                                \
				     "shlq $32, %%rdx\n"                                      \
				     "orq %%rdx, %%rax\n"                                     \
				     "movq %%rax, 80(%[next])\n"                              \
				     "movq %[next], 8(%%rcx)\n"                               \
				     "2:\n"                                                   \
				     ".pushsection __rseq_failure, \"ax?\"\n"                 \
				     ".byte 0x0f, 0xb9, 0x3d\n"                               \
				     ".long 0x53053053\n"                                     \
				     "4:\n"                                                   \
				     "jmp %l[again]\n"                                        \
				     ".popsection\n"                                          \
		     :                                                                        \
		     : [rseq] "r"(holdup_state_.rseq_offset), [cpus] "m"(holdup_state_.cpus), \
		       [cpu] "r"(cpu), [old] "r"(old), [next] "r"(next)                       \
		     : "rax", "rcx", "rdx", "memory", "cc"                                    \
		     : gone, again)

#endif
#endif
