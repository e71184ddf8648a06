/* attr.c - attributes, and the places in records that follow from them. */
#include "read/perf/attr.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DENSE_MAX (1u << 20)

static void forget_dense(struct perf_attrs *attrs)
{
	free(attrs->dense);
	free(attrs->quick);
	attrs->dense = NULL;
	attrs->quick = NULL;
	attrs->dense_count = attrs->quick_count = 0;
}

void perf_attrs_fini(struct perf_attrs *attrs)
{
	for (size_t i = 0; i < attrs->count; i++) {
		free(attrs->items[i]->name);
		free(attrs->items[i]->title);
		free(attrs->items[i]);
	}
	free(attrs->items);
	forget_dense(attrs);
	map_fini(&attrs->by_id);
	map_fini(&attrs->cpus);
	*attrs = (struct perf_attrs){ 0 };
}

/* ------------------------------------------------------------------ layout */

static void lay_sample(struct perf_attr *attr)
{
	const struct {
		uint64_t has;
		uint16_t *at;
	} fields[] = {
		{ PERF_HAS_IDENTIFIER, &attr->id_at },
		{ PERF_HAS_IP, &attr->ip_at },
		{ PERF_HAS_TID, &attr->tid_at },
		{ PERF_HAS_TIME, &attr->time_at },
		{ PERF_HAS_ADDR, NULL },
		{ PERF_HAS_ID, &attr->id_at },
		{ PERF_HAS_STREAM_ID, NULL },
		{ PERF_HAS_CPU, &attr->cpu_at },
		{ PERF_HAS_PERIOD, NULL },
	};
	uint16_t at = PERF_RECORD_HEADER;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!(attr->sample_type & fields[i].has))
			continue;
		if (fields[i].at && !*fields[i].at)
			*fields[i].at = at;
		at += 8;
	}
	attr->fixed_end = at;
	if ((attr->sample_type & PERF_HAS_RAW) &&
	    !(attr->sample_type & (PERF_HAS_READ | PERF_HAS_CALLCHAIN)))
		attr->raw_at = at;
}

/* From the end of the record backwards. */
static void lay_tail(struct perf_attr *attr)
{
	const struct {
		uint64_t has;
		uint8_t *at;
	} fields[] = {
		{ PERF_HAS_IDENTIFIER, &attr->tail_id },
		{ PERF_HAS_CPU, &attr->tail_cpu },
		{ PERF_HAS_STREAM_ID, NULL },
		{ PERF_HAS_ID, &attr->tail_id },
		{ PERF_HAS_TIME, &attr->tail_time },
		{ PERF_HAS_TID, &attr->tail_tid },
	};
	uint8_t at = 0;

	if (!(attr->flags & PERF_FLAG_SAMPLE_ID_ALL))
		return;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!(attr->sample_type & fields[i].has))
			continue;
		at += 8;
		if (fields[i].at && !*fields[i].at)
			*fields[i].at = at;
	}
	attr->tail_bytes = at;
}

/* Bit fields of C begin at the other end where the byte order is the other one. */
static uint64_t flags_of(const uint8_t *at, bool swap)
{
	bool big = swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t word = perf_u64(at, swap), flags = 0;

	if (!big)
		return word;
	for (int bit = 0; bit < 64; bit++)
		flags |= (word >> bit & 1) << (63 - bit);
	return flags;
}

struct perf_attr *perf_attrs_add(struct perf_attrs *attrs, const uint8_t *data, size_t bytes)
{
	bool swap = attrs->swap;
	struct perf_attr *attr;
	uint32_t told;

