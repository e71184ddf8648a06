/*
 * print_parse.c - a print format of the kernel, read into nodes.
 *
 *	print fmt: "irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"
 *
 * What follows the string is C: the expressions that a TP_printk() may have. Types are
 * followed as far as they change a value: integer promotion, sign, casts. Written for
 * text that anybody may have made: depth and size are bounded.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "read/print_int.h"

#define MAX_DEPTH    200u
#define MAX_NODES    20000u /* of one format */
#define MAX_CONVS    200u
#define MAX_LOCALS   16u
#define MAX_WIDTH    1000
#define POOL_CHUNK   (64u << 10)
#define WORD_BYTES   64u

struct chunk {
	struct chunk *next;
	_Alignas(16) uint8_t bytes[POOL_CHUNK];
};

struct pool {
	struct chunk *chunks; /* the first one is in use */
	size_t used;
	void **large;
	size_t large_count;
	size_t large_cap;
};

/* A variable of a statement expression. */
struct local {
	const char *name;
	uint32_t name_bytes;
	struct node *value;
};

struct parser {
	struct pool *pool;
	const struct print_event *event;
	uint32_t long_bits;
	const char *at;
	uint32_t depth;
	uint32_t node_count;
	struct local locals[MAX_LOCALS];
	uint32_t local_count;
	const char *why; /* set once: it cannot be read */
};

/* Values that formats name but do not explain. */
static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
	{ "HI_SOFTIRQ", 0 },
	{ "TIMER_SOFTIRQ", 1 },
	{ "NET_TX_SOFTIRQ", 2 },
	{ "NET_RX_SOFTIRQ", 3 },
	{ "BLOCK_SOFTIRQ", 4 },
	{ "IRQ_POLL_SOFTIRQ", 5 },
	{ "TASKLET_SOFTIRQ", 6 },
	{ "SCHED_SOFTIRQ", 7 },
	{ "HRTIMER_SOFTIRQ", 8 },
	{ "RCU_SOFTIRQ", 9 },
	{ "HRTIMER_NORESTART", 0 },
	{ "HRTIMER_RESTART", 1 },
	{ "HRTIMER_MODE_ABS", 0 },
	{ "HRTIMER_MODE_REL", 1 },
	{ "HRTIMER_MODE_ABS_PINNED", 2 },
	{ "HRTIMER_MODE_REL_PINNED", 3 },
	{ "HRTIMER_MODE_ABS_SOFT", 4 },
	{ "HRTIMER_MODE_REL_SOFT", 5 },
	{ "HRTIMER_MODE_ABS_PINNED_SOFT", 6 },
	{ "HRTIMER_MODE_REL_PINNED_SOFT", 7 },
	{ "HRTIMER_MODE_ABS_HARD", 8 },
	{ "HRTIMER_MODE_REL_HARD", 9 },
	{ "HRTIMER_MODE_ABS_PINNED_HARD", 10 },
	{ "HRTIMER_MODE_REL_PINNED_HARD", 11 },
	{ "IOPRIO_CLASS_NONE", 0 },
	{ "IOPRIO_CLASS_RT", 1 },
	{ "IOPRIO_CLASS_BE", 2 },
	{ "IOPRIO_CLASS_IDLE", 3 },
	{ "IOPRIO_CLASS_INVALID", 7 },
};

/* Types by their last word; 0 bits stand for the size of a long. */
static const struct {
	const char *name;
	uint8_t bits;
	bool is_signed;
} types[] = {
	{ "char", 8, true },	  { "bool", 8, false },	   { "_Bool", 8, false },
	{ "u8", 8, false },	  { "__u8", 8, false },	   { "uint8_t", 8, false },
	{ "s8", 8, true },	  { "__s8", 8, true },	   { "int8_t", 8, true },
	{ "short", 16, true },	  { "u16", 16, false },	   { "__u16", 16, false },
	{ "uint16_t", 16, false }, { "s16", 16, true },	   { "__s16", 16, true },
	{ "int16_t", 16, true },  { "__le16", 16, false }, { "__be16", 16, false },
	{ "umode_t", 16, false }, { "int", 32, true },	   { "u32", 32, false },
	{ "__u32", 32, false },	  { "uint32_t", 32, false }, { "s32", 32, true },
	{ "__s32", 32, true },	  { "int32_t", 32, true }, { "__le32", 32, false },
	{ "__be32", 32, false },  { "uint", 32, false },   { "pid_t", 32, true },
	{ "dev_t", 32, false },	  { "gfp_t", 32, false },  { "uid_t", 32, false },
	{ "gid_t", 32, false },	  { "long", 0, true },	   { "size_t", 0, false },
	{ "ssize_t", 0, true },	  { "uintptr_t", 0, false }, { "ino_t", 0, false },
	{ "u64", 64, false },	  { "__u64", 64, false },  { "uint64_t", 64, false },
	{ "s64", 64, true },	  { "__s64", 64, true },   { "int64_t", 64, true },
	{ "loff_t", 64, true },	  { "sector_t", 64, false }, { "__le64", 64, false },
	{ "__be64", 64, false },  { "ktime_t", 64, true }, { "dma_addr_t", 64, false },
	{ "phys_addr_t", 64, false }, { "time64_t", 64, true }, { "blk_opf_t", 32, false },
	{ "vm_fault_t", 32, false }, { "slab_flags_t", 32, false }, { "fmode_t", 32, false },
	{ "xfs_ino_t", 64, false }, { "xfs_fsblock_t", 64, false }, { "xfs_daddr_t", 64, true },
	{ "xfs_off_t", 64, true }, { "xfs_filblks_t", 64, false }, { "xfs_fileoff_t", 64, false },
	{ "ext4_fsblk_t", 64, false }, { "ext4_lblk_t", 32, false },
};

