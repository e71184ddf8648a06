/*
 * moment_load.c - an engine that begins with what lines of text say. A line is believed only as far
 * as it can do no harm.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/facts.h"
#include "state/moment_int.h"

struct loading {
	struct state *state;
	struct map ids; /* number of a thread in the lines -> slot */
	struct map ran; /* -> the CPU that it came onto last */
};

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The name between 'at' and 'end' as a name id. */
static uint32_t take_name(struct loading *loading, const char *at, const char *end)
{
	char name[MOMENT_MAX_NAME + 1];
	size_t used = 0;

	while (at < end && used < MOMENT_MAX_NAME) {
		int high = *at == '%' && end - at > 2 ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;

		name[used++] = low >= 0 ? (char)(high << 4 | low) : *at;
		at += low >= 0 ? 3 : 1;
	}
	name[used] = '\0';
	return names_add(&loading->state->tl->names, name, sizeof(name));
}

/* A word of no kind that is known is none. */
static uint32_t take_word(struct loading *loading, const char *at, const char *end)
{
	const char *dot = memchr(at, '.', (size_t)(end - at));
	size_t bytes = dot ? (size_t)(dot - at) : 0;

	for (uint32_t kind = 0; dot && kind < WORD_KIND_COUNT; kind++) {
		if (strlen(moment_word_names[kind]) != bytes ||
		    memcmp(moment_word_names[kind], at, bytes) != 0)
			continue;
		if (moment_has_name((enum word_kind)kind))
			return word_make((enum word_kind)kind, take_name(loading, dot + 1, end));
		return word_make((enum word_kind)kind, (uint32_t)strtoul(dot + 1, NULL, 10));
	}
	return word_make(WORD_NONE, 0);
}

/* The end of the part at 'at' of a list with commas. */
static const char *part_end(const char *at, const char *end)
{
	const char *comma = memchr(at, ',', (size_t)(end - at));

	return comma ? comma : end;
}

static void take_frames(struct loading *loading, struct thread *thread, const char *at,
			const char *end)
{
	thread->depth = 0;
	while (at < end && thread->depth < FLOW_MAX) {
		const char *stop = part_end(at, end);

		thread->frames[thread->depth++] = take_word(loading, at, stop);
		at = stop < end ? stop + 1 : end;
	}
}

static void take_args(uint64_t *args, const char *at, const char *end)
{
	for (int i = 0; i < 6 && at < end; i++) {
		const char *stop = part_end(at, end);

		args[i] = strtoull(at, NULL, 10);
		at = stop < end ? stop + 1 : end;
	}
}

static void set_number(const struct moment_field *field, char *to, uint64_t number)
{
	uint8_t byte = (uint8_t)number;
	uint32_t word = (uint32_t)number;

	if (field->bytes == 1)
		memcpy(to, &byte, 1);
	else if (field->bytes == 4)
		memcpy(to, &word, 4);
	else
		memcpy(to, &number, 8);
}

static void moment_take_value(struct loading *loading, const struct moment_field *field, char *to,
			      const char *at, const char *end)
{
	const uint64_t *slot;
	uint64_t number = *at == '-' ? (uint64_t)strtoll(at, NULL, 10) : strtoull(at, NULL, 10);

	switch ((enum type)field->type) {
	case TYPE_NAME:
		number = take_name(loading, at, end);
		break;
	case TYPE_WORD:
		number = take_word(loading, at, end);
		break;
	case TYPE_SLOT:
		slot = map_find(&loading->ids, number + 1);
		number = slot ? *slot : SLOT_NONE;
		break;
	case TYPE_FRAMES:
		take_frames(loading,
			    (struct thread *)(void *)(to - offsetof(struct thread, frames)), at,
			    end);
		return;
	case TYPE_ARGS:
		take_args((uint64_t *)(void *)to, at, end);
		return;
	case TYPE_BOOL:
		number = number != 0;
		break;
	default:
		break;
	}
	set_number(field, to, number);
}

static bool is_key(const char *name, const char *key, size_t bytes)
{
	return strlen(name) == bytes && memcmp(name, key, bytes) == 0;
}

