/* test_kernel_events.c - records of made-up kernels become events. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/format_text.h"
#include "read/kernel/events.h"
#include "read/kernel/pages.h"
#include "store/formats.h"

#define COMMON                                                                          \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"          \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"  \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define SWITCH_FIELDS                                                    \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"  \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"       \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"     \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"      \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"

/* Linux 6.x */
#define NEW_STATES                                                                                 \
	"\nprint fmt: \"...\", REC->prev_comm, (REC->prev_state & ((((0x00000000 | 0x00000001 | "  \
	"0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) " \
	"- 1)) ? __print_flags(REC->prev_state & 1, \"|\", { 0x00000001, \"S\" }, { 0x00000002, "  \
	"\"D\" }, { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { "         \
	"0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", "             \
	"REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000040) + 1) << 1) ? \"+\" : \"\"\n"

/* Linux 4.4 */
#define OLD_STATES                                                                                 \
	"\nprint fmt: \"...\", REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & "      \
	"(2048-1), \"|\", { 1, \"S\"} , { 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, " \
	"{ 32, \"X\" }, { 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, { 1024, "   \
	"\"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\"\n"

struct kernel {
	struct formats formats;
	struct facts facts;
	struct kernel_events *events;
	bool big_endian;
	uint8_t data[256];
	uint32_t bytes;
};

static void add(struct kernel *kernel, const char *name, const char *text)
{
	struct formats *formats = &kernel->formats;

	formats->sections = vec_room(formats->sections, formats->count, &formats->cap,
				     sizeof(*formats->sections));
	formats->sections[formats->count++] =
		(struct format_section){ xstrdup(name), xstrdup(text), strlen(text) };
}

static void ready(struct kernel *kernel)
{
	kernel->events = kernel_events_new(&kernel->formats, kernel->big_endian, &kernel->facts);
}

static void done(struct kernel *kernel)
{
	kernel_events_free(kernel->events);
	formats_fini(&kernel->formats);
	facts_fini(&kernel->facts);
}

static void put(struct kernel *kernel, uint64_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		kernel->data[kernel->bytes + (kernel->big_endian ? bytes - 1 - i : i)] =
			(uint8_t)(value >> (8 * i));
	kernel->bytes += bytes;
}

static void put_common(struct kernel *kernel, uint16_t id, uint8_t flags, int32_t tid)
{
	kernel->bytes = 0;
	put(kernel, id, 2);
	put(kernel, flags, 1);
	put(kernel, 0, 1);
	put(kernel, (uint32_t)tid, 4);
}

static void put_text(struct kernel *kernel, const char *text, uint32_t bytes)
{
	memset(kernel->data + kernel->bytes, 0, bytes);
	memcpy(kernel->data + kernel->bytes, text, strnlen(text, bytes));
	kernel->bytes += bytes;
}

/* Decode what was put, from memory of the exact size. */
static bool decode(struct kernel *kernel, struct event *out_event)
{
	struct record record = { kernel->data, kernel->bytes, 0 };

	return kernel_events_decode(kernel->events, &record, out_event);
}

static struct event switched(struct kernel *kernel, uint64_t state)
{
	struct event event;

	put_common(kernel, 9, 0, 101);
	put_text(kernel, "abcdefghijklmnop", 16);
	put(kernel, 101, 4);
	put(kernel, 120, 4);
	put(kernel, state, 8);
	put_text(kernel, "next", 16);
	put(kernel, 202, 4);
	put(kernel, 98, 4);
	assert_true(decode(kernel, &event));
	return event;
}

static void a_switch_has_all_its_fields(void **unused)
{
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		struct kernel kernel = { .big_endian = big_endian };
		struct event event;

		add(&kernel, "sched/sched_switch",
		    "name: sched_switch\nID: 9\n" COMMON SWITCH_FIELDS NEW_STATES);
		ready(&kernel);
		event = switched(&kernel, 1);
		assert_int_equal(event.type, EV_SCHED_SWITCH);
		assert_int_equal(event.tid, 101);
		assert_int_equal(event.context, EV_CTX_KNOWN);
		assert_memory_equal(event.sched_switch.prev_comm, "abcdefghijklmnop", 16);
		assert_string_equal(event.sched_switch.next_comm, "next");
		assert_int_equal(event.sched_switch.prev_tid, 101);
		assert_int_equal(event.sched_switch.prev_prio, 120);
		assert_int_equal(event.sched_switch.next_tid, 202);
		assert_int_equal(event.sched_switch.next_prio, 98);
		assert_int_equal(event.sched_switch.prev_state, TASK_STATE_SLEEPING);
		done(&kernel);
	}
}

