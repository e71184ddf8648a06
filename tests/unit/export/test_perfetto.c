/*
 * test_perfetto.c - a Perfetto trace, packet by packet: lengths are read here, what is in a packet
 * by protobuf-c. That Perfetto's own reader opens it is tests/library/perfetto.py.
 */
#include "export/perfetto.pb-c.h"
#include "exporting.h"

typedef Holdup__Perfetto__TracePacket packet_t;

struct packets {
	packet_t *list[500];
	size_t count;
	char *names[100]; /* owned; by number */
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(*at < end && shift < 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (*(*at)++ < 0x80)
			return value;
	}
}

static void learn_names(struct packets *packets, const packet_t *packet)
{
	for (size_t i = 0; packet->interned_data && i < packet->interned_data->n_event_names; i++) {
		const Holdup__Perfetto__Interned *name = packet->interned_data->event_names[i];

		assert_in_range(name->iid, 1, 99); /* 0 is none */
		assert_null(packets->names[name->iid]);
		packets->names[name->iid] = xstrdup(name->name);
	}
}

static struct packets *packets_of(struct exporting *ex)
{
	struct packets *packets = xcalloc(1, sizeof(*packets));
	size_t bytes;
	const uint8_t *at = (const uint8_t *)exported(ex, export_perfetto, &bytes);
	const uint8_t *end = at + bytes;

	while (at < end) {
		uint64_t length;
		packet_t *packet;

		assert_int_equal(*at++, 1 << 3 | 2); /* Trace.packet, with a length */
		length = varint(&at, end);
		assert_true(length <= (uint64_t)(end - at));
		packet = holdup__perfetto__trace_packet__unpack(NULL, length, at);
		assert_non_null(packet);
		assert_true(packet->trusted_packet_sequence_id != 0);
		/* The first says that nothing before it counts. */
		assert_int_equal(packet->sequence_flags & 1, packets->count == 0);
		assert_true(packets->count < 500);
		packets->list[packets->count++] = packet;
		learn_names(packets, packet);
		at += length;
	}
	return packets;
}

static void packets_free(struct packets *packets)
{
	for (size_t i = 0; i < packets->count; i++)
		holdup__perfetto__trace_packet__free_unpacked(packets->list[i], NULL);
	for (size_t i = 0; i < 100; i++)
		free(packets->names[i]);
	free(packets);
}

/* "B10 read, E70, ..." of the track whose name is that, or of the thread where it is NULL. */
static const char *track_text(struct exporting *ex, const struct packets *packets, int32_t tid,
			      const char *name)
{
	static const char letters[] = "?BEIC";
	char *text = NULL;
	uint64_t uuid = 0, parent = 0;

	for (size_t i = 0; i < packets->count; i++) {
		const Holdup__Perfetto__TrackDescriptor *track = packets->list[i]->track_descriptor;
		const Holdup__Perfetto__TrackEvent *event = packets->list[i]->track_event;

		if (track && track->thread && track->thread->tid == tid) {
			parent = track->uuid;
			uuid = name ? uuid : parent;
		}
		if (track && name && track->name && strcmp(track->name, name) == 0 &&
		    track->parent_uuid == parent)
			uuid = track->uuid;
		if (!event || event->track_uuid != uuid || uuid == 0)
			continue;
		if (event->type == 4)
			told_add(&text, "%s%c%" PRIu64 " %" PRId64, text ? ", " : "", letters[4],
				 packets->list[i]->timestamp, event->counter_value);
		else
			told_add(&text, "%s%c%" PRIu64 "%s%s", text ? ", " : "",
				 letters[event->type], packets->list[i]->timestamp,
				 event->name_iid ? " " : "",
				 event->name_iid ? packets->names[event->name_iid] : "");
	}
	return told_keep(ex->told, text ? text : xstrdup(""));
}