/* "KEY=VALUE" between 'at' and 'end' into its place. */
static void take_pair(struct loading *loading, const struct moment_line *line,
		      union moment_image *image, const char *at, const char *end)
{
	const char *equal = memchr(at, '=', (size_t)(end - at));
	const char *dot = equal ? memchr(at, '.', (size_t)(equal - at)) : NULL;
	size_t bytes = (size_t)((dot ? dot : equal ? equal : at) - at);

	for (size_t i = 0; equal && i < line->field_count; i++) {
		const struct moment_field *field = &line->fields[i];
		char *to = (char *)image + field->offset;

		if (!is_key(field->key, at, bytes) || (field->type == TYPE_ACTOR) != (dot != NULL))
			continue;
		if (!dot) {
			moment_take_value(loading, field, to, equal + 1, end);
			return;
		}
		for (size_t k = 0; k < MOMENT_ACTOR_FIELDS; k++) {
			if (is_key(moment_actor_fields[k].key, dot + 1, (size_t)(equal - dot - 1)))
				moment_take_value(loading, &moment_actor_fields[k],
						  to + moment_actor_fields[k].offset, equal + 1,
						  end);
		}
		return;
	}
}

/* What the line says; LINE_COUNT when it is of no kind that is known. */
static enum moment_line_kind take_line(struct loading *loading, const char *text,
				       union moment_image *out_image)
{
	size_t bytes = strcspn(text, " ");
	uint32_t kind = 0;

	while (kind < LINE_COUNT && !is_key(moment_lines[kind].name, text, bytes))
		kind++;
	if (kind == LINE_COUNT)
		return LINE_COUNT;
	*out_image = moment_empty((enum moment_line_kind)kind);
	for (const char *at = text + bytes; *at;) {
		const char *end;

		at += *at == ' ';
		end = at + strcspn(at, " ");
		take_pair(loading, &moment_lines[kind], out_image, at, end);
		at = end;
	}
	return (enum moment_line_kind)kind;
}

static struct thread *make_thread(struct state *state, const struct thread_image *image)
{
	struct thread *thread = state_thread_new(state, image->tid, state->tl->origin_ns);

	thread->tl->tgid = image->tgid;
	thread->tl->kernel = image->kernel;
	thread_set_comm(state, thread, names_text(&state->tl->names, image->comm));
	if (thread->idle) {
		thread->tl->idle_cpu = image->thread.cpu <= MOMENT_MAX_CPU ? image->thread.cpu : 0;
		thread->tl->kernel = true;
		thread->tl->tgid = 0;
		thread->tl->comm = names_add(&state->tl->names, "idle", 16);
		thread->frames[0] = word_make(WORD_IDLE, 0);
	}
	return thread;
}

/* The thread that the line is about: it has its place before any line names it. */
static void bind_thread(struct loading *loading, const struct thread_image *image)
{
	struct state *state = loading->state;
	struct thread *thread;
	bool new;
	uint64_t *slot = map_add(&loading->ids, image->id, &new);

	if (!new)
		return;
	*slot = SLOT_NONE;
	if (image->tid < 0 || image->tid > MOMENT_MAX_TID)
		return;
	thread = image->tid == 0 ? NULL : state_living(state, image->tid);
	if (thread && image->dead) /* its tid is another's now */
		return;
	if (!thread)
		thread = make_thread(state, image);
	*slot = thread->slot;
	if (image->dead) {
		thread_bury(state, thread, state->tl->origin_ns);
	} else if (image->tid != 0 && !state_living(state, image->tid)) {
		state_live(state, thread);
		thread->process = process_get(state, image->tgid);
	}
}

static uint32_t wait_of(struct thread *thread, const struct wait *from)
{
	uint32_t index = timeline_add_wait(thread->tl);

	*tl_wait(thread->tl, index) = *from;
	return index;
}

/* What the stack may hold: anything else is own code, of which no more is known. */
static void check_frames(struct thread *thread)
{
	bool sound = thread->depth > 0;

	for (uint8_t i = 0; i < thread->depth; i++) {
		enum word_kind kind = word_kind(thread->frames[i]);

		sound = sound && kind != WORD_NONE && kind <= WORD_SOFTIRQ &&
			(kind != WORD_UNCERTAIN || i > 0);
	}
	if (!sound)
		flow_reset(thread, word_make(WORD_RUN, 0));
}