struct state_case {
	uint64_t bits;
	enum task_state state;
};

static void check_states(const char *fmt, const struct state_case *cases, size_t count)
{
	AUTO_FREE char *text = xasprintf("name: x\nID: 9\n" COMMON SWITCH_FIELDS "%s", fmt);
	struct kernel kernel = { 0 };

	add(&kernel, "sched/sched_switch", text);
	ready(&kernel);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(switched(&kernel, cases[i].bits).sched_switch.prev_state,
				 cases[i].state);
	done(&kernel);
}

static void states_are_read_from_the_print_format(void **unused)
{
	static const struct state_case new_cases[] = {
		{ 0, TASK_STATE_RUNNABLE },	{ 0x100, TASK_STATE_RUNNABLE },
		{ 1, TASK_STATE_SLEEPING },	{ 2, TASK_STATE_DISK },
		{ 4, TASK_STATE_STOPPED },	{ 8, TASK_STATE_STOPPED },
		{ 0x10, TASK_STATE_DEAD },	{ 0x20, TASK_STATE_DEAD },
		{ 0x40, TASK_STATE_PARKED },	{ 0x80, TASK_STATE_IDLE },
		{ 0x10000, TASK_STATE_UNKNOWN }
	};
	static const struct state_case old_cases[] = {
		{ 0, TASK_STATE_RUNNABLE },   { 2048, TASK_STATE_RUNNABLE },
		{ 130, TASK_STATE_DISK },     { 1026, TASK_STATE_IDLE },
		{ 129, TASK_STATE_SLEEPING }, { 64, TASK_STATE_DEAD },
		{ 16, TASK_STATE_DEAD },      { 512, TASK_STATE_PARKED },
		{ 256, TASK_STATE_UNKNOWN }
	};
	static const struct state_case bare_cases[] = { { 0, TASK_STATE_RUNNABLE },
							{ 1, TASK_STATE_SLEEPING },
							{ 2, TASK_STATE_DISK },
							{ 64, TASK_STATE_UNKNOWN } };

	check_states(NEW_STATES, new_cases, ARRAY_LEN(new_cases));
	check_states(OLD_STATES, old_cases, ARRAY_LEN(old_cases));
	check_states("\nprint fmt: \"\"\n", bare_cases, ARRAY_LEN(bare_cases));
}

static void flags_tell_the_context(void **unused)
{
	static const struct {
		uint8_t flags, context;
	} cases[] = { { 0x00, EV_CTX_KNOWN },
		      { 0x08, EV_CTX_KNOWN | EV_CTX_HARDIRQ },
		      { 0x10, EV_CTX_KNOWN | EV_CTX_SOFTIRQ },
		      { 0x18, EV_CTX_KNOWN | EV_CTX_HARDIRQ | EV_CTX_SOFTIRQ },
		      { 0x40, EV_CTX_KNOWN | EV_CTX_HARDIRQ },
		      { 0xa7, EV_CTX_KNOWN },
		      { 0xff, 0 } }; /* of a uprobe */
	struct kernel kernel = { 0 };
	struct event event;

	add(&kernel, "irq_vectors/local_timer_entry",
	    "ID: 5\n" COMMON "\tfield:int vector;\toffset:8;\tsize:4;\tsigned:1;\n");
	ready(&kernel);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put_common(&kernel, 5, cases[i].flags, 7);
		put(&kernel, 236, 4);
		assert_true(decode(&kernel, &event));
		assert_int_equal(event.context, cases[i].context);
		assert_int_equal(event.type, EV_VECTOR_ENTRY);
		assert_int_equal(event.irq.nr, VECTOR_LOCAL_TIMER);
	}
	done(&kernel);
}

