/* group.c - see group.h. */
#include "state/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void group_add(struct group *group, uint32_t slot)
{
	if (group->count < GROUP_MAX)
		group->slots[group->count] = slot;
	group->count++;
}

uint32_t group_name(struct state *state, const struct group *group, const char *what)
{
	char text[GROUP_MAX * 11 + sizeof(BY_CHILDREN)];
	size_t len = strlen(what);

	if (group->count < 2 || group->count > GROUP_MAX)
		return 0;
	memcpy(text, what, len + 1);
	for (uint32_t i = 0; i < group->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, i ? " %u" : "%u",
					group->slots[i]);
	return names_add(&state->tl->names, text, sizeof(text));
}

/* 'text', and who that is; takes the text. */
static char *add_process(struct state *state, char *text, const struct process *process)
{
	const struct thread *leader = state_living(state, process->tgid);
	char *longer = xasprintf("%s%.16s[%d]", text,
				 leader ? names_text(&state->tl->names, leader->tl->comm) : "",
				 process->tgid);

	free(text);
	if (process->refs == 1)
		return longer;
	text = xasprintf("%s of %u threads", longer, process->refs);
	free(longer);
	return text;
}

static char *list_others(struct state *state, const struct others *others)
{
	char *text = xstrdup("");

	for (uint32_t i = 0; i < others->count && i < OTHERS_MAX; i++) {
		text = add_process(state, text, others->process[i]);
		if (i + 1 < others->count && i + 1 < OTHERS_MAX) {
			char *longer = xasprintf("%s, ", text);

			free(text);
			text = longer;
		}
	}
	if (others->count > OTHERS_MAX) {
		char *longer = xasprintf("%s and %u more", text, others->count - OTHERS_MAX);

		free(text);
		text = longer;
	}
	return text;
}

void group_tell(struct state *state, struct wait *wait, const struct others *others,
		const char *what)
{
	AUTO_FREE char *list = list_others(state, others), *text = NULL;
	const char *told = names_text(&state->tl->names, wait->object);
	size_t told_len = strlen(told), len = strlen(list);

	if (told_len > len + 2 && strcmp(told + told_len - len, list) == 0 &&
	    strncmp(told + told_len - len - 2, ": ", 2) == 0)
		return;
	text = xasprintf("%s%s%s: %s", told, wait->object ? "; " : "", what, list);
	wait->object = names_add(&state->tl->names, text, 4096);
}

static void group_add_threads(const struct state *state, struct group *group,
			      const struct process *process)
{
	uint32_t unseen = process->refs; /* each has one */

	for (uint32_t i = 0; i < state->tl->thread_count && unseen; i++) {
		const struct thread *thread = state->threads[i];

		if (thread->process != process)
			continue;
		unseen--;
		if (thread->sched != SCHED_DEAD)
			group_add(group, i);
	}
}

uint32_t group_of_others(struct state *state, const struct thread *thread,
			 const struct others *others, const char *what)
{
	struct group group = { .count = 0 };

	for (uint32_t i = 0; i < others->count && others->count <= OTHERS_MAX; i++) {
		const struct process *process = others->process[i];
		uint32_t slot = expect_thread(state, thread, process);

		/* The waiter stands for the others of its own process. */
		if (slot == SLOT_NONE && process == thread->process)
			slot = thread->slot;
		if (slot != SLOT_NONE)
			group_add(&group, slot);
		else if (strcmp(what, BY_ENDS) == 0)
			group_add_threads(state, &group, process);
		else
			return 0;
	}
	return group_name(state, &group, what);
}