struct pool *pool_new(void)
{
	struct pool *pool = xcalloc(1, sizeof(*pool));

	pool->used = POOL_CHUNK;
	return pool;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	while (pool->chunks) {
		struct chunk *next = pool->chunks->next;

		free(pool->chunks);
		pool->chunks = next;
	}
	for (size_t i = 0; i < pool->large_count; i++)
		free(pool->large[i]);
	free(pool->large);
	free(pool);
}

void *pool_take(struct pool *pool, size_t bytes)
{
	void *taken;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > POOL_CHUNK / 4) {
		pool->large = vec_room(pool->large, pool->large_count, &pool->large_cap,
				       sizeof(*pool->large));
		return pool->large[pool->large_count++] = xcalloc(1, bytes);
	}
	if (bytes > POOL_CHUNK - pool->used) {
		struct chunk *chunk = xcalloc(1, sizeof(*chunk));

		chunk->next = pool->chunks;
		pool->chunks = chunk;
		pool->used = 0;
	}
	taken = pool->chunks->bytes + pool->used;
	pool->used += bytes;
	return taken;
}

static struct node *expression(struct parser *parser);
static struct node *unary(struct parser *parser);

/* Note why it cannot be read. Returns NULL. */
static struct node *wrong(struct parser *parser, const char *why)
{
	if (!parser->why)
		parser->why = why;
	return NULL;
}

static struct node *node_new(struct parser *parser, enum node_kind kind)
{
	struct node *node;

	if (++parser->node_count > MAX_NODES)
		return wrong(parser, "it is too long");
	node = pool_take(parser->pool, sizeof(*node));
	node->kind = (uint8_t)kind;
	node->bits = 32;
	node->is_signed = true;
	return node;
}

static struct node *number_node(struct parser *parser, uint64_t value, uint32_t bits,
				bool is_signed)
{
	struct node *node = node_new(parser, NODE_NUMBER);

	if (node) {
		node->number = value;
		node->bits = (uint8_t)bits;
		node->is_signed = is_signed;
	}
	return node;
}

static void skip_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

/* Take 'token' when it comes next. */
static bool take(struct parser *parser, const char *token)
{
	size_t bytes = strlen(token);

	skip_blanks(parser);
	if (strncmp(parser->at, token, bytes) != 0)
		return false;
	parser->at += bytes;
	return true;
}

static bool need(struct parser *parser, const char *token)
{
	if (take(parser, token))
		return true;
	wrong(parser, "it is no C that is known here");
	return false;
}

/* The length of the word at 'at'; 0 = there is none. */
static uint32_t word_bytes(const char *at)
{
	uint32_t bytes = 0;

	if (isdigit((unsigned char)*at))
		return 0;
	while (isalnum((unsigned char)at[bytes]) || at[bytes] == '_')
		bytes++;
	return bytes;
}

static bool is_word(const char *at, uint32_t bytes, const char *word)
{
	return strlen(word) == bytes && memcmp(at, word, bytes) == 0;
}

/* The character behind a backslash; moves *at behind it. */
static char escaped(const char **at)
{
	char c = *(*at)++;

	switch (c) {
	case 'n':
	case 'r':
	case 't':
		return c == 't' ? '\t' : '\n';
	case '0':
		return '\0';
	default:
		return c;
	}
}

/* Strings next to each other, joined. */
static bool string(struct parser *parser, const char **out_text, uint32_t *out_bytes)
{
	size_t room = 0, bytes = 0;
	const char *at;
	char *text;

	skip_blanks(parser);
	for (at = parser->at; *at == '"';) {
		for (at++; *at && *at != '"'; at++) { /* some have line breaks in them */
			if (*at == '\\' && at[1])
				at++;
			room++;
		}
		if (*at != '"')
			return wrong(parser, "a string does not end");
		for (at++; isspace((unsigned char)*at); at++)
			;
	}
	text = pool_take(parser->pool, room + 1);
	while (*parser->at == '"') {
		for (parser->at++; *parser->at != '"';) {
			char c = *parser->at++;

			text[bytes++] = c == '\\' && *parser->at ? escaped(&parser->at) : c;
		}
		parser->at++;
		skip_blanks(parser);
	}
	*out_text = text;
	*out_bytes = (uint32_t)bytes;
	return true;
}

static uint32_t promoted(const struct node *node)
{
	return node->bits < 32 ? 32 : node->bits;
}