static void located_text_stays_within_its_record(void **unused)
{
	static const uint32_t bad[] = { 0,	    5u << 16 | 16, 1u << 16 | 60000,
					0xffffffff, 3u << 16 | 12, 2u << 16 | 17 };
	struct kernel kernel = { 0 };
	struct event event;

	add(&kernel, "irq/irq_handler_entry",
	    "ID: 5\n" COMMON "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
	    "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n");
	ready(&kernel);
	put_common(&kernel, 5, 0, 7);
	put(&kernel, 24, 4);
	put(&kernel, 4u << 16 | 16, 4);
	put_text(&kernel, "vda", 4);
	assert_true(decode(&kernel, &event));
	assert_int_equal(event.irq.nr, 24);
	assert_string_equal(event.irq.name, "vda");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		kernel.bytes = 12;
		put(&kernel, bad[i], 4);
		memcpy(kernel.data + 16, "vdax", 4); /* no terminator */
		kernel.bytes = 20;
		assert_true(decode(&kernel, &event));
		assert_true(!event.irq.name || strlen(event.irq.name) < 4);
	}
	done(&kernel);
}

static void a_record_that_is_too_short_is_refused(void **unused)
{
	struct kernel kernel = { 0 };
	struct event event;

	add(&kernel, "sched/sched_switch", "ID: 9\n" COMMON SWITCH_FIELDS NEW_STATES);
	ready(&kernel);
	put_common(&kernel, 9, 0, 1);
	for (kernel.bytes = 0; kernel.bytes < 64; kernel.bytes += 4)
		assert_false(decode(&kernel, &event));
	assert_true(decode(&kernel, &event));
	done(&kernel);
}

static void system_calls_of_a_32_bit_kernel_are_widened(void **unused)
{
	struct kernel kernel = { .big_endian = true };
	struct event event;

	add(&kernel, "raw_syscalls/sys_enter",
	    "ID: 5\n" COMMON "\tfield:long id;\toffset:8;\tsize:4;\tsigned:1;\n"
	    "\tfield:unsigned long args[6];\toffset:12;\tsize:24;\tsigned:0;\n");
	add(&kernel, "raw_syscalls/sys_exit",
	    "ID: 6\n" COMMON "\tfield:long id;\toffset:8;\tsize:4;\tsigned:1;\n"
	    "\tfield:long ret;\toffset:12;\tsize:4;\tsigned:1;\n");
	ready(&kernel);
	put_common(&kernel, 5, 0, 7);
	put(&kernel, (uint32_t)-1, 4);
	for (uint32_t i = 0; i < 6; i++)
		put(&kernel, 0xf0000000u + i, 4);
	assert_true(decode(&kernel, &event));
	assert_int_equal(event.syscall.nr, -1);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(event.syscall.args[i], 0xf0000000u + i);
	put_common(&kernel, 6, 0, 7);
	put(&kernel, 3, 4);
	put(&kernel, (uint32_t)-11, 4);
	assert_true(decode(&kernel, &event));
	assert_int_equal(event.syscall.ret, -11);
	done(&kernel);
}

static void fields_may_stand_elsewhere(void **unused)
{
	struct kernel kernel = { 0 };
	struct event event;

	/* A kernel with one more common field, and without target_cpu. */
	add(&kernel, "sched/sched_waking",
	    "ID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	    "\tfield:unsigned char common_preempt_lazy_count;\toffset:8;\tsize:1;\tsigned:0;\n\n"
	    "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
	    "\tfield:short prio;\toffset:16;\tsize:2;\tsigned:1;\n"
	    "\tfield:char comm[16];\toffset:18;\tsize:16;\tsigned:0;\n");
	ready(&kernel);
	put_common(&kernel, 5, 0, 7);
	put(&kernel, 3, 4);
	put(&kernel, 55, 4);
	put(&kernel, (uint16_t)-1, 2);
	put_text(&kernel, "woken", 16);
	put(&kernel, 0, 2);
	assert_true(decode(&kernel, &event));
	assert_int_equal(event.wake.tid, 55);
	assert_int_equal(event.wake.prio, -1);
	assert_int_equal(event.wake.target_cpu, -1);
	assert_string_equal(event.wake.comm, "woken");
	done(&kernel);
}

static void events_without_a_row_keep_their_name(void **unused)
{
	struct kernel kernel = { 0 };
	struct event event;

	add(&kernel, "drm/drm_vblank_event", "ID: 5\n" COMMON);
	ready(&kernel);
	put_common(&kernel, 5, 0, 7);
	assert_true(decode(&kernel, &event));
	assert_int_equal(event.type, EV_OTHER);
	assert_int_equal(event.tid, 7);
	assert_string_equal(event.other.system, "drm");
	assert_string_equal(event.other.name, "drm_vblank_event");
	put_common(&kernel, 6, 0, 8);
	assert_true(decode(&kernel, &event));
	assert_string_equal(event.other.name, "unknown");
	assert_int_equal(event.tid, 8);
	done(&kernel);
}

