/*
 * slices_script.h - a trace in text of a thread that waits in slices, each with a time limit.
 */
#ifndef SLICES_SCRIPT_H
#define SLICES_SCRIPT_H

#include "told.h"

#define US 1000

/* Thread 7 waits for thread 9, which works on another CPU all the time. */
struct script {
	char *text; /* owned */
	int at_us;
};

static inline struct script begun(void)
{
	return (struct script){ xstrdup("  0 cpu0 switch 0(runnable) 7\n"
					"  0 cpu1 switch 0(runnable) 9\n"),
				1000 };
}

static inline void says(struct script *script, const char *line, int for_us)
{
	char *more = xasprintf("%s%dus %s\n", script->text, script->at_us, line);

	free(script->text);
	script->text = more;
	script->at_us += for_us;
}

/* 'call' waits for 'ms' until its own timer ends it. */
static inline void slice(struct script *script, const char *call, int ms)
{
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", call);
	AUTO_FREE char *leave = xasprintf("cpu0 leave %.*s -110", (int)strcspn(call, " "), call);

	says(script, enter, 1);
	says(script, "cpu0 switch 7(blocked) 0", ms * 1000);
	says(script, "cpu0 vector local_timer", 0);
	says(script, "cpu0 hrtimer hrtimer_wakeup", 0);
	says(script, "cpu0 waking 7 cpu 0", 0);
	says(script, "cpu0 hrtimerdone", 0);
	says(script, "cpu0 vectorexit local_timer", 0);
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, leave, 1);
}

/* The same, until 9 wakes it. */
static inline void woken_slice(struct script *script, const char *call, int ms)
{
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", call);
	AUTO_FREE char *leave = xasprintf("cpu0 leave %.*s 0", (int)strcspn(call, " "), call);

	says(script, enter, 1);
	says(script, "cpu0 switch 7(blocked) 0", ms * 1000);
	says(script, "cpu1 waking 7 cpu 0", 0);
	says(script, "cpu0 switch 0(runnable) 7", 1);
	says(script, leave, 1);
}

static inline void call(struct script *script, const char *name, const char *result)
{
	AUTO_FREE char *enter = xasprintf("cpu0 enter %s", name);
	AUTO_FREE char *leave =
		xasprintf("cpu0 leave %.*s %s", (int)strcspn(name, " "), name, result);

	says(script, enter, 1);
	says(script, leave, 1);
}

static inline struct told *asked(struct script *script)
{
	struct told *told;

	says(script, "cpu0 switch 7(blocked) 0", 0);
	told = replayed(script->text);
	free(script->text);
	(void)explained(told, 7, 1 * 1000 * US, (uint64_t)script->at_us * US);
	return told;
}

static inline uint64_t charged_ns(const struct told *told, enum why_kind kind, int32_t tid)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == kind && told->why.roots[i].who.tid == tid)
			ns += told->why.roots[i].ns;
	}
	return ns;
}

#define LOCK "futex 0x7f0010 128 2"
#define MS   (1000 * US)

#endif
