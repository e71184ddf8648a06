/*
 * tempdir.h - one folder for the time of this process, removed on every way out; after SIGKILL, at
 * the next start of any command.
 *
 * A signal that would end the process ends it after the folder was removed. A part of the program
 * that handles signals itself for a while (the recorder) gets them meanwhile. Used by the main
 * thread only; at most one folder at a time.
 *
 * As root it lies where nobody else can change anything: in $TMPDIR when all on the way is root's
 * own, else in /tmp or /var/tmp. It is locked as long as its process lives, and says what it is in
 * a file of its own: so what is left of a killed one is known from what others put there.
 */
#ifndef CLI_TEMPDIR_H
#define CLI_TEMPDIR_H

struct err;

/*
 * Make the folder. Returns 0 and the path of a trace in it, that is still to be made (valid until
 * tempdir_remove()), or a negative errno with err filled.
 */
int tempdir_make(const char **out_path, struct err *err);

/* Make the folder itself the user's who ran sudo, so that it can be removed as that user. */
void tempdir_give(void);

/* Remove it and all in it. Does nothing when there is none. */
void tempdir_remove(void);

/* Remove what killed processes left: of this user; as root under sudo, of that user, too. */
void tempdir_sweep(void);

#endif