static void formats_that_cannot_be_used_are_noted(void **unused)
{
	struct kernel kernel = { 0 };

	add(&kernel, "a/no_number", COMMON);
	add(&kernel, "a/no_common", "ID: 6\n");
	add(&kernel, "a/first", "ID: 7\n" COMMON);
	add(&kernel, "a/same", "ID: 7\n" COMMON);
	ready(&kernel);
	assert_int_equal(kernel.facts.damage_count, 3);
	done(&kernel);
}

static void hostile_field_lines_are_passed_over(void **unused)
{
	static const char text[] = "\tfield:int a;\toffset:70000;\tsize:4;\tsigned:1;\n"
				   "\tfield:int b;\toffset:4;\tsize:0;\tsigned:1;\n"
				   "\tfield:int c;\toffset:65535;\tsize:4294967295;\tsigned:1;\n"
				   "\tfield:;\toffset:4;\tsize:4;\tsigned:1;\n"
				   "\tfield:int d\toffset:4\tsize:4\n"
				   "\tfield:long e[3];\toffset:4;\tsize:8;\tsigned:1;\n"
				   "\tfield:__data_loc char[] f;\toffset:4;\tsize:8;\tsigned:1;\n"
				   "\tfield:unsigned long g[2];\toffset:8;\tsize:16;\tsigned:0;";
	const char *cursor = text;
	struct format_field field;

	assert_true(format_text_next(&cursor, &field));
	assert_memory_equal(field.name, "g", 1);
	assert_int_equal(field.name_bytes, 1);
	assert_int_equal(field.kind, FORMAT_ARRAY);
	assert_int_equal(field.count, 2);
	assert_false(format_text_next(&cursor, &field));
}

/* ------------------------------------------- fixed places against a list of loads */

/* The common fields without one that the fixed places need: the records are the same. */
#define NO_FLAGS                                                                        \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define LONG_8(name, at) "\tfield:unsigned long " name ";\toffset:" at ";\tsize:8;\tsigned:0;\n"
#define INT_4(name, at)	 "\tfield:int " name ";\toffset:" at ";\tsize:4;\tsigned:1;\n"
#define WAKE_FIELDS                                                                   \
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" INT_4("pid", "24") \
		INT_4("prio", "28") INT_4("target_cpu", "32")
#define NET_FIELDS             \
	LONG_8("skbaddr", "8") \
	INT_4("len", "16") "\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n"

static const struct {
	const char *name, *fields;
} usual[] = {
	{ "sched/sched_switch", SWITCH_FIELDS NEW_STATES },
	{ "sched/sched_waking", WAKE_FIELDS },
	{ "sched/sched_wakeup", WAKE_FIELDS },
	{ "sched/sched_wakeup_new", WAKE_FIELDS },
	{ "sched/sched_stat_runtime", INT_4("pid", "12") LONG_8("runtime", "16") },
	{ "raw_syscalls/sys_enter",
	  LONG_8("id", "8") "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n" },
	{ "raw_syscalls/sys_exit", LONG_8("id", "8") LONG_8("ret", "16") },
	{ "irq/softirq_entry", INT_4("vec", "8") },
	{ "irq/softirq_exit", INT_4("vec", "8") },
	{ "irq/softirq_raise", INT_4("vec", "8") },
	{ "irq_vectors/reschedule_entry", INT_4("vector", "8") },
	{ "irq_vectors/local_timer_exit", INT_4("vector", "8") },
	{ "net/net_dev_queue", NET_FIELDS },
	{ "net/netif_rx", NET_FIELDS },
	{ "net/netif_receive_skb", NET_FIELDS },
	{ "exceptions/page_fault_user",
	  LONG_8("address", "8") LONG_8("ip", "16") LONG_8("error_code", "24") },
	{ "exceptions/page_fault_kernel",
	  LONG_8("address", "8") LONG_8("ip", "16") LONG_8("error_code", "24") },
};

