/* scan.c - all records once, into chains of runs. */
#include "read/perf/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/facts.h"
#include "read/clock.h"
#include "read/perf/dump.h"
#include "read/perf/features.h"
#include "read/perf/file.h"
#include "read/perf/stacks.h"
#include "read/perf/unzip.h"
#include "store/formats.h"

#define READ_BYTES	(256u << 10)
#define EXTENT_BYTES	(1u << 20)  /* a longer run has several entries */
#define SPLIT_BYTES	(16u << 10) /* a run may change the CPU before it is so long */
#define MAX_CHAINS	1024u
#define MAX_KEPT	(UINT64_C(1) << 23)
#define KEPT_AT_LEAST	65536u
#define KEPT_EACH	16u /* bytes of a file, at least, for each thing that it tells */
#define MAX_CPUS	65536u
#define TRACING_MAX	(256u << 20)
#define UNZIP_TIMES	300u /* no recording shrinks more */
#define UNZIP_AT_LEAST	(64u << 20)
#define LOAD_FIELDS_END 24u /* of KSYMBOL before its name, and of BPF_EVENT */

/*
 * Samples without their CPU: perf opens an event that children inherit once for each CPU, and the
 * id then tells which.
 */
static void cpu_of_id(const struct perf_attrs *attrs, const struct perf_attr *attr,
		      const struct perf_record *record, struct perf_where *where)
{
	bool is_sample = record->type == PERF_SAMPLE;
	uint32_t at = is_sample ? attr->id_at : attr->tail_id;
	const uint64_t *cpu;

	if (at == 0 || !(attr->flags & PERF_FLAG_INHERIT) || record->bytes < at + 8)
		return;
	at = is_sample ? at : record->bytes - at;
	cpu = map_find(&attrs->cpus, perf_u64(record->data + at, attrs->swap));
	where->has_cpu = cpu && *cpu <= UINT16_MAX;
	if (where->has_cpu)
		where->cpu = (uint16_t)(*cpu - 1);
}

/*
 * Where several perf record such a thing, Linux makes the record longer for each of them, and sets nothing there: what it is of
 * stands right behind its fields.
 */
static uint32_t bytes_set(const struct perf_attrs *attrs, const struct perf_record *record)
{
	uint32_t end = LOAD_FIELDS_END;

	if ((record->type != PERF_KSYMBOL && record->type != PERF_BPF_EVENT) || !attrs->count ||
	    record->bytes < end)
		return record->bytes;
	if (record->type == PERF_KSYMBOL) /* with its name */
		end += (uint32_t)strnlen((const char *)record->data + end, record->bytes - end) /
			       8 * 8 +
		       8;
	end += attrs->items[0]->tail_bytes;
	return end < record->bytes ? end : record->bytes;
}

bool perf_scan_where(const struct perf_attrs *attrs, const struct perf_record *record,
		     const struct perf_attr **out_attr, struct perf_where *out_where)
{
	struct perf_record set = *record;

	if (record->type >= PERF_KERNEL_TYPES)
		return false;
	set.bytes = bytes_set(attrs, record);
	*out_attr = perf_attrs_of(attrs, &set);
	if (!*out_attr || !perf_attr_where(*out_attr, &set, attrs->swap, out_where))
		return false;
	if (!out_where->has_cpu)
		cpu_of_id(attrs, *out_attr, &set, out_where);
	return out_where->time_ns != 0 && out_where->time_ns < CLOCK_MAX_NS;
}

bool perf_scan_may_keep(struct perf_scan *scan)
{
	if (scan->may_keep) {
		scan->may_keep--;
		return true;
	}
	if (scan->kept_all)
		facts_note_damage(
			scan->file->facts,
			"it has more entries than its size allows; the excess is ignored");
	scan->kept_all = false;
	return false;
}

/* ------------------------------------------------------------------ chains */