static void check_thread(struct thread_image *image)
{
	struct thread *thread = &image->thread;
	enum word_kind kind = word_kind(image->word);

	check_frames(thread);
	if (thread->cpu > MOMENT_MAX_CPU)
		thread->cpu = 0;
	if (thread->on_cpu > MOMENT_MAX_CPU)
		thread->on_cpu = SLOT_NONE;
	if (image->wait.woken_ns && image->wait.woken_ns < image->wait.begin_ns)
		image->wait.woken_ns = image->wait.begin_ns;
	if (thread->sched == SCHED_BLOCKED && image->has_wait && kind == WORD_BLOCKED)
		return;
	if (thread->sched == SCHED_RUNNABLE && (kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU ||
						(image->tid == 0 && kind == WORD_NONE))) {
		if (word_arg(image->word) > MOMENT_MAX_CPU)
			image->word = word_make(kind, 0);
		return;
	}
	if (thread->sched == SCHED_RUNNING) /* the line of its CPU makes it so */
		return;
	thread->sched = SCHED_UNKNOWN;
	if (kind != WORD_UNCERTAIN)
		image->word = word_make(WORD_UNCERTAIN, UNSURE_START);
}

/* How long before the origin something began; 0 = that is not known. */
static uint64_t ns_before(const struct state *state, uint64_t begin_ns)
{
	const uint64_t most = (UINT64_C(1) << 2 * WORD_BEGAN_BITS) - 1;
	uint64_t ns =
		begin_ns && begin_ns < state->tl->origin_ns ? state->tl->origin_ns - begin_ns : 0;

	return ns < most ? ns : most;
}

static void write_began(struct track *track, enum word_before what, uint64_t ns)
{
	if (!ns)
		return;
	track_append(track, 0, word_began(what, false, ns));
	track_append(track, 0, word_began(what, true, ns));
}

/* What it is in since before the origin: how deep, and on which CPU, as entries of no length. */
static void write_track(struct state *state, struct thread *thread, uint32_t word, uint32_t ran_on)
{
	struct track *track = &thread->tl->track;
	bool shows = thread->sched != SCHED_UNKNOWN, runs = thread->sched == SCHED_RUNNING;
	/* A newborn thread showed nothing of the call that it is on its way out of. */
	uint32_t count = shows && (runs || ran_on != SLOT_NONE) ? thread->depth : 0;

	if (thread->idle) {
		if (!runs)
			return;
		track_append(track, 0, word_goes_on(thread->cpu, count));
	} else {
		/* The first entry is there already. */
		track_amend(track, 0, 0, word_goes_on(ran_on, 0));
		if (!runs && word_kind(word) == WORD_BLOCKED)
			write_began(track, BEFORE_WAIT,
				    ns_before(state, tl_wait(thread->tl, thread->wait)->begin_ns));
		else if (!shows) /* if it turns out to be a wait */
			write_began(track, BEFORE_WAIT, ns_before(state, thread->unsure_until));
		if (thread->in_call)
			write_began(track, BEFORE_CALL, ns_before(state, thread->call_ns));
		track_append(track, 0, word_goes_on(thread->on_cpu, count + !runs));
	}
	for (uint32_t i = 0; i < count; i++)
		track_append(track, 0, thread->frames[i]);
	thread->word = count ? thread->frames[count - 1] : word_make(WORD_NONE, 0);
	if (!runs) {
		flow_set(thread, word);
		track_append(track, 0, word);
	}
}