	if (bytes < PERF_ATTR_MIN_BYTES || attrs->count == PERF_MAX_ATTRS)
		return NULL;
	/* The first version said 0 here. */
	told = perf_u32(data + 4, swap);
	if (told >= PERF_ATTR_MIN_BYTES && told < bytes)
		bytes = told;
	attr = xcalloc(1, sizeof(*attr));
	attr->type = perf_u32(data, swap);
	attr->config = perf_u64(data + 8, swap);
	attr->period = perf_u64(data + 16, swap);
	attr->sample_type = perf_u64(data + 24, swap);
	attr->read_format = perf_u64(data + 32, swap);
	attr->flags = flags_of(data + 40, swap);
	attr->branch_type = bytes >= 80 ? perf_u64(data + 72, swap) : 0;
	attr->regs_user = bytes >= 88 ? perf_u64(data + 80, swap) : 0;
	attr->clockid = -1;
	if (bytes >= 96 && (attr->flags & PERF_FLAG_USE_CLOCKID))
		attr->clockid = (int32_t)perf_u32(data + 92, swap);
	attr->regs_intr = bytes >= 104 ? perf_u64(data + 96, swap) : 0;
	attr->is_tracepoint = attr->type == PERF_KIND_TRACEPOINT;
	lay_sample(attr);
	lay_tail(attr);
	if (attrs->count == 0) {
		attrs->id_at = attr->id_at;
		attrs->tail_id = attr->tail_id;
	}
	attrs->items =
		vec_room(attrs->items, attrs->count, &attrs->cap, sizeof(struct perf_attr *));
	attrs->items[attrs->count++] = attr;
	return attr;
}

/* ------------------------------------------------------------------ ids */

void perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id, size_t index)
{
	bool is_new = !map_find(&attrs->by_id, id);

	if (attrs->by_id.count == PERF_MAX_IDS && is_new)
		return;
	map_put(&attrs->by_id, id, index);
	/* One for each CPU, in their order, unless perf says otherwise. */
	if (is_new)
		map_put(&attrs->cpus, id, ++attrs->items[index]->id_count);
	forget_dense(attrs);
}

static struct perf_quick quick_of(const struct perf_attr *attr)
{
	bool has_all = attr->time_at && attr->cpu_at;
	uint32_t raw_at = attr->is_tracepoint ? attr->raw_at : 0;

	return (struct perf_quick){
		.need_bytes = !has_all ? UINT32_MAX
			      : raw_at ? raw_at + 4
				       : attr->fixed_end,
		.time_at = attr->time_at,
		.cpu_at = attr->cpu_at,
		.raw_at = (uint16_t)raw_at,
	};
}

/* The same for each id, where samples tell theirs. */
static void make_quick(struct perf_attrs *attrs)
{
	if (!attrs->id_at)
		return;
	attrs->quick_count = attrs->dense_count;
	attrs->quick = xcalloc(attrs->quick_count, sizeof(*attrs->quick));
	for (size_t i = 0; i < attrs->quick_count; i++) {
		attrs->quick[i].need_bytes = UINT32_MAX;
		if (attrs->dense[i])
			attrs->quick[i] = quick_of(attrs->items[attrs->dense[i] - 1]);
	}
}

void perf_attrs_settle(struct perf_attrs *attrs)
{
	const struct map *map = &attrs->by_id;
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < map->cap; i++) {
		if (!map->used[i])
			continue;
		low = map->slots[i].key < low ? map->slots[i].key : low;
		high = map->slots[i].key > high ? map->slots[i].key : high;
	}
	forget_dense(attrs);
	if (low > high || high - low >= DENSE_MAX)
		return;
	attrs->low_id = low;
	attrs->dense_count = high - low + 1;
	attrs->dense = xcalloc(attrs->dense_count, sizeof(*attrs->dense));
	for (size_t i = 0; i < map->cap; i++) {
		if (map->used[i])
			attrs->dense[map->slots[i].key - low] = (uint16_t)(map->slots[i].value + 1);
	}
	make_quick(attrs);
}

const struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id)
{
	const uint64_t *index;

	if (attrs->dense) {
		uint64_t place = id - attrs->low_id;

		if (place >= attrs->dense_count || attrs->dense[place] == 0)
			return NULL;
		return attrs->items[attrs->dense[place] - 1];
	}
	index = map_find(&attrs->by_id, id);
	return index ? attrs->items[*index] : NULL;
}

