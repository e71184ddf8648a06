/* names.c - names of types by scope. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "read/ctf/parse_int.h"

#define BUCKETS 4096u

struct ctf_alias {
	const char *name;
	struct ctf_type *type;
	struct ctf_alias *next;	 /* in its bucket */
	struct ctf_alias *older; /* declared before it */
	uint32_t scope;
	uint32_t bucket;
};

bool ctf_names_init(struct ctf_parser *parser)
{
	parser->aliases = xcalloc(BUCKETS, sizeof(struct ctf_alias *));
	return true;
}

void ctf_names_fini(struct ctf_parser *parser)
{
	free(parser->aliases);
}

void ctf_scope_begin(struct ctf_parser *parser)
{
	parser->scope++;
}

void ctf_scope_end(struct ctf_parser *parser)
{
	while (parser->newest && parser->newest->scope == parser->scope) {
		struct ctf_alias *alias = parser->newest;

		parser->aliases[alias->bucket] = alias->next; /* the newest is the first */
		parser->newest = alias->older;
	}
	parser->scope--;
}

static uint32_t ctf_names_bucket_of(const char *name)
{
	return (uint32_t)(hash_bytes(name, strlen(name), 0) % BUCKETS);
}

bool ctf_name_add(struct ctf_parser *parser, const char *name, struct ctf_type *type)
{
	struct ctf_alias *alias;
	uint32_t bucket = ctf_names_bucket_of(name);

	for (alias = parser->aliases[bucket]; alias; alias = alias->next) {
		if (alias->scope == parser->scope && strcmp(alias->name, name) == 0)
			return ctf_wrong(parser, parser->token.line, "there is a type %s already",
					 name);
	}
	alias = ctf_take(&parser->meta->arena, sizeof(*alias));
	*alias = (struct ctf_alias){ name,	     type,	    parser->aliases[bucket],
				     parser->newest, parser->scope, bucket };
	parser->aliases[bucket] = alias;
	parser->newest = alias;
	return true;
}

struct ctf_type *ctf_name_find(const struct ctf_parser *parser, const char *name)
{
	const struct ctf_alias *alias = parser->aliases[ctf_names_bucket_of(name)];

	while (alias && strcmp(alias->name, name) != 0)
		alias = alias->next;
	return alias ? alias->type : NULL;
}