/* A type narrower than int becomes int. */
static bool promoted_sign(const struct node *node)
{
	return node->bits < 32 || node->is_signed;
}

/* What C makes of two operands. */
static void common_type(struct node *node, const struct node *a, const struct node *b)
{
	uint32_t a_bits = promoted(a), b_bits = promoted(b);

	node->bits = (uint8_t)(a_bits > b_bits ? a_bits : b_bits);
	node->is_signed = (promoted_sign(a) || a_bits < node->bits) &&
			  (promoted_sign(b) || b_bits < node->bits);
	node->is_address = a->is_address || b->is_address;
}

static const struct print_field *field_named(const struct print_event *event, const char *name,
					     uint32_t bytes)
{
	for (uint32_t i = 0; i < event->field_count; i++) {
		if (is_word(name, bytes, event->fields[i].name))
			return &event->fields[i];
	}
	return NULL;
}

static struct node *field_node(struct parser *parser, enum node_kind kind)
{
	const struct print_field *field;
	struct node *node;
	uint32_t bytes;

	skip_blanks(parser);
	bytes = word_bytes(parser->at);
	field = field_named(parser->event, parser->at, bytes);
	if (!field)
		return wrong(parser, "it names a field that there is not");
	parser->at += bytes;
	node = node_new(parser, kind);
	if (!node)
		return NULL;
	node->field = field;
	if (kind == NODE_FIELD && !field->is_array) {
		node->bits = (uint8_t)(field->bytes * 8);
		node->is_signed = field->is_signed;
		node->is_address = field->is_pointer;
	} else if (kind == NODE_FIELD || kind == NODE_DYNAMIC) {
		node->bits = (uint8_t)parser->long_bits;
		node->is_signed = false;
		node->is_address = true;
		node->element_bytes = field->element_bytes;
	}
	return node;
}

/*
 * "{ value, "text" }", behind its "{". 1 and *out_name; 0 for one without a text, with
 * which a list may end; -1 when it is neither.
 */
static int name_pair(struct parser *parser, struct node_name *out_name)
{
	struct node_name name = { 0 };
	struct node *value;
	bool has_text;

	if (take(parser, "}"))
		return 0;
	value = expression(parser);
	if (!value || !need(parser, ","))
		return -1;
	skip_blanks(parser);
	has_text = *parser->at == '"';
	if (has_text ? !string(parser, &name.text, &name.text_bytes) : !expression(parser))
		return -1;
	if (!need(parser, "}"))
		return -1;
	name.known = value->kind == NODE_NUMBER && !value->is_address;
	name.value = value->number;
	*out_name = name;
	return has_text;
}

/* ", { value, "text" } ..." up to ")". */
static bool names(struct parser *parser, struct node *node)
{
	struct node_name *list = NULL;
	size_t count = 0, cap = 0;

	while (take(parser, ",")) {
		struct node_name name;
		int got = need(parser, "{") ? name_pair(parser, &name) : -1;

		if (got < 0)
			break;
		if (got == 0)
			continue;
		if (++parser->node_count > MAX_NODES) {
			wrong(parser, "it is too long");
			break;
		}
		list = vec_room(list, count, &cap, sizeof(*list));
		list[count++] = name;
	}
	node->name_count = (uint32_t)count;
	node->names = pool_take(parser->pool, (count + 1) * sizeof(*list));
	if (count)
		memcpy(node->names, list, count * sizeof(*list));
	free(list);
	return !parser->why;
}

static struct node *flags_call(struct parser *parser)
{
	struct node *node = node_new(parser, NODE_FLAGS);

	if (!node)
		return NULL;
	node->a = expression(parser);
	if (!node->a || !need(parser, ",") || !string(parser, &node->text, &node->text_bytes) ||
	    !names(parser, node) || !need(parser, ")"))
		return NULL;
	return node;
}

static struct node *symbol_call(struct parser *parser)
{
	struct node *node = node_new(parser, NODE_SYMBOL);

	if (!node)
		return NULL;
	node->a = expression(parser);
	if (!node->a || !names(parser, node) || !need(parser, ")"))
		return NULL;
	return node;
}

/* A call with 'count' expressions as its arguments. */
static struct node *call_of(struct parser *parser, enum node_kind kind, int count)
{
	struct node *node = node_new(parser, kind);
	struct node **args[3];

	if (!node)
		return NULL;
	args[0] = &node->a;
	args[1] = &node->b;
	args[2] = &node->c;
	for (int i = 0; i < count; i++) {
		if (i > 0 && !need(parser, ","))
			return NULL;
		*args[i] = expression(parser);
		if (!*args[i])
			return NULL;
	}
	return need(parser, ")") ? node : NULL;
}

static struct node *hex_call(struct parser *parser)
{
	return call_of(parser, NODE_HEX, 2);
}

static struct node *hex_string_call(struct parser *parser)
{
	return call_of(parser, NODE_HEX_STRING, 2);
}

static struct node *array_call(struct parser *parser)
{
	return call_of(parser, NODE_ARRAY, 3);
}

