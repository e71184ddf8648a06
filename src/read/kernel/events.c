/*
 * events.c - formats compiled to loads, and records decoded by them.
 */
#include "read/kernel/events.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"
#include "event/event.h"
#include "event/facts.h"
#include "read/format_text.h"
#include "read/kernel/decode.h"
#include "read/kernel/rows.h"
#include "read/kernel/pages.h"
#include "store/formats.h"

#define MAX_LOADS 16

/* How a load is done; the last does anything. */
enum how {
	LOAD_COPY_4,
	LOAD_COPY_8,
	LOAD_COPY_48,
	LOAD_COMM,
	LOAD_TEXT,
	LOAD_DATA_LOC,
	LOAD_REL_LOC,
	LOAD_STATE,
	LOAD_STACK,
	LOAD_TRUE,
	LOAD_NUMBER,
};

struct load {
	uint16_t from; /* offset in the record */
	uint16_t to;   /* offset in struct event */
	uint8_t how;
	uint8_t from_bytes;
	uint8_t to_bytes;
	bool is_signed;
};

/* One event, compiled. */
struct decoder {
	struct event template;
	uint32_t need_bytes; /* a record is at least so long */
	uint16_t pid_offset;
	uint16_t flags_offset;
	bool has_flags;
	uint32_t load_count;
	struct load loads[MAX_LOADS];
};

struct kernel_events {
	struct decode_table table;
	struct decode_head *heads; /* owned; id_count of them */
	struct decoder **by_id;	   /* owned; id_count of them, none is NULL */
	uint32_t id_count;
	struct decoder *unknown; /* owned; for numbers without a format */
	uint16_t id_offset;
	bool big_endian;
	struct format_states states;
	char **names; /* owned; system and name of events without a row */
	size_t name_count;
	size_t name_cap;
};

static uint64_t load_number(const uint8_t *at, const struct load *load, bool big_endian)
{
	return order_load(at, load->from_bytes, load->is_signed, order_swaps(big_endian));
}

static void store_number(uint8_t *to, uint32_t bytes, uint64_t number)
{
	uint32_t word = (uint32_t)number;

	if (bytes == 8)
		memcpy(to, &number, 8);
	else if (bytes == 4)
		memcpy(to, &word, 4);
	else
		*to = number != 0;
}

/* The state behind the kernel's bits; several may be set on older kernels. */
static enum task_state kernel_events_state_of(const struct format_states *states, uint64_t bits)
{
	static const struct {
		char letter;
		uint8_t state;
	} order[] = {
		{ 'X', TASK_STATE_DEAD },    { 'Z', TASK_STATE_DEAD },
		{ 'x', TASK_STATE_DEAD },    { 'T', TASK_STATE_STOPPED },
		{ 't', TASK_STATE_STOPPED }, { 'P', TASK_STATE_PARKED },
		{ 'I', TASK_STATE_IDLE },    { 'N', TASK_STATE_IDLE },
		{ 'D', TASK_STATE_DISK },    { 'S', TASK_STATE_SLEEPING },
	};

	if ((bits & ~states->preempted) == 0)
		return TASK_STATE_RUNNABLE;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (bits & states->letter[(unsigned char)order[i].letter])
			return (enum task_state)order[i].state;
	}
	return TASK_STATE_UNKNOWN;
}

/* The text that the 4 bytes at 'at' point to, when it lies within the record. */
static const char *located_text(const struct record *record, const struct load *load,
				bool big_endian)
{
	uint32_t word = page_word(record->data + load->from, big_endian);
	uint32_t offset = word & 0xffff, bytes = word >> 16;

	if (load->how == LOAD_REL_LOC)
		offset += load->from + 4u;
	if (bytes == 0 || offset >= record->bytes || bytes > record->bytes - offset ||
	    !memchr(record->data + offset, '\0', bytes))
		return NULL;
	return (const char *)record->data + offset;
}

/* The addresses that lie within the record, at most as many as it says. */
static void load_stack(const struct record *record, const struct load *load, struct ev_stack *stack)
{
	uint32_t room = (record->bytes - load->from) / 8;

	stack->frames = record->data + load->from;
	if (stack->count > room)
		stack->count = room;
}

