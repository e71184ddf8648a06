/*
 * flight_ask.h - a flight recorder that runs, and who asks it: a socket in a folder of root's.
 *
 * One line asks: "status", "status json", "stop", "snapshot WHY". The answer is a digit, the exit
 * status, and text behind it up to the end.
 */
#ifndef CLI_FLIGHT_ASK_H
#define CLI_FLIGHT_ASK_H

#include <stddef.h>

struct err;

#define FLIGHT_RUN_DIR "/run/holdup"
#define FLIGHT_ASK_MAX 1024 /* bytes of a line */

/* Listen in FLIGHT_RUN_DIR. Returns a descriptor, or a negative errno with err filled. */
int flight_listen(struct err *err);

/*
 * Who asks on 'listen_fd'? Returns a descriptor to answer on, with the line in 'line', or a negative
 * errno: nobody, or one who is not root and was told so.
 */
int flight_accept(int listen_fd, char line[FLIGHT_ASK_MAX]);

/* Answer and close. */
void flight_answer(int fd, int status, const char *text);

/*
 * Ask it. Returns its exit status, and *out_text, to be freed; or a negative errno with err filled:
 * -ESRCH = none runs.
 */
int flight_ask(const char *line, char **out_text, struct err *err);

#endif