static struct node *field_call(struct parser *parser, enum node_kind kind)
{
	struct node *node = field_node(parser, kind);

	return node && need(parser, ")") ? node : NULL;
}

static struct node *dynamic_call(struct parser *parser)
{
	return field_call(parser, NODE_DYNAMIC);
}

static struct node *dynamic_bytes_call(struct parser *parser)
{
	return field_call(parser, NODE_DYNAMIC_BYTES);
}

static struct node *bitmask_call(struct parser *parser)
{
	return field_call(parser, NODE_BITMASK);
}

static struct node *cpumask_call(struct parser *parser)
{
	return field_call(parser, NODE_CPUMASK);
}

/* __builtin_expect(a, b) is a. */
static struct node *expect_call(struct parser *parser)
{
	struct node *node = expression(parser);

	return node && need(parser, ",") && expression(parser) && need(parser, ")") ? node : NULL;
}

static const struct {
	const char *name;
	struct node *(*parse)(struct parser *parser);
} calls[] = {
	{ "__print_flags", flags_call },
	{ "__print_flags_u64", flags_call },
	{ "__print_symbolic", symbol_call },
	{ "__print_symbolic_u64", symbol_call },
	{ "__print_hex", hex_call },
	{ "__print_hex_str", hex_string_call },
	{ "__print_array", array_call },
	{ "__get_str", dynamic_call },
	{ "__get_rel_str", dynamic_call },
	{ "__get_dynamic_array", dynamic_call },
	{ "__get_rel_dynamic_array", dynamic_call },
	{ "__get_sockaddr", dynamic_call },
	{ "__get_rel_sockaddr", dynamic_call },
	{ "__get_dynamic_array_len", dynamic_bytes_call },
	{ "__get_rel_dynamic_array_len", dynamic_bytes_call },
	{ "__get_bitmask", bitmask_call },
	{ "__get_rel_bitmask", bitmask_call },
	{ "__get_cpumask", cpumask_call },
	{ "__get_rel_cpumask", cpumask_call },
	{ "__builtin_expect", expect_call },
};

/* What a type's words say. */
struct type {
	uint32_t bits;
	bool is_signed;
	bool is_pointer;
	uint32_t element_bytes;
};

/* One word of a type. False when it is none. */
static bool type_word(struct type *type, const char *word, uint32_t bytes, uint32_t long_bits)
{
	static const char *const silent[] = { "const", "volatile", "__user",  "__force",
					      "static", "__rcu",   "__iomem", "__bitwise" };

	for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
		if (is_word(word, bytes, silent[i]))
			return true;
	}
	if (is_word(word, bytes, "unsigned") || is_word(word, bytes, "signed")) {
		type->is_signed = *word == 's';
		type->bits = type->bits ? type->bits : 32;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		bool was = type->bits != 0;
		uint32_t bits = types[i].bits ? types[i].bits : long_bits;

		if (!is_word(word, bytes, types[i].name))
			continue;
		/* "unsigned long": the sign stays; "long long" and "long int": the longer one. */
		if (!was)
			type->is_signed = types[i].is_signed;
		if (!(was && type->bits > bits && bits == 32))
			type->bits = was && is_word(word, bytes, "long") && type->bits == long_bits
					     ? 64
					     : bits;
		return true;
	}
	return false;
}

