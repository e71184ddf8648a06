/* print_type.c - the types that print formats have: their size and sign. */
#include <string.h>

#include "base/mem.h"
#include "fields/print_parser.h"

/* Types by their last word; 0 bits stand for the size of a long. */
static const struct {
	const char *name;
	uint8_t bits;
	bool is_signed;
} types[] = {
	{ "char", 8, true },
	{ "bool", 8, false },
	{ "_Bool", 8, false },
	{ "u8", 8, false },
	{ "__u8", 8, false },
	{ "uint8_t", 8, false },
	{ "s8", 8, true },
	{ "__s8", 8, true },
	{ "int8_t", 8, true },
	{ "short", 16, true },
	{ "u16", 16, false },
	{ "__u16", 16, false },
	{ "uint16_t", 16, false },
	{ "s16", 16, true },
	{ "__s16", 16, true },
	{ "int16_t", 16, true },
	{ "__le16", 16, false },
	{ "__be16", 16, false },
	{ "umode_t", 16, false },
	{ "int", 32, true },
	{ "u32", 32, false },
	{ "__u32", 32, false },
	{ "uint32_t", 32, false },
	{ "s32", 32, true },
	{ "__s32", 32, true },
	{ "int32_t", 32, true },
	{ "__le32", 32, false },
	{ "__be32", 32, false },
	{ "uint", 32, false },
	{ "pid_t", 32, true },
	{ "dev_t", 32, false },
	{ "gfp_t", 32, false },
	{ "uid_t", 32, false },
	{ "gid_t", 32, false },
	{ "long", 0, true },
	{ "size_t", 0, false },
	{ "ssize_t", 0, true },
	{ "uintptr_t", 0, false },
	{ "ino_t", 0, false },
	{ "u64", 64, false },
	{ "__u64", 64, false },
	{ "uint64_t", 64, false },
	{ "s64", 64, true },
	{ "__s64", 64, true },
	{ "int64_t", 64, true },
	{ "loff_t", 64, true },
	{ "sector_t", 64, false },
	{ "__le64", 64, false },
	{ "__be64", 64, false },
	{ "ktime_t", 64, true },
	{ "dma_addr_t", 64, false },
	{ "phys_addr_t", 64, false },
	{ "time64_t", 64, true },
	{ "blk_opf_t", 32, false },
	{ "vm_fault_t", 32, false },
	{ "slab_flags_t", 32, false },
	{ "fmode_t", 32, false },
	{ "xfs_ino_t", 64, false },
	{ "xfs_fsblock_t", 64, false },
	{ "xfs_daddr_t", 64, true },
	{ "xfs_off_t", 64, true },
	{ "xfs_filblks_t", 64, false },
	{ "xfs_fileoff_t", 64, false },
	{ "ext4_fsblk_t", 64, false },
	{ "ext4_lblk_t", 32, false },
};

/* One word of a type. False when it is none. */
static bool type_word(struct parse_type *type, const char *word, uint32_t bytes, uint32_t long_bits)
{
	static const char *const silent[] = { "const",	"volatile", "__user",  "__force",
					      "static", "__rcu",    "__iomem", "__bitwise" };

	for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
		if (parse_is(word, bytes, silent[i]))
			return true;
	}
	if (parse_is(word, bytes, "unsigned") || parse_is(word, bytes, "signed")) {
		type->is_signed = *word == 's';
		type->bits = type->bits ? type->bits : 32;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		bool was = type->bits != 0;
		uint32_t bits = types[i].bits ? types[i].bits : long_bits;

		if (!parse_is(word, bytes, types[i].name))
			continue;
		/* "unsigned long": the sign stays; "long long" and "long int": the longer one. */
		if (!was)
			type->is_signed = types[i].is_signed;
		if (!(was && type->bits > bits && bits == 32))
			type->bits = was && parse_is(word, bytes, "long") && type->bits == long_bits
					     ? 64
					     : bits;
		return true;
	}
	return false;
}

/* A type in front of ")" or a name. False, and nothing taken, when there is none. */
bool parse_type(struct parser *parser, struct parse_type *out_type)
{
	const char *start = parser->at;
	struct parse_type type = { 0 };
	bool any = false;

	for (;;) {
		uint32_t bytes;

		parse_blanks(parser);
		bytes = parse_word(parser->at);
		if (parse_is(parser->at, bytes, "struct") || parse_is(parser->at, bytes, "union") ||
		    parse_is(parser->at, bytes, "enum")) {
			type.bits = 32; /* an enum; a struct is only pointed to */
			type.is_signed = *parser->at != 'e';
			parser->at += bytes;
			parse_blanks(parser);
			bytes = parse_word(parser->at);
		} else if (bytes == 0 || !type_word(&type, parser->at, bytes, parser->long_bits)) {
			bool is_void = parse_is(parser->at, bytes, "void");

			if (!is_void)
				break;
			type.bits = 8;
		}
		any = true;
		parser->at += bytes;
	}
	if (!any) {
		parser->at = start;
		return false;
	}
	type.element_bytes = type.bits / 8;
	while (parse_take(parser, "*")) {
		if (type.is_pointer)
			type.element_bytes = parser->long_bits / 8;
		type.is_pointer = true;
		type.bits = parser->long_bits;
		type.is_signed = false;
	}
	*out_type = type;
	return true;
}

/* Does "(" begin a cast? A type of unknown name counts when a value follows its ")". */
bool parse_cast(struct parser *parser, struct parse_type *out_type)
{
	const char *start = parser->at;
	uint32_t bytes;

	if (!parse_take(parser, "("))
		return false;
	if (parse_type(parser, out_type)) {
		if (parse_take(parser, ")"))
			return true;
		parser->at = start;
		return false;
	}
	/* "(foo_t)REC->x" */
	parse_blanks(parser);
	bytes = parse_word(parser->at);
	if (bytes > 2 && memcmp(parser->at + bytes - 2, "_t", 2) == 0) {
		parser->at += bytes;
		*out_type = (struct parse_type){ .bits = 64 };
		if (parse_take(parser, ")"))
			return true;
	}
	parser->at = start;
	return false;
}