void perf_scan_need_cpu(struct perf_scan *scan, uint16_t cpu)
{
	size_t count = scan->cpu_count;

	if (cpu < count)
		return;
	while (count <= cpu)
		count = count ? count * 2 : 64;
	count = count > MAX_CPUS ? MAX_CPUS : count;
	scan->cpu_last_ns = xrealloc(scan->cpu_last_ns, count, sizeof(*scan->cpu_last_ns));
	scan->cpu_chain = xrealloc(scan->cpu_chain, count, sizeof(*scan->cpu_chain));
	scan->cpu_events = xrealloc(scan->cpu_events, count, sizeof(*scan->cpu_events));
	scan->cpu_bytes = xrealloc(scan->cpu_bytes, count, sizeof(*scan->cpu_bytes));
	scan->cpu_summed = xrealloc(scan->cpu_summed, count, sizeof(*scan->cpu_summed));
	scan->cpu_lost = xrealloc(scan->cpu_lost, count, sizeof(*scan->cpu_lost));
	for (size_t i = scan->cpu_count; i < count; i++) {
		scan->cpu_last_ns[i] = scan->cpu_chain[i] = 0;
		scan->cpu_events[i] = scan->cpu_bytes[i] = scan->cpu_lost[i] = 0;
		scan->cpu_summed[i] = 0;
	}
	scan->cpu_count = count;
}

static size_t new_chain(struct perf_scan *scan)
{
	size_t cap = scan->chain_cap;

	scan->last_ns = vec_room(scan->last_ns, scan->chain_count, &cap, sizeof(*scan->last_ns));
	scan->chains =
		vec_room(scan->chains, scan->chain_count, &scan->chain_cap, sizeof(*scan->chains));
	scan->chains[scan->chain_count] = (struct perf_chain){ 0 };
	scan->last_ns[scan->chain_count] = 0;
	return scan->chain_count++;
}

/*
 * The chain for a run that begins at this time: that of the CPU, else the one that ended last
 * before it. When there are too many, the one that goes back least.
 */
static size_t chain_for(struct perf_scan *scan, const struct perf_where *where)
{
	size_t own = scan->cpu_chain[where->cpu], best = SIZE_MAX, least = 0;

	if (own && scan->last_ns[own - 1] <= where->time_ns)
		return own - 1;
	for (size_t i = 0; i < scan->chain_count; i++) {
		if (scan->last_ns[i] <= where->time_ns &&
		    (best == SIZE_MAX || scan->last_ns[i] > scan->last_ns[best]))
			best = i;
		if (scan->last_ns[i] < scan->last_ns[least])
			least = i;
	}
	if (best != SIZE_MAX)
		return best;
	return scan->chain_count < MAX_CHAINS ? new_chain(scan) : least;
}

/* Does the record go on where the current entry ends? */
static bool goes_on(const struct perf_scan *scan, const struct perf_extent *place,
		    const struct perf_where *where)
{
	const struct perf_chain *chain = &scan->chains[scan->current];
	const struct perf_extent *last = &chain->extents[chain->count - 1];

	return last->part == place->part &&
	       place->offset + place->bytes - last->offset <= EXTENT_BYTES &&
	       (where->cpu == scan->cpu || last->bytes < SPLIT_BYTES);
}

static void add_extent(struct perf_scan *scan, size_t number, struct perf_extent extent)
{
	struct perf_chain *chain = &scan->chains[number];

	if (!perf_scan_may_keep(scan)) {
		facts_note_damage(scan->file->facts,
				  "%s: the records from byte %llu on are left out: too many are "
				  "out of order",
				  scan->file->parts[extent.part].name,
				  (unsigned long long)extent.offset);
		scan->stop = true;
		return;
	}
	chain->extents =
		vec_room(chain->extents, chain->count, &chain->cap, sizeof(*chain->extents));
	chain->extents[chain->count++] = extent;
}

/* A record with a time, at 'place'. */
static void add_record(struct perf_scan *scan, struct perf_extent place,
		       const struct perf_where *where)
{
	bool in_order = scan->current != SIZE_MAX && scan->last_ns[scan->current] <= where->time_ns;
	size_t number = scan->current;

	if (in_order && goes_on(scan, &place, where)) {
		struct perf_chain *chain = &scan->chains[number];
		struct perf_extent *last = &chain->extents[chain->count - 1];

		last->bytes = (uint32_t)(place.offset + place.bytes - last->offset);
	} else {
		if (!in_order || where->cpu != scan->cpu)
			number = chain_for(scan, where);
		place.first_ns = where->time_ns;
		add_extent(scan, number, place);
	}
	if (scan->stop)
		return;
	scan->current = number;
	scan->cpu = where->cpu;
	scan->cpu_chain[where->cpu] = number + 1;
	if (scan->last_ns[number] < where->time_ns)
		scan->last_ns[number] = where->time_ns;
	if (!scan->begin_ns || where->time_ns < scan->begin_ns)
		scan->begin_ns = where->time_ns;
	if (where->time_ns > scan->end_ns)
		scan->end_ns = where->time_ns;
}

