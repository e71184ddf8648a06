/* plan.c - work out where the fields of events stand. */
#include "read/ctf/plan.h"

#include "base/mem.h"
#include "read/kernel/rows.h"

#define MAX_FIXED_BITS (1u << 20)
#define MAX_ALIGN_BITS 4096u

struct planner {
	struct ctf_load loads[CTF_PLAN_LOADS];
	struct ctf_step steps[CTF_PLAN_STEPS];
	uint32_t load_count, step_count;
	bool keeps; /* all fields, for a record */
	struct ctf_step *step;
	uint64_t at;			  /* bits from the start of the step */
	uint32_t aligned;		  /* the step begins at a multiple of this, bits */
	uint32_t sources[CTF_PLAN_SLOTS]; /* the stream's slots that are kept */
	uint32_t source_count;
	uint8_t order; /* of what stands before, within a byte */
	bool failed;
};

static bool ctf_plan_fail(struct planner *planner)
{
	planner->failed = true;
	return false;
}

static bool begin_step(struct planner *planner, uint32_t align_bits)
{
	if (planner->step_count == CTF_PLAN_STEPS)
		return ctf_plan_fail(planner);
	planner->step = &planner->steps[planner->step_count++];
	*planner->step = (struct ctf_step){
		.align = align_bits > 8 ? align_bits / 8 : 1,
		.load_first = planner->load_count,
	};
	planner->at = 0;
	planner->aligned = align_bits > 8 ? align_bits : 8;
	return true;
}

/* End the step before something of unknown length. */
static bool end_step(struct planner *planner, enum ctf_step_end end)
{
	if (planner->at % 8)
		return ctf_plan_fail(planner);
	planner->step->bytes_before = (uint32_t)(planner->at / 8);
	planner->step->load_count = planner->load_count - planner->step->load_first;
	planner->step->end = (uint8_t)end;
	return true;
}

static bool align_to(struct planner *planner, uint32_t bits)
{
	if (bits <= planner->aligned) {
		planner->at = (planner->at + bits - 1) / bits * bits;
		return planner->at <= MAX_FIXED_BITS || ctf_plan_fail(planner);
	}
	if (bits > MAX_ALIGN_BITS)
		return ctf_plan_fail(planner);
	planner->at = (planner->at + 7) / 8 * 8;
	return end_step(planner, CTF_END_FIXED) && begin_step(planner, bits);
}

static bool make_load(struct planner *planner, const struct ctf_type *type,
		      struct ctf_load *out_load)
{
	uint32_t low = planner->at % 8, end = low + type->bits;

	*out_load = (struct ctf_load){
		.offset = (uint32_t)(planner->at / 8),
		.bits = (uint8_t)type->bits,
		.left = (uint8_t)(64 - end),
		.right = (uint8_t)(64 - type->bits),
		.is_signed = type->is_signed,
	};
	return end <= 64 && (type->order == CTF_ORDER_LITTLE || type->bits == 8);
}

static bool ctf_plan_add_load(struct planner *planner, const struct ctf_type *type,
			      enum ctf_load_to to, size_t at)
{
	struct ctf_load *load = &planner->loads[planner->load_count];

	if (planner->load_count == CTF_PLAN_LOADS || !make_load(planner, type, load))
		return ctf_plan_fail(planner);
	load->to = (uint8_t)to;
	load->at = (uint16_t)at;
	load->target = type->target;
	planner->load_count++;
	return true;
}

static bool load_target(struct planner *planner, const struct ctf_type *type)
{
	const struct target *target = type->target;

	switch (target->member) {
	case TO_32:
		return ctf_plan_add_load(planner, type, CTF_TO_4, target->offset);
	case TO_64:
		return ctf_plan_add_load(planner, type, CTF_TO_8, target->offset);
	default:
		return ctf_plan_add_load(planner, type, CTF_TO_TARGET, 0);
	}
}