/* "0 0>7, 20 7(1)>8, ..." of a CPU; and "~" where events were lost before it. */
static const char *switches_text(struct exporting *ex, const struct packets *packets, uint32_t cpu)
{
	char *text = NULL;

	for (size_t i = 0; i < packets->count; i++) {
		const Holdup__Perfetto__FtraceEventBundle *bundle = packets->list[i]->ftrace_events;

		for (size_t n = 0; bundle && bundle->cpu == cpu && n < bundle->n_event; n++) {
			const Holdup__Perfetto__SchedSwitch *one = bundle->event[n]->sched_switch;

			if (one)
				told_add(&text, "%s%s%" PRIu64 " %d(%" PRId64 ")>%d",
					 text ? ", " : "", n == 0 && bundle->lost_events ? "~" : "",
					 bundle->event[n]->timestamp, one->prev_pid,
					 one->prev_state, one->next_pid);
		}
	}
	return told_keep(ex->told, text ? text : xstrdup(""));
}

static void calls_waits_and_turns_are_where_they_were(void **unused)
{
	struct exporting *ex = exporting_of(two_threads);
	struct packets *packets = packets_of(ex);

	assert_string_equal(track_text(ex, packets, 7, NULL),
			    "I50 woken by same[8], B10 read, E70");
	assert_string_equal(track_text(ex, packets, 7, "waits"),
			    "B20 read: fd 3, E50, B50 waiting for a CPU, E60, "
			    "B90 return to user mode, E100");
	assert_string_equal(track_text(ex, packets, 0, "CPU 0 runnable threads"),
			    "C0 0, C0 1, C20 0, C50 1, C90 0");
	/*
	 * 1: it sleeps; 2048: it is preempted, as a kernel of which nothing is known says so. Who
	 * had the CPU before is not known, and the window ends where the last one leaves.
	 */
	assert_string_equal(switches_text(ex, packets, 0),
			    "0 2000000000(1)>7, 20 7(1)>8, 60 8(2048)>7, 90 7(1)>8");
	packets_free(packets);
	exporting_free(ex);
}

static void each_kernel_has_its_number_for_preempted(void **unused)
{
	static const struct {
		const char *kernel, *switches;
	} of[] = {
		{ "4.4.0", "(2048)>7" }, { "4.8.1", "(4096)>7" },  { "4.13.16", "(4096)>7" },
		{ "4.14.0", "(256)>7" }, { "6.1.0-x", "(256)>7" }, { "strange", "(2048)>7" },
	};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct text_trace *text = text_trace_of(two_threads);
		struct exporting *ex;
		struct packets *packets;

		text->facts.kernel = of[i].kernel;
		ex = exporting_trace(text);
		packets = packets_of(ex);
		assert_non_null(strstr(switches_text(ex, packets, 0), of[i].switches));
		packets_free(packets);
		exporting_free(ex);
	}
}

static void any_name_is_valid_text(void **unused)
{
	struct exporting *ex = exporting_hostile();
	struct packets *packets = packets_of(ex);
	size_t found = 0;

	for (size_t i = 0; i < packets->count; i++) {
		const Holdup__Perfetto__ProcessTree *tree = packets->list[i]->process_tree;

		for (size_t n = 0; tree && n < tree->n_threads; n++)
			found += strcmp(tree->threads[n]->name,
					tree->threads[n]->tid == 7 ? HOSTILE_NAME : BROKEN_UTF8) ==
				 0;
	}
	assert_int_equal(found, 2);
	packets_free(packets);
	exporting_free(ex);
}

static void a_long_command_line_is_cut(void **unused)
{
	struct text_trace *text = text_trace_of(two_threads);
	AUTO_FREE char *words = xmalloc(200001);
	struct exporting *ex;
	struct packets *packets;
	size_t bytes = 0;

	memset(words, 'w', 200000);
	words[200000] = '\0';
	text->facts.threads[0].cmdline = words;
	ex = exporting_trace(text);
	packets = packets_of(ex);
	for (size_t i = 0; i < packets->count; i++) {
		const Holdup__Perfetto__ProcessTree *tree = packets->list[i]->process_tree;

		for (size_t n = 0; tree && n < tree->n_processes; n++) {
			if (tree->processes[n]->pid == 7)
				bytes = strlen(tree->processes[n]->cmdline[0]);
		}
	}
	assert_in_range(bytes, 1000, 65536);
	packets_free(packets);
	exporting_free(ex);
}

