/* Netlink messages of taskstats, whole and damaged, made by hand. */
#include "accounts/message.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

#define FAMILY 31

struct bytes {
	uint8_t data[4096];
	size_t count;
};

static void put(struct bytes *bytes, const void *data, size_t count)
{
	memcpy(bytes->data + bytes->count, data, count);
	bytes->count += count;
}

static void put_attr(struct bytes *bytes, uint16_t type, const void *data, size_t count)
{
	struct nlattr head = { .nla_len = (uint16_t)(sizeof(head) + count), .nla_type = type };

	put(bytes, &head, sizeof(head));
	put(bytes, data, count);
}

/* AGGR_PID or AGGR_TGID with a record of version 16 that ran 'run_ns'. */
static void put_aggregate(struct bytes *bytes, uint16_t type, int32_t id, uint64_t run_ns)
{
	uint8_t record[560] = { 16 };
	struct bytes inner = { 0 };

	memcpy(record + 72, &run_ns, sizeof(run_ns));
	put_attr(&inner, type == TASKSTATS_TYPE_AGGR_PID ? TASKSTATS_TYPE_PID : TASKSTATS_TYPE_TGID,
		 &id, sizeof(id));
	put_attr(&inner, TASKSTATS_TYPE_STATS, record, sizeof(record));
	put_attr(bytes, type, inner.data, inner.count);
}

static void put_message(struct bytes *bytes, uint16_t family, uint32_t sequence,
			const struct bytes *body)
{
	struct genlmsghdr genl = { .cmd = TASKSTATS_CMD_NEW, .version = 1 };
	struct nlmsghdr head = {
		.nlmsg_len = (uint32_t)(sizeof(head) + sizeof(genl) + body->count),
		.nlmsg_type = family,
		.nlmsg_seq = sequence,
	};

	put(bytes, &head, sizeof(head));
	put(bytes, &genl, sizeof(genl));
	put(bytes, body->data, body->count);
}

static void put_error(struct bytes *bytes, uint32_t sequence, int32_t error)
{
	struct nlmsghdr head = { .nlmsg_len = sizeof(head) + sizeof(error),
				 .nlmsg_type = NLMSG_ERROR,
				 .nlmsg_seq = sequence };

	put(bytes, &head, sizeof(head));
	put(bytes, &error, sizeof(error));
}

static struct bytes exit_of_the_last_thread(void)
{
	struct bytes body = { 0 }, bytes = { 0 };

	put_aggregate(&body, TASKSTATS_TYPE_AGGR_PID, 7, 100);
	put_aggregate(&body, TASKSTATS_TYPE_AGGR_TGID, 5, 300);
	put_message(&bytes, FAMILY, 9, &body);
	return bytes;
}

static void an_exit_tells_of_thread_and_process(void **unused)
{
	struct bytes bytes = exit_of_the_last_thread();
	struct delays_message_at at = { bytes.data, bytes.count };
	struct delays_message message;

	assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), 1);
	assert_true(message.has_thread && message.has_process);
	assert_int_equal(message.sequence, 9);
	assert_int_equal(message.tid, 7);
	assert_int_equal(message.tgid, 5);
	assert_int_equal(message.thread.run_ns, 100);
	assert_int_equal(message.process.run_ns, 300);
	assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), 0);
}

static void errors_and_other_families_are_told_apart(void **unused)
{
	struct bytes bytes = { 0 }, body = { 0 };
	struct delays_message_at at = { bytes.data, 0 };
	struct delays_message message;

	put_aggregate(&body, TASKSTATS_TYPE_AGGR_PID, 1, 1);
	put_message(&bytes, FAMILY + 1, 1, &body);
	put_error(&bytes, 2, -ESRCH);
	put_message(&bytes, FAMILY, 3, &body);
	at.left = bytes.count;
	assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), 1);
	assert_int_equal(message.error, -ESRCH);
	assert_int_equal(message.sequence, 2);
	assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), 1);
	assert_int_equal(message.error, 0);
	assert_int_equal(message.tid, 1);
	assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), 0);
}

static void a_message_cut_anywhere_is_damage_and_ends(void **unused)
{
	struct bytes bytes = exit_of_the_last_thread();

	for (size_t count = 1; count < bytes.count; count++) {
		struct delays_message_at at = { bytes.data, count };
		struct delays_message message;
		struct err err = { 0 };

		assert_int_equal(delays_message_next(&at, FAMILY, &message, &err), -EBADMSG);
		assert_true(err.text[0] != '\0');
		assert_int_equal(delays_message_next(&at, FAMILY, &message, &err), 0);
	}
}

static void a_length_that_lies_is_damage(void **unused)
{
	static const uint16_t lies[] = { 0, 1, 3, 5, 700, 0xffff };

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct bytes bytes = exit_of_the_last_thread();
		struct delays_message_at at = { bytes.data, bytes.count };
		struct delays_message message;

		memcpy(bytes.data + NLMSG_HDRLEN + GENL_HDRLEN, &lies[i], sizeof(lies[i]));
		assert_int_equal(delays_message_next(&at, FAMILY, &message, NULL), -EBADMSG);
	}
}

static void a_request_is_what_the_kernel_expects(void **unused)
{
	uint8_t bytes[DELAYS_REQUEST_BYTES];
	struct nlmsghdr head;
	int32_t id;

	assert_int_equal(delays_request_write(bytes, FAMILY, 4, 77, true), sizeof(bytes));
	memcpy(&head, bytes, sizeof(head));
	memcpy(&id, bytes + sizeof(bytes) - sizeof(id), sizeof(id));
	assert_int_equal(head.nlmsg_len, sizeof(bytes));
	assert_int_equal(head.nlmsg_type, FAMILY);
	assert_int_equal(head.nlmsg_seq, 4);
	assert_int_equal(id, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exit_tells_of_thread_and_process),
		cmocka_unit_test(errors_and_other_families_are_told_apart),
		cmocka_unit_test(a_message_cut_anywhere_is_damage_and_ends),
		cmocka_unit_test(a_length_that_lies_is_damage),
		cmocka_unit_test(a_request_is_what_the_kernel_expects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
