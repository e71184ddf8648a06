/*
 * probe_spec.h - what a user writes after --probe and --usdt, taken apart.
 *
 *	BIN:FUNC  BIN:FUNC@VERSION  BIN:FUNC+0x1b  BIN:0x1139  BIN:foo_*
 *	BIN:FUNC%return  BIN:FUNC%return(s32)
 *	BIN:FUNC(a:u64, b:s32, path:string)  BIN:FUNC(3)  BIN:FUNC(u64, string)
 *	[BIN:]PROVIDER:NAME  [BIN:]PROVIDER:NAME(id, _, path:string)
 *
 * Nothing is looked up here. What the arguments are fetched from: probe_args.h.
 */
#ifndef RECORD_PROBE_SPEC_H
#define RECORD_PROBE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define PROBE_ARGS_MAX	   16
#define PROBE_ARG_NAME_MAX 31 /* of the kernel */

struct probe_arg {
	char name[PROBE_ARG_NAME_MAX + 1]; /* "" = left out: "_" was written */
	const char *type; /* of the kernel, such as "u64"; NULL = none was written */
	char *fetch;	  /* owned: "name=FETCH" in the kernel's words; NULL = none */
};

struct probe_spec {
	char *binary; /* owned; NULL = none (USDT) */
	bool is_usdt;
	char *provider;	 /* owned; USDT; may hold wildcards, as 'name' may */
	char *name;	 /* owned: a function or USDT point; NULL = an address */
	char *version;	 /* owned; NULL = any */
	uint64_t offset; /* behind the function's start, or the address */
	bool is_return;
	bool has_args; /* a list was written */
	struct probe_arg args[PROBE_ARGS_MAX];
	size_t arg_count;
};

/* Take apart. Returns 0, or -EINVAL with err filled. Free with probe_spec_fini() in both cases. */
int probe_spec_parse(const char *text, bool is_usdt, struct probe_spec *out_spec, struct err *err);

void probe_spec_fini(struct probe_spec *spec);

bool probe_spec_has_wildcards(const char *name);

#endif
