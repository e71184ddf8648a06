/* dump.c - lttng_statedump_*: threads, descriptors, interrupts, disks. */
#include "read/ctf/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/ctf/lane.h"
#include "read/format_text.h"
#include "read/lane.h"
#include "store/formats.h"

#define MAX_EVENTS 4000000u /* of a lane, to find the end of a dump */
#define PREFIX	   "kernel/lttng_statedump_"

/* LTTng's enum lttng_process_status */
static const char status_letters[] = { '?', 'R', 'R', 'X', 'Z', 'S', 'R', 'X' };

struct dump {
	struct facts *facts;
	const char **texts; /* owned; format by the number of the event, NULL = none of a dump */
	const char **names; /* owned; behind the prefix */
	uint32_t id_count;
	uint64_t end_ns; /* of the dump; UINT64_MAX = not known yet */
	struct map tids;
	struct map tables; /* address of a table of descriptors: its process */
	size_t thread_cap, fd_cap, irq_cap, device_cap;
};

static bool find_field(const struct dump *dump, const struct trace_record *record, const char *name,
		       struct format_field *out_field)
{
	uint16_t id;

	memcpy(&id, record->data, sizeof(id));
	return format_text_field(dump->texts[id], name, out_field) &&
	       out_field->offset + out_field->bytes <= record->bytes;
}

static bool ctf_dump_number(const struct dump *dump, const struct trace_record *record,
			    const char *name, uint64_t *out_number)
{
	struct format_field field;

	if (!find_field(dump, record, name, &field) || field.bytes != sizeof(*out_number))
		return false;
	memcpy(out_number, record->data + field.offset, sizeof(*out_number));
	return true;
}

static int32_t number_32(const struct dump *dump, const struct trace_record *record,
			 const char *name)
{
	uint64_t value = 0;

	(void)ctf_dump_number(dump, record, name, &value);
	return (int32_t)value;
}

/* A text, kept; "" when there is none. */
static const char *text(const struct dump *dump, const struct trace_record *record,
			const char *name)
{
	struct format_field field;
	uint32_t word;

	if (!find_field(dump, record, name, &field) || field.kind != FORMAT_DATA_LOC)
		return "";
	memcpy(&word, record->data + field.offset, sizeof(word));
	if (word >> 16 == 0)
		return "";
	return facts_keep(dump->facts, (const char *)record->data + (word & 0xffff));
}

static void ctf_dump_take_thread(struct dump *dump, const struct trace_record *record,
				 uint64_t time_ns)
{
	struct facts *facts = dump->facts;
	int32_t tid = number_32(dump, record, "tid"), tgid = number_32(dump, record, "pid");
	uint32_t status = (uint32_t)number_32(dump, record, "status");
	uint64_t table;
	bool is_new;

	if (ctf_dump_number(dump, record, "file_table_address", &table))
		map_put(&dump->tables, table, (uint64_t)tgid);
	*map_add(&dump->tids, (uint64_t)tid, &is_new) = 1;
	if (!is_new)
		return; /* once for each namespace that it is in */
	facts->threads = vec_room(facts->threads, facts->thread_count, &dump->thread_cap,
				  sizeof(*facts->threads));
	facts->threads[facts->thread_count++] = (struct fact_thread){
		.tid = tid,
		.tgid = tgid,
		.ppid = number_32(dump, record, "ppid"),
		.comm = text(dump, record, "name"),
		.cmdline = "",
		.cgroup = "",
		.policy = -1,
		.state = status < sizeof(status_letters) ? status_letters[status] : '?',
		.kernel = number_32(dump, record, "type") == 1,
		.seen_ns = time_ns,
	};
}

static uint8_t role_of(const char *name, uint64_t *out_inode)
{
	unsigned long long inode = 0;

	*out_inode = 0;
	if (sscanf(name, "pipe:[%llu]", &inode) == 1 || sscanf(name, "socket:[%llu]", &inode) == 1)
		*out_inode = inode;
	if (strncmp(name, "pipe:", 5) == 0)
		return FD_ROLE_PIPE;
	if (strncmp(name, "socket:", 7) == 0)
		return FD_ROLE_SOCKET;
	return *name == '/' ? FD_ROLE_FILE : FD_ROLE_UNKNOWN;
}

