/*
 * scan.h - what has to be known of a text before it is read.
 *
 * A file of up to some 60 MB is gone through as a whole; of a longer one the start, the end and
 * samples between are.
 */
#ifndef READ_TEXT_SCAN_H
#define READ_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct facts;
struct text_kinds;

/*
 * Fill 'facts' and learn the names in the file at 'path'. Returns 0, or -EBADMSG with err filled
 * when it has no events, or as open(2) reports.
 */
int text_scan(const char *path, struct text_kinds *kinds, struct facts *facts, struct err *err);

/* Are there events in the file, near its start? */
bool text_scan_matches(const char *path);

#endif
