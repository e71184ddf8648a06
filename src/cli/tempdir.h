/*
 * tempdir.h - one directory for the time of this process, removed on every way out
 * but SIGKILL.
 *
 * A signal that would end the process ends it after the directory was removed. A
 * part of the program that handles signals itself for a while (the recorder) gets
 * them meanwhile. Used by the main thread only; at most one directory at a time.
 */
#ifndef CLI_TEMPDIR_H
#define CLI_TEMPDIR_H

struct err;

/*
 * Make a directory that only this user may enter, under $TMPDIR or /tmp. Returns 0
 * and its path (valid until tempdir_remove()), or a negative errno with err filled.
 */
int tempdir_make(const char **out_path, struct err *err);

/* Remove it and all in it. Does nothing when there is none. */
void tempdir_remove(void);

#endif