static void run_load(const struct kernel_events *events, const struct load *load,
		     const struct record *record, struct event *event)
{
	const uint8_t *from = record->data + load->from;
	uint8_t *to = (uint8_t *)event + load->to;
	const char *text;
	uint64_t bits;

	switch ((enum how)load->how) {
	case LOAD_COPY_4:
		memcpy(to, from, 4);
		break;
	case LOAD_COPY_8:
		memcpy(to, from, 8);
		break;
	case LOAD_COPY_48:
		memcpy(to, from, 48);
		break;
	case LOAD_COMM:
		text = (const char *)from;
		memcpy(to, &text, sizeof(text));
		break;
	case LOAD_TEXT:
		text = memchr(from, '\0', load->from_bytes) ? (const char *)from : NULL;
		memcpy(to, &text, sizeof(text));
		break;
	case LOAD_DATA_LOC:
	case LOAD_REL_LOC:
		text = located_text(record, load, events->big_endian);
		memcpy(to, &text, sizeof(text));
		break;
	case LOAD_STATE:
		bits = load_number(from, load, events->big_endian);
		*to = bits < LOW_STATES ? events->table.low_states[bits]
					: (uint8_t)kernel_events_state_of(&events->states, bits);
		break;
	case LOAD_STACK:
		load_stack(record, load, &event->stack);
		break;
	case LOAD_TRUE:
		*to = 1;
		break;
	case LOAD_NUMBER:
		store_number(to, load->to_bytes, load_number(from, load, events->big_endian));
		break;
	}
}

/* ------------------------------------------------------------------ shapes */

/* The loads of each shape, in the order of the rows' targets. */
struct place {
	uint8_t how;
	uint16_t from, to;
};

#define PLACE(how, from, path)                          \
	{                                               \
		how, from, offsetof(struct event, path) \
	}

static const struct place switch_places[] = {
	PLACE(LOAD_COMM, 8, sched_switch.prev_comm),
	PLACE(LOAD_COMM, 40, sched_switch.next_comm),
	PLACE(LOAD_COPY_4, 24, sched_switch.prev_tid),
	PLACE(LOAD_COPY_4, 56, sched_switch.next_tid),
	PLACE(LOAD_COPY_4, 28, sched_switch.prev_prio),
	PLACE(LOAD_COPY_4, 60, sched_switch.next_prio),
	PLACE(LOAD_STATE, 32, sched_switch.prev_state),
};

static const struct place wake_places[] = {
	PLACE(LOAD_COMM, 8, wake.comm),
	PLACE(LOAD_COPY_4, 24, wake.tid),
	PLACE(LOAD_COPY_4, 28, wake.prio),
	PLACE(LOAD_COPY_4, 32, wake.target_cpu),
};

static const struct place enter_places[] = {
	PLACE(LOAD_COPY_8, 8, syscall.nr),
	PLACE(LOAD_COPY_48, 16, syscall.args),
};

static const struct place exit_places[] = {
	PLACE(LOAD_COPY_8, 8, syscall.nr),
	PLACE(LOAD_COPY_8, 16, syscall.ret),
};

static const struct place softirq_places[] = {
	PLACE(LOAD_COPY_4, 8, irq.nr),
};

static const struct place runtime_places[] = {
	PLACE(LOAD_COPY_4, 12, runtime.tid),
	PLACE(LOAD_COPY_8, 16, runtime.runtime_ns),
};

static const struct place net_places[] = {
	PLACE(LOAD_COPY_8, 8, net.skb),
	PLACE(LOAD_COPY_4, 16, net.len),
	PLACE(LOAD_DATA_LOC, 20, net.dev),
};

static const struct place fault_places[] = {
	PLACE(LOAD_COPY_8, 8, fault.address),
	PLACE(LOAD_COPY_8, 16, fault.ip),
	PLACE(LOAD_COPY_8, 24, fault.error_code),
};

static const struct {
	const struct place *places;
	size_t count;
} shapes[SHAPE_COUNT] = {
	[SHAPE_SWITCH] = { switch_places, ARRAY_LEN(switch_places) },
	[SHAPE_WAKE] = { wake_places, ARRAY_LEN(wake_places) },
	[SHAPE_ENTER] = { enter_places, ARRAY_LEN(enter_places) },
	[SHAPE_EXIT] = { exit_places, ARRAY_LEN(exit_places) },
	[SHAPE_SOFTIRQ] = { softirq_places, ARRAY_LEN(softirq_places) },
	[SHAPE_RUNTIME] = { runtime_places, ARRAY_LEN(runtime_places) },
	[SHAPE_NET] = { net_places, ARRAY_LEN(net_places) },
	[SHAPE_FAULT] = { fault_places, ARRAY_LEN(fault_places) },
};

