/* test_klock_text.c - what a record of the BPF program says of a lock. */
#include "record/klock_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "record/bpf/raw_lock.h"
#include "record/klock_places.h"

#define NO_DEVICE 0xfffffffeu

static char text[4096];

static const char *text_of(const struct raw_lock *raw)
{
	struct klock_places *places = klock_places_new();

	klock_text(raw, sizeof(*raw), places, text, sizeof(text));
	klock_places_free(places);
	return text;
}

static void a_process_has_its_address_space(void **unused)
{
	const struct raw_lock raw = { .class = RAW_LOCK_MMAP, .pid = 12, .label = "python3" };

	assert_string_equal(text_of(&raw), "address space lock (mmap_lock) of python3[12]");
}

static void paths_stand_leaf_first(void **unused)
{
	struct raw_lock raw = { .class = RAW_LOCK_INODE,
				.dev = NO_DEVICE,
				.label = "vdz",
				.fs = "ext4",
				.text_bytes = 8,
				.text = "file\0ab" };

	assert_string_equal(text_of(&raw), "inode lock (i_rwsem) of /ab/file on vdz (ext4)");
	raw.flags = RAW_LOCK_FOLDER;
	raw.text_bytes = 0;
	assert_string_equal(text_of(&raw), "inode lock (i_rwsem) of directory / on vdz (ext4)");
	raw.flags = 0;
	raw.inode = 5;
	assert_string_equal(text_of(&raw), "inode lock (i_rwsem) of inode 5 of vdz (ext4)");
}

/* Of /proc, which is there wherever this runs: the mount is put before the path. */
static void a_mounted_file_system_has_a_place(void **unused)
{
	struct klock_places *places = klock_places_new();
	char *where;

	assert_null(klock_places_path(places, NO_DEVICE, "/x"));
	where = klock_places_path(places, NO_DEVICE, "/x"); /* not read again at once */
	assert_null(where);
	klock_places_free(places);
}

static void a_pipe_has_a_number(void **unused)
{
	const struct raw_lock raw = { .class = RAW_LOCK_PIPE, .inode = 4711, .fs = "pipefs" };

	assert_string_equal(text_of(&raw), "pipe lock (pipe->mutex) of pipe:[4711]");
}

static const char *symbol_of(const char *symbol)
{
	struct raw_lock raw = { .text_bytes = (unsigned)strlen(symbol) + 1 };

	memcpy(raw.text, symbol, raw.text_bytes);
	return text_of(&raw);
}

static void a_variable_of_the_kernel_has_a_name(void **unused)
{
	assert_string_equal(symbol_of("rtnl_mutex+0x0/0x20"), "rtnl_mutex");
	assert_string_equal(symbol_of("rcu_state+0x1480/0x1a00"), "rcu_state+0x1480");
	assert_string_equal(symbol_of("table_lock+0x0/0x20 [some_module]"), "table_lock");
	assert_string_equal(symbol_of("0xffff888100075e78"), "");
	assert_string_equal(symbol_of("some words+0x0/0x20"), "");
	assert_string_equal(symbol_of("+0x0/0x20"), "");
	assert_string_equal(symbol_of(""), "");
}

static void addresses_follow_a_tab(void **unused)
{
	const struct raw_lock raw = { .class = RAW_LOCK_EPOLL,
				      .frames = { 0xabc, 0xdef },
				      .frame_bytes = 16 };

	assert_string_equal(text_of(&raw), "epoll lock (ep->mtx)\tabc def");
}

static void what_a_record_says_of_lengths_is_not_believed(void **unused)
{
	struct raw_lock raw = { .class = 4000000000u,
				.frame_bytes = 0xffffffff,
				.text_bytes = 0xffffffff };

	assert_string_equal(text_of(&raw), "");
	raw.class = RAW_LOCK_INODE;
	memset(raw.text, 'a', sizeof(raw.text));
	memset(raw.label, 'b', sizeof(raw.label));
	memset(raw.fs, 'c', sizeof(raw.fs));
	memset(raw.frames, 0xff, sizeof(raw.frames));
	assert_true(strlen(text_of(&raw)) < sizeof(text));
	raw.flags = RAW_LOCK_CUT;
	assert_true(strlen(text_of(&raw)) < sizeof(text));
}

static void a_tab_in_a_name_is_none(void **unused)
{
	const struct raw_lock raw = { .class = RAW_LOCK_INODE,
				      .dev = NO_DEVICE,
				      .label = "v",
				      .fs = "f",
				      .text_bytes = 4,
				      .text = "a\tb" };

	assert_string_equal(text_of(&raw), "inode lock (i_rwsem) of /a?b on v (f)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_its_address_space),
		cmocka_unit_test(paths_stand_leaf_first),
		cmocka_unit_test(a_mounted_file_system_has_a_place),
		cmocka_unit_test(a_pipe_has_a_number),
		cmocka_unit_test(a_variable_of_the_kernel_has_a_name),
		cmocka_unit_test(addresses_follow_a_tab),
		cmocka_unit_test(what_a_record_says_of_lengths_is_not_believed),
		cmocka_unit_test(a_tab_in_a_name_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