/* ------------------------------------------------------------------ records of the kernel */

/* A hole: from the last record of its CPU on, which is the one before it in its buffer. */
static void perf_scan_note_hole(struct perf_scan *scan, const struct perf_record *record,
				uint64_t place, struct perf_where *where)
{
	uint64_t id = record->bytes >= 24 ? perf_u64(record->data + 8, scan->file->swap) : 0;
	const uint64_t *told = map_find(&scan->file->attrs.cpus, id);

	if (!where->has_cpu)
		where->cpu = told ? (uint16_t)(*told - 1) : scan->cpu;
	perf_scan_need_cpu(scan, where->cpu);
	if (record->bytes >= 24)
		scan->cpu_lost[where->cpu] += perf_u64(record->data + 16, scan->file->swap);
	if (!perf_scan_may_keep(scan))
		return;
	scan->hole_items = vec_room(scan->hole_items, scan->hole_count, &scan->hole_cap,
				    sizeof(*scan->hole_items));
	scan->hole_items[scan->hole_count] =
		(struct perf_hole){ scan->cpu_last_ns[where->cpu], where->cpu };
	map_put(&scan->holes, place, scan->hole_count++);
}

/* A record that is no event with a time: why? */
static void perf_scan_take_other(struct perf_scan *scan, const struct perf_record *record,
				 const struct perf_attr *attr, const struct perf_where *where,
				 const struct perf_extent *place)
{
	const char *name = scan->file->parts[place->part].name;

	if (!attr) {
		if (scan->strangers++ == 0)
			facts_note_damage(
				scan->file->facts,
				"%s: byte %llu: the record is of no event of the recording", name,
				(unsigned long long)place->offset);
	} else if (record->bytes < (record->type == PERF_SAMPLE
					    ? attr->fixed_end
					    : PERF_RECORD_HEADER + attr->tail_bytes)) {
		if (scan->short_ones++ == 0)
			facts_note_damage(scan->file->facts,
					  "%s: byte %llu: the record has %u bytes: too few for its "
					  "event",
					  name, (unsigned long long)place->offset, record->bytes);
	} else if (where->time_ns >= CLOCK_MAX_NS) {
		if (scan->late_ones++ == 0)
			facts_note_damage(
				scan->file->facts,
				"%s: byte %llu: the record is of a time that no clock shows", name,
				(unsigned long long)place->offset);
	} else if (record->type == PERF_SAMPLE) {
		scan->untimed++;
	} else {
		perf_dump_take(scan, record, attr);
		if (scan->wants_stacks)
			perf_stacks_take(scan, record, attr, where, 0);
	}
}

static void count_record(struct perf_scan *scan, const struct perf_record *record,
			 const struct perf_where *where)
{
	if (scan->cpu_last_ns[where->cpu] < where->time_ns)
		scan->cpu_last_ns[where->cpu] = where->time_ns;
	scan->cpu_events[where->cpu]++;
	scan->cpu_bytes[where->cpu] += record->bytes;
}

/*
 * Nearly all records of a large recording: samples of one CPU in order, each in the run of the one
 * before. Takes as many as 'data' begins with, and returns how many bytes they are. One loop is
 * made for each value of 'swap'.
 */