/* The shape that an event of this type may have. */
static enum shape shape_for(uint8_t type)
{
	static const uint8_t of[EV_TYPE_COUNT] = {
		[EV_SCHED_SWITCH] = SHAPE_SWITCH,
		[EV_SCHED_WAKING] = SHAPE_WAKE,
		[EV_SCHED_WAKEUP] = SHAPE_WAKE,
		[EV_SCHED_WAKEUP_NEW] = SHAPE_WAKE,
		[EV_SCHED_STAT_RUNTIME] = SHAPE_RUNTIME,
		[EV_VECTOR_ENTRY] = SHAPE_VECTOR,
		[EV_VECTOR_EXIT] = SHAPE_VECTOR,
		[EV_SOFTIRQ_ENTRY] = SHAPE_SOFTIRQ,
		[EV_SOFTIRQ_EXIT] = SHAPE_SOFTIRQ,
		[EV_SOFTIRQ_RAISE] = SHAPE_SOFTIRQ,
		[EV_SYS_ENTER] = SHAPE_ENTER,
		[EV_SYS_EXIT] = SHAPE_EXIT,
		[EV_FAULT_USER] = SHAPE_FAULT,
		[EV_FAULT_KERNEL] = SHAPE_FAULT,
		[EV_NET_QUEUE] = SHAPE_NET,
		[EV_NET_RX] = SHAPE_NET,
		[EV_NET_RECEIVE] = SHAPE_NET,
	};

	return (enum shape)of[type];
}

static bool is_place(const struct load *load, const struct place *place)
{
	/* A state is read as 8 bytes. */
	return load->how == place->how && load->from == place->from && load->to == place->to &&
	       (load->how != LOAD_STATE || load->from_bytes == 8);
}

static enum shape kernel_events_shape_of(const struct kernel_events *events,
					 const struct decoder *decoder)
{
	enum shape shape = shape_for(decoder->template.type);

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || events->big_endian || events->id_offset ||
	    decoder->pid_offset != 4 || !decoder->has_flags || decoder->flags_offset != 2 ||
	    decoder->load_count != shapes[shape].count)
		return SHAPE_ANY;
	for (uint32_t i = 0; i < decoder->load_count; i++) {
		if (!is_place(&decoder->loads[i], &shapes[shape].places[i]))
			return SHAPE_ANY;
	}
	return shape;
}

static void make_heads(struct kernel_events *events)
{
	events->heads = xcalloc(events->id_count, sizeof(*events->heads));
	for (uint32_t id = 0; id < events->id_count; id++) {
		const struct decoder *decoder = events->by_id[id];
		struct decode_head *head = &events->heads[id];

		head->need_bytes = decoder->need_bytes;
		head->type = decoder->template.type;
		head->shape = (uint8_t)kernel_events_shape_of(events, decoder);
		if (head->shape == SHAPE_VECTOR)
			head->nr = (uint16_t)decoder->template.irq.nr;
	}
	events->table.heads = events->heads;
	events->table.id_count = events->id_count;
	for (uint32_t bits = 0; bits < LOW_STATES; bits++)
		events->table.low_states[bits] =
			(uint8_t)kernel_events_state_of(&events->states, bits);
}

const struct decode_table *kernel_events_table(const struct kernel_events *events)
{
	return &events->table;
}

/* ------------------------------------------------------------------ decoding */

uint16_t kernel_events_id(const struct kernel_events *events, const struct record *record)
{
	uint16_t id;

	memcpy(&id, record->data + events->id_offset, sizeof(id));
	return order_u16(id, order_swaps(events->big_endian));
}

bool kernel_events_decode(const struct kernel_events *events, const struct record *record,
			  struct event *out_event)
{
	const struct decoder *decoder = events->unknown;
	uint16_t id;

	if (decode_fast(&events->table, record, out_event))
		return true;
	if (record->bytes < KERNEL_EVENT_MIN_BYTES)
		return false;
	id = kernel_events_id(events, record);
	if (id < events->id_count)
		decoder = events->by_id[id];
	if (record->bytes < decoder->need_bytes)
		return false;

	*out_event = decoder->template;
	out_event->tid = (int32_t)page_word(record->data + decoder->pid_offset, events->big_endian);
	if (decoder->has_flags)
		out_event->context = decode_context(record->data[decoder->flags_offset]);
	for (uint32_t i = 0; i < decoder->load_count; i++)
		run_load(events, &decoder->loads[i], record, out_event);
	return true;
}

