/*
 * image_maps.h - what a process had mapped as code at a moment, by what images.h was told.
 */
#ifndef RECORD_IMAGE_MAPS_H
#define RECORD_IMAGE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_maps;
struct images;

struct image_map {
	uint64_t start, bytes, offset;
	uint32_t file; /* for images_file() */
};

#define IMAGE_MAPS_MAX 4096 /* of one process */

/* Makes an index of all that was told up to now. It lives as long as the process. */
struct image_maps *image_maps_new(struct images *images);

/*
 * What 'tgid' had at 'time_ns', in no order; a view, until the next call. The same holds from then on
 * up to *out_until_ns: what was mapped meanwhile is in it already, where it replaced nothing.
 */
const struct image_map *image_maps_at(struct image_maps *maps, int32_t tgid, uint64_t time_ns,
				      size_t *out_count, uint64_t *out_until_ns);

/* When the program began that 'tgid' ran at 'time_ns', or was forked, and when it ended by exec; 0, UINT64_MAX = not told. */
void image_maps_life(const struct image_maps *maps, int32_t tgid, uint64_t time_ns,
		     uint64_t *out_from_ns, uint64_t *out_until_ns);

#endif