static inline __attribute__((always_inline)) size_t take_samples_as(struct perf_scan *scan,
								    const uint8_t *data,
								    size_t bytes,
								    const struct perf_extent *place,
								    const bool swap)
{
	const struct perf_attrs attrs = scan->file->attrs;
	const struct perf_chain *chain = &scan->chains[scan->current];
	struct perf_extent *last = &chain->extents[chain->count - 1];
	const uint64_t from = place->offset - last->offset;
	/* A time of 0 is none. */
	uint64_t last_ns = scan->last_ns[scan->current] ? scan->last_ns[scan->current] : 1;
	uint64_t count = 0;
	const uint16_t cpu = scan->cpu;
	struct perf_record record;
	size_t at = 0;

	if (last->part != place->part || from > EXTENT_BYTES)
		return 0;
	if (bytes > EXTENT_BYTES - from)
		bytes = EXTENT_BYTES - from;
	while (perf_record_at(data + at, bytes - at, swap, &record) > 0) {
		const struct perf_quick *quick = perf_attrs_quick(&attrs, &record, swap);
		uint64_t time_ns;

		if (!quick || (uint16_t)perf_u32(record.data + quick->cpu_at, swap) != cpu)
			break;
		time_ns = perf_u64(record.data + quick->time_at, swap);
		if (time_ns < last_ns || time_ns >= CLOCK_MAX_NS)
			break;
		last_ns = time_ns;
		count++;
		at += record.bytes;
	}
	if (count == 0)
		return 0;
	last->bytes = (uint32_t)(from + at);
	scan->last_ns[scan->current] = last_ns;
	if (last_ns > scan->end_ns)
		scan->end_ns = last_ns;
	if (scan->cpu_last_ns[cpu] < last_ns)
		scan->cpu_last_ns[cpu] = last_ns;
	scan->cpu_events[cpu] += count;
	scan->cpu_bytes[cpu] += at;
	scan->counts[PERF_SAMPLE] += count;
	return at;
}

static size_t perf_scan_take_samples(struct perf_scan *scan, const uint8_t *data, size_t bytes,
				     const struct perf_extent *place)
{
	return scan->file->swap ? take_samples_as(scan, data, bytes, place, true)
				: take_samples_as(scan, data, bytes, place, false);
}

static void kernel_record(struct perf_scan *scan, const struct perf_record *record,
			  struct perf_extent place)
{
	const struct perf_attr *attr = NULL;
	struct perf_where where = { 0 };
	const uint64_t number = (uint64_t)place.part << PERF_PLACE_SHIFT | place.offset;

	if (!perf_scan_where(&scan->file->attrs, record, &attr, &where)) {
		perf_scan_take_other(scan, record, attr, &where, &place);
		return;
	}
	perf_scan_need_cpu(scan, where.cpu);
	scan->unplaced += record->type == PERF_SAMPLE && !where.has_cpu;
	if (record->type == PERF_LOST)
		perf_scan_note_hole(scan, record, number, &where);
	else if (record->type == PERF_COMM)
		perf_dump_live(scan, record, attr, where.time_ns);
	if (scan->wants_stacks)
		perf_stacks_take(scan, record, attr, &where, number);
	add_record(scan, place, &where);
	count_record(scan, record, &where);
}

/* ------------------------------------------------------------------ records of the tool */

/* Formats of tracepoints stand behind their record, which tells how many bytes they are. */
static void tracing_record(struct perf_scan *scan, const struct perf_record *record,
			   struct perf_extent place)
{
	const struct perf_bytes *part = &scan->file->parts[place.part];
	uint64_t from = place.offset + record->bytes, bytes;
	AUTO_FREE uint8_t *data = NULL;

	if (record->bytes < 12)
		return;
	bytes = perf_u32(record->data + 8, scan->file->swap);
	scan->skip = bytes;
	scan->current = SIZE_MAX;
	if (from > part->end || bytes > part->end - from || bytes > TRACING_MAX)
		return; /* the pass will find the end */
	data = xmalloc(bytes + 1);
	if (file_read_at(part->fd, from, data, bytes) == bytes)
		perf_feature_read(scan->file, PERF_FEATURE_TRACING_DATA, data, bytes);
}

static void index_record(struct perf_scan *scan, const struct perf_record *record)
{
	bool swap = scan->file->swap;

	for (uint32_t at = 16; record->bytes >= 32 && at <= record->bytes - 32; at += 32) {
		uint64_t cpu = perf_u64(record->data + at + 16, swap);

		scan->file->of_tasks |= (int64_t)perf_u64(record->data + at + 24, swap) > 0;
		if (cpu < MAX_CPUS && scan->file->attrs.cpus.count < PERF_MAX_IDS)
			map_put(&scan->file->attrs.cpus, perf_u64(record->data + at, swap),
				cpu + 1);
	}
}

