/*
 * info_int.h - what the text and the JSON of holdup info share.
 */
#ifndef REPORT_INFO_INT_H
#define REPORT_INFO_INT_H

#include "analyse/stats/info.h"

struct info_words {
	const char *name;
	const char *gives;
	const char *remedy; /* the command that records what it needs */
};

const struct info_words *info_question_words(enum info_question question);

/* What it lacks; NULL = nothing. To be freed. */
char *info_missing_words(const struct info_ability *ability);

#endif