/* Take over what the line says; what the dump says already stays. */
static void restore_thread(struct loading *loading, struct thread_image *image)
{
	struct state *state = loading->state;
	const uint64_t *slot = map_find(&loading->ids, image->id);
	struct thread *thread = slot && *slot != SLOT_NONE ? state->threads[*slot] : NULL;
	struct thread *from = &image->thread;
	const uint64_t *ran = map_find(&loading->ran, image->id);

	if (!thread || image->dead || image->tid != thread->tl->tid ||
	    thread->sched != SCHED_UNKNOWN || thread->tl->wait_count || thread->seen)
		return;
	check_thread(image);
	from->tl = thread->tl;
	from->process = thread->process;
	from->idle = thread->idle;
	from->slot = thread->slot;
	from->word = thread->word;
	from->dumped = thread->dumped;
	from->stopped_ns = thread->stopped_ns;
	from->frozen = thread->frozen;
	from->placing.open = false;
	memcpy(from->comm, thread->comm, COMM_BYTES);
	from->wait = 0;
	if (image->has_wait && !thread->idle)
		from->wait = wait_of(thread, &image->wait);
	else
		from->poll_open = false;
	from->call_first_wait = from->in_call && word_kind(image->word) == WORD_BLOCKED
					? 0
					: thread->tl->wait_count;
	*thread = *from;
	thread->tl->born = image->born;
	if (image->parent != SLOT_NONE)
		thread->tl->parent = image->parent;
	write_track(state, thread,
		    word_kind(image->word) == WORD_BLOCKED ? word_make(WORD_BLOCKED, thread->wait)
							   : image->word,
		    ran ? (uint32_t)*ran : SLOT_NONE);
}

static void restore_cpu(struct loading *loading, const struct cpu_image *image)
{
	struct state *state = loading->state;
	const struct cpu *from = &image->cpu;
	struct thread *runs;
	struct cpu *cpu;

	if (image->number > MOMENT_MAX_CPU)
		return;
	cpu_grow(state, image->number);
	cpu = &state->cpus[image->number];
	if (cpu->known || cpu->cur != SLOT_NONE)
		return;
	*cpu = *from;
	cpu->cur = SLOT_NONE;
	cpu->cur_tid = INT32_MIN;
	if (cpu->idle != SLOT_NONE &&
	    thread_idle_cpu(state->threads[cpu->idle]->tl) != image->number)
		cpu->idle = SLOT_NONE;
	runs = from->cur == SLOT_NONE ? NULL : state->threads[from->cur];
	if (!runs || runs->sched != SCHED_RUNNING || runs->cpu != image->number ||
	    (runs->idle && runs->slot != cpu->idle))
		return;
	cpu_set_current(cpu, runs);
	track_append(timeline_cpu(state->tl, image->number), 0, runs->slot);
}

static void restore(struct loading *loading, enum moment_line_kind kind, union moment_image *image)
{
	struct state *state = loading->state;
	struct pending *const pendings[PENDING_COUNT] = { &state->works, &state->packets,
							  &state->requests };

	switch (kind) {
	case LINE_THREAD:
		restore_thread(loading, &image->thread);
		break;
	case LINE_CPU:
		restore_cpu(loading, &image->cpu);
		break;
	case LINE_PENDING:
		if (image->pending.which < PENDING_COUNT)
			*pending_place(pendings[image->pending.which], image->pending.key) =
				image->pending.actor;
		break;
	case LINE_SETTER:
		if (image->setter.slot != SLOT_NONE)
			map_put(&state->timer_setters, image->setter.timer, image->setter.slot);
		break;
	case LINE_LOCK:
		*klock_place(state, image->lock.address) = image->lock.known;
		break;
	case LINE_ALL:
		state->has_wakings |= image->all.has_wakings;
		state->no_irqs |= image->all.no_irqs;
		state->timers_end |= image->all.timers_end;
		if (image->all.cpus && image->all.cpus <= MOMENT_MAX_CPU + 1)
			cpu_grow(state, image->all.cpus - 1);
		break;
	default:
		break;
	}
}

/* A thread that is said to run, where no CPU says so, is not known to. */
static void doubt_homeless(struct state *state)
{
	for (uint32_t i = 0; i < state->tl->thread_count; i++) {
		struct thread *thread = state->threads[i];
		const struct cpu *cpu =
			thread->cpu < state->cpu_count ? &state->cpus[thread->cpu] : NULL;

		if (thread->sched == SCHED_RUNNING && (!cpu || cpu->cur != thread->slot))
			unsure_forget(state, thread, state->tl->origin_ns, UNSURE_START);
	}
}

void moment_load(struct state *state)
{
	const struct facts *facts = state->facts;
	struct loading loading = { .state = state };
	union moment_image image;

	for (size_t i = 0; i < facts->moment_count; i++) {
		enum moment_line_kind kind = take_line(&loading, facts->moments[i].text, &image);

		if (kind == LINE_THREAD)
			bind_thread(&loading, &image.thread);
		else if (kind == LINE_RAN)
			map_put(&loading.ran, image.ran.id, image.ran.cpu);
	}
	for (size_t i = 0; i < facts->moment_count; i++) {
		enum moment_line_kind kind = take_line(&loading, facts->moments[i].text, &image);

		restore(&loading, kind, &image);
	}
	doubt_homeless(state);
	map_fini(&loading.ids);
	map_fini(&loading.ran);
}