static bool kernel_events_add_load(struct decoder *decoder, struct load load)
{
	if (decoder->load_count == MAX_LOADS)
		return false;
	decoder->loads[decoder->load_count++] = load;
	if (decoder->need_bytes < (uint32_t)load.from + load.from_bytes)
		decoder->need_bytes = (uint32_t)load.from + load.from_bytes;
	return true;
}

static bool kernel_events_is_number(const struct format_field *field)
{
	return field->kind == FORMAT_NUMBER &&
	       (field->bytes == 1 || field->bytes == 2 || field->bytes == 4 || field->bytes == 8);
}

static bool decoder_add_number(struct decoder *decoder, const struct target *target,
			       const struct format_field *field, bool swap)
{
	static const uint8_t bytes[] = { [TO_U8] = 1, [TO_32] = 4, [TO_64] = 8, [TO_STATE] = 1 };
	struct load load = {
		.from = (uint16_t)field->offset,
		.to = (uint16_t)target->offset,
		.how = LOAD_NUMBER,
		.from_bytes = (uint8_t)field->bytes,
		.to_bytes = bytes[target->member],
		.is_signed = field->is_signed,
	};

	if (!kernel_events_is_number(field))
		return false;
	if (target->member == TO_STATE)
		load.how = LOAD_STATE;
	else if (!swap && load.from_bytes == load.to_bytes && load.to_bytes >= 4)
		load.how = load.to_bytes == 4 ? LOAD_COPY_4 : LOAD_COPY_8;
	return kernel_events_add_load(decoder, load);
}

static bool add_args(struct decoder *decoder, const struct target *target,
		     const struct format_field *field, bool swap)
{
	struct target one = { target->field, TO_64, target->offset };
	struct format_field element = *field;

	if (field->kind != FORMAT_ARRAY || field->count != 6)
		return false;
	element.kind = FORMAT_NUMBER;
	element.bytes = field->bytes / 6;
	if (!swap && element.bytes == 8)
		return kernel_events_add_load(
			decoder, (struct load){ (uint16_t)field->offset, (uint16_t)target->offset,
						LOAD_COPY_48, 48, 48, false });
	for (int i = 0; i < 6; i++) {
		if (!decoder_add_number(decoder, &one, &element, swap))
			return false;
		one.offset += sizeof(uint64_t);
		element.offset += element.bytes;
	}
	return true;
}

static bool kernel_events_add_text(struct decoder *decoder, const struct target *target,
				   const struct format_field *field)
{
	struct load load = {
		.from = (uint16_t)field->offset,
		.to = (uint16_t)target->offset,
		.from_bytes = (uint8_t)(field->bytes < 255 ? field->bytes : 255),
		.to_bytes = sizeof(char *),
	};

	switch (field->kind) {
	case FORMAT_TEXT:
		load.how = target->member == TO_COMM ? LOAD_COMM : LOAD_TEXT;
		return kernel_events_add_load(decoder, load);
	case FORMAT_DATA_LOC:
		load.how = LOAD_DATA_LOC;
		return kernel_events_add_load(decoder, load);
	case FORMAT_REL_LOC:
		load.how = LOAD_REL_LOC;
		return kernel_events_add_load(decoder, load);
	default:
		return false; /* an address in the kernel */
	}
}

static bool kernel_events_add_target(struct decoder *decoder, const struct target *target,
				     const struct format_field *field, bool swap)
{
	switch (target->member) {
	case TO_COMM:
	case TO_TEXT:
		return kernel_events_add_text(decoder, target, field);
	case TO_ARGS:
		return add_args(decoder, target, field, swap);
	case TO_STACK: /* other sizes and byte orders: no stack */
		return field->bytes >= 8 && !swap &&
		       kernel_events_add_load(decoder, (struct load){ (uint16_t)field->offset,
								      (uint16_t)target->offset,
								      LOAD_STACK, 0, 0, false });
	case TO_TRUE:
		return kernel_events_add_load(decoder, (struct load){ 0, (uint16_t)target->offset,
								      LOAD_TRUE, 1, 1, false });
	default:
		return decoder_add_number(decoder, target, field, swap);
	}
}

