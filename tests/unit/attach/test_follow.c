/* test_follow.c - what a program writes is handed over once, in its order, and what is overwritten is counted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "attach/follow.h"
#include "packet_maker.h"

#define EVERYTHING (1u << 30)

struct fixture {
	char dir[64];
	struct made_packet *packets; /* four */
	struct user_follow *follow;
	uint64_t bytes, pieces, last_ticks;
};

static int set_up(void **state)
{
	struct fixture *made = xcalloc(1, sizeof(*made));

	strcpy(made->dir, "/tmp/holdup-follow-XXXXXX");
	if (!mkdtemp(made->dir))
		return -1;
	made->packets = xcalloc(4, sizeof(*made->packets));
	for (uint64_t i = 0; i < 4; i++)
		packet_init(&made->packets[i], 2, i);
	made->follow = user_follow_new(open(made->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *made = *state;
	AUTO_FREE char *command = xasprintf("rm -rf %s", made->dir);

	user_follow_free(made->follow);
	free(made->packets);
	free(made);
	return system(command);
}

/* Times of the events of one piece are one apart: the last is what the first word of the last 24 bytes says. */
static uint64_t take(void *context, const struct user_piece *piece)
{
	struct fixture *made = context;
	uint64_t head;

	memcpy(&head, piece->data + piece->bytes - 20, sizeof(head));
	made->bytes += piece->bytes;
	made->pieces++;
	assert_true(head >> 16 > made->last_ticks); /* never again, never back */
	made->last_ticks = head >> 16;
	return head >> 16;
}

static struct user_followed look(struct fixture *made)
{
	struct user_followed followed;

	user_follow_look(made->follow, EVERYTHING, take, made, &followed);
	return followed;
}

static void what_is_new_is_handed_over_once(void **state)
{
	struct fixture *made = *state;

	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	assert_int_equal(look(made).lost, 0);
	assert_int_equal(made->last_ticks, 100);
	assert_int_equal(look(made).bytes, 0);
	packet_event(&made->packets[0], 101, 7, 1);
	packet_event(&made->packets[1], 102, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	(void)look(made);
	assert_int_equal(made->last_ticks, 102);
	assert_int_equal(made->pieces, 3);
}

static void it_goes_on_in_the_next_file(void **state)
{
	struct fixture *made = *state;

	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	(void)look(made);
	for (uint64_t i = 1; i < 4; i++)
		packet_event(&made->packets[i], 100 + i, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	packets_write(made->dir, "cpu2-000004", &made->packets[2],
		      2); /* numbers of names may be missing */
	assert_int_equal(look(made).lost, 0);
	assert_int_equal(made->last_ticks, 103);
	assert_int_equal(made->pieces, 4);
}

static void what_is_overwritten_is_counted(void **state)
{
	struct fixture *made = *state;

	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	(void)look(made);
	for (uint64_t i = 0; i < 2; i++) {
		packet_init(&made->packets[i], 2, 10 + i);
		packet_event(&made->packets[i], 200 + i, 7, 1);
	}
	packets_write(made->dir, "cpu2-000009", made->packets, 2);
	(void)unlinkat(open(made->dir, O_PATH | O_CLOEXEC), "cpu2-000001", 0);
	assert_int_equal(look(made).lost, 10); /* what was written to last, and nine more */
	assert_int_equal(made->last_ticks, 201);
	assert_int_equal(look(made).lost, 0);
}

static void it_begins_with_what_was_written_to_at_a_time(void **state)
{
	struct fixture *made = *state;

	for (uint64_t i = 0; i < 4; i++)
		packet_event(&made->packets[i], 100 * (i + 1), 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 2);
	packets_write(made->dir, "cpu2-000002", &made->packets[2], 2);
	user_follow_from(made->follow, 350);
	(void)look(made);
	assert_int_equal(made->pieces, 2); /* 300 and 400 */
	assert_int_equal(made->last_ticks, 400);
}

/* Heads that lie, a folder of names, links: nothing of that is read, or ends it. */
static void lies_are_not_believed(void **state)
{
	struct fixture *made = *state;
	struct user_packet *head = &made->packets[0].head;
	const struct user_packet lies[] = {
		{ .magic = 1 },
		{ .magic = USER_MAGIC,
		  .content_bits = UINT64_MAX,
		  .packet_bits = (uint64_t)USER_PACKET * 8 },
		{ .magic = USER_MAGIC,
		  .content_bits = 8,
		  .packet_bits = (uint64_t)USER_PACKET * 8 },
		{ .magic = USER_MAGIC, .content_bits = 8192, .packet_bits = 64 },
	};
	AUTO_FREE char *link = xasprintf("%s/cpu3-000001", made->dir);

	assert_int_equal(symlink("/dev/zero", link), 0);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		*head = lies[i];
		packets_write(made->dir, "cpu2-000001", made->packets, 1);
		assert_int_equal(look(made).bytes, 0);
	}
	packet_init(&made->packets[0], 2, UINT64_MAX);
	packet_event(&made->packets[0], 100, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 1);
	(void)look(made);
	packet_init(&made->packets[0], 2, 3);
	packet_event(&made->packets[0], 200, 7, 1);
	packets_write(made->dir, "cpu2-000001", made->packets, 1);
	for (int i = 0; i < 20; i++)
		assert_in_range(look(made).lost, 0, 1u << 20);
}

static void metadata_is_told_when_it_grows(void **state)
{
	struct fixture *made = *state;
	size_t bytes;
	char *text;

	assert_int_equal(user_follow_metadata(made->follow, 1000, &text, &bytes), -ENOENT);
	text_write(made->dir, "metadata", "a {\n};\n\nb {");
	assert_int_equal(user_follow_metadata(made->follow, 1000, &text, &bytes), 1);
	assert_int_equal(bytes, 8); /* whole blocks */
	free(text);
	assert_int_equal(user_follow_metadata(made->follow, 1000, &text, &bytes), 0);
	user_follow_forget_metadata(made->follow);
	assert_int_equal(user_follow_metadata(made->follow, 3, &text, &bytes), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_new_is_handed_over_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_goes_on_in_the_next_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_overwritten_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_begins_with_what_was_written_to_at_a_time,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_are_not_believed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(metadata_is_told_when_it_grows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