const struct perf_attr *perf_attrs_of(const struct perf_attrs *attrs,
				      const struct perf_record *record)
{
	const struct perf_attr *attr;
	uint64_t id;

	if (attrs->count == 0)
		return NULL;
	if (record->type == PERF_SAMPLE && attrs->id_at) {
		if (record->bytes < attrs->id_at + 8u)
			return NULL;
		id = perf_u64(record->data + attrs->id_at, attrs->swap);
	} else if (record->type != PERF_SAMPLE && attrs->tail_id) {
		if (record->bytes < PERF_RECORD_HEADER + attrs->tail_id)
			return NULL;
		id = perf_u64(record->data + record->bytes - attrs->tail_id, attrs->swap);
	} else {
		return attrs->items[0];
	}
	attr = perf_attrs_find(attrs, id);
	/* Made by the tool, or nothing tells ids apart. */
	if (!attr && (id == 0 || attrs->count == 1 || record->type != PERF_SAMPLE))
		return attrs->items[0];
	return attr;
}

/* ------------------------------------------------------------------ records */

/* Some had their time before all records did: where in them? */
static uint32_t own_time(const struct perf_record *record)
{
	if (record->type == PERF_FORK || record->type == PERF_EXIT)
		return 24;
	return record->type == PERF_THROTTLE || record->type == PERF_UNTHROTTLE ? 8 : 0;
}

static bool sample_where(const struct perf_attr *attr, const struct perf_record *record, bool swap,
			 struct perf_where *where)
{
	if (record->bytes < attr->fixed_end)
		return false;
	if (attr->time_at)
		where->time_ns = perf_u64(record->data + attr->time_at, swap);
	if (attr->tid_at)
		where->tid = (int32_t)perf_u32(record->data + attr->tid_at + 4, swap);
	where->has_cpu = attr->cpu_at != 0;
	if (where->has_cpu)
		where->cpu = (uint16_t)perf_u32(record->data + attr->cpu_at, swap);
	return true;
}

static bool other_where(const struct perf_attr *attr, const struct perf_record *record, bool swap,
			struct perf_where *where)
{
	const uint8_t *end = record->data + record->bytes;
	uint32_t at = own_time(record);

	if (record->bytes < PERF_RECORD_HEADER + attr->tail_bytes)
		return false;
	if (attr->tail_time)
		where->time_ns = perf_u64(end - attr->tail_time, swap);
	else if (at && record->bytes - attr->tail_bytes >= at + 8)
		where->time_ns = perf_u64(record->data + at, swap);
	if (attr->tail_tid)
		where->tid = (int32_t)perf_u32(end - attr->tail_tid + 4, swap);
	where->has_cpu = attr->tail_cpu != 0;
	if (where->has_cpu)
		where->cpu = (uint16_t)perf_u32(end - attr->tail_cpu, swap);
	return true;
}

bool perf_attr_where(const struct perf_attr *attr, const struct perf_record *record, bool swap,
		     struct perf_where *out_where)
{
	bool good;

	*out_where = (struct perf_where){ .tid = -1 };
	if (record->type == PERF_SAMPLE)
		good = sample_where(attr, record, swap, out_where);
	else
		good = other_where(attr, record, swap, out_where);
	if (out_where->time_ns == UINT64_MAX)
		out_where->time_ns = 0;
	return good;
}

/* ------------------------------------------------------------------ rest of a sample */

/* 'count' things of 'each' bytes. */
static const uint8_t *take_many(struct perf_cursor *cursor, uint64_t count, uint64_t each)
{
	if (count > 65536 / each) {
		cursor->bad = true;
		return NULL;
	}
	return perf_take(cursor, count * each);
}

static void take_read(struct perf_cursor *cursor, const struct perf_attr *attr,
		      struct perf_rest *rest)
{
	uint64_t format = attr->read_format, count = 1;
	uint64_t times = !!(format & PERF_READ_ENABLED) + !!(format & PERF_READ_RUNNING);
	uint64_t each = 1u + !!(format & PERF_READ_ID) + !!(format & PERF_READ_LOST);

	rest->read = cursor->at;
	if (format & PERF_READ_GROUP)
		count = perf_take_u64(cursor);
	(void)perf_take(cursor, times * 8);
	(void)take_many(cursor, count, each * 8);
	rest->read_bytes = cursor->bad ? 0 : (uint32_t)(cursor->at - rest->read);
}

static void take_branches(struct perf_cursor *cursor, const struct perf_attr *attr,
			  struct perf_rest *rest)
{
	uint64_t count = perf_take_u64(cursor);