/* A type in front of ")" or a name. False, and nothing taken, when there is none. */
static bool take_type(struct parser *parser, struct type *out_type)
{
	const char *start = parser->at;
	struct type type = { 0 };
	bool any = false;

	for (;;) {
		uint32_t bytes;

		skip_blanks(parser);
		bytes = word_bytes(parser->at);
		if (is_word(parser->at, bytes, "struct") || is_word(parser->at, bytes, "union") ||
		    is_word(parser->at, bytes, "enum")) {
			type.bits = 32; /* an enum; a struct is only pointed to */
			type.is_signed = *parser->at != 'e';
			parser->at += bytes;
			skip_blanks(parser);
			bytes = word_bytes(parser->at);
		} else if (bytes == 0 || !type_word(&type, parser->at, bytes, parser->long_bits)) {
			bool is_void = is_word(parser->at, bytes, "void");

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
	while (take(parser, "*")) {
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
static bool take_cast(struct parser *parser, struct type *out_type)
{
	const char *start = parser->at;
	uint32_t bytes;

	if (!take(parser, "("))
		return false;
	if (take_type(parser, out_type)) {
		if (take(parser, ")"))
			return true;
		parser->at = start;
		return false;
	}
	/* "(foo_t)REC->x" */
	skip_blanks(parser);
	bytes = word_bytes(parser->at);
	if (bytes > 2 && memcmp(parser->at + bytes - 2, "_t", 2) == 0) {
		parser->at += bytes;
		*out_type = (struct type){ .bits = 64 };
		if (take(parser, ")"))
			return true;
	}
	parser->at = start;
	return false;
}

static struct node *cast(struct parser *parser, const struct type *type)
{
	struct node *item = unary(parser), *node;

	if (!item)
		return NULL;
	node = node_new(parser, NODE_CAST);
	if (!node)
		return NULL;
	node->a = item;
	node->bits = (uint8_t)type->bits;
	node->is_signed = type->is_signed;
	node->is_address = type->is_pointer;
	node->element_bytes = type->is_pointer ? type->element_bytes : 0;
	return node;
}

static struct node *size_of(struct parser *parser)
{
	struct type type;

	if (!need(parser, "("))
		return NULL;
	if (!take_type(parser, &type)) {
		struct node *node = expression(parser);

		if (!node || !need(parser, ")"))
			return NULL;
		if (node->kind == NODE_FIELD)
			return number_node(parser, node->field->bytes, parser->long_bits, false);
		return number_node(parser, node->bits / 8, parser->long_bits, false);
	}
	if (!need(parser, ")"))
		return NULL;
	return number_node(parser, type.bits / 8, parser->long_bits, false);
}

/* "1234", "0x1fUL", "0777" */
static struct node *number(struct parser *parser)
{
	bool is_octal_or_hex = *parser->at == '0', is_unsigned = false;
	uint32_t longs = 0, bits;
	char *end;
	uint64_t value = strtoull(parser->at, &end, 0), most;

	for (parser->at = end; isalpha((unsigned char)*parser->at); parser->at++) {
		is_unsigned |= *parser->at == 'u' || *parser->at == 'U';
		longs += *parser->at == 'l' || *parser->at == 'L';
	}
	bits = longs == 0 ? 32 : longs == 1 ? parser->long_bits : 64;
	if (value > (is_unsigned || is_octal_or_hex ? UINT32_MAX : INT32_MAX))
		bits = 64;
	most = bits == 32 ? INT32_MAX : INT64_MAX;
	return number_node(parser, value, bits, !is_unsigned && value <= most);
}

static struct node *text_node(struct parser *parser)
{
	struct node *node = node_new(parser, NODE_TEXT);

	if (!node || !string(parser, &node->text, &node->text_bytes))
		return NULL;
	node->is_address = true;
	node->bits = (uint8_t)parser->long_bits;
	return node;
}

static struct node *character(struct parser *parser)
{
	char c;

	if (!need(parser, "'") || !*parser->at)
		return wrong(parser, "a character does not end");
	c = *parser->at++;
	if (c == '\\' && *parser->at)
		c = escaped(&parser->at);
	return need(parser, "'") ? number_node(parser, (uint64_t)c, 32, true) : NULL;
}

/* ({ int x = (REC->a); ...; value; }) */
static struct node *statements(struct parser *parser)
{
	uint32_t before = parser->local_count;
	struct node *value = NULL;
	struct type type;

	while (!parser->why && !take(parser, "}")) {
		if (take_type(parser, &type)) {
			struct local *local = &parser->locals[parser->local_count];

			skip_blanks(parser);
			if (parser->local_count == MAX_LOCALS)
				return wrong(parser, "it has too many variables");
			local->name = parser->at;
			local->name_bytes = word_bytes(parser->at);
			parser->at += local->name_bytes;
			if (local->name_bytes == 0 || !need(parser, "="))
				return wrong(parser, "it is no C that is known here");
			local->value = expression(parser);
			parser->local_count++;
		} else {
			value = expression(parser);
		}
		if (!take(parser, ";"))
			break;
	}
	if (parser->why)
		return NULL;
	take(parser, "}");
	parser->local_count = before;
	return value && need(parser, ")") ? value : wrong(parser, "it is no C that is known here");
}

/* A word: a call, a variable, a constant, REC. */
static struct node *word(struct parser *parser, uint32_t bytes)
{
	const char *name = parser->at;
	struct node *node;

	parser->at += bytes;
	if (is_word(name, bytes, "REC"))
		return need(parser, "->") ? field_node(parser, NODE_FIELD) : NULL;
	if (is_word(name, bytes, "sizeof"))
		return size_of(parser);
	if (is_word(name, bytes, "true") || is_word(name, bytes, "false"))
		return number_node(parser, *name == 't', 32, true);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (is_word(name, bytes, calls[i].name))
			return need(parser, "(") ? calls[i].parse(parser) : NULL;
	}
	for (uint32_t i = parser->local_count; i > 0; i--) {
		const struct local *local = &parser->locals[i - 1];

		if (local->name_bytes == bytes && memcmp(local->name, name, bytes) == 0)
			return local->value;
	}
	skip_blanks(parser);
	if (*parser->at == '(')
		return wrong(parser, "it calls a function of the kernel");
	for (size_t i = 0; i < ARRAY_LEN(constants); i++) {
		if (is_word(name, bytes, constants[i].name))
			return number_node(parser, constants[i].value, 32, true);
	}
	/* A variable or an enum of the kernel: 0, as others take it; as a name it matches nothing. */
	node = number_node(parser, 0, parser->long_bits, false);
	if (node)
		node->is_address = true;
	return node;
}

static struct node *primary(struct parser *parser)
{
	uint32_t bytes;

	skip_blanks(parser);
	bytes = word_bytes(parser->at);
	if (bytes)
		return word(parser, bytes);
	if (isdigit((unsigned char)*parser->at))
		return number(parser);
	if (*parser->at == '"')
		return text_node(parser);
	if (*parser->at == '\'')
		return character(parser);
	if (take(parser, "(REC)")) /* "(REC)->field" */
		return need(parser, "->") ? field_node(parser, NODE_FIELD) : NULL;
	if (take(parser, "(")) {
		struct node *node = take(parser, "{") ? statements(parser) : NULL;

		if (node || parser->why)
			return node;
		node = expression(parser);
		return node && need(parser, ")") ? node : NULL;
	}
	return wrong(parser, "it is no C that is known here");
}

static uint64_t narrowed(const struct node *node, uint64_t value)
{
	switch (node->bits) {
	case 8:
		return node->is_signed ? (uint64_t)(int8_t)value : (uint8_t)value;
	case 16:
		return node->is_signed ? (uint64_t)(int16_t)value : (uint16_t)value;
	case 32:
		return node->is_signed ? (uint64_t)(int32_t)value : (uint32_t)value;
	default:
		return value;
	}
}

/* Bound what it takes to work it out: depth for the stack, weight for the time. */
static struct node *settled(struct parser *parser, struct node *node)
{
	const struct node *parts[] = { node->a, node->b, node->c };

	node->depth = 0;
	node->weight = 1;
	for (size_t i = 0; i < ARRAY_LEN(parts) && node->kind != NODE_NUMBER; i++) {
		if (!parts[i])
			continue;
		if (parts[i]->depth >= node->depth)
			node->depth = parts[i]->depth + 1;
		node->weight += parts[i]->weight;
	}
	if (node->depth > MAX_DEPTH || node->weight > MAX_NODES)
		return wrong(parser, "it is too long");
	return node;
}

/* What is constant is worked out once. */
static struct node *folded(struct node *node)
{
	const struct node *a = node->a, *b = node->b;
	struct print_record nothing = { 0 };

	if (a && a->kind != NODE_NUMBER)
		return node;
	if (node->kind != NODE_UNARY && node->kind != NODE_CAST &&
	    (node->kind != NODE_BINARY || b->kind != NODE_NUMBER))
		return node;
	node->number = narrowed(node, print_number(&nothing, node));
	node->kind = NODE_NUMBER;
	return node;
}

/* The element of an array; its size is that of the pointer it is taken from. */
static struct node *element(struct parser *parser, struct node *array)
{
	struct node *node = node_new(parser, NODE_ELEMENT);
	const struct node *from = array;

	if (!node)
		return NULL;
	node->a = array;
	node->b = expression(parser);
	if (!node->b || !need(parser, "]"))
		return NULL;
	while (from->kind == NODE_CAST && !from->element_bytes)
		from = from->a;
	node->element_bytes = from->element_bytes;
	node->is_signed = from->field && from->field->is_signed;
	if (node->element_bytes != 1 && node->element_bytes != 2 && node->element_bytes != 4 &&
	    node->element_bytes != 8)
		return wrong(parser, "it takes an element of what is no array");
	node->bits = (uint8_t)(node->element_bytes * 8);
	return settled(parser, node);
}

static struct node *postfix(struct parser *parser)
{
	struct node *node = primary(parser);

	while (node && take(parser, "["))
		node = element(parser, node);
	skip_blanks(parser);
	if (node && (*parser->at == '.' || strncmp(parser->at, "->", 2) == 0))
		return wrong(parser, "it looks into a struct of the kernel");
	return node;
}

static struct node *operator1(struct parser *parser, char op)
{
	struct node *item = unary(parser), *node;

	if (!item || op == '+')
		return item;
	/* "&REC->array" is the array; "*" of a pointer is not in the record. */
	if (op == '&')
		return item->is_address || item->kind == NODE_FIELD || item->kind == NODE_ELEMENT
			       ? item
			       : wrong(parser, "it takes an address");
	if (op == '*')
		return wrong(parser, "it follows a pointer");
	node = node_new(parser, NODE_UNARY);
	if (!node)
		return NULL;
	node->a = item;
	node->op = (uint8_t)op;
	if (op != '!') {
		node->bits = (uint8_t)promoted(item);
		node->is_signed = promoted_sign(item);
	}
	return folded(node);
}

static struct node *unary(struct parser *parser)
{
	struct node *node = NULL;
	struct type type;

	if (parser->why)
		return NULL;
	if (++parser->depth > MAX_DEPTH)
		return wrong(parser, "it nests too deep");
	skip_blanks(parser);
	if (*parser->at == '(' && take_cast(parser, &type))
		node = cast(parser, &type);
	else if (*parser->at && strchr("-+!~&*", *parser->at))
		node = operator1(parser, *parser->at++);
	else
		node = postfix(parser);
	parser->depth--;
	if (node && node->kind == NODE_CAST && !node->a->is_address)
		node = folded(node);
	return node ? settled(parser, node) : NULL;
}

static const struct {
	const char *text;
	uint8_t op;
	uint8_t level; /* higher binds tighter */
} operators[] = {
	{ "||", OP_OR, 1 },  { "&&", OP_AND, 2 }, { "==", OP_EQ, 6 }, { "!=", OP_NE, 6 },
	{ "<=", OP_LE, 7 },  { ">=", OP_GE, 7 },  { "<<", OP_SHL, 8 }, { ">>", OP_SHR, 8 },
	{ "|", '|', 3 },     { "^", '^', 4 },	  { "&", '&', 5 },    { "<", '<', 7 },
	{ ">", '>', 7 },     { "+", '+', 9 },	  { "-", '-', 9 },    { "*", '*', 10 },
	{ "/", '/', 10 },    { "%", '%', 10 },
};

/* The operator that comes next and binds at least as tight as 'level'; -1 = none. */
static int next_operator(struct parser *parser, uint32_t level)
{
	skip_blanks(parser);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t bytes = strlen(operators[i].text);

		if (strncmp(parser->at, operators[i].text, bytes) != 0)
			continue;
		if (operators[i].level < level)
			return -1;
		parser->at += bytes;
		return (int)i;
	}
	return -1;
}

static struct node *binary_node(struct parser *parser, uint8_t op, struct node *a, struct node *b)
{
	struct node *node = node_new(parser, NODE_BINARY);

	if (!node)
		return NULL;
	node->op = op;
	node->a = a;
	node->b = b;
	if (op == OP_SHL || op == OP_SHR) {
		node->bits = (uint8_t)promoted(a);
		node->is_signed = promoted_sign(a);
	} else if (op < OP_LE) {
		common_type(node, a, b);
	}
	return settled(parser, folded(node));
}

static struct node *binary(struct parser *parser, uint32_t level)
{
	struct node *left = unary(parser);
	int index;

	while (left && !parser->why && (index = next_operator(parser, level)) >= 0) {
		struct node *right;

		if (++parser->depth > MAX_DEPTH)
			return wrong(parser, "it nests too deep");
		right = binary(parser, operators[index].level + 1u);
		parser->depth--;
		if (!right)
			return NULL;
		left = binary_node(parser, operators[index].op, left, right);
	}
	return parser->why ? NULL : left;
}

static struct node *conditional(struct parser *parser, struct node *test)
{
	struct node *node = node_new(parser, NODE_COND);

	if (!node)
		return NULL;
	node->a = test;
	node->b = take(parser, ":") ? test : NULL; /* "a ?: b" */
	if (!node->b) {
		node->b = expression(parser);
		if (!node->b || !need(parser, ":"))
			return NULL;
	}
	node->c = expression(parser);
	if (!node->c)
		return NULL;
	common_type(node, node->b, node->c);
	return test->kind == NODE_NUMBER && !test->is_address ? (test->number ? node->b : node->c)
							      : node;
}

static struct node *expression(struct parser *parser)
{
	struct node *node;

	if (parser->why)
		return NULL;
	if (++parser->depth > MAX_DEPTH)
		return wrong(parser, "it nests too deep");
	node = binary(parser, 1);
	if (node && take(parser, "?"))
		node = conditional(parser, node);
	parser->depth--;
	return parser->why || !node ? NULL : settled(parser, node);
}

/* "-08.*l" in front of the letter of a conversion. */
static void conv_flags(struct conv *conv, const char **at)
{
	for (;; (*at)++) {
		if (**at == '-')
			conv->left = true;
		else if (**at == '0')
			conv->zero = true;
		else if (**at == '#')
			conv->alt = true;
		else if (**at == '+')
			conv->plus = true;
		else if (**at == ' ')
			conv->space = true;
		else
			return;
	}
}

/* The next argument, which is text in the format's line. */
static struct node *argument(struct parser *parser)
{
	return take(parser, ",") ? expression(parser)
				 : wrong(parser, "it has fewer arguments than conversions");
}

/* Digits or '*'. */
static int32_t conv_number(struct parser *parser, const char **at, struct node **out_node)
{
	int32_t number = 0;

	if (**at == '*') {
		(*at)++;
		*out_node = argument(parser);
		return -1;
	}
	for (; isdigit((unsigned char)**at); (*at)++) {
		if (number < MAX_WIDTH)
			number = number * 10 + (**at - '0');
	}
	return number < MAX_WIDTH ? number : MAX_WIDTH;
}

static void conv_length(struct parser *parser, struct conv *conv, const char **at)
{
	conv->bits = 32;
	for (;; (*at)++) {
		switch (**at) {
		case 'h':
			conv->bits = conv->bits == 16 ? 8 : 16;
			break;
		case 'l':
			conv->bits = conv->bits == 32 ? (uint8_t)parser->long_bits : 64;
			if (conv->bits == 32)
				conv->bits = (*at)[1] == 'l' ? 64 : 32;
			break;
		case 'z':
		case 'Z':
		case 't':
			conv->bits = (uint8_t)parser->long_bits;
			break;
		case 'L':
		case 'q':
		case 'j':
			conv->bits = 64;
			break;
		default:
			return;
		}
	}
}

/* What may follow %p, the longest first. */
static const char *const pointers[] = {
	"ISpfsc", "ISpfc", "ISpsc", "ISpc", "ISfc", "ISsc", "ISc", "ISpfs", "ISpf", "ISps", "ISp",
	"IS",	  "iS",	   "I6c",   "I6",   "i6",   "I4",   "i4",  "MF",    "MR",   "M",    "mR",
	"m",	  "UL",	   "Ul",    "UB",   "Ub",   "U",    "hC",  "hD",    "hN",   "h",    "bl",
	"b",	  "S",	   "s",	    "F",    "f",    "B",    "x",   "K",
};

static bool conv_letter(struct parser *parser, struct conv *conv, const char **at)
{
	conv->type = *(*at)++;
	switch (conv->type) {
	case 'i':
		conv->type = 'd';
		return true;
	case 'd':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'c':
	case 's':
		return true;
	case 'p':
		break;
	default:
		return wrong(parser, "it has a conversion that is not known");
	}
	for (size_t i = 0; i < ARRAY_LEN(pointers); i++) {
		size_t bytes = strlen(pointers[i]);

		if (strncmp(*at, pointers[i], bytes) != 0)
			continue;
		memcpy(conv->more, pointers[i], bytes);
		*at += bytes;
		break;
	}
	/* "[4S][hnbl]": the byte order of an address */
	if (conv->more[0] == 'I' && conv->more[1] == '4' && **at && strchr("hnbl", **at)) {
		conv->more[2] = *(*at)++;
	}
	return true;
}

/* One conversion; *at stands behind its '%'. */
static bool conversion(struct parser *parser, const char **at, struct conv *out_conv)
{
	struct conv conv = { .width = -1, .precision = -1 };

	conv_flags(&conv, at);
	if (**at == '*' || isdigit((unsigned char)**at))
		conv.width = conv_number(parser, at, &conv.width_node);
	if (**at == '.') {
		(*at)++;
		conv.precision = conv_number(parser, at, &conv.precision_node);
	}
	conv_length(parser, &conv, at);
	if (parser->why || !conv_letter(parser, &conv, at))
		return false;
	conv.arg = argument(parser);
	*out_conv = conv;
	return !parser->why;
}

static void add_literal(struct parser *parser, struct parsed *parsed, const char *text,
			size_t bytes)
{
	char *copy = pool_take(parser->pool, bytes + 16); /* copied 16 bytes at a time */
	size_t kept = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '%' && i + 1 < bytes && text[i + 1] == '%')
			i++;
		/* A line is a line. */
		copy[kept++] = text[i] == '\n' || (unsigned char)text[i] < ' ' ? ' ' : text[i];
	}
	parsed->literals[parsed->conv_count] = copy;
	parsed->literal_bytes[parsed->conv_count] = (uint32_t)kept;
}