static void a_trace_of_nothing_has_a_clock_and_no_event(void **unused)
{
	struct exporting *ex = exporting_of("thread 7 7 1 S same\n");
	struct packets *packets = packets_of(ex);

	assert_true(packets->count >= 1);
	assert_non_null(packets->list[0]->clock_snapshot);
	for (size_t i = 0; i < packets->count; i++) {
		assert_null(packets->list[i]->ftrace_events);
		assert_null(packets->list[i]->track_event);
	}
	packets_free(packets);
	exporting_free(ex);
}

static void the_wall_clock_is_tied_to_the_trace(void **unused)
{
	struct text_trace *text = text_trace_of(two_threads);
	struct exporting *ex;
	struct packets *packets;
	const Holdup__Perfetto__ClockSnapshot *snapshot;

	text->facts.realtime_offset_ns = 1000000;
	ex = exporting_trace(text);
	ex->job.start_ns = 30;
	packets = packets_of(ex);
	snapshot = packets->list[0]->clock_snapshot;
	assert_int_equal(snapshot->n_clocks, 3);
	for (size_t i = 0; i < 3; i++) /* 1 is CLOCK_REALTIME, 6 CLOCK_BOOTTIME */
		assert_int_equal(snapshot->clocks[i]->timestamp,
				 snapshot->clocks[i]->clock_id == 1 ? 1000030 : 30);
	packets_free(packets);
	exporting_free(ex);
}

static void what_is_lost_is_marked_and_nobody_knows_who_ran(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    " 40 cpu0 lost 10 3\n"
					    " 50 cpu0 switch 7(blocked) 0\n");
	struct packets *packets = packets_of(ex);

	assert_string_equal(track_text(ex, packets, 0, "CPU 0 recording"),
			    "B10 3 events lost, E40");
	assert_string_equal(track_text(ex, packets, 0, "events lost"), "C40 3");
	assert_non_null(strstr(switches_text(ex, packets, 0), ">2000000000"));
	assert_non_null(strstr(switches_text(ex, packets, 0), "~"));
	packets_free(packets);
	exporting_free(ex);
}

/* Of each track, begins and ends pair, and time does not go back. */
static void slices_of_a_track_nest(void **unused)
{
	struct exporting *ex = exporting_of("  0 cpu0 switch 0(runnable) 7\n"
					    "  5 cpu0 enter write 1\n"
					    "  6 cpu0 softirq NET_RX\n"
					    "  8 cpu0 vector local_timer\n"
					    "  9 cpu0 vectorexit local_timer\n"
					    " 10 cpu0 softirqexit NET_RX\n"
					    " 11 cpu0 softirq RCU\n"
					    " 20 cpu0 switch 7(blocked) 0\n");
	struct packets *packets = packets_of(ex);

	assert_string_equal(track_text(ex, packets, 0, "CPU 0 interrupts"),
			    "B6 softirq NET_RX, B8 local timer, E9, E10, "
			    "B11 softirq RCU, E20");
	assert_string_equal(track_text(ex, packets, 7, NULL), "B5 write, E20");
	packets_free(packets);
	exporting_free(ex);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_waits_and_turns_are_where_they_were),
		cmocka_unit_test(each_kernel_has_its_number_for_preempted),
		cmocka_unit_test(any_name_is_valid_text),
		cmocka_unit_test(a_long_command_line_is_cut),
		cmocka_unit_test(a_trace_of_nothing_has_a_clock_and_no_event),
		cmocka_unit_test(the_wall_clock_is_tied_to_the_trace),
		cmocka_unit_test(what_is_lost_is_marked_and_nobody_knows_who_ran),
		cmocka_unit_test(slices_of_a_track_nest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
