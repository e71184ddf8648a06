/*
 * unfinished.h - output has another name beside its place until it is whole: PATH.part-PID.
 *
 * Who writes it holds a lock on it. What a killed process left is removed when the same place is
 * written to again. One at a time.
 */
#ifndef EXPORT_UNFINISHED_H
#define EXPORT_UNFINISHED_H

struct err;

/* The name for this process; to be freed. */
char *unfinished_name(const char *path);

/*
 * Make an unfinished file or folder, locked, after removing what killed processes of this user left
 * of 'path'. Returns a descriptor (of a file: to write; of a folder: keep it until the folder has
 * its name), or a negative errno with err filled.
 */
int unfinished_file(const char *path, const char *name, struct err *err);
int unfinished_folder(const char *path, const char *name, struct err *err);

/* It is whole: rename it to 'path'. Returns 0 or a negative errno; then it still is unfinished. */
int unfinished_place(const char *name, const char *path);

/* Give it up: remove it. */
void unfinished_drop(const char *name);

/*
 * From now on SIGINT, SIGTERM and SIGHUP, where they are not ignored or handled, remove what is unfinished
 * before they end the process. They are blocked for that: not for who starts a command, or waits for them.
 */
void unfinished_guard(void);

/* Remove what is unfinished, for who handles signals otherwise: the process ends next. Any thread. */
void unfinished_forsake(void);

#endif
