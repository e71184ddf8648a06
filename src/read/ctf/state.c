/* state.c - what is known beside the events, as events: one table for writing and reading. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/sorting.h"
#include "event/facts.h"
#include "read/ctf/lane.h"
#include "read/ctf/meta.h"
#include "read/ctf/native.h"
#include "read/format_text.h"
#include "read/lane.h"
#include "read/kernel/pages.h"
#include "store/formats.h"

#define MAX_ITEMS 4000000u /* of one list */

#define FIELD(of, member, type)                            \
	{                                                  \
#member, offsetof(struct of, member), type \
	}

static const struct ctf_state_field thread_fields[] = {
	FIELD(fact_thread, tid, CTF_STATE_I32),	     FIELD(fact_thread, tgid, CTF_STATE_I32),
	FIELD(fact_thread, ppid, CTF_STATE_I32),     FIELD(fact_thread, comm, CTF_STATE_TEXT),
	FIELD(fact_thread, cmdline, CTF_STATE_TEXT), FIELD(fact_thread, cgroup, CTF_STATE_TEXT),
	FIELD(fact_thread, uid, CTF_STATE_U32),	     FIELD(fact_thread, policy, CTF_STATE_I32),
	FIELD(fact_thread, prio, CTF_STATE_I32),     FIELD(fact_thread, state, CTF_STATE_U8),
	FIELD(fact_thread, allowed, CTF_STATE_TEXT), FIELD(fact_thread, kernel, CTF_STATE_U8),
	FIELD(fact_thread, seen_ns, CTF_STATE_U64),  FIELD(fact_thread, call, CTF_STATE_I32),
	FIELD(fact_thread, arg0, CTF_STATE_U64),     FIELD(fact_thread, arg1, CTF_STATE_U64),
	FIELD(fact_thread, arg2, CTF_STATE_U64),     FIELD(fact_thread, untimed, CTF_STATE_U8),
	FIELD(fact_thread, call_ns, CTF_STATE_U64),
};

static const struct ctf_state_field fd_fields[] = {
	FIELD(fact_fd, tgid, CTF_STATE_I32),  FIELD(fact_fd, fd, CTF_STATE_I32),
	FIELD(fact_fd, role, CTF_STATE_U8),   FIELD(fact_fd, inode, CTF_STATE_U64),
	FIELD(fact_fd, name, CTF_STATE_TEXT),
};

static const struct ctf_state_field epoll_fields[] = {
	FIELD(fact_epoll, tgid, CTF_STATE_I32),
	FIELD(fact_epoll, epoll, CTF_STATE_I32),
	FIELD(fact_epoll, target, CTF_STATE_I32),
};

static const struct ctf_state_field name_fields[] = {
	FIELD(fact_name, nr, CTF_STATE_U64),
	FIELD(fact_name, name, CTF_STATE_TEXT),
};

static const struct ctf_state_field symbol_fields[] = {
	FIELD(fact_symbol, address, CTF_STATE_U64),
	FIELD(fact_symbol, name, CTF_STATE_TEXT),
};

static const struct ctf_state_field missing_fields[] = {
	FIELD(fact_missing, what, CTF_STATE_TEXT),
	FIELD(fact_missing, why, CTF_STATE_TEXT),
};

static const struct ctf_state_field moment_fields[] = {
	FIELD(fact_moment, text, CTF_STATE_TEXT),
};

static const struct ctf_state_field tid_fields[] = {
	{ "tid", 0, CTF_STATE_I32 },
};

#define LIST(event, fields, type, items, count)                                                \
	{                                                                                      \
		event, fields, ARRAY_LEN(fields), sizeof(type), offsetof(struct facts, items), \
			offsetof(struct facts, count)                                          \
	}

const struct ctf_state_list ctf_state_lists[] = {
	LIST("holdup_thread", thread_fields, struct fact_thread, threads, thread_count),
	LIST("holdup_fd", fd_fields, struct fact_fd, fds, fd_count),
	LIST("holdup_epoll", epoll_fields, struct fact_epoll, epolls, epoll_count),
	LIST("holdup_irq", name_fields, struct fact_name, irqs, irq_count),
	LIST("holdup_device", name_fields, struct fact_name, devices, device_count),
	LIST("holdup_symbol", symbol_fields, struct fact_symbol, symbols, symbol_count),
	LIST("holdup_missing", missing_fields, struct fact_missing, missing, missing_count),
	LIST("holdup_recorder", tid_fields, int32_t, recorder_tids, recorder_tid_count),
	LIST("holdup_moment", moment_fields, struct fact_moment, moments, moment_count),
	LIST("holdup_comm", name_fields, struct fact_name, comms, comm_count),
	LIST("holdup_printk", name_fields, struct fact_name, printks, printk_count),
	LIST("holdup_call", name_fields, struct fact_name, calls, call_count),
};

const size_t ctf_state_list_count = ARRAY_LEN(ctf_state_lists);

