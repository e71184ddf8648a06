/*
 * message.c - netlink messages of the taskstats family, taken apart.
 *
 *	nlmsghdr | genlmsghdr | AGGR_PID { PID, STATS } [| AGGR_TGID { TGID, STATS }]
 *
 * Lengths are compared with what is left before they are used; an attribute that is not
 * known is left out, one that does not fit is an error.
 */
#include "accounts/message.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include "base/err.h"

struct attr {
	uint16_t type;
	const uint8_t *data;
	size_t bytes;
};

/* 1 = *out_attr is filled, 0 = the end, negative = damaged. */
static int next_attr(struct delays_message_at *at, struct attr *out_attr, struct err *err)
{
	struct nlattr head;
	size_t step;

	if (at->left < sizeof(head))
		return 0;
	memcpy(&head, at->bytes, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > at->left)
		return err_set(err, -EBADMSG, "an attribute of %u bytes where %zu are left",
			       head.nla_len, at->left);
	*out_attr = (struct attr){
		.type = head.nla_type & NLA_TYPE_MASK,
		.data = at->bytes + sizeof(head),
		.bytes = head.nla_len - sizeof(head),
	};
	step = NLA_ALIGN(head.nla_len);
	if (step > at->left)
		step = at->left;
	at->bytes += step;
	at->left -= step;
	return 1;
}

/* The id and the record inside of AGGR_PID or AGGR_TGID. */
static int read_pair(const struct attr *pair, int32_t *out_id, struct delays_stats *out_stats,
		     struct err *err)
{
	struct delays_message_at at = { pair->data, pair->bytes };
	bool has_id = false, has_stats = false;
	struct attr attr = { 0 };
	int rc;

	while ((rc = next_attr(&at, &attr, err)) > 0) {
		if (attr.type == TASKSTATS_TYPE_PID || attr.type == TASKSTATS_TYPE_TGID) {
			if (attr.bytes < sizeof(*out_id))
				return err_set(err, -EBADMSG, "an id of %zu bytes", attr.bytes);
			memcpy(out_id, attr.data, sizeof(*out_id));
			has_id = true;
		} else if (attr.type == TASKSTATS_TYPE_STATS) {
			rc = delays_stats_decode(attr.data, attr.bytes, out_stats, err);
			if (rc < 0)
				return rc;
			has_stats = true;
		}
	}
	if (rc == 0 && !(has_id && has_stats))
		return err_set(err, -EBADMSG, "a reply without %s", has_id ? "a record" : "an id");
	return rc;
}

static int read_records(struct delays_message_at at, struct delays_message *message,
			struct err *err)
{
	struct attr attr = { 0 };
	int rc;

	while ((rc = next_attr(&at, &attr, err)) > 0) {
		if (attr.type == TASKSTATS_TYPE_AGGR_PID) {
			rc = read_pair(&attr, &message->tid, &message->thread, err);
			message->has_thread = rc == 0;
		} else if (attr.type == TASKSTATS_TYPE_AGGR_TGID) {
			rc = read_pair(&attr, &message->tgid, &message->process, err);
			message->has_process = rc == 0;
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_error(const struct delays_message_at *body, struct delays_message *message,
		      struct err *err)
{
	int32_t error;

	if (body->left < sizeof(error))
		return err_set(err, -EBADMSG, "an error message of %zu bytes", body->left);
	memcpy(&error, body->bytes, sizeof(error));
	if (error > 0 || error < -4095)
		return err_set(err, -EBADMSG, "an error message with code %d", (int)error);
	message->error = error;
	return 0;
}

/* The next message of any kind: its head, and what follows the head. */
static int next_any(struct delays_message_at *at, struct nlmsghdr *out_head,
		    struct delays_message_at *out_body, struct err *err)
{
	size_t step;

	if (at->left == 0)
		return 0;
	if (at->left < sizeof(*out_head))
		return err_set(err, -EBADMSG, "%zu bytes after the last message", at->left);
	memcpy(out_head, at->bytes, sizeof(*out_head));
	if (out_head->nlmsg_len < sizeof(*out_head) || out_head->nlmsg_len > at->left)
		return err_set(err, -EBADMSG, "a message of %u bytes where %zu are left",
			       out_head->nlmsg_len, at->left);
	*out_body = (struct delays_message_at){ at->bytes + sizeof(*out_head),
						out_head->nlmsg_len - sizeof(*out_head) };
	step = NLMSG_ALIGN((size_t)out_head->nlmsg_len);
	if (step > at->left)
		step = at->left;
	at->bytes += step;
	at->left -= step;
	return 1;
}

static int read_message(const struct nlmsghdr *head, struct delays_message_at body,
			struct delays_message *out_message, struct err *err)
{
	/* Not the accounts, which has_thread and has_process tell of: they are large. */
	memset(out_message, 0, offsetof(struct delays_message, thread));
	out_message->sequence = head->nlmsg_seq;
	if (head->nlmsg_type == NLMSG_ERROR)
		return read_error(&body, out_message, err);
	if (body.left < GENL_HDRLEN)
		return err_set(err, -EBADMSG, "a message of %zu bytes has no head", body.left);
	body.bytes += GENL_HDRLEN;
	body.left -= GENL_HDRLEN;
	return read_records(body, out_message, err);
}

int delays_message_next(struct delays_message_at *at, uint16_t family,
			struct delays_message *out_message, struct err *err)
{
	struct delays_message_at body = { 0 };
	struct nlmsghdr head = { 0 };
	int rc;

	while ((rc = next_any(at, &head, &body, err)) > 0) {
		if (head.nlmsg_type != family && head.nlmsg_type != NLMSG_ERROR)
			continue;
		rc = read_message(&head, body, out_message, err);
		if (rc == 0)
			return 1;
		break;
	}
	if (rc < 0)
		at->left = 0;
	return rc;
}

size_t delays_request_write(uint8_t *out, uint16_t family, uint32_t sequence, int32_t id,
			    bool is_process)
{
	struct {
		struct nlmsghdr head;
		struct genlmsghdr genl;
		struct nlattr attr;
		int32_t id;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = family,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = sequence },
		.genl = { .cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION },
		.attr = { .nla_len = sizeof(struct nlattr) + sizeof(int32_t),
			  .nla_type =
				  is_process ? TASKSTATS_CMD_ATTR_TGID : TASKSTATS_CMD_ATTR_PID },
		.id = id,
	};

	_Static_assert(sizeof(request) == DELAYS_REQUEST_BYTES, "no padding");
	memcpy(out, &request, sizeof(request));
	return sizeof(request);
}
