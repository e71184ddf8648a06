/* test_compat.c - 32-bit programs on a 64-bit kernel of x86. */
#include "told.h"

/* Numbers of calls: 11 is munmap, or execve of 32 bits; 162 is sync, or nanosleep. */
static void the_end_of_its_execve_tells_that_a_program_has_32_bits(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter execve\n"
				     " 20 cpu0 exec 7 /bin/old\n"
				     " 22 cpu0 leave munmap 0\n"
				     " 25 cpu0 enter sync\n"
				     " 30 cpu0 switch 7(blocked) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 execve, 22 user, 25 nanosleep - 30");
	told_free(told);
}

static void a_64_bit_program_may_begin_with_any_call(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter execve\n"
				     " 20 cpu0 exec 7 /bin/new\n"
				     " 22 cpu0 leave execve 0\n"
				     " 25 cpu0 enter setfsuid\n"
				     " 30 cpu0 switch 7(runnable) 0\n");

	assert_string_equal(track_of(told, 7), "0 running, 10 execve, 22 user, 25 setfsuid - 30");
	told_free(told);
}

static void a_child_has_the_bits_of_its_parent_until_it_executes(void **unused)
{
	struct told *told = replayed("  0 cpu0 switch 0(runnable) 7\n"
				     " 10 cpu0 enter execve\n"
				     " 20 cpu0 exec 7 /bin/old\n"
				     " 22 cpu0 leave munmap 0\n"
				     " 24 cpu0 newtask 8\n"
				     " 25 cpu0 fork 8\n"
				     " 30 cpu0 switch 7(runnable) 8\n"
				     " 35 cpu0 enter sync\n"
				     " 36 cpu0 leave sync 0\n"
				     " 40 cpu0 enter munmap\n"
				     " 45 cpu0 exec 8 /bin/new\n"
				     " 46 cpu0 leave execve 0\n"
				     " 50 cpu0 enter sync\n"
				     " 60 cpu0 switch 8(blocked) 0\n");

	assert_non_null(strstr(track_of(told, 8), "35 nanosleep, 36 user, 40 execve, 46 user, "
						  "50 sync - 60"));
	told_free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_its_execve_tells_that_a_program_has_32_bits),
		cmocka_unit_test(a_64_bit_program_may_begin_with_any_call),
		cmocka_unit_test(a_child_has_the_bits_of_its_parent_until_it_executes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