/* The length of a sequence that comes later. */
static bool load_slots(struct planner *planner, const struct ctf_type *type)
{
	for (uint32_t i = 0; i < type->slot_count; i++) {
		if (planner->source_count == CTF_PLAN_SLOTS)
			return ctf_plan_fail(planner);
		planner->sources[planner->source_count] = type->slots[i];
		if (!ctf_plan_add_load(planner, type, CTF_TO_SLOT, planner->source_count))
			return false;
		planner->source_count++;
	}
	return true;
}

/* The record gets the number: by the first load of it, or one that does nothing else. */
static bool keep_number(struct planner *planner, const struct ctf_type *type, uint32_t first)
{
	struct ctf_load *load = &planner->loads[first];

	if (!planner->keeps || !type->field)
		return true;
	if (planner->load_count == first || type->kind == CTF_FLOAT) {
		load = &planner->loads[planner->load_count];
		if (!ctf_plan_add_load(planner, type, CTF_TO_NOTHING, 0))
			return false;
	}
	load->place = ctf_record_place(type);
	if (type->kind == CTF_FLOAT) {
		load->to = CTF_TO_FLOAT;
		load->type = type;
	}
	return true;
}

static bool ctf_plan_number(struct planner *planner, const struct ctf_type *type)
{
	uint32_t first;
	bool whole;

	if (!align_to(planner, type->align))
		return false;
	if (type->is_reversed || type->bits > 64 || type->roles_also)
		return ctf_plan_fail(planner);
	/* Within a byte, only one order: the walk knows what to say about others. */
	whole = planner->at % 8 == 0 && type->bits % 8 == 0;
	if (!whole && type->order != CTF_ORDER_LITTLE)
		return ctf_plan_fail(planner);
	first = planner->load_count;
	if (type->role == CTF_ROLE_TID && !ctf_plan_add_load(planner, type, CTF_TO_TID, 0))
		return false;
	/* Where there are both, the one that comes last would win: ctf_walk() decides. */
	if (type->role == CTF_ROLE_VTID && !ctf_plan_add_load(planner, type, CTF_TO_TID, 1))
		return false;
	if (type->role == CTF_ROLE_CPU && !ctf_plan_add_load(planner, type, CTF_TO_CPU, 0))
		return false;
	if ((type->target && !load_target(planner, type)) || !load_slots(planner, type) ||
	    !keep_number(planner, type, first))
		return false;
	planner->at += type->bits;
	return planner->at <= MAX_FIXED_BITS || ctf_plan_fail(planner);
}

static bool ctf_plan_is_plain(const struct ctf_type *element)
{
	return (element->kind == CTF_INTEGER || element->kind == CTF_ENUM ||
		element->kind == CTF_FLOAT) &&
	       !element->slot_count && !element->role && !element->target &&
	       element->bits % 8 == 0 && element->bits % element->align == 0;
}

/* Does the record get this array or sequence? As what it is, only numbers need a look. */
static bool keeps_list(const struct planner *planner, const struct ctf_type *type)
{
	return planner->keeps && type->field;
}

/* Can the record get it by ctf_record_plain_text() or ctf_record_numbers()? */
static bool can_keep(const struct ctf_type *type)
{
	const struct ctf_type *element = type->element;

	return type->is_text || (element->kind != CTF_FLOAT && !element->is_reversed &&
				 (element->order == CTF_ORDER_LITTLE || element->bits == 8));
}

static bool plan_array(struct planner *planner, const struct ctf_type *type)
{
	bool keeps = keeps_list(planner, type);

	if (type->encoding != CTF_UTF8 || !ctf_plan_is_plain(type->element) ||
	    (keeps && !can_keep(type)) || !align_to(planner, type->align) || planner->at % 8 ||
	    type->length > MAX_FIXED_BITS / 64)
		return ctf_plan_fail(planner);
	if (type->is_text && (type->target || keeps)) {
		planner->step->bytes = (uint32_t)type->length;
		planner->step->target = type->target;
		planner->step->type = keeps ? type : NULL;
		return end_step(planner, CTF_END_TEXT) && begin_step(planner, 8);
	}
	if (keeps) {
		planner->step->bytes = type->element->bits / 8;
		planner->step->count = (uint32_t)type->length;
		planner->step->type = type;
		return end_step(planner, CTF_END_ARRAY) && begin_step(planner, 8);
	}
	planner->at += type->length * type->element->bits;
	return planner->at <= MAX_FIXED_BITS || ctf_plan_fail(planner);
}

