/* test_kernel_lock.c - kernel locks in words. */
#include "event/kernel_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "event/event.h"
#include "event/facts.h"

static struct fact_symbol symbols[] = {
	{ 0x1000, "__traceiter_contention_end" },
	{ 0x2000, "__mutex_lock.constprop.0" },
	{ 0x3000, "rtnl_lock" },
	{ 0x4000, "alloc_super" },
	{ 0x5000, "do_syscall_64" },
	{ 0x6000, "cgroup_can_fork" },
	{ 0x7000, "tracing_check_open_get_tr.part.0" },
	{ 0x8000, "rtnl_lockish" },
};

static const struct facts facts = { .symbols = symbols, .symbol_count = 8 };

static const char *text_of(const char *told, uint32_t flags, uint64_t address)
{
	static char text[256];

	kernel_lock_text(&facts, told, flags, address, text, sizeof(text));
	return text;
}

static void what_is_told_of_a_lock_is_its_name(void **unused)
{
	assert_string_equal(text_of("pipe lock of pipe:[5]", KERNEL_LOCK_MUTEX, 0x77),
			    "pipe lock of pipe:[5]");
	assert_string_equal(text_of("pipe lock of pipe:[5]\t1010 4010", KERNEL_LOCK_MUTEX, 0x77),
			    "pipe lock of pipe:[5]");
	assert_string_equal(text_of("uts_sem\t4010", KERNEL_LOCK_READ, 0x77),
			    "kernel rw lock uts_sem");
}

static void a_lock_without_a_name_is_told_by_its_address_and_who_took_it(void **unused)
{
	assert_string_equal(text_of("", KERNEL_LOCK_MUTEX, 0x77), "kernel mutex 0x77");
	assert_string_equal(text_of("\t1010 2010 4010 5010", KERNEL_LOCK_MUTEX, 0x77),
			    "kernel mutex 0x77, taken in alloc_super()");
	assert_string_equal(text_of("\t", KERNEL_LOCK_RT, 0x77), "kernel rt mutex 0x77");
}

static void a_function_that_takes_one_lock_alone_names_it(void **unused)
{
	assert_string_equal(text_of("\t1010 2010 3010 4010", KERNEL_LOCK_MUTEX, 0x77),
			    "kernel mutex rtnl_mutex");
}

/* A function may take locks of several kinds. */
static void which_lock_a_function_takes_depends_on_the_kind(void **unused)
{
	assert_string_equal(text_of("\t2010 6010", KERNEL_LOCK_MUTEX, 0x77),
			    "kernel mutex cgroup_mutex");
	assert_string_equal(text_of("\t2010 6010", KERNEL_LOCK_PERCPU | KERNEL_LOCK_READ, 0x77),
			    "kernel per-CPU lock cgroup_threadgroup_rwsem");
	assert_string_equal(text_of("\t2010 6010", KERNEL_LOCK_READ, 0x77),
			    "kernel rw lock 0x77, taken in cgroup_can_fork()");
	assert_string_equal(text_of("\t1010 2010 3010", 0, 0x77),
			    "kernel lock 0x77, taken in rtnl_lock()");
}

static void a_part_of_a_function_is_the_function(void **unused)
{
	assert_string_equal(text_of("\t2010 7010", KERNEL_LOCK_MUTEX, 0x77),
			    "kernel mutex trace_types_lock");
	assert_string_equal(text_of("\t2010 8010", KERNEL_LOCK_MUTEX, 0x77),
			    "kernel mutex 0x77, taken in rtnl_lockish()");
}

static void the_function_is_the_first_outside_of_locks(void **unused)
{
	assert_string_equal(kernel_lock_function(&facts, "x\t1010 2010 4010 5010"), "alloc_super");
	assert_null(kernel_lock_function(&facts, "x"));
	assert_null(kernel_lock_function(&facts, "x\t"));
	assert_null(kernel_lock_function(&facts, "x\tzz 4010"));
	assert_null(kernel_lock_function(&facts, "x\t10"));
}

static void kinds_follow_from_the_flags(void **unused)
{
	assert_string_equal(kernel_lock_kind(KERNEL_LOCK_MUTEX | KERNEL_LOCK_SPIN), "kernel mutex");
	assert_string_equal(kernel_lock_kind(KERNEL_LOCK_READ), "kernel rw lock");
	assert_string_equal(kernel_lock_kind(KERNEL_LOCK_WRITE | KERNEL_LOCK_SPIN),
			    "kernel rw spin lock");
	assert_string_equal(kernel_lock_kind(KERNEL_LOCK_PERCPU | KERNEL_LOCK_READ),
			    "kernel per-CPU lock");
	assert_string_equal(kernel_lock_kind(KERNEL_LOCK_SPIN), "kernel spin lock");
	assert_string_equal(kernel_lock_kind(0), "kernel lock");
}

static void an_owner_is_no_descriptor(void **unused)
{
	assert_int_equal(fd_of_owner(0), -1);
	assert_true(fd_of_owner(77) < 0);
	assert_int_equal(fd_owner(fd_of_owner(77)), 77);
	assert_int_equal(fd_owner(fd_of_owner(0)), 0);
	assert_int_equal(fd_owner(5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_of_a_lock_is_its_name),
		cmocka_unit_test(a_lock_without_a_name_is_told_by_its_address_and_who_took_it),
		cmocka_unit_test(a_function_that_takes_one_lock_alone_names_it),
		cmocka_unit_test(which_lock_a_function_takes_depends_on_the_kind),
		cmocka_unit_test(a_part_of_a_function_is_the_function),
		cmocka_unit_test(the_function_is_the_first_outside_of_locks),
		cmocka_unit_test(kinds_follow_from_the_flags),
		cmocka_unit_test(an_owner_is_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
