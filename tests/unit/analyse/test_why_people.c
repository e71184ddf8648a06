/* test_why_people.c - who a process is: only what is known, and only where it says more. */
#include "told.h"

#include "analyse/why/people.h"
#include "base/mem.h"

static void words_are(const char *cgroup, const char *words)
{
	struct why_cgroup of;
	AUTO_FREE char *got = why_cgroup_is_of(cgroup, &of)
				      ? xasprintf("%s %.*s", of.manager ? of.manager : "unit",
						  (int)of.bytes, of.name)
				      : xstrdup("none");

	assert_string_equal(got, words);
}

#define ID "3f2a9b4c11d03f2a9b4c11d03f2a9b4c11d03f2a9b4c11d03f2a9b4c11d0abcd"

static void a_cgroup_names_its_unit_or_container(void **unused)
{
	words_are("/system.slice/nginx.service", "unit nginx.service");
	words_are("/system.slice/system-postgresql.slice/postgresql@15-main.service",
		  "unit postgresql@15-main.service");
	words_are("/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service",
		  "unit foot.service");
	words_are("/system.slice/docker-" ID ".scope", "docker 3f2a9b4c11d0");
	words_are("/docker/" ID, "docker 3f2a9b4c11d0");
	words_are("/docker/" ID "/system.slice/cron.service", "docker 3f2a9b4c11d0");
	words_are("/kubepods.slice/kubepods-burstable.slice/cri-containerd-" ID ".scope",
		  "containerd 3f2a9b4c11d0");
	words_are("/machine.slice/libpod-" ID ".scope/container", "podman 3f2a9b4c11d0");
	words_are("/lxc.payload.web1/init.scope", "lxc web1");
	words_are("/machine.slice/machine-deb.scope", "machine deb");
}

static void other_cgroups_name_none(void **unused)
{
	words_are("", "none");
	words_are("/", "none");
	words_are("/user.slice/user-0.slice/session-3.scope", "none");
	words_are("/user.slice/user-1000.slice/user@1000.service/init.scope", "none");
	words_are("/.service", "none");
	words_are("/docker", "none");
	words_are("//docker-.scope//", "none");
}

/* 7 waits for 8, which has a child 9 since 10. */
static const char three[] = "thread 7 7 1 R prog\n"
			    "thread 8 8 1 S postgres\n"
			    "  0 cpu0 switch 0(runnable) 8\n"
			    " 10 cpu0 fork 9\n"
			    " 20 cpu0 switch 8(blocked) 9\n"
			    " 60 cpu0 waking 7\n"
			    " 60 cpu0 switch 9(blocked) 7\n"
			    "100 cpu0 switch 7(runnable) 0\n";

/* What is told of 8, which had this command line and cgroup as the recording began. */
static void told_of_8(const char *cmdline, const char *cgroup, const char *want)
{
	struct text_trace *trace = text_trace_of(three);
	const char *got = "nothing";
	struct told *told;

	for (size_t i = 0; i < trace->facts.thread_count; i++) {
		struct fact_thread *fact = &trace->facts.threads[i];

		fact->cmdline = fact->tid == 8 ? cmdline : "";
		fact->cgroup = fact->tid == 8 ? cgroup : "";
	}
	told = told_trace(trace);
	(void)why_of(told, &(struct why_opts){ .slot = slot_of(told, 8) });
	why_tell_people(told->tl, &trace->facts, &told->why);
	for (size_t i = 0; i < told->why.person_count; i++) {
		const struct why_person *person = &told->why.people[i];

		if (person->who.tid == 8)
			got = told_keep(told, xasprintf("%s|%s", person->cmdline, person->place));
	}
	assert_string_equal(got, want);
	told_free(told);
}

static void titles_and_arguments_are_told_names_alone_are_not(void **unused)
{
	told_of_8("postgres: app shop 127.0.0.1(5514) UPDATE waiting", "/system.slice/pg.service",
		  "postgres: app shop 127.0.0.1(5514) UPDATE waiting|pg.service");
	told_of_8("/usr/bin/postgres -D /data", "", "/usr/bin/postgres -D /data|");
	told_of_8("/usr/bin/postgres", "/user.slice", "nothing");
	told_of_8("/usr/bin/postgres", "/system.slice/pg.service", "|pg.service");
	told_of_8("/usr/bin/renamed", "", "/usr/bin/renamed|");
	told_of_8("", "", "nothing");
}

/* What 8 was killed by, as the main thread of its process learned; the window may end before. */
static void told_killed(uint64_t end_ns, const char *want)
{
	struct text_trace *trace =
		text_trace_of("thread 7 7 1 R waits\n"
			      "thread 8 8 7 R hog\n"
			      "  0 cpu0 switch 0(runnable) 8\n"
			      " 50 cpu0 fdname 8 -8 SIGKILL:limit unknown throttled\n"
			      " 60 cpu0 exit 8\n"
			      " 61 cpu0 switch 8(dead) 0\n"
			      " 90 cpu0 switch 0(runnable) 7\n");
	struct told *told = told_trace(trace);
	const char *got = "nothing";

	(void)why_of(told, &(struct why_opts){ .slot = slot_of(told, 8), .end_ns = end_ns });
	why_tell_people(told->tl, &trace->facts, &told->why);
	if (told->why.person_count)
		got = told->why.people[0].killed_by;
	assert_string_equal(got, want);
	told_free(told);
}

static void what_killed_a_process_is_told_from_its_end_on(void **unused)
{
	told_killed(0, "SIGKILL:limit");
	told_killed(40, "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_names_its_unit_or_container),
		cmocka_unit_test(other_cgroups_name_none),
		cmocka_unit_test(titles_and_arguments_are_told_names_alone_are_not),
		cmocka_unit_test(what_killed_a_process_is_told_from_its_end_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