static bool plan_sequence(struct planner *planner, const struct ctf_type *type)
{
	bool keeps = keeps_list(planner, type);

	if (!ctf_plan_is_plain(type->element) || type->target || !align_to(planner, type->align) ||
	    (keeps && (type->encoding != CTF_UTF8 || !can_keep(type))))
		return ctf_plan_fail(planner);
	for (uint32_t i = 0; i < planner->source_count; i++) {
		if (planner->sources[i] != type->source)
			continue;
		planner->step->slot = (uint8_t)i;
		planner->step->bytes = type->element->bits / 8;
		planner->step->type = keeps ? type : NULL;
		return end_step(planner, CTF_END_SEQUENCE) && begin_step(planner, 8);
	}
	return ctf_plan_fail(planner); /* told outside of the event */
}

static bool plan_type(struct planner *planner, const struct ctf_type *type)
{
	switch ((enum ctf_kind)type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT:
		return ctf_plan_number(planner, type);
	case CTF_STRING:
		if (type->encoding != CTF_UTF8)
			return ctf_plan_fail(planner);
		if (!align_to(planner, 8))
			return false;
		planner->step->target = type->target;
		planner->step->type = planner->keeps && type->field ? type : NULL;
		return end_step(planner, CTF_END_STRING) && begin_step(planner, 8);
	case CTF_STRUCT:
		if (!align_to(planner, type->align))
			return false;
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (!plan_type(planner, type->members[i].type))
				return false;
		}
		return true;
	case CTF_ARRAY:
		return plan_array(planner, type);
	case CTF_SEQUENCE:
		return plan_sequence(planner, type);
	case CTF_VARIANT:
	case CTF_VARINT:
		break;
	}
	return ctf_plan_fail(planner);
}

static bool has_both_threads(const struct planner *planner)
{
	uint32_t which = 0;

	for (uint32_t i = 0; i < planner->load_count; i++) {
		if (planner->loads[i].to == CTF_TO_TID)
			which |= 1u << planner->loads[i].at;
	}
	return which == 3;
}

static const struct ctf_plan *keep_plan(struct ctf_meta *meta, const struct planner *planner)
{
	size_t load_bytes = planner->load_count * sizeof(struct ctf_load);
	size_t step_bytes = planner->step_count * sizeof(struct ctf_step);
	struct ctf_plan *plan = ctf_take(&meta->arena, sizeof(*plan));
	void *loads = ctf_take(&meta->arena, load_bytes);
	void *steps = ctf_take(&meta->arena, step_bytes);

	memcpy(loads, planner->loads, load_bytes);
	memcpy(steps, planner->steps, step_bytes);
	*plan = (struct ctf_plan){ loads, steps, planner->load_count, planner->step_count };
	return plan;
}

/* What follows a header that ends 'head_bytes' behind a multiple of 'align' bytes. */
static const struct ctf_plan *plan_event(struct ctf_meta *meta, const struct ctf_stream *stream,
					 const struct ctf_event *event, uint32_t head_bytes,
					 bool keeps)
{
	const struct ctf_type *scopes[] = { stream->event_context, event->context, event->fields };
	struct planner *planner = xcalloc(1, sizeof(*planner));
	const struct ctf_plan *plan = NULL;
	bool done = begin_step(planner, 8);

	planner->keeps = keeps;
	/* The header stands before the first step; its alignment is known there. */
	if (head_bytes % stream->head->align == 0)
		planner->aligned = stream->head->align * 8;
	for (size_t i = 0; done && i < ARRAY_LEN(scopes); i++)
		done = !scopes[i] || plan_type(planner, scopes[i]);
	if (done && planner->at % 8 == 0 && end_step(planner, CTF_END_FIXED) &&
	    !has_both_threads(planner))
		plan = keep_plan(meta, planner);
	mem_free(&planner);
	return plan;
}

/* ------------------------------------------------------------------ headers */