void ctf_state_format(FILE *out, const struct ctf_state_list *list, uint32_t id)
{
	fprintf(out,
		"name: %s\nID: %u\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
		list->event, id);
	for (uint32_t i = 0; i < list->field_count; i++) {
		const struct ctf_state_field *field = &list->fields[i];
		uint32_t offset = CTF_NATIVE_MIN + i * 8;
		bool is_signed = field->type == CTF_STATE_I32 || field->type == CTF_STATE_I64;

		if (field->type == CTF_STATE_TEXT)
			fprintf(out,
				"\tfield:__data_loc char[] %s;\toffset:%u;\tsize:4;\tsigned:0;\n",
				field->name, offset);
		else
			fprintf(out, "\tfield:%s %s;\toffset:%u;\tsize:8;\tsigned:%d;\n",
				is_signed ? "s64" : "u64", field->name, offset, is_signed);
	}
	fputs("\nprint fmt: \"\"\n", out);
}

/* ------------------------------------------------------------------ reading */

static const char *ctf_state_env_text(const struct ctf_meta *meta, const char *name)
{
	const struct ctf_env *env = ctf_meta_env(meta, name);

	return env && env->text ? env->text : NULL;
}

static int64_t ctf_state_env_number(const struct ctf_meta *meta, const char *name)
{
	const struct ctf_env *env = ctf_meta_env(meta, name);

	return env && !env->text ? env->number : 0;
}

static const char *kept_or_null(struct facts *facts, const char *text)
{
	return text ? facts_keep(facts, text) : NULL;
}

#define SOURCE_DAMAGE_MAX 1024u /* notes that are read */

/* What this was made of was damaged; said once, of however many copies this is one. */
static void note_source_damage(const struct ctf_meta *meta, struct facts *facts)
{
	static const char ours[] = "in its source: ";
	char name[48];

	for (uint32_t i = 0; i < SOURCE_DAMAGE_MAX; i++) {
		const char *text;

		snprintf(name, sizeof(name), "source_damage_%u", i);
		text = ctf_state_env_text(meta, name);
		if (!text)
			return;
		facts_note_damage(facts, "%s%s", strncmp(text, ours, strlen(ours)) ? ours : "",
				  text);
	}
}

bool ctf_state_env(const struct ctf_meta *meta, struct facts *facts)
{
	if (ctf_state_env_number(meta, "holdup_export") != CTF_NATIVE_VERSION)
		return false;
	facts->first_ns = (uint64_t)ctf_state_env_number(meta, "first_ns");
	facts->last_ns = (uint64_t)ctf_state_env_number(meta, "last_ns");
	facts->target_tid = (int32_t)ctf_state_env_number(meta, "target_tid");
	facts->target_start_ns = (uint64_t)ctf_state_env_number(meta, "target_start_ns");
	facts->target_end_ns = (uint64_t)ctf_state_env_number(meta, "target_end_ns");
	facts->target_status = (int)ctf_state_env_number(meta, "target_status");
	facts->target_cmdline = kept_or_null(facts, ctf_state_env_text(meta, "target_cmdline"));
	facts->tracer = kept_or_null(facts, ctf_state_env_text(meta, "recorded_by"));
	facts->recorder = kept_or_null(facts, ctf_state_env_text(meta, "recorder"));
	facts->omits_idle_switches = ctf_state_env_number(meta, "omits_idle_switches");
	facts->has_syscalls = ctf_state_env_number(meta, "has_syscalls");
	facts->complete = ctf_state_env_number(meta, "complete");
	note_source_damage(meta, facts);
	return true;
}

/* A text of the record; NULL when it is none. */
static const char *ctf_state_text_at(const struct trace_record *record, uint32_t place,
				     bool big_endian)
{
	uint32_t word = page_word(record->data + place, big_endian);
	uint32_t start = word & 0xffff, bytes = word >> 16;

	if (bytes == 0 || start >= record->bytes || bytes > record->bytes - start ||
	    record->data[start + bytes - 1] != '\0')
		return NULL;
	return (const char *)record->data + start;
}

static void ctf_state_take_field(const struct ctf_state_field *field,
				 const struct trace_record *record, uint32_t place, bool big_endian,
				 struct facts *facts, char *item)
{
	uint64_t number;
	const char *text;
	uint32_t word;

	if (field->type == CTF_STATE_TEXT) {
		text = ctf_state_text_at(record, place, big_endian);
		text = facts_keep(facts, text ? text : "");
		memcpy(item + field->offset, &text, sizeof(text));
		return;
	}
	memcpy(&number, record->data + place, sizeof(number));
	number = order_u64(number, order_swaps(big_endian));
	word = (uint32_t)number;
	if (field->type == CTF_STATE_U8)
		item[field->offset] = (char)number;
	else if (field->type == CTF_STATE_I32 || field->type == CTF_STATE_U32)
		memcpy(item + field->offset, &word, sizeof(word));
	else
		memcpy(item + field->offset, &number, sizeof(number));
}

