/*
 * rights.h - when a command gives up being root under sudo.
 *
 * What reads needs no rights when the user who ran sudo may read it: then it goes on as that user
 * for good, before anything is opened. What records goes on as the user once all was recorded.
 */
#ifndef CLI_RIGHTS_H
#define CLI_RIGHTS_H

#include <stdio.h>

struct err;
struct model;
struct model_errors;

/*
 * For a command that only reads. Become the user who ran sudo, for good, if all files that these
 * words name can be read by that user. Returns 0 (also when nothing was to do), or negative with
 * err filled: then nothing may be done any more.
 */
int rights_drop_for_words(int argc, char **argv, struct err *err);

/* The same when a recording at 'path' has been given to the user. */
int rights_drop_for_trace(const char *path, struct err *err);

/* model_load() with the rights of the user who ran sudo, if any: a mistake quotes what is in the file. */
int rights_load_model(const char *path, struct model **out_model, struct model_errors *errors,
		      struct err *err);

/*
 * fopen(path, "w") with the rights of the user who ran sudo, if any: root makes or changes nothing
 * where that user could not. Returns NULL with errno set.
 */
FILE *rights_fopen(const char *path);

/* The same of open(2), 'mode' 0666. Returns a descriptor, or -1 with errno set. */
int rights_open(const char *path, int flags);

#endif