static void take_fd(struct dump *dump, const struct trace_record *record, uint64_t time_ns)
{
	struct facts *facts = dump->facts;
	struct fact_fd fd = { .fd = number_32(dump, record, "fd") };
	uint64_t table, *owner;

	(void)time_ns;
	if (ctf_dump_number(dump, record, "file_table_address", &table)) {
		owner = map_find(&dump->tables, table);
		if (!owner)
			return;
		fd.tgid = (int32_t)*owner;
	} else {
		fd.tgid = number_32(dump, record, "pid");
	}
	fd.name = text(dump, record, "filename");
	if (!*fd.name)
		return;
	fd.role = role_of(fd.name, &fd.inode);
	if (fd.role != FD_ROLE_PIPE)
		fd.role |= FD_PARTLY; /* LTTng tells of no sets */
	facts->fds = vec_room(facts->fds, facts->fd_count, &dump->fd_cap, sizeof(*facts->fds));
	facts->fds[facts->fd_count++] = fd;
}

static void take_irq(struct dump *dump, const struct trace_record *record, uint64_t time_ns)
{
	struct facts *facts = dump->facts;

	(void)time_ns;
	facts->irqs = vec_room(facts->irqs, facts->irq_count, &dump->irq_cap, sizeof(*facts->irqs));
	facts->irqs[facts->irq_count++] =
		(struct fact_name){ (uint64_t)number_32(dump, record, "irq"),
				    text(dump, record, "action") };
}

static void ctf_dump_take_device(struct dump *dump, const struct trace_record *record,
				 uint64_t time_ns)
{
	struct facts *facts = dump->facts;
	uint64_t dev = 0;

	(void)time_ns;
	(void)ctf_dump_number(dump, record, "dev", &dev);
	facts->devices = vec_room(facts->devices, facts->device_count, &dump->device_cap,
				  sizeof(*facts->devices));
	facts->devices[facts->device_count++] =
		(struct fact_name){ dev, text(dump, record, "diskname") };
}

static void ctf_dump_take_end(struct dump *dump, const struct trace_record *record,
			      uint64_t time_ns)
{
	(void)record;
	if (dump->end_ns == UINT64_MAX)
		dump->end_ns = time_ns;
}

static const struct {
	const char *name;
	void (*take)(struct dump *dump, const struct trace_record *record, uint64_t time_ns);
} rows[] = {
	{ "process_state", ctf_dump_take_thread },
	{ "file_descriptor", take_fd },
	{ "interrupt", take_irq },
	{ "block_device", ctf_dump_take_device },
	{ "end", ctf_dump_take_end },
};

static void dump_take_record(struct dump *dump, const struct trace_record *record, uint64_t time_ns)
{
	uint16_t id;

	memcpy(&id, record->data, sizeof(id));
	if (id >= dump->id_count || !dump->texts[id])
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, dump->names[id]) == 0)
			rows[i].take(dump, record, time_ns);
	}
}

static void read_lane(struct dump *dump, struct lane *lane)
{
	bool kept = lane->keep_records, more = true;
	struct batch batch;
	uint32_t seen = 0;

	batch_init(&batch);
	lane->keep_records = true;
	lane->ops->seek(lane, 0);
	while (more && seen < MAX_EVENTS && lane->ops->fill(lane, &batch)) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct cell *cell = &batch.cells[i];

			more = cell->event.time_ns <= dump->end_ns;
			if (more && cell->record.data)
				dump_take_record(dump, &cell->record, cell->event.time_ns);
		}
		seen += (uint32_t)batch.count;
	}
	batch_fini(&batch, lane);
	lane->keep_records = kept;
	lane->ops->seek(lane, 0);
}

/* Which events are of a dump. False when none is. */
static bool ctf_dump_find_formats(struct dump *dump, const struct formats *formats)
{
	bool any = false;

	dump->id_count = 65536;
	dump->texts = xcalloc(dump->id_count, sizeof(char *));
	dump->names = xcalloc(dump->id_count, sizeof(char *));
	for (size_t i = 0; i < formats->count; i++) {
		const struct format_section *section = &formats->sections[i];
		int32_t id = format_text_id(section->text);

		if (id < 0 || strncmp(section->name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		dump->texts[id] = section->text;
		dump->names[id] = section->name + strlen(PREFIX);
		any = true;
	}
	return any;
}

void ctf_dump_read(struct ctf_lane *const *lanes, size_t count, const struct formats *formats,
		   struct facts *facts)
{
	struct dump dump = { .facts = facts, .end_ns = UINT64_MAX };

	if (ctf_dump_find_formats(&dump, formats)) {
		for (size_t i = 0; i < count; i++)
			read_lane(&dump, ctf_lane_lane(lanes[i]));
	}
	if (facts->fd_count)
		qsort(facts->fds, facts->fd_count, sizeof(*facts->fds), facts_compare_fds);
	map_fini(&dump.tids);
	map_fini(&dump.tables);
	free(dump.texts);
	free(dump.names);
}
