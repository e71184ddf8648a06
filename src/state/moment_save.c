/* moment_save.c - what the engine, and then its timeline, knows of a moment, as lines of text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "state/moment_int.h"

struct saving {
	const struct state *state; /* NULL: at the end */
	const struct timeline *tl;
	const struct moment_filter *filter;
	struct facts *out;
	size_t cap;
	uint8_t *wanted; /* owned; index = slot; 1 = a line names it */
	FILE *text;	 /* of the line at hand; NULL = only note whom it names */
};

static void moment_put_name(const struct saving *saving, uint32_t id)
{
	const char *name = names_text(&saving->tl->names, id);

	for (size_t i = 0; i < MOMENT_MAX_NAME && name[i]; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (byte <= ' ' || byte >= 0x7f || strchr("%\"\\,.=", byte))
			fprintf(saving->text, "%%%02x", byte);
		else
			putc(byte, saving->text);
	}
}

static void put_word(const struct saving *saving, uint32_t word)
{
	enum word_kind kind = word_kind(word);

	fprintf(saving->text, "%s.", kind < WORD_KIND_COUNT ? moment_word_names[kind] : "none");
	if (moment_has_name(kind))
		moment_put_name(saving, word_arg(word));
	else
		fprintf(saving->text, "%u", kind == WORD_BLOCKED ? 0 : word_arg(word));
}

