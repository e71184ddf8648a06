/* features.h - the sections of a perf.data file that tell of the machine and the recording. */
#ifndef READ_PERF_FEATURES_H
#define READ_PERF_FEATURES_H

#include <stddef.h>
#include <stdint.h>

struct perf_file;

/* What perf calls it ("HOSTNAME"); NULL when nothing in it is wanted. */
const char *perf_feature_name(uint32_t number);

/* Put what it tells into 'file' and its facts. Damage is noted there. */
void perf_feature_read(struct perf_file *file, uint32_t number, const uint8_t *data, size_t bytes);

#endif