/* What no reader of such a list may meet. */
static bool ctf_state_is_sane(const struct ctf_state_list *list, const char *item)
{
	const struct fact_thread *thread = (const void *)item;
	const struct fact_fd *fd = (const void *)item;
	const struct fact_name *name = (const void *)item;

	if (list->fields == thread_fields)
		return thread->tid >= 0 && thread->tgid >= 0 && thread->ppid >= 0 &&
		       *(const uint8_t *)&thread->kernel <= 1;
	if (list->items_offset == offsetof(struct facts, calls))
		return name->nr < FACTS_CALLS_MAX;
	if (list->fields == fd_fields)
		return fd->tgid >= 0 && fd->fd >= 0 && fd_role_of(fd->role) == fd->role;
	return true;
}

static void ctf_state_take_item(const struct ctf_state_list *list,
				const struct trace_record *record, bool big_endian, size_t *cap,
				struct facts *facts)
{
	void **items = (void **)(void *)((char *)facts + list->items_offset);
	size_t *count = (size_t *)(void *)((char *)facts + list->count_offset);
	uint32_t last = list->fields[list->field_count - 1].type == CTF_STATE_TEXT ? 4 : 8;
	char *item;

	if (record->bytes < CTF_NATIVE_MIN + (list->field_count - 1u) * 8 + last ||
	    *count == MAX_ITEMS)
		return;
	*items = vec_room(*items, *count, cap, list->item_bytes);
	item = (char *)*items + *count * list->item_bytes;
	memset(item, 0, list->item_bytes);
	for (uint32_t i = 0; i < list->field_count; i++)
		ctf_state_take_field(&list->fields[i], record, CTF_NATIVE_MIN + i * 8, big_endian,
				     facts, item);
	*count += ctf_state_is_sane(list, item);
}

/* The list that the event with this number is of, by the format that it came with. */
static const struct ctf_state_list *ctf_state_list_of(const struct formats *formats, uint16_t id)
{
	for (size_t i = 0; i < formats->count; i++) {
		const char *slash = strchr(formats->sections[i].name, '/');

		if (!slash || format_text_id(formats->sections[i].text) != id)
			continue;
		for (size_t l = 0; l < ctf_state_list_count; l++) {
			if (strcmp(ctf_state_lists[l].event, slash + 1) == 0)
				return &ctf_state_lists[l];
		}
	}
	return NULL;
}

ORDER_FUNCTION(ctf_state_by_address, struct fact_symbol, ORDER_UP(address));

ORDER_FUNCTION(ctf_state_by_nr, struct fact_name, ORDER_UP(nr));

/* Analyses rely on the order; as it was written it stays, where it is right. */
static void ctf_state_put_in_order(struct facts *facts)
{
	bool symbols = true, fds = true;

	facts->call_cap = facts->call_count; /* at least that many have room */
	for (size_t i = 1; i < facts->symbol_count; i++)
		symbols &= facts->symbols[i - 1].address <= facts->symbols[i].address;
	for (size_t i = 1; i < facts->fd_count; i++)
		fds &= facts_compare_fds(&facts->fds[i - 1], &facts->fds[i]) <= 0;
	if (!symbols)
		qsort(facts->symbols, facts->symbol_count, sizeof(*facts->symbols),
		      ctf_state_by_address);
	if (facts->printk_count)
		qsort(facts->printks, facts->printk_count, sizeof(*facts->printks),
		      ctf_state_by_nr);
	if (!fds)
		qsort(facts->fds, facts->fd_count, sizeof(*facts->fds), facts_compare_fds);
}

void ctf_state_read(struct ctf_lane *ctf_lane, const struct ctf_meta *meta,
		    const struct formats *formats, struct facts *facts)
{
	struct lane *lane = ctf_lane_lane(ctf_lane);
	const struct ctf_state_list *list = NULL;
	size_t caps[ARRAY_LEN(ctf_state_lists)] = { 0 };
	bool swap = order_swaps(meta->big_endian);
	uint16_t id, last = 0;
	struct batch batch;

	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		memcpy(&caps[i], (char *)facts + ctf_state_lists[i].count_offset, sizeof(caps[i]));
	batch_init(&batch);
	lane->keep_records = true;
	lane->ops->seek(lane, 0);
	while (lane->ops->fill(lane, &batch)) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct trace_record *record = &batch.cells[i].record;

			if (!record->data)
				continue;
			memcpy(&id, record->data, sizeof(id));
			id = order_u16(id, swap);
			list = id == last ? list : ctf_state_list_of(formats, id);
			last = id;
			if (list)
				ctf_state_take_item(list, record, meta->big_endian,
						    &caps[list - ctf_state_lists], facts);
		}
		for (uint32_t i = 0; i < batch.note_count; i++)
			facts_note_damage(facts, "%s", batch.notes[i].text);
	}
	batch_fini(&batch, lane);
	ctf_state_put_in_order(facts);
}