/* Lay out the members of a struct; false when they are not all numbers at fixed places. */
static bool plan_form(struct planner *planner, const struct ctf_type *type,
		      struct ctf_head_form *form)
{
	if (type->kind == CTF_STRUCT) {
		if (type->align > planner->aligned || !align_to(planner, type->align))
			return false;
		for (uint32_t i = 0; i < type->member_count; i++) {
			if (!plan_form(planner, type->members[i].type, form))
				return false;
		}
		return true;
	}
	if ((type->kind != CTF_INTEGER && type->kind != CTF_ENUM) || type->slot_count ||
	    type->is_reversed || type->roles_also || type->align > planner->aligned ||
	    !align_to(planner, type->align))
		return false;
	if (type->role == CTF_ROLE_EVENT_ID && !make_load(planner, type, &form->id))
		return false;
	if (type->role == CTF_ROLE_TIMESTAMP && !make_load(planner, type, &form->time))
		return false;
	if (type->order != CTF_ORDER_LITTLE && (type->bits % 8 || planner->at % 8))
		return false;
	planner->at += type->bits;
	return true;
}

static bool end_form(const struct planner *planner, struct ctf_head_form *form)
{
	form->bytes = (uint32_t)(planner->at / 8);
	return planner->at % 8 == 0 && form->time.bits;
}

/* A tag, and a variant with a form for each of its choices. */
static bool plan_tagged(struct planner *planner, const struct ctf_type *header,
			struct ctf_head *head)
{
	const struct ctf_type *tag = header->members[0].type, *variant = header->members[1].type;
	uint64_t start;

	if ((tag->kind != CTF_ENUM && tag->kind != CTF_INTEGER) || tag->is_signed ||
	    tag->role != CTF_ROLE_EVENT_ID || tag->slot_count != 1 ||
	    variant->source != tag->slots[0] || variant->choice_count > CTF_HEAD_MAX ||
	    !align_to(planner, tag->align) || !make_load(planner, tag, &head->tag))
		return false;
	start = planner->at + tag->bits;
	for (uint32_t i = 0; i < variant->choice_count; i++) {
		const struct ctf_choice *choice = &variant->choices[i];
		struct ctf_head_form *form = &head->forms[head->form_count++];

		planner->at = start;
		form->low = choice->low;
		form->high = choice->high;
		if (!plan_form(planner, variant->members[choice->member].type, form) ||
		    !end_form(planner, form))
			return false;
	}
	return true;
}

static bool plan_head(const struct ctf_type *header, struct ctf_head *head)
{
	struct planner planner = { 0 };

	/* Below 8, events may begin within a byte. */
	if (header->align < 8 || header->align > MAX_ALIGN_BITS ||
	    !begin_step(&planner, header->align))
		return false;
	head->align = header->align / 8;
	if (header->member_count == 2 && header->members[1].type->kind == CTF_VARIANT)
		return plan_tagged(&planner, header, head);
	head->form_count = 1;
	head->forms[0].high = UINT64_MAX;
	return plan_form(&planner, header, &head->forms[0]) && end_form(&planner, &head->forms[0]);
}

static void plan_forms(struct ctf_meta *meta, const struct ctf_stream *stream,
		       struct ctf_event *event)
{
	const struct ctf_head *head = stream->head;

	event->plans =
		ctf_take(&meta->arena, 2 * head->form_count * sizeof(const struct ctf_plan *));
	event->record_plans = event->plans + head->form_count;
	if (event->native)
		return; /* its record is read as a whole */
	for (uint32_t form = 0; form < head->form_count; form++) {
		uint32_t bytes = head->forms[form].bytes;

		event->plans[form] = plan_event(meta, stream, event, bytes, false);
		event->record_plans[form] = plan_event(meta, stream, event, bytes, true);
	}
}

void ctf_plan_stream(struct ctf_meta *meta, struct ctf_stream *stream)
{
	struct ctf_head *head = ctf_take(&meta->arena, sizeof(*head));

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !stream->event_header ||
	    !plan_head(stream->event_header, head))
		return;
	stream->head = head;
	for (size_t i = 0; i < stream->event_count; i++)
		plan_forms(meta, stream, stream->events[i]);
}
