/*
 * err.h - the reason a call could not do its work, as a sentence for the user.
 *
 * The first function to know writes the cause with err_set(); each caller that
 * can say what was being done adds it with err_wrap(). The user then reads
 * "line 2 is not an event, while reading a.txt".
 *
 * The text is safe on a terminal, whatever was put into it: see text_escaped().
 *
 * An err is plain memory of its caller: zero it, pass it on, print err.text.
 * Passing NULL is allowed everywhere and means that nobody wants the text.
 * Not shared between threads.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	int code;	/* negative errno of the cause; 0 = no error */
	char text[512]; /* always terminated; cut with "..." when too long */
};

/* Record the cause. 'code' is a negative errno and is returned. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add ", while <what was being done>". Returns the code of the cause. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
