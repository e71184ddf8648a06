/*
 * pythons.h - which processes run CPython, and where its objects lie in each: by what images.h is told.
 *
 * By one thread at a time.
 */
#ifndef RECORD_PYTHONS_H
#define RECORD_PYTHONS_H

#include <stdbool.h>
#include <stdint.h>

struct images;
struct pythons;
struct raw_python;

/* 'images' is a view, used until the end. Free it with pythons_free(). */
struct pythons *pythons_new(const struct images *images);

/* Take what 'images' was told since. 'tell' is called for each process that is new or another than before; NULL = it
 * runs no Python any more. 'tell' may be NULL. */
void pythons_look(struct pythons *pythons,
		  void (*tell)(void *context, int32_t tgid, const struct raw_python *python),
		  void *context);

/* NULL = it is not known to run one. A view, until the next pythons_look(). */
const struct raw_python *pythons_find(const struct pythons *pythons, int32_t tgid);

/* Is it code of the function that runs Python code? 'address' as the file counts. */
bool pythons_is_eval(const struct pythons *pythons, uint32_t file, uint64_t address);

/* Is it a file in which a known version of CPython is? */
bool pythons_has_file(const struct pythons *pythons, uint32_t file);

/* The name of a file in which a CPython built without the GIL is, which is not known; NULL = none was seen. A view. */
const char *pythons_no_gil(const struct pythons *pythons);

void pythons_free(struct pythons *pythons); /* NULL is fine */

#endif
