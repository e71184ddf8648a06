/*
 * ctf2_meta.h - the metadata of CTF 2: fragments of JSON, to the same tree as that of TSDL.
 */
#ifndef READ_CTF_CTF2_META_H
#define READ_CTF_CTF2_META_H

#include <stdbool.h>
#include <stddef.h>

struct ctf_meta;
struct err;

/* Is it JSON? TSDL cannot begin like this. */
bool ctf2_is_metadata(const char *text, size_t bytes);

/* Fill 'meta', for ctf_resolve(). Returns 0, or -EBADMSG or -ENOTSUP with err filled. */
int ctf2_parse(struct ctf_meta *meta, const char *text, size_t bytes, struct err *err);

#endif