/* The name of an event, in a stream. */
static void update_record(struct perf_scan *scan, const struct perf_record *record)
{
	const struct perf_attrs *attrs = &scan->file->attrs;
	const struct perf_attr *attr;

	if (record->bytes <= 24 || perf_u64(record->data + 8, scan->file->swap) != 2)
		return;
	attr = perf_attrs_find(attrs, perf_u64(record->data + 16, scan->file->swap));
	for (size_t i = 0; attr && i < attrs->count; i++) {
		if (attrs->items[i] != attr)
			continue;
		free(attrs->items[i]->name);
		attrs->items[i]->name =
			xstrndup((const char *)record->data + 24, record->bytes - 24);
	}
}

/* A record that perf never writes was another one: an event, maybe. */
static void strange_record(struct perf_scan *scan, const struct perf_record *record,
			   const struct perf_extent *place)
{
	if (scan->strange_ones++ == 0)
		facts_note_damage(scan->file->facts,
				  "%s: byte %llu: perf writes no record of type %u and %u bytes",
				  scan->file->parts[place->part].name,
				  (unsigned long long)place->offset, record->type, record->bytes);
}

static void tool_record(struct perf_scan *scan, const struct perf_record *record,
			struct perf_extent place)
{
	const uint8_t *body = record->data + PERF_RECORD_HEADER;
	uint32_t bytes = record->bytes - PERF_RECORD_HEADER;

	/* Only what the kernel wrote is packed. */
	if (scan->file->parts[place.part].is_made)
		return;
	switch (record->type) {
	case PERF_HEADER_ATTR:
		if (!perf_file_attr(scan->file, body, bytes))
			facts_note_damage(scan->file->facts,
					  "byte %llu: what should be an event's attribute is none",
					  (unsigned long long)place.offset);
		scan->wants_stacks = perf_stacks_wants(scan);
		break;
	case PERF_HEADER_TRACING_DATA:
		tracing_record(scan, record, place);
		break;
	case PERF_FINISHED_ROUND:
		scan->round_samples = scan->counts[PERF_SAMPLE];
		if (bytes)
			strange_record(scan, record, &place);
		break;
	case PERF_FINISHED_INIT:
		if (bytes)
			strange_record(scan, record, &place);
		break;
	case PERF_ID_INDEX:
		index_record(scan, record);
		break;
	case PERF_AUXTRACE: /* so many bytes of a hardware's trace stand behind it */
		scan->skip = bytes >= 8 ? perf_u64(body, scan->file->swap) : 0;
		scan->current = SIZE_MAX;
		break;
	case PERF_EVENT_UPDATE:
		update_record(scan, record);
		break;
	case PERF_HEADER_FEATURE:
		if (bytes >= 8 && perf_u64(body, scan->file->swap) < PERF_FEATURE_COUNT)
			perf_feature_read(scan->file, (uint32_t)perf_u64(body, scan->file->swap),
					  body + 8, bytes - 8);
		break;
	default: /* it tells nothing that is needed; perf will know more types one day */
		if (record->type >= PERF_ALL_TYPES)
			strange_record(scan, record, &place);
		break;
	}
}

/* ------------------------------------------------------------------ the pass */

struct pass {
	struct perf_scan *scan;
	size_t part;
	struct perf_unzip *unzip; /* owned; of the part */
	size_t unzip_part;	  /* its bytes; 0 = none yet */
	bool unzip_failed;
};

static size_t take_records(struct pass *pass, const uint8_t *data, size_t bytes, uint64_t offset,
			   size_t part);

static size_t take_unzipped(void *context, const uint8_t *data, size_t bytes, uint64_t offset)
{
	struct pass *pass = context;

	return take_records(pass, data, bytes, offset, pass->unzip_part);
}