	if (attr->branch_type & PERF_BRANCH_HW_INDEX)
		(void)perf_take(cursor, 8);
	(void)take_many(cursor, count, 24);
	if (attr->branch_type & PERF_BRANCH_COUNTERS)
		(void)take_many(cursor, count, 8);
	rest->branch_count = cursor->bad ? 0 : (uint32_t)count;
}

/* Returns what kind of code they are of; none: there are none. */
static enum perf_regs_abi take_regs(struct perf_cursor *cursor, uint64_t mask,
				    const uint8_t **out_regs)
{
	uint64_t abi = perf_take_u64(cursor);

	if (abi == PERF_REGS_NONE)
		return PERF_REGS_NONE;
	*out_regs = perf_take(cursor, (uint64_t)__builtin_popcountll(mask) * 8);
	return *out_regs && abi <= PERF_REGS_64 ? (enum perf_regs_abi)abi : PERF_REGS_NONE;
}

/* Of the room for a copy the first bytes are used. */
static void take_stack(struct perf_cursor *cursor, struct perf_rest *rest)
{
	uint64_t bytes = perf_take_u64(cursor), used = 0;

	rest->stack = perf_take(cursor, bytes);
	if (bytes)
		used = perf_take_u64(cursor);
	rest->stack_bytes = cursor->bad ? 0 : (uint32_t)(used < bytes ? used : bytes);
}

static void take_variable(struct perf_cursor *cursor, const struct perf_attr *attr,
			  struct perf_rest *rest)
{
	uint64_t has = attr->sample_type;

	if (has & PERF_HAS_READ)
		take_read(cursor, attr, rest);
	if (has & PERF_HAS_CALLCHAIN) {
		uint64_t count = perf_take_u64(cursor);

		rest->chain = take_many(cursor, count, 8);
		rest->chain_count = rest->chain ? (uint32_t)count : 0;
	}
	if (has & PERF_HAS_RAW) {
		const uint8_t *length = perf_take(cursor, 4);

		rest->raw_bytes = length ? perf_u32(length, cursor->swap) : 0;
		rest->raw = perf_take(cursor, rest->raw_bytes);
	}
	if (has & PERF_HAS_BRANCH)
		take_branches(cursor, attr, rest);
	if (has & PERF_HAS_REGS_USER)
		rest->abi = take_regs(cursor, attr->regs_user, &rest->regs);
	if (has & PERF_HAS_STACK_USER)
		take_stack(cursor, rest);
}

bool perf_attr_rest(const struct perf_attr *attr, const struct perf_record *record, bool swap,
		    struct perf_rest *out_rest)
{
	struct perf_cursor cursor = { record->data + attr->fixed_end, record->data + record->bytes,
				      swap, false };
	uint64_t has = attr->sample_type;
	const uint8_t *ignored;

	*out_rest = (struct perf_rest){ 0 };
	if (record->bytes < attr->fixed_end)
		return false;
	take_variable(&cursor, attr, out_rest);
	if (has & (PERF_HAS_WEIGHT | PERF_HAS_WEIGHTS))
		out_rest->weight = perf_take(&cursor, 8);
	if (has & PERF_HAS_DATA_SRC)
		out_rest->data_src = perf_take(&cursor, 8);
	if (has & PERF_HAS_TRANSACTION)
		out_rest->transaction = perf_take(&cursor, 8);
	if (has & PERF_HAS_REGS_INTR)
		(void)take_regs(&cursor, attr->regs_intr, &ignored);
	if (has & PERF_HAS_PHYS_ADDR)
		out_rest->phys_addr = perf_take(&cursor, 8);
	if (has & PERF_HAS_CGROUP)
		out_rest->cgroup = perf_take(&cursor, 8);
	if (has & PERF_HAS_DATA_PAGE)
		out_rest->data_page = perf_take(&cursor, 8);
	if (has & PERF_HAS_CODE_PAGE)
		out_rest->code_page = perf_take(&cursor, 8);
	if (has & PERF_HAS_AUX)
		(void)perf_take(&cursor, perf_take_u64(&cursor));
	return !cursor.bad;
}