/* Where the next conversion begins in the format, or its end. */
static const char *next_percent(const char *at)
{
	while (*at && (at[0] != '%' || at[1] == '%'))
		at += at[0] == '%' ? 2 : 1;
	return at;
}

static bool conversions(struct parser *parser, const char *format, struct parsed *parsed)
{
	size_t bytes = strlen(format);
	const char *at = format;

	while (bytes && (format[bytes - 1] == '\n' || format[bytes - 1] == ' '))
		bytes--;
	for (;;) {
		const char *percent = next_percent(at);
		size_t literal = (size_t)(percent - at);

		if (!*percent && literal)
			literal = at < format + bytes ? (size_t)(format + bytes - at) : 0;
		add_literal(parser, parsed, at, literal);
		if (!*percent)
			return true;
		if (parsed->conv_count == MAX_CONVS)
			return wrong(parser, "it has too many conversions");
		at = percent + 1;
		if (!conversion(parser, &at, &parsed->convs[parsed->conv_count]))
			return false;
		parsed->conv_count++;
	}
}

bool print_parse(struct pool *pool, const char *text, const struct print_event *event,
		 uint32_t long_bytes, struct parsed *out_parsed, const char **out_why)
{
	static const char key[] = "print fmt:";
	struct parser parser = { .pool = pool, .event = event, .long_bits = long_bytes * 8 };
	struct parsed parsed = { 0 };
	const char *format;
	uint32_t bytes;

	*out_why = "it has none";
	text = strstr(text, key);
	if (!text)
		return false;
	parser.at = text + strlen(key);
	parsed.convs = pool_take(pool, MAX_CONVS * sizeof(*parsed.convs));
	parsed.literals = pool_take(pool, (MAX_CONVS + 1) * sizeof(*parsed.literals));
	parsed.literal_bytes = pool_take(pool, (MAX_CONVS + 1) * sizeof(*parsed.literal_bytes));
	skip_blanks(&parser);
	if (*parser.at != '"' || !string(&parser, &format, &bytes) || strlen(format) != bytes ||
	    !conversions(&parser, format, &parsed)) {
		*out_why = parser.why ? parser.why : "it is no string";
		return false;
	}
	skip_blanks(&parser);
	if (*parser.at) {
		*out_why = "it has more arguments than conversions";
		return false;
	}
	*out_parsed = parsed;
	return true;
}