/* All that an event says, but the flags that only one of the two formats has. */
static void describe(const struct event *event, char *text, size_t bytes)
{
	const uint64_t *args = event->syscall.args;
	size_t used = (size_t)snprintf(text, bytes, "type %u tid %d: ", event->type, event->tid);

	text += used;
	bytes -= used;
	switch (event->type) {
	case EV_SCHED_SWITCH:
		snprintf(text, bytes, "%p %d %d %u, %p %d %d",
			 (const void *)event->sched_switch.prev_comm, event->sched_switch.prev_tid,
			 event->sched_switch.prev_prio, event->sched_switch.prev_state,
			 (const void *)event->sched_switch.next_comm, event->sched_switch.next_tid,
			 event->sched_switch.next_prio);
		break;
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		snprintf(text, bytes, "%p %d %d %d", (const void *)event->wake.comm,
			 event->wake.tid, event->wake.prio, event->wake.target_cpu);
		break;
	case EV_SCHED_STAT_RUNTIME:
		snprintf(text, bytes, "%d %" PRIu64, event->runtime.tid, event->runtime.runtime_ns);
		break;
	case EV_SYS_ENTER:
		used = (size_t)snprintf(text, bytes, "%" PRIu64 " %" PRIu64 " %" PRIu64 " ",
					args[0], args[1], args[2]);
		text += used;
		bytes -= used;
		snprintf(text, bytes, "%" PRIu64 " %" PRIu64 " %" PRIu64 " of %" PRId64 " %d",
			 args[3], args[4], args[5], event->syscall.nr, event->syscall.compat);
		break;
	case EV_SYS_EXIT:
		snprintf(text, bytes, "%" PRId64 " %" PRId64 " %d", event->syscall.nr,
			 event->syscall.ret, event->syscall.compat);
		break;
	case EV_NET_QUEUE:
	case EV_NET_RX:
	case EV_NET_RECEIVE:
		snprintf(text, bytes, "%" PRIu64 " %u %p", event->net.skb, event->net.len,
			 (const void *)event->net.dev);
		break;
	case EV_FAULT_USER:
	case EV_FAULT_KERNEL:
		snprintf(text, bytes, "%" PRIu64 " %" PRIu64 " %" PRIu64, event->fault.address,
			 event->fault.ip, event->fault.error_code);
		break;
	default:
		snprintf(text, bytes, "%d %d %p", event->irq.nr, event->irq.ret,
			 (const void *)event->irq.name);
		break;
	}
}

static void add_usual(struct kernel *kernel, const char *common)
{
	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		AUTO_FREE char *text = xasprintf("ID: %zu\n%s%s", i + 1, common, usual[i].fields);

		add(kernel, usual[i].name, text);
	}
	ready(kernel);
}

/* Any bytes, but often such that states are few and texts lie within the record. */
static void put_random(struct kernel *kernel, unsigned int *random)
{
	uint32_t id = 1 + (uint32_t)rand_r(random) % (uint32_t)ARRAY_LEN(usual);

	put_common(kernel, (uint16_t)id, (uint8_t)rand_r(random), rand_r(random));
	while (kernel->bytes < 80)
		kernel->data[kernel->bytes++] = (uint8_t)(rand_r(random) >> 8);
	if (rand_r(random) % 4) {
		kernel->bytes = 20;
		put(kernel, (uint32_t)rand_r(random) % 60 << 16 | (uint32_t)rand_r(random) % 80, 4);
		kernel->bytes = 32;
		put(kernel, (uint32_t)rand_r(random) % 1024, 8);
		kernel->data[24 + rand_r(random) % 40] = 0;
	}
	kernel->bytes = 4u * ((uint32_t)rand_r(random) % 21);
}

static void fixed_places_and_lists_of_loads_give_the_same_events(void **unused)
{
	struct kernel fast = { 0 }, slow = { 0 };
	unsigned int random = 1;

	add_usual(&fast, COMMON);
	add_usual(&slow, NO_FLAGS);
	for (int i = 0; i < 200000; i++) {
		char said[512] = "refused", expected[512] = "refused";
		struct record record = { fast.data, 0, 0 };
		struct event event;

		put_random(&fast, &random);
		record.bytes = fast.bytes;
		if (kernel_events_decode(fast.events, &record, &event))
			describe(&event, said, sizeof(said));
		if (kernel_events_decode(slow.events, &record, &event))
			describe(&event, expected, sizeof(expected));
		assert_string_equal(said, expected);
	}
	done(&fast);
	done(&slow);
}

