/*
 * parts.h - the files of a trace directory and how long they are, so that one that was cut is told.
 *
 * A ring says by itself where its events end, a dump of processes or a list of symbols does not. So a
 * recorder that came to its end notes what there is in the manifest, and a reader compares. The rings'
 * lengths stand with the CPUs.
 */
#ifndef STORE_PARTS_H
#define STORE_PARTS_H

struct facts;
struct manifest;

#define PARTS_MAX 16384 /* files beyond are not noted */

/* Note the files below kernel/ and user/ of the directory 'dir_fd', and no others. Nothing may grow any more. */
void parts_note(struct manifest *manifest, int dir_fd);

/* A note of damage for each file of the manifest that is not there, or is shorter. */
void parts_check(const struct manifest *manifest, const char *dir, struct facts *facts);

#endif
