/*
 * ctf2_int.h - the parser of CTF 2 metadata. Only for ctf2_*.c.
 *
 *	ctf2_meta.c   fragments: trace, clocks, streams, events, named types
 *	ctf2_type.c   field classes
 *	ctf2_number.c those of numbers
 *	ctf2_json.c   properties of an object, checked
 *
 * Every function that returns bool returns false after it has noted what is wrong. A property
 * that nobody knows is wrong, too: what it means for the bytes cannot be told.
 */
#ifndef READ_CTF_CTF2_INT_H
#define READ_CTF_CTF2_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "read/ctf/meta.h"

struct err;
struct json_object;

struct ctf2_alias {
	const char *name;
	struct ctf_type *type;
};

struct ctf2_parser {
	struct ctf_meta *meta;
	struct err *err;
	uint32_t line; /* where the fragment begins */
	uint32_t depth;
	struct ctf2_alias *aliases; /* owned */
	size_t alias_count, alias_cap;
	struct map by_name; /* hash of a name: place in 'aliases' */
	bool has_preamble;
};

/* ctf2_json.c */
bool ctf2_wrong(struct ctf2_parser *parser, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Its properties are all among 'names' (ended by NULL), "type", "attributes" and "extensions". */
bool ctf2_check(struct ctf2_parser *parser, struct json_object *object, const char *const *names);
struct json_object *ctf2_find(struct json_object *object, const char *name);
/* Of a property that may be missing: *out is then left alone. */
bool ctf2_unsigned(struct ctf2_parser *parser, struct json_object *object, const char *name,
		   uint64_t *out_number);
bool ctf2_signed(struct ctf2_parser *parser, struct json_object *object, const char *name,
		 int64_t *out_number);
bool ctf2_text(struct ctf2_parser *parser, struct json_object *object, const char *name,
	       const char **out_text); /* kept in the arena */
bool ctf2_object(struct ctf2_parser *parser, struct json_object *object, const char *name,
		 struct json_object **out_object);
bool ctf2_array(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct json_object **out_array);
/* A property that must be there. */
bool ctf2_require(struct ctf2_parser *parser, struct json_object *object, const char *name);
/* [LOW, HIGH] */
bool ctf2_range(struct ctf2_parser *parser, struct json_object *pair, bool is_signed,
		uint64_t *out_low, uint64_t *out_high);
bool ctf2_is_number(struct json_object *object);
char *ctf2_keep(struct ctf2_parser *parser, struct json_object *text);

/* A field class: what its object says of the type. */
struct ctf2_class {
	const char *name;
	enum ctf_kind kind;
	bool (*parse)(struct ctf2_parser *parser, struct json_object *object,
		      struct ctf_type *type);
};

/* ctf2_number.c: the class with this name, or NULL. */
const struct ctf2_class *ctf2_number_class(const char *name);
/* The alignment, and roles, of any class that may have them. */
bool ctf2_align(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct ctf_type *type);
bool ctf2_roles(struct ctf2_parser *parser, struct json_object *object, struct ctf_type *type);

/* ctf2_type.c: a field class, or the name of one. */
bool ctf2_type(struct ctf2_parser *parser, struct json_object *object, struct ctf_type **out_type);
/* The same of a property that may be missing, and must be a structure. */
bool ctf2_scope(struct ctf2_parser *parser, struct json_object *object, const char *name,
		struct ctf_type **out_type);
struct ctf_type *ctf2_alias_find(const struct ctf2_parser *parser, const char *name);

#endif