/* As in damaged files, and of machines of the other byte order. */
static void a_stack_without_addresses_is_no_stack(void **unused)
{
	static const char *const fields[] = {
		"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int caller;\toffset:16;\tsize:4;\tsigned:1;\n",
		"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
	};

	for (int i = 0; i < 6; i++) {
		AUTO_FREE char *text = xasprintf("ID: 9\n" COMMON "%s", fields[i / 2]);
		struct kernel kernel = { .big_endian = i & 1 };
		struct event event;

		add(&kernel, "ftrace/kernel_stack", text);
		ready(&kernel);
		put_common(&kernel, 9, 0, 101);
		put(&kernel, 1, 4);
		put(&kernel, 0, 4);
		put(&kernel, 0xffffffff81000000, 8);
		assert_true(decode(&kernel, &event));
		if (i == 4) {
			assert_int_equal(event.type, EV_STACK);
			assert_int_equal(event.stack.count, 1);
			assert_ptr_equal(event.stack.frames, kernel.data + 16);
		} else {
			assert_int_equal(event.type, EV_OTHER);
			assert_string_equal(event.other.name, "kernel_stack");
		}
		done(&kernel);
	}
}

#define CALL_FIELDS                                                       \
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"      \
	"\tfield:aio_context_t ctx_id;\toffset:16;\tsize:8;\tsigned:0;\n" \
	"\tfield:long nr;\toffset:24;\tsize:8;\tsigned:0;\n"              \
	"\tfield:__data_loc char[] __name_val;\toffset:32;\tsize:4;\tsigned:0;\n"

#define CALL_EXIT_FIELDS                                                   \
	"\tfield:int nr;\toffset:8;\tsize:4;\tsigned:1;\n" /* Linux 4.x */ \
	"\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n"

static void a_call_told_by_name_has_its_number_arguments_and_result(void **unused)
{
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		struct kernel kernel = { .big_endian = big_endian };
		struct event event;

		add(&kernel, "syscalls/sys_enter_io_submit", "ID: 9\n" COMMON CALL_FIELDS);
		add(&kernel, "syscalls/sys_exit_io_submit", "ID: 10\n" COMMON CALL_EXIT_FIELDS);
		add(&kernel, "syscalls/sys_exit_odd", "ID: 11\n" COMMON CALL_FIELDS);
		ready(&kernel);
		put_common(&kernel, 9, 0, 101);
		put(&kernel, 209, 4);
		put(&kernel, 0, 4);
		put(&kernel, 0x7f00, 8);
		put(&kernel, 3, 8);
		put(&kernel, 0, 4);
		assert_true(decode(&kernel, &event));
		assert_int_equal(event.type, EV_SYS_ENTER);
		assert_int_equal(event.tid, 101);
		assert_int_equal(event.syscall.nr, 209);
		assert_int_equal(event.syscall.args[0], 0x7f00);
		assert_int_equal(event.syscall.args[1], 3);
		assert_int_equal(event.syscall.args[2], 0);
		assert_true(event.syscall.by_name);
		put_common(&kernel, 10, 0, 101);
		put(&kernel, 209, 4);
		put(&kernel, 0, 4);
		put(&kernel, (uint64_t)-11, 8);
		assert_true(decode(&kernel, &event));
		assert_int_equal(event.type, EV_SYS_EXIT);
		assert_int_equal(event.syscall.nr, 209);
		assert_int_equal(event.syscall.ret, -11);
		put_common(&kernel, 11, 0, 101);
		for (int i = 0; i < 4; i++)
			put(&kernel, 0, 8);
		assert_true(decode(&kernel, &event));
		assert_int_equal(event.type, EV_OTHER); /* it has no result */
		assert_string_equal(event.other.name, "sys_exit_odd");
		done(&kernel);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_without_addresses_is_no_stack),
		cmocka_unit_test(a_call_told_by_name_has_its_number_arguments_and_result),
		cmocka_unit_test(fixed_places_and_lists_of_loads_give_the_same_events),
		cmocka_unit_test(a_switch_has_all_its_fields),
		cmocka_unit_test(states_are_read_from_the_print_format),
		cmocka_unit_test(flags_tell_the_context),
		cmocka_unit_test(located_text_stays_within_its_record),
		cmocka_unit_test(a_record_that_is_too_short_is_refused),
		cmocka_unit_test(system_calls_of_a_32_bit_kernel_are_widened),
		cmocka_unit_test(fields_may_stand_elsewhere),
		cmocka_unit_test(events_without_a_row_keep_their_name),
		cmocka_unit_test(formats_that_cannot_be_used_are_noted),
		cmocka_unit_test(hostile_field_lines_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
