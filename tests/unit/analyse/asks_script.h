/*
 * asks_script.h - a trace in text of a thread that asks for something in vain, and sleeps, again and again.
 */
#ifndef ASKS_SCRIPT_H
#define ASKS_SCRIPT_H

#include "told.h"

#define MS 1000000

/* Thread 7 asks on CPU 0; 9 does something on CPU 1, from 'at' ms on; all in one process of its own. */
struct script {
	char *text; /* owned; of CPU 0 */
	int at_us;
	char *other; /* owned; of CPU 1 */
};

static inline struct script begun(void)
{
	return (struct script){ xstrdup("thread 7 7 1 R asker\nthread 9 9 7 R doer\n"
					"thread 8 8 7 S third\n"
					"thread 6 6 1 S stranger\n"
					"  0 cpu0 switch 0(runnable) 7\n"
					"  0 cpu1 switch 0(runnable) 9\n"),
				1000, xstrdup("") };
}

static inline void says(struct script *script, const char *line, int for_us)
{
	told_add(&script->text, "%dus cpu0 %s\n", script->at_us, line);
	script->at_us += for_us;
}

static inline void call(struct script *script, const char *name, int result)
{
	AUTO_FREE char *enter = xasprintf("enter %s", name);
	AUTO_FREE char *leave = xasprintf("leave %.*s %d", (int)strcspn(name, " "), name, result);

	says(script, enter, 2);
	says(script, leave, 2);
}

/* A sleep of 10 ms in 'name'. */
static inline void nap_in(struct script *script, const char *name)
{
	AUTO_FREE char *enter = xasprintf("enter %s", name);
	AUTO_FREE char *leave = xasprintf("leave %.*s 0", (int)strcspn(name, " "), name);

	says(script, enter, 1);
	says(script, "switch 7(blocked) 0", 10000);
	says(script, "vector local_timer", 0);
	says(script, "hrtimer hrtimer_wakeup", 0);
	says(script, "waking 7 cpu 0", 0);
	says(script, "hrtimerdone", 0);
	says(script, "vectorexit local_timer", 0);
	says(script, "switch 0(runnable) 7", 1);
	says(script, leave, 1);
}

static inline void nap(struct script *script)
{
	nap_in(script, "clock_nanosleep");
}

/* 9 does it on CPU 1, 5 ms before the nap of 7 that comes next ends. */
static inline void meanwhile(struct script *script, const char *name, int result)
{
	int at_us = script->at_us + 5000;

	told_add(&script->other, "%dus cpu1 enter %s\n%dus cpu1 leave %.*s %d\n", at_us, name,
		 at_us + 10, (int)strcspn(name, " "), name, result);
}

/* The lines of both CPUs in order of time: those of CPU 1 are few. */
static inline char *merged(const struct script *script)
{
	char *text = xstrdup("");
	const char *one = script->text, *two = script->other;

	while (*one || *two) {
		bool event = *one >= '0' && *one <= '9';
		bool from_two =
			*two && (!*one || (event && strtol(two, NULL, 10) < strtol(one, NULL, 10)));
		const char **from = from_two ? &two : &one;
		int length = (int)strcspn(*from, "\n") + 1;

		told_add(&text, "%.*s", length, *from);
		*from += length;
	}
	return text;
}

static inline struct told *asked(struct script *script)
{
	AUTO_FREE char *text = NULL;
	struct told *told;

	says(script, "enter pause", 1);
	says(script, "switch 7(blocked) 0", 0);
	text = merged(script);
	told = replayed(text);
	free(script->text);
	free(script->other);
	(void)explained(told, 7, 1 * MS, (uint64_t)script->at_us * 1000);
	return told;
}

static inline const struct why_root *root_of(const struct told *told, enum why_kind kind,
					     int32_t tid)
{
	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == kind && told->why.roots[i].who.tid == tid)
			return &told->why.roots[i];
	}
	return NULL;
}

#endif