static void compressed_record(struct pass *pass, const struct perf_record *record, uint64_t offset)
{
	struct perf_file *file = pass->scan->file;
	const uint8_t *data = record->data + PERF_RECORD_HEADER;
	uint64_t bytes = record->bytes - PERF_RECORD_HEADER, room = bytes;
	struct err why = { 0 };

	if (record->type == PERF_COMPRESSED2) {
		bytes = room >= 8 ? perf_u64(data, file->swap) : UINT64_MAX;
		data += 8;
		room = room >= 8 ? room - 8 : 0;
	}
	if (pass->unzip_failed)
		return;
	if (!pass->unzip) {
		uint64_t size = file->parts[pass->part].end;

		pass->unzip = perf_unzip_new(size * UNZIP_TIMES + UNZIP_AT_LEAST);
		pass->unzip_part = perf_file_add(
			file, (struct perf_bytes){ .fd = -1,
						   .name = xasprintf("%s, unpacked",
								     file->parts[pass->part].name),
						   .is_made = true });
	}
	if (bytes <= room &&
	    perf_unzip_feed(pass->unzip, data, bytes, take_unzipped, pass, &why) == 0)
		return;
	pass->unzip_failed = true;
	facts_note_damage(file->facts, "%s: byte %llu: %s", file->parts[pass->part].name,
			  (unsigned long long)offset,
			  why.code ? why.text : "the record ends before its packed data");
}

static void scan_take_record(struct pass *pass, const struct perf_record *record, uint64_t offset,
			     size_t part)
{
	struct perf_scan *scan = pass->scan;
	struct perf_extent place = { .offset = offset,
				     .bytes = record->bytes,
				     .part = (uint32_t)part };

	if (record->type < PERF_ALL_TYPES)
		scan->counts[record->type]++;
	if (record->type < PERF_KERNEL_TYPES)
		kernel_record(scan, record, place);
	else if (record->type != PERF_COMPRESSED && record->type != PERF_COMPRESSED2)
		tool_record(scan, record, place);
	else if (part == pass->part)
		compressed_record(pass, record, offset);
}

/* Take what is whole. Returns how many bytes are done with. */
static size_t take_records(struct pass *pass, const uint8_t *data, size_t bytes, uint64_t offset,
			   size_t part)
{
	struct perf_scan *scan = pass->scan;
	size_t at = 0;

	while (!scan->stop) {
		struct perf_record record;
		int32_t length;

		if (scan->skip) {
			size_t step = bytes - at < scan->skip ? bytes - at : (size_t)scan->skip;

			at += step;
			scan->skip -= step;
			if (scan->skip)
				break;
		}
		if (scan->current != SIZE_MAX && !scan->wants_stacks)
			at += perf_scan_take_samples(
				scan, data + at, bytes - at,
				&(struct perf_extent){ .offset = offset + at,
						       .part = (uint32_t)part });
		length = perf_record_at(data + at, bytes - at, scan->file->swap, &record);
		if (length == 0)
			break;
		if (length < 0) {
			uint64_t place = offset + at;

			facts_note_damage(scan->file->facts,
					  "%s: byte %llu: a record says that it has %u bytes, and "
					  "the bytes after it cannot be read",
					  scan->file->parts[part].name, (unsigned long long)place,
					  perf_u16(data + at + 6, scan->file->swap));
			scan->file->is_cut = true;
			scan->stop = true;
			break;
		}
		scan_take_record(pass, &record, offset + at, part);
		at += (size_t)length;
	}
	return scan->stop ? bytes : at;
}

static void end_unzip(struct pass *pass)
{
	struct perf_bytes *part;
	size_t left;

	if (!pass->unzip)
		return;
	part = &pass->scan->file->parts[pass->unzip_part];
	part->fd = perf_unzip_end(pass->unzip, &part->end, &left);
	if (left && !pass->unzip_failed && !pass->scan->stop)
		facts_note_damage(pass->scan->file->facts, "%s: the last %zu bytes are no record",
				  part->name, left);
	perf_unzip_free(pass->unzip);
}

static void end_part(struct perf_scan *scan, size_t number, uint64_t offset)
{
	const struct perf_bytes *part = &scan->file->parts[number];

	if (scan->stop || (offset == part->end && !scan->skip))
		return;
	scan->file->is_cut = true;
	facts_note_damage(scan->file->facts,
			  "%s: it ends at byte %llu, within the record at byte %llu", part->name,
			  (unsigned long long)part->end, (unsigned long long)offset);
}

