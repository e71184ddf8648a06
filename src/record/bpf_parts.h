/*
 * bpf_parts.h - what all that load a BPF program do with it.
 */
#ifndef RECORD_BPF_PARTS_H
#define RECORD_BPF_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct err;

/* Have libbpf print nothing: what goes wrong is told by return codes. */
void bpf_parts_quiet(void);

/*
 * Open the program that is linked in as 'bytes' of 'image'; bpf_parts_load() then loads it. Both return 0, or a
 * negative errno with err filled. *out_object is the caller's to close; NULL on failure.
 */
int bpf_parts_open(const char *name, const unsigned char *image, size_t bytes,
		   struct bpf_object **out_object, struct err *err);
int bpf_parts_load(struct bpf_object *object, struct err *err);

/*
 * The program's own data, of which the first 'bytes' are shared with it: mapped, to be unmapped with
 * munmap(); NULL when it is not there, or smaller.
 */
void *bpf_parts_map(struct bpf_object *object, size_t bytes);

/* Before it is loaded: the array of this name has an element for each CPU. */
void bpf_parts_each_cpu(struct bpf_object *object, const char *map);

/*
 * Before it is loaded: of a map as many entries, or bytes of a ring, as 'want' lets be, a power of two times 'least', at most
 * 'most'.
 */
void bpf_parts_size(struct bpf_object *object, const char *map, uint64_t want, uint32_t least,
		    uint32_t most);

/* Have the program of an iterator called for each of what it is about; it writes nothing into its file. */
void bpf_parts_iterate(int link_fd);

/* The kernel's memory for our programs and all their maps, as it tells. */
uint64_t bpf_parts_memory(void);

#endif