/* ---------------------------------------------------------------------- end */

/* Whoever is named by what happened after the end, and may have been born after it. */
static void find_other(struct loading *loading, const struct other_image *image)
{
	struct state *state = loading->state;
	const struct thread_image made = {
		.tid = image->tid, .tgid = image->tgid, .comm = image->comm, .kernel = image->kernel
	};
	uint64_t *slot;
	struct thread *thread;
	bool new;

	if (image->tid <= 0 || image->tid > MOMENT_MAX_TID)
		return;
	thread = state_living(state, image->tid);
	if (!thread && timeline_find_thread(state->tl, image->tid, UINT64_MAX) == SLOT_NONE) {
		thread = make_thread(state, &made);
		thread->tl->birth_ns = state->now_ns;
		thread->tl->born = image->born;
		track_amend(&thread->tl->track, 0, track_ns(state, state->now_ns),
			    word_make(WORD_NONE, 0));
		thread_bury(state, thread, state->now_ns);
	}
	slot = map_add(&loading->ids, image->id, &new);
	*slot = thread ? thread->slot : timeline_find_thread(state->tl, image->tid, UINT64_MAX);
}

/* Of one that was only made now: who made it. */
static void name_other(struct loading *loading, const struct other_image *image)
{
	const uint64_t *slot = map_find(&loading->ids, image->id);
	struct tl_thread *tl = slot ? loading->state->tl->threads[*slot] : NULL;

	if (!tl || tl->parent != SLOT_NONE)
		return;
	if (image->parent != *slot)
		tl->parent = image->parent;
	if (!tl->cmdline)
		tl->cmdline = image->cmdline;
}

/* It was on that CPU since it is known there: an event behind the end tells. */
static void end_running(struct state *state, struct thread *thread, const struct end_image *image)
{
	uint32_t cpu = image->cpu;
	struct track *track;
	uint64_t since;

	if (thread->sched != SCHED_UNKNOWN || cpu >= MOMENT_MAX_CPU)
		return;
	cpu_grow(state, cpu);
	if (state->cpus[cpu].cur != SLOT_NONE)
		return;
	thread->cpu = cpu;
	since = track_last_time(&thread->tl->track);
	if (track_ns(state, thread->unsure_until) > since)
		since = track_ns(state, thread->unsure_until);
	track = timeline_cpu(state->tl, cpu);
	if (track_last_time(track) > since || track_ns(state, image->since_ns) > since ||
	    track_ns(state, state->gap_end_ns) > since)
		return;
	flow_mark_cpu(state, thread, state->tl->origin_ns + since);
	thread->sched = SCHED_RUNNING;
	flow_write(state, thread, state->tl->origin_ns + since, word_make(WORD_RUN, 0));
	track_append(track, since, thread->slot);
	cpu_set_current(&state->cpus[cpu], thread);
}

/* It seems to run up to the end; what comes after that shows that it had left unseen. */
static void end_unsure(struct state *state, struct thread *thread, const struct end_image *image)
{
	struct cpu *cpu = &state->cpus[thread->cpu];
	struct track *track;
	uint64_t since = track_ns(state, image->since_ns);

	if (thread->sched != SCHED_RUNNING || !image->since_ns || image->since_ns > state->now_ns ||
	    word_arg(image->word) > UNSURE_WAKING)
		return;
	if (cpu->cur == thread->slot) {
		track = timeline_cpu(state->tl, thread->cpu);
		if (track_last_time(track) > since)
			since = track_last_time(track);
		track_append(track, since, SLOT_NONE);
		cpu_set_current(cpu, NULL);
	}
	unsure_forget(state, thread, image->since_ns, (enum unsure)word_arg(image->word));
}

/* What happens after the end happens at the end. */
static void clamp(struct actor *actor, uint64_t end_ns)
{
	if (actor->time_ns > end_ns)
		actor->time_ns = end_ns;
}