static void scan_part(struct perf_scan *scan, size_t number, uint8_t *room)
{
	struct pass pass = { .scan = scan, .part = number };
	uint64_t offset = scan->file->parts[number].begin, end = scan->file->parts[number].end;

	scan->current = SIZE_MAX;
	scan->skip = 0;
	scan->stop = false;
	while (offset < end && !scan->stop) {
		size_t want = end - offset < READ_BYTES ? (size_t)(end - offset) : READ_BYTES;
		size_t got, done;

		/* A hardware's trace is not read. */
		if (scan->skip) {
			uint64_t step = end - offset < scan->skip ? end - offset : scan->skip;

			offset += step;
			scan->skip -= step;
			continue;
		}
		got = file_read_at(scan->file->parts[number].fd, offset, room, want);
		done = got ? take_records(&pass, room, got, offset, number) : 0;
		if (done == 0)
			break;
		offset += done;
	}
	end_part(scan, number, offset);
	end_unzip(&pass);
}

/*
 * Nothing tells how long a stream is. Since perf says where what was there before ends
 * (FINISHED_INIT), each stream of it ends with the end of a round.
 */
static void check_stream_end(struct perf_scan *scan)
{
	struct perf_file *file = scan->file;

	if (!file->is_pipe || file->is_cut)
		return;
	if (scan->end_ns == 0)
		facts_note_damage(file->facts, "the stream ends before the first event");
	else if (scan->counts[PERF_FINISHED_INIT] &&
		 scan->counts[PERF_SAMPLE] > scan->round_samples)
		facts_note_damage(file->facts, "the stream ends within a round of what perf wrote");
	else
		return;
	file->is_cut = true;
}

/* perf gives all events of a recording their id at one place of a record, or reads none of it. */
static void check_attrs(const struct perf_file *file)
{
	const struct perf_attrs *attrs = &file->attrs;

	for (size_t i = 1; i < attrs->count; i++) {
		if ((attrs->items[i]->sample_type ^ attrs->items[0]->sample_type) &
		    PERF_HAS_IDENTIFIER) {
			facts_note_damage(file->facts,
					  "events differ in where their records have their id");
			return;
		}
	}
}

int perf_scan_run(struct perf_scan *scan, struct perf_file *file, struct err *err)
{
	AUTO_FREE uint8_t *room = xmalloc(READ_BYTES);
	size_t parts = file->part_count;
	uint64_t bytes = 0;

	for (size_t i = 0; i < parts; i++)
		bytes += file->parts[i].end;
	*scan = (struct perf_scan){ .file = file, .kept_all = true };
	scan->may_keep = KEPT_AT_LEAST + bytes / KEPT_EACH;
	if (scan->may_keep > MAX_KEPT)
		scan->may_keep = MAX_KEPT;
	scan->stacks = perf_stacks_new();
	scan->wants_stacks = perf_stacks_wants(scan);
	perf_attrs_settle(&file->attrs);
	for (size_t i = 0; i < parts; i++)
		scan_part(scan, i, room);
	perf_attrs_settle(&file->attrs);
	if (file->attrs.count == 0)
		return err_set(err, -EBADMSG, "it describes no recorded event%s%s",
			       file->facts->damage_count ? ": " : "",
			       file->facts->damage_count ? file->facts->damage[0] : "");
	check_attrs(file);
	check_stream_end(scan);
	perf_dump_end(scan);
	perf_stacks_end(scan);
	return 0;
}

void perf_scan_fini(struct perf_scan *scan)
{
	for (size_t i = 0; i < scan->chain_count; i++)
		free(scan->chains[i].extents);
	free(scan->chains);
	free(scan->last_ns);
	free(scan->hole_items);
	free(scan->cpu_last_ns);
	free(scan->cpu_chain);
	free(scan->cpu_events);
	free(scan->cpu_bytes);
	free(scan->cpu_lost);
	free(scan->cpu_summed);
	free(scan->tail);
	perf_stacks_free(scan->stacks);
	map_fini(&scan->holes);
	map_fini(&scan->threads);
}