/* The fields that every event begins with. */
static bool compile_common(struct decoder *decoder, const char *text)
{
	struct format_field pid, flags;

	if (!format_text_field(text, "common_pid", &pid) || pid.bytes != 4)
		return false;
	decoder->pid_offset = (uint16_t)pid.offset;
	decoder->need_bytes = pid.offset + 4;
	if (format_text_field(text, "common_flags", &flags) && flags.bytes == 1) {
		decoder->has_flags = true;
		decoder->flags_offset = (uint16_t)flags.offset;
		if (decoder->need_bytes <= flags.offset)
			decoder->need_bytes = flags.offset + 1;
	}
	if (decoder->need_bytes < KERNEL_EVENT_MIN_BYTES)
		decoder->need_bytes = KERNEL_EVENT_MIN_BYTES;
	return true;
}

static const char *kernel_events_keep_name(struct kernel_events *events, char *name)
{
	events->names = vec_room(events->names, events->name_count, &events->name_cap,
				 sizeof(*events->names));
	return events->names[events->name_count++] = name;
}

static void compile_other(struct kernel_events *events, struct decoder *decoder, const char *name)
{
	const char *slash = strchrnul(name, '/');

	decoder->template.type = EV_OTHER;
	decoder->template.other.system =
		kernel_events_keep_name(events, xstrndup(name, (size_t)(slash - name)));
	decoder->template.other.name = *slash ? slash + 1 : "";
}

/* It comes as EV_OTHER after all. */
static void decoder_reset(struct kernel_events *events, struct decoder *decoder, const char *name)
{
	decoder->template = (struct event){ .tid = decoder->template.tid };
	decoder->load_count = 0;
	compile_other(events, decoder, name);
}

static void compile_row(struct decoder *decoder, const struct row *row, const char *text, bool swap)
{
	struct event *template = &decoder->template;
	struct format_field field;

	template->type = (uint8_t)row->type;
	switch (row->type) {
	case EV_SCHED_WAKING:
	case EV_SCHED_WAKEUP:
	case EV_SCHED_WAKEUP_NEW:
		template->wake.target_cpu = -1; /* older kernels do not tell */
		break;
	case EV_VECTOR_ENTRY:
	case EV_VECTOR_EXIT:
		template->irq.nr = row->nr;
		break;
	default:
		break;
	}
	for (const struct target *target = row->fields; target->field; target++) {
		if (format_text_field(text, target->field, &field))
			(void)kernel_events_add_target(decoder, target, &field,
						       swap); /* else as if absent */
	}
}

/* Texts behind pointers, which newer kernels add, are no arguments. */
static void add_argument(struct decoder *decoder, const struct format_field *field,
			 uint32_t *argument, bool swap)
{
	struct target to = { "", TO_64, offsetof(struct event, syscall.args) };

	if (*argument == 6 || !kernel_events_is_number(field))
		return;
	to.offset += *argument * sizeof(uint64_t);
	if (decoder_add_number(decoder, &to, field, swap))
		++*argument;
}

/* "__syscall_nr" or "nr" stands first; a call may have an argument of that name, too. */
static bool compile_call(struct decoder *decoder, const struct row *row, const char *text,
			 bool swap)
{
	static const struct target nr = TARGET("nr", TO_64, syscall.nr);
	static const struct target ret = TARGET("ret", TO_64, syscall.ret);
	const char *cursor = text;
	struct format_field field;
	uint32_t argument = 0;
	bool has_nr = false;

	while (format_text_next(&cursor, &field)) {
		if (field.name_bytes >= 7 && memcmp(field.name, "common_", 7) == 0)
			continue;
		if (!has_nr)
			has_nr = decoder_add_number(decoder, &nr, &field, swap);
		else if (row->type == EV_SYS_ENTER)
			add_argument(decoder, &field, &argument, swap);
		if (!has_nr)
			return false;
	}
	if (row->type == EV_SYS_EXIT && (!format_text_field(text, "ret", &field) ||
					 !decoder_add_number(decoder, &ret, &field, swap)))
		return false;
	decoder->template.type = (uint8_t)row->type;
	decoder->template.syscall.by_name = true;
	return has_nr;
}

/* A stack of addresses that can be read, not only their number. */
static bool has_frames(const struct decoder *decoder)
{
	for (uint32_t i = 0; i < decoder->load_count; i++) {
		if (decoder->loads[i].how == LOAD_STACK)
			return true;
	}
	return false;
}

/* Of a function, or of its return. */
static bool kernel_events_is_probe(const char *text)
{
	struct format_field field;

	return format_text_field(text, "__probe_ip", &field) ||
	       format_text_field(text, "__probe_func", &field);
}

