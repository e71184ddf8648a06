/* locks.c - the events of programs first, the kernel's beside them where they say more. */
#include "ask/locks.h"

#include "ask/lock_source.h"
#include "event/facts.h"
#include "event/source.h"
#include "read/read.h"

static bool is_waited_for(const struct locks *locks)
{
	for (size_t i = 0; i < locks->count; i++) {
		if (locks->rows[i].waiting)
			return true;
	}
	return false;
}

/*
 * Programs do not tell how long they go on to wait, nor that they were ended: where the kernel was
 * recorded, it does. Else *locks stays as it is.
 */
static void end_waits(const char *path, enum locks_sort sort, struct locks *locks)
{
	struct source *source = NULL;
	struct locks again;
	bool is_good;

	if (lock_source_open_beside(path, &source, NULL) < 0 || !source)
		return;
	is_good = locks_run(source, sort, lock_source_facts(source)->last_ns, &again, NULL) == 0;
	source_close(source);
	if (!is_good)
		return;
	locks_fini(locks);
	*locks = again;
}

static int ask_programs(enum locks_sort sort, struct locks_asked *asked, struct err *err)
{
	asked->facts = lock_source_facts(asked->source);
	return locks_run(asked->source, sort, asked->facts->last_ns, &asked->programs, err);
}

static int ask_kernel(const char *path, enum locks_sort sort, struct locks_asked *asked,
		      struct err *err)
{
	int rc = read_open(path, &asked->trace, err);

	if (rc < 0)
		return rc;
	return klocks_run(trace_source(asked->trace), trace_facts(asked->trace), sort,
			  trace_facts(asked->trace)->last_ns, &asked->kernel, err);
}

int locks_ask(const char *path, enum locks_sort sort, struct locks_asked *out_asked,
	      struct err *err)
{
	struct locks_asked asked = { 0 };
	int rc = lock_source_open(path, &asked.source, err);

	if (rc == 0)
		rc = ask_programs(sort, &asked, err);
	if (rc == 0 && is_waited_for(&asked.programs))
		end_waits(path, sort, &asked.programs);
	if (rc == 0)
		rc = ask_kernel(path, sort, &asked, err);
	if (rc < 0)
		locks_asked_fini(&asked);
	else
		*out_asked = asked;
	return rc;
}

bool locks_ask_alone(const char *path, enum locks_sort sort, struct locks_asked *out_asked)
{
	struct locks_asked asked = { 0 };

	if (!lock_source_is_of_programs(path) || lock_source_open(path, &asked.source, NULL) < 0)
		return false;
	if (!lock_source_is_alone(asked.source) || ask_programs(sort, &asked, NULL) < 0 ||
	    !asked.programs.count) {
		locks_asked_fini(&asked);
		return false;
	}
	*out_asked = asked;
	return true;
}

void locks_asked_fini(struct locks_asked *asked)
{
	klocks_fini(&asked->kernel);
	locks_fini(&asked->programs);
	trace_close(asked->trace);
	source_close(asked->source);
	*asked = (struct locks_asked){ 0 };
}