static void end_blocked(struct state *state, struct thread *thread, const struct wait *from)
{
	uint32_t index;
	struct wait *wait;

	if (thread->sched != SCHED_BLOCKED || unsure_since(state, thread)) {
		if (thread->sched != SCHED_UNKNOWN && thread->sched != SCHED_BLOCKED)
			return;
		if (!unsure_settle(state, thread, state->now_ns, WORD_BLOCKED))
			return;
		thread->sched = SCHED_BLOCKED;
	}
	index = thread->wait;
	if (index >= thread->tl->wait_count)
		return;
	wait = tl_wait(thread->tl, index);
	if (wait->woken_ns)
		return;
	*wait = (struct wait){ .begin_ns = wait->begin_ns,
			       .woken_ns = from->woken_ns ? state->now_ns : 0,
			       .waker = from->waker,
			       .origin = from->origin,
			       .in = from->in ? from->in : wait->in,
			       .object = from->object,
			       .stack = from->stack,
			       .fd = from->fd,
			       .flags = from->flags };
	clamp(&wait->waker, state->now_ns);
	clamp(&wait->origin, state->now_ns);
}

static void end_thread(struct loading *loading, const struct end_image *image)
{
	struct state *state = loading->state;
	struct thread *thread = state_living(state, image->tid);
	enum word_kind kind = word_kind(image->word);

	if (!thread || thread->idle)
		return;
	if (image->comm)
		thread->tl->comm = image->comm;
	if (image->cmdline)
		thread->tl->cmdline = image->cmdline;
	/* What comes after the end does not tell it either: that no event did so is no proof. */
	if (kind == WORD_UNCERTAIN) {
		thread->seen = true;
		end_unsure(state, thread, image);
		return;
	}
	if (image->fault)
		call_end_fault(state, thread);
	if (kind != WORD_BLOCKED && word_kind(image->wait.in) == WORD_SYSCALL)
		call_name_waits(thread, image->wait.in);
	if (kind == WORD_RUN)
		end_running(state, thread, image);
	else if (kind == WORD_BLOCKED)
		end_blocked(state, thread, &image->wait);
	else if ((kind == WORD_PREEMPTED || kind == WORD_WAIT_CPU) &&
		 thread->sched == SCHED_UNKNOWN &&
		 unsure_settle(state, thread, state->now_ns, kind))
		thread->sched = SCHED_RUNNABLE;
	thread->known_end = kind != WORD_NONE;
}

/* A CPU is in one hole at a time. */
static bool has_end_hole(const struct state *state, uint32_t cpu)
{
	for (size_t i = state->tl->gap_count; i > 0; i--) {
		const struct tl_gap *gap = &state->tl->gaps[i - 1];

		if (gap->until_ns < state->now_ns)
			break;
		if (gap->cpu == cpu)
			return true;
	}
	return false;
}

/* As if it were over at the end. */
static void end_hole(struct state *state, const struct hole_image *image)
{
	struct event ev = { .type = EV_LOST, .time_ns = state->now_ns, .tid = -1 };

	if (image->cpu >= state->cpu_count || !state->cpus[image->cpu].known ||
	    image->since_ns > state->now_ns || has_end_hole(state, image->cpu))
		return;
	ev.cpu = (uint16_t)image->cpu;
	ev.lost.since_ns = image->since_ns;
	ev.lost.count = image->lost;
	state->on[EV_LOST](state, &state->cpus[image->cpu], &ev);
}

void moment_end(struct state *state)
{
	const struct facts *facts = state->facts;
	struct loading loading = { .state = state };
	union moment_image image;

	for (size_t i = 0; i < facts->moment_count; i++) {
		enum moment_line_kind kind = take_line(&loading, facts->moments[i].text, &image);

		if (kind == LINE_OTHER)
			find_other(&loading, &image.other);
		else if (kind == LINE_HOLE)
			end_hole(state, &image.hole);
	}
	for (size_t i = 0; i < facts->moment_count; i++) {
		enum moment_line_kind kind = take_line(&loading, facts->moments[i].text, &image);

		if (kind == LINE_END)
			end_thread(&loading, &image.end);
		else if (kind == LINE_OTHER)
			name_other(&loading, &image.other);
	}
	map_fini(&loading.ids);
}
