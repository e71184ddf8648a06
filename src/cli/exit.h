/* exit.h - the exit statuses of every sub-command. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum exit_status {
	EXIT_OK = 0,	    /* done */
	EXIT_FOUND = 1,	    /* found the problem it looks for; doctor: degraded */
	EXIT_USAGE = 2,	    /* wrong command line */
	EXIT_FAIL = 3,	    /* could not; the reason is on stderr */
	EXIT_UNCERTAIN = 4, /* check: lost or missing events could change the answer */
};

#endif