/* Compile one format. False when its common fields are not usable. */
static bool kernel_events_compile(struct kernel_events *events,
				  const struct format_section *section, uint32_t id)
{
	bool swap = order_swaps(events->big_endian);
	const struct row *row = kernel_row(section->name);
	struct decoder *decoder = xcalloc(1, sizeof(*decoder));

	if (!compile_common(decoder, section->text)) {
		free(decoder);
		return false;
	}
	if (row && kernel_row_is_call(row)) {
		if (!compile_call(decoder, row, section->text, swap))
			decoder_reset(events, decoder, section->name);
	} else if (row) {
		compile_row(decoder, row, section->text, swap);
		if (row->type == EV_STACK && !has_frames(decoder))
			decoder_reset(events, decoder, section->name);
	} else {
		compile_other(events, decoder, section->name);
		decoder->template.other.is_probe = kernel_events_is_probe(section->text);
	}
	if (row && row->type == EV_SCHED_SWITCH)
		format_text_states(section->text, &events->states);
	events->by_id[id] = decoder;
	return true;
}

/* Where every record has its number: the same in all formats. */
static bool find_id_offset(struct kernel_events *events, const struct formats *formats)
{
	struct format_field type;

	for (size_t i = 0; i < formats->count; i++) {
		if (format_text_field(formats->sections[i].text, "common_type", &type) &&
		    type.bytes == 2 && type.offset <= KERNEL_EVENT_MIN_BYTES - 2) {
			events->id_offset = (uint16_t)type.offset;
			return true;
		}
	}
	return false;
}

static void compile_all(struct kernel_events *events, const struct formats *formats,
			struct facts *facts)
{
	for (size_t i = 0; i < formats->count; i++) {
		const struct format_section *section = &formats->sections[i];
		int32_t id = format_text_id(section->text);

		if (!strchr(section->name, '/'))
			continue; /* header_page and its like */
		if (id < 0)
			facts_note_damage(facts, "kernel/formats: %s has no number", section->name);
		else if (events->by_id[id] != events->unknown)
			facts_note_damage(facts, "kernel/formats: %s has the number of another",
					  section->name);
		else if (!kernel_events_compile(events, section, (uint32_t)id))
			facts_note_damage(facts, "kernel/formats: %s lacks its common fields",
					  section->name);
	}
}

static struct decoder *unknown_decoder(void)
{
	struct decoder *decoder = xcalloc(1, sizeof(*decoder));

	decoder->need_bytes = KERNEL_EVENT_MIN_BYTES;
	decoder->pid_offset = 4;
	decoder->template.type = EV_OTHER;
	decoder->template.other.system = "";
	decoder->template.other.name = "unknown";
	return decoder;
}

struct kernel_events *kernel_events_new(const struct formats *formats, bool big_endian,
					struct facts *facts)
{
	struct kernel_events *events = xcalloc(1, sizeof(*events));

	events->big_endian = big_endian;
	events->unknown = unknown_decoder();
	events->id_count = format_text_highest_id(formats) + 1;
	events->by_id = xcalloc(events->id_count, sizeof(struct decoder *));
	for (uint32_t id = 0; id < events->id_count; id++)
		events->by_id[id] = events->unknown;
	format_text_states("", &events->states);
	/* CTF that we wrote of no events at all has none. */
	if (!find_id_offset(events, formats) && formats->count)
		facts_note_damage(facts, "kernel/formats: no event has common fields");
	compile_all(events, formats, facts);
	make_heads(events);
	return events;
}

void kernel_events_only_list(struct kernel_events *events, const struct formats *formats,
			     uint64_t types)
{
	for (size_t i = 0; i < formats->count; i++) {
		const struct format_section *section = &formats->sections[i];
		int32_t id = format_text_id(section->text);
		struct decoder *decoder = id < 0 ? events->unknown : events->by_id[id];

		if (decoder == events->unknown || decoder->template.type == EV_OTHER ||
		    !(types >> decoder->template.type & 1))
			continue;
		decoder_reset(events, decoder, section->name);
	}
	free(events->heads);
	make_heads(events);
}

void kernel_events_free(struct kernel_events *events)
{
	if (!events)
		return;
	for (uint32_t id = 0; id < events->id_count; id++) {
		if (events->by_id[id] != events->unknown)
			free(events->by_id[id]);
	}
	for (size_t i = 0; i < events->name_count; i++)
		free(events->names[i]);
	free(events->heads);
	free(events->by_id);
	free(events->names);
	free(events->unknown);
	free(events);
}