static uint64_t number_at(const struct moment_field *field, const char *from)
{
	uint64_t number = 0;
	int32_t word;

	memcpy(&number, from, field->bytes); /* little end first, or all of it */
	if (field->type == TYPE_I32) {
		memcpy(&word, from, sizeof(word));
		return (uint64_t)(int64_t)word;
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	number >>= 64 - 8 * field->bytes;
#endif
	return number;
}

static void put_fields(const struct saving *saving, const char *prefix,
		       const struct moment_field *fields, size_t count, const void *from,
		       const void *empty);

static void put_frames(const struct saving *saving, const struct moment_field *field,
		       const char *from)
{
	const struct thread_image *image = (const void *)(from - field->offset);

	for (uint8_t i = 0; i < image->thread.depth; i++) {
		if (i)
			putc(',', saving->text);
		put_word(saving, image->thread.frames[i]);
	}
}

static void put_value(const struct saving *saving, const struct moment_field *field,
		      const char *from)
{
	uint64_t number = number_at(field, from);

	switch ((enum type)field->type) {
	case TYPE_I32:
	case TYPE_I64:
		fprintf(saving->text, "%" PRId64, (int64_t)number);
		return;
	case TYPE_NAME:
		moment_put_name(saving, (uint32_t)number);
		return;
	case TYPE_WORD:
		put_word(saving, (uint32_t)number);
		return;
	case TYPE_FRAMES:
		put_frames(saving, field, from);
		return;
	case TYPE_ARGS:
		for (int i = 0; i < 6; i++) {
			memcpy(&number, from + i * 8, sizeof(number));
			fprintf(saving->text, "%s%" PRIu64, i ? "," : "", number);
		}
		return;
	default:
		fprintf(saving->text, "%" PRIu64, number);
	}
}

/* Bytes that say whether the field has a value. */
static size_t moment_field_bytes(const struct moment_field *field)
{
	return field->type == TYPE_FRAMES ? sizeof(uint32_t)
	       : field->type == TYPE_ARGS ? 6 * sizeof(uint64_t)
					  : field->bytes;
}

static void put_field(const struct saving *saving, const char *prefix,
		      const struct moment_field *field, const char *from, const char *empty)
{
	if (field->type == TYPE_ACTOR) {
		put_fields(saving, field->key, moment_actor_fields, MOMENT_ACTOR_FIELDS, from,
			   empty);
		return;
	}
	if (memcmp(from, empty, moment_field_bytes(field)) == 0)
		return;
	if (field->type == TYPE_SLOT)
		saving->wanted[number_at(field, from)] = 1;
	if (!saving->text)
		return;
	fprintf(saving->text, " %s%s%s=", prefix, *prefix ? "." : "", field->key);
	put_value(saving, field, from);
}

static void put_fields(const struct saving *saving, const char *prefix,
		       const struct moment_field *fields, size_t count, const void *from,
		       const void *empty)
{
	for (size_t i = 0; i < count; i++)
		put_field(saving, prefix, &fields[i], (const char *)from + fields[i].offset,
			  (const char *)empty + fields[i].offset);
}

/* Note whom the line names; then, with 'write', add it. */
static void put_line(struct saving *saving, bool write, enum moment_line_kind kind,
		     const union moment_image *image)
{
	const union moment_image empty = moment_empty(kind);
	struct facts *out = saving->out;
	char *text = NULL;
	size_t bytes;

	if (write) {
		saving->text = open_memstream(&text, &bytes);
		if (!saving->text)
			abort();
		fputs(moment_lines[kind].name, saving->text);
	}
	put_fields(saving, "", moment_lines[kind].fields, moment_lines[kind].field_count, image,
		   &empty);
	if (!write)
		return;
	(void)fclose(saving->text);
	saving->text = NULL;
	out->moments =
		vec_room(out->moments, out->moment_count, &saving->cap, sizeof(*out->moments));
	out->moments[out->moment_count++] = (struct fact_moment){ facts_take(out, text) };
}

static bool is_detailed(const struct saving *saving, const struct tl_thread *tl)
{
	const struct moment_filter *filter = saving->filter;

	return !filter || !filter->is_detailed ||
	       filter->is_detailed(filter->context, tl->tid, tl->tgid);
}

/* Of a thread whose calls will not be told: only what interrupts it. */
static void drop_details(const struct tl_thread *tl, struct thread *thread)
{
	uint8_t depth = 1;

	thread->frames[0] = word_make(tl->tid == 0 ? WORD_IDLE
				      : tl->kernel ? WORD_KERNEL
						   : WORD_RUN,
				      0);
	for (uint8_t i = 1; i < thread->depth; i++) {
		if (word_is_irq(thread->frames[i]))
			thread->frames[depth++] = thread->frames[i];
	}
	thread->depth = depth;
	thread->in_call = false;
	thread->call_nr = -1;
	thread->call_ns = 0;
	thread->fault_ns = thread->lock = thread->lock_ns = 0;
	thread->told_lock = thread->told_lock_ns = thread->told_word = 0;
	thread->told_owner = SLOT_NONE;
	thread->reclaim_ns = thread->reclaimed_ns = thread->dirty_ns = 0;
	thread->reclaim_depth = thread->reclaim_limit = thread->dirty_limit = 0;
	thread->poll_open = false;
	thread->asked = 0;
	thread->asked_fd = -1;
	thread->told = thread->told_also = thread->left = thread->child_asked = 0;
	thread->held = thread->child_held = thread->left_held = SLOT_NONE;
}

static bool is_on_cpu(uint32_t word)
{
	enum word_kind kind = word_kind(word);

	return kind >= WORD_RUN && kind <= WORD_SOFTIRQ;
}

static void fill_living(const struct saving *saving, const struct thread *thread,
			struct thread_image *image)
{
	const struct tl_thread *tl = thread->tl;

	image->thread = *thread;
	image->word = thread->word;
	/* Of a thread that has not waited for long it may be written already, and not kept. */
	image->has_wait = tl->wait_count && !thread->idle &&
			  (thread->wait >= tl->wait_base || tl->track.chunks);
	if (image->has_wait)
		timeline_wait(saving->tl, thread->slot, thread->wait, &image->wait);
	/* In a hole since then it may have done anything: the next event of it will tell. */
	if ((thread->sched == SCHED_BLOCKED || thread->sched == SCHED_RUNNABLE) && !thread->idle &&
	    unsure_since(saving->state, thread)) {
		image->thread.sched = SCHED_UNKNOWN;
		image->thread.unsure_until = saving->state->gap_end_ns;
		image->word = word_make(WORD_UNCERTAIN, UNSURE_LOST);
		image->thread.depth = 1;
		image->thread.frames[0] = word_make(tl->kernel ? WORD_KERNEL : WORD_RUN, 0);
		image->thread.in_call = false;
		image->thread.fault_ns = image->thread.lock = 0;
	}
	if (!is_detailed(saving, tl)) {
		drop_details(tl, &image->thread);
		if (is_on_cpu(image->word))
			image->word = image->thread.frames[image->thread.depth - 1];
	}
}

static void moment_put_thread(struct saving *saving, bool write, uint32_t slot)
{
	const struct thread *thread = saving->state->threads[slot];
	const struct tl_thread *tl = thread->tl;
	union moment_image image = moment_empty(LINE_THREAD);
	bool dead = thread->sched == SCHED_DEAD;

	if (dead && !saving->wanted[slot])
		return;
	image.thread.id = slot + 1;
	image.thread.tid = tl->tid;
	image.thread.tgid = tl->tgid;
	image.thread.kernel = tl->kernel;
	image.thread.born = tl->born;
	image.thread.dead = dead;
	image.thread.comm = tl->comm;
	if (!dead) {
		image.thread.parent = tl->parent;
		fill_living(saving, thread, &image.thread);
	}
	put_line(saving, write, LINE_THREAD, &image);
}

static void put_pending(struct saving *saving, bool write, enum pending_kind which,
			const struct pending *pending)
{
	for (size_t i = 0; i < pending->index.cap; i++) {
		union moment_image image = moment_empty(LINE_PENDING);

		if (!pending->index.used[i])
			continue;
		image.pending.which = (uint8_t)which;
		image.pending.key = pending->index.slots[i].key;
		image.pending.actor = pending->actors[pending->index.slots[i].value];
		put_line(saving, write, LINE_PENDING, &image);
	}
}

static void put_setters(struct saving *saving, bool write)
{
	const struct map *setters = &saving->state->timer_setters;

	for (size_t i = 0; i < setters->cap; i++) {
		union moment_image image = moment_empty(LINE_SETTER);

		if (!setters->used[i])
			continue;
		image.setter.timer = setters->slots[i].key;
		image.setter.slot = (uint32_t)setters->slots[i].value;
		put_line(saving, write, LINE_SETTER, &image);
	}
}

static void put_locks(struct saving *saving, bool write)
{
	const struct map *index = &saving->state->lock_index;

	for (size_t i = 0; i < index->cap; i++) {
		union moment_image image = moment_empty(LINE_LOCK);

		if (!index->used[i])
			continue;
		image.lock.address = index->slots[i].key;
		image.lock.known = saving->state->locks[index->slots[i].value];
		put_line(saving, write, LINE_LOCK, &image);
	}
}

static void put_all(struct saving *saving, bool write)
{
	const struct state *state = saving->state;
	union moment_image image = moment_empty(LINE_ALL);

	image.all = (struct all_image){ state->has_wakings, state->no_irqs, state->timers_end,
					state->cpu_count };
	put_line(saving, write, LINE_ALL, &image);
	for (uint32_t slot = 0; slot < state->tl->thread_count; slot++)
		moment_put_thread(saving, write, slot);
	for (uint32_t i = 0; i < state->cpu_count; i++) {
		image = moment_empty(LINE_CPU);
		image.cpu.number = i;
		image.cpu.cpu = state->cpus[i];
		if (!image.cpu.cpu.disk_name)
			image.cpu.cpu.disk_slot = SLOT_NONE,
			image.cpu.cpu.disk_limit = image.cpu.cpu.disk_limit_by = 0;
		put_line(saving, write, LINE_CPU, &image);
	}
	put_pending(saving, write, PENDING_WORK, &state->works);
	put_pending(saving, write, PENDING_PACKET, &state->packets);
	put_pending(saving, write, PENDING_REQUEST, &state->requests);
	put_setters(saving, write);
	put_locks(saving, write);
}

void moment_save(const struct state *state, const struct moment_filter *filter, struct facts *out)
{
	struct saving saving = { .state = state,
				 .tl = state->tl,
				 .filter = filter,
				 .out = out,
				 .cap = out->moment_count };

	saving.wanted = xcalloc(state->tl->thread_count + 1u, 1);
	put_all(&saving, false); /* who is named by others */
	put_all(&saving, true);
	free(saving.wanted);
}

static void put_ran(struct saving *saving, uint32_t slot, uint64_t from_ns)
{
	union moment_image image = moment_empty(LINE_RAN);

	if (saving->tl->threads[slot]->tid == 0 || saving->tl->threads[slot]->death_ns < from_ns)
		return;
	image.ran.id = slot + 1;
	image.ran.cpu = timeline_ran_on(saving->tl, slot, from_ns);
	if (image.ran.cpu != SLOT_NONE)
		put_line(saving, true, LINE_RAN, &image);
}

void moment_save_late(const struct timeline *tl, uint32_t first, uint64_t from_ns,
		      struct facts *out)
{
	struct saving saving = { .tl = tl, .out = out, .cap = out->moment_count };

	saving.wanted = xcalloc(tl->thread_count + 1u, 1);
	for (uint32_t slot = 0; slot < first; slot++)
		put_ran(&saving, slot, from_ns);
	for (uint32_t slot = first; slot < tl->thread_count; slot++) {
		const struct tl_thread *thread = tl->threads[slot];
		union moment_image image = moment_empty(LINE_THREAD);

		if (thread->tid <= 0 || thread->born || thread->birth_ns >= from_ns)
			continue;
		image.thread.id = slot + 1;
		image.thread.tid = thread->tid;
		image.thread.tgid = thread->tgid;
		image.thread.comm = thread->comm;
		image.thread.kernel = thread->kernel;
		image.thread.word = word_make(WORD_UNCERTAIN, UNSURE_START);
		image.thread.thread.depth = 1;
		image.thread.thread.frames[0] =
			word_make(thread->kernel ? WORD_KERNEL : WORD_RUN, 0);
		image.thread.thread.unsure_until = thread->birth_ns;
		put_line(&saving, true, LINE_THREAD, &image);
	}
	free(saving.wanted);
}

/* It runs at 'at_ns': where, and since when it does nothing but run. */
static void tell_running(const struct timeline *tl, uint32_t slot, uint64_t at_ns,
			 struct end_image *end)
{
	struct tl_interval in;
	struct tl_iter iter;

	end->word = word_make(WORD_RUN, 0);
	for (uint32_t cpu = 0; cpu < tl->cpu_count; cpu++) {
		if (timeline_running_at(tl, cpu, at_ns) == slot)
			end->cpu = cpu;
	}
	tl_iter_thread(&iter, tl, slot, tl->origin_ns, at_ns + 1);
	while (tl_iter_next(&iter, &in)) {
		if (!is_on_cpu(in.word))
			end->since_ns = in.end_ns;
	}
}

/* Since when the track says what it says at 'at_ns'. */
static uint64_t began(const struct timeline *tl, uint32_t slot, uint64_t at_ns)
{
	struct tl_interval in;
	struct tl_iter iter;
	uint64_t since = 0;

	tl_iter_thread(&iter, tl, slot, tl->origin_ns, at_ns + 1);
	while (tl_iter_next(&iter, &in))
		since = in.start_ns;
	return since;
}

/* Whether it is within a page fault, whatever interrupts it there. */
static bool is_in_fault(const struct timeline *tl, uint32_t slot, uint64_t at_ns)
{
	struct tl_interval in;
	struct tl_iter iter;
	bool fault = false;

	tl_iter_thread(&iter, tl, slot, tl->origin_ns, at_ns + 1);
	while (tl_iter_next(&iter, &in)) {
		switch (word_kind(in.word)) {
		case WORD_TRAP:
			fault = true;
			break;
		case WORD_USER:
		case WORD_SYSCALL:
		case WORD_RUN:
		case WORD_UNCERTAIN:
			fault = false;
			break;
		default:
			break;
		}
	}
	return fault;
}

/* The call that it is in, if a wait in that tells: its end may, behind 'at_ns'. */
static uint32_t call_of_last_wait(const struct timeline *tl, uint32_t slot, uint64_t at_ns)
{
	struct tl_interval in;
	struct tl_iter iter;
	struct wait wait = { 0 };

	tl_iter_thread(&iter, tl, slot, tl->origin_ns, at_ns + 1);
	while (tl_iter_next(&iter, &in)) {
		if (word_kind(in.word) == WORD_BLOCKED)
			timeline_wait(tl, slot, word_arg(in.word), &wait);
	}
	return word_kind(wait.in) == WORD_SYSCALL ? wait.in : 0;
}

/* How a thread that was off its CPU then went on: what ended its wait, if it was one. */
static void put_end(struct saving *saving, bool write, uint32_t slot, uint64_t at_ns)
{
	const struct tl_thread *tl = saving->tl->threads[slot];
	union moment_image image = moment_empty(LINE_END);
	struct end_image *end = &image.end;
	enum word_kind kind;

	if (tl->tid == 0 || tl->birth_ns > at_ns || tl->death_ns <= at_ns)
		return;
	end->word = timeline_state_at(saving->tl, slot, at_ns);
	kind = word_kind(end->word);
	end->comm = tl->comm;
	end->cmdline = tl->cmdline;
	if (is_on_cpu(end->word))
		tell_running(saving->tl, slot, at_ns, end);
	else if (kind != WORD_BLOCKED && kind != WORD_PREEMPTED && kind != WORD_WAIT_CPU &&
		 kind != WORD_UNCERTAIN)
		end->word = 0;
	if (!tl->kernel &&
	    (is_on_cpu(end->word) || kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU))
		end->fault = is_in_fault(saving->tl, slot, at_ns);
	if (kind == WORD_UNCERTAIN)
		end->since_ns = began(saving->tl, slot, at_ns);
	if (kind == WORD_BLOCKED) {
		timeline_wait(saving->tl, slot, word_arg(end->word), &end->wait);
		if (!end->wait.woken_ns &&
		    (tl->died ||
		     timeline_state_at(saving->tl, slot, saving->tl->end_ns - 1) != end->word))
			end->wait.flags |= WAIT_LOST;
	} else if (word_kind(end->word) != WORD_NONE) {
		end->wait.in = call_of_last_wait(saving->tl, slot, at_ns);
	}
	if (!is_detailed(saving, tl))
		end->wait.in = 0;
	end->id = slot + 1;
	end->tid = tl->tid;
	put_line(saving, write, LINE_END, &image);
}

static void put_other(struct saving *saving, uint32_t slot)
{
	const struct tl_thread *tl = saving->tl->threads[slot];
	union moment_image image = moment_empty(LINE_OTHER);

	if (!saving->wanted[slot])
		return;
	image.other = (struct other_image){
		.id = slot + 1,
		.tid = tl->tid,
		.tgid = tl->tgid,
		.comm = tl->comm,
		.kernel = tl->kernel,
		.born = tl->born,
		.cmdline = tl->cmdline,
		.parent = tl->parent != SLOT_NONE && saving->wanted[tl->parent] ? tl->parent
										: SLOT_NONE,
	};
	put_line(saving, true, LINE_OTHER, &image);
}

/* A thread, and who made it: they stand in for it where it was not yet. */
static void want_family(struct saving *saving, uint32_t slot)
{
	for (uint32_t up = 0; up < 64 && slot != SLOT_NONE; up++) {
		saving->wanted[slot] = 1;
		slot = saving->tl->threads[slot]->parent;
	}
}

/* Those of the command that was recorded, and of all who are named. */
static void want_families(struct saving *saving, int32_t target_tid)
{
	if (target_tid > 0)
		want_family(saving, timeline_find_thread(saving->tl, target_tid, UINT64_MAX));
	for (uint32_t slot = 0; slot < saving->tl->thread_count; slot++) {
		if (saving->wanted[slot])
			want_family(saving, saving->tl->threads[slot]->parent);
	}
}

/* Holes that the end lies in: the events that tell of them stand behind it. */
static void put_holes(struct saving *saving, uint64_t end_ns)
{
	for (size_t i = saving->tl->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &saving->tl->gaps[i - 1];
		union moment_image image = moment_empty(LINE_HOLE);

		if (gap->until_ns < end_ns)
			break;
		if (gap->since_ns >= end_ns)
			continue;
		image.hole = (struct hole_image){ gap->cpu, gap->since_ns, gap->lost };
		put_line(saving, true, LINE_HOLE, &image);
	}
}

void moment_save_end(const struct timeline *tl, uint64_t end_ns, const struct moment_filter *filter,
		     struct facts *out)
{
	struct saving saving = { .tl = tl, .filter = filter, .out = out, .cap = out->moment_count };
	union moment_image image = moment_empty(LINE_ALL);

	saving.wanted = xcalloc(tl->thread_count + 1u, 1);
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		put_end(&saving, false, slot, end_ns - 1);
	want_families(&saving, out->target_tid);
	image.all.cpus = tl->cpu_count;
	put_line(&saving, true, LINE_ALL, &image);
	put_holes(&saving, end_ns);
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		put_other(&saving, slot);
	for (uint32_t slot = 0; slot < tl->thread_count; slot++)
		put_end(&saving, true, slot, end_ns - 1);
	free(saving.wanted);
}
