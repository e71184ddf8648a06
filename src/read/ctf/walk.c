/* walk.c - values out of bits: the general way, for any type. */
#include "read/ctf/walk.h"

#include "base/text.h"
#include "event/event.h"
#include "read/ctf/record.h"
#include "read/kernel/rows.h"

#define WIDE_MAX 4096u /* bytes of a text that is not in UTF-8, in a record */
#define IDLE_ELEMENTS_MAX \
	64u	       /* elements without a bit of an event, all alike: more are not looked at */
#define IDLE_MAX 1024u /* values without a bit of an event */

static int bad(struct ctf_cursor *cursor, const char *wrong)
{
	cursor->wrong = wrong;
	return CTF_BAD;
}

/* Are there so many bits at the cursor? */
static int need(struct ctf_cursor *cursor, uint64_t bits)
{
	if (bits > cursor->end - cursor->at)
		return bad(cursor, "a field reaches beyond the end of the packet");
	return bits > cursor->window_end - cursor->at ? CTF_MORE : 0;
}

static int align(struct ctf_cursor *cursor, uint32_t bits)
{
	uint64_t padding = -cursor->at & (bits - 1);
	int rc = padding ? need(cursor, padding) : 0;

	if (rc == 0)
		cursor->at += padding;
	return rc;
}

static const uint8_t *ctf_walk_bytes_at(const struct ctf_cursor *cursor)
{
	return cursor->bytes + (cursor->at - cursor->first) / 8;
}

static uint64_t load_little(const uint8_t *at, uint32_t shift, uint32_t bits)
{
	uint64_t low;

	memcpy(&low, at, sizeof(low));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	low = __builtin_bswap64(low);
#endif
	low >>= shift;
	if (shift && bits > 64 - shift)
		low |= (uint64_t)at[8] << (64 - shift);
	return bits == 64 ? low : low & (((uint64_t)1 << bits) - 1);
}

static uint64_t load_big(const uint8_t *at, uint32_t shift, uint32_t bits)
{
	uint64_t high;

	memcpy(&high, at, sizeof(high));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	high = __builtin_bswap64(high);
#endif
	high <<= shift;
	if (shift && bits > 64 - shift)
		high |= at[8] >> (8 - shift);
	return high >> (64 - bits);
}

static uint64_t reversed(uint64_t number, uint32_t bits)
{
	uint64_t out = 0;

	for (uint32_t i = 0; i < bits; i++)
		out = out << 1 | (number >> i & 1);
	return out;
}

/* The number's bits, extended by its sign. */
static int ctf_walk_read_number(struct ctf_cursor *cursor, const struct ctf_type *type,
				uint64_t *out_number)
{
	uint32_t shift;
	uint64_t number;
	int rc = align(cursor, type->align);

	if (rc == 0)
		rc = need(cursor, type->bits);
	if (rc < 0)
		return rc;
	shift = cursor->at % 8;
	if (shift && cursor->order != type->order)
		return bad(cursor, "the byte order changes within a byte");
	cursor->order = type->order;
	number = type->order == CTF_ORDER_BIG
			 ? load_big(ctf_walk_bytes_at(cursor), shift, type->bits)
			 : load_little(ctf_walk_bytes_at(cursor), shift, type->bits);
	if (type->is_reversed)
		number = reversed(number, type->bits);
	if (type->is_signed && type->bits < 64 && number >> (type->bits - 1))
		number |= ~(uint64_t)0 << type->bits;
	cursor->at += type->bits;
	*out_number = number;
	return 0;
}

/* ------------------------------------------------------------------ targets */

void ctf_target_number(const struct target *target, struct event *event, uint64_t number)
{
	switch (target->member) {
	case TO_STATE:
		*((uint8_t *)event + target->offset) = ctf_task_state(number);
		break;
	case TO_TEXT: /* flags of a block request */
	case TO_COMM:
		ctf_target_flags(target, event, number);
		break;
	default:
		target_put_number(target, event, number);
		break;
	}
}

void ctf_target_text(const struct target *target, struct event *event, const char *text,
		     uint64_t bytes, bool ended)
{
	if (target->member != TO_TEXT && target->member != TO_COMM)
		return;
	/* A short text may lack its end only when 16 bytes of it are there. */
	if (!ended && !(target->member == TO_COMM && bytes >= 16))
		return;
	memcpy((uint8_t *)event + target->offset, &text, sizeof(text));
}

/* ------------------------------------------------------------------ values */

/* Who wants the number gets it; 'bits' of it were there. */
static void ctf_walk_hand_out(struct ctf_walk *walk, const struct ctf_type *type, uint64_t number,
			      uint32_t bits)
{
	for (uint32_t i = 0; i < type->slot_count; i++)
		walk->slots[type->slots[i]] = number;
	if (type->role) {
		walk->roles[type->role] = number;
		walk->has |= 1u << type->role;
		if (type->role == CTF_ROLE_TIMESTAMP)
			walk->clock = ctf_clock_next(walk->clock, number, bits);
		for (uint32_t also = type->roles_also; also; also &= also - 1) {
			walk->roles[__builtin_ctz(also)] = number;
			walk->has |= also & -also;
		}
	}
	if (type->target && walk->event)
		ctf_target_number(type->target, walk->event, number);
	if (walk->record)
		ctf_record_number(walk->record, type, number);
}

static int walk_number(struct ctf_walk *walk, const struct ctf_type *type)
{
	uint64_t number = 0;
	int rc = ctf_walk_read_number(&walk->cursor, type, &number);

	if (rc == 0)
		ctf_walk_hand_out(walk, type, number, type->bits);
	return rc;
}

/* LEB128: seven bits of each byte, the lowest first; a byte without its top bit is the last. */
static int walk_varint(struct ctf_walk *walk, const struct ctf_type *type)
{
	struct ctf_cursor *cursor = &walk->cursor;
	uint64_t number = 0;
	uint32_t bits = 0;
	uint8_t byte;
	int rc = align(cursor, 8);

	do {
		if (rc == 0)
			rc = need(cursor, 8);
		if (rc < 0)
			return rc;
		byte = *ctf_walk_bytes_at(cursor);
		if (bits >= 70)
			return bad(cursor, "a number of variable length has more than 64 bits");
		if (bits < 64)
			number |= (uint64_t)(byte & 0x7f) << bits;
		/* Of the tenth byte, one bit counts: the others extend the sign. */
		if (bits == 63 && (byte & 0x7f) > 1 && !(type->is_signed && (byte & 0x7f) == 0x7f))
			return bad(cursor, "a number of variable length has more than 64 bits");
		bits += 7;
		cursor->at += 8;
	} while (byte & 0x80);
	if (type->is_signed && bits < 64 && byte & 0x40)
		number |= ~(uint64_t)0 << bits;
	ctf_walk_hand_out(walk, type, number, bits < 64 ? bits : 64);
	return 0;
}

/* ------------------------------------------------------------------ texts */

static uint32_t unit_bytes(const struct ctf_type *type)
{
	return type->encoding == CTF_UTF8 ? 1 : type->encoding <= CTF_UTF16_BIG ? 2 : 4;
}

/* The number of bytes before the unit that is 0; 'bytes' when there is none. */
static uint64_t text_end(const struct ctf_type *type, const uint8_t *text, uint64_t bytes)
{
	static const uint8_t zero[4];
	uint32_t unit = unit_bytes(type);
	uint64_t at = 0;

	if (unit == 1) {
		const uint8_t *end = bytes ? memchr(text, '\0', bytes) : NULL;

		return end ? (uint64_t)(end - text) : bytes;
	}
	while (at + unit <= bytes && memcmp(text + at, zero, unit) != 0)
		at += unit;
	return at + unit <= bytes ? at : bytes;
}

static uint32_t code_at(const struct ctf_type *type, const uint8_t *at)
{
	switch ((enum ctf_encoding)type->encoding) {
	case CTF_UTF16_LITTLE:
		return at[0] | (uint32_t)at[1] << 8;
	case CTF_UTF16_BIG:
		return at[1] | (uint32_t)at[0] << 8;
	case CTF_UTF32_LITTLE:
		return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
	case CTF_UTF32_BIG:
		return at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24;
	case CTF_UTF8:
		break;
	}
	return at[0];
}

static size_t put_utf8(uint32_t code, char *to)
{
	if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	return text_put_utf8(to, code);
}

/* As UTF-8, cut to what a record can show. */
static void record_wide(struct ctf_walk *walk, const struct ctf_type *type, const uint8_t *text,
			uint64_t bytes)
{
	char out[WIDE_MAX + 4];
	uint32_t unit = unit_bytes(type);
	size_t used = 0;

	for (uint64_t at = 0; at + unit <= bytes && used < WIDE_MAX; at += unit) {
		uint32_t code = code_at(type, text + at), low;

		if (unit == 2 && code >= 0xd800 && code < 0xdc00 && at + 4 <= bytes) {
			low = code_at(type, text + at + 2);
			if (low >= 0xdc00 && low < 0xe000) {
				code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
				at += 2;
			}
		}
		used += put_utf8(code, out + used);
	}
	ctf_record_text(walk->record, type, out, used);
}

static void hand_out_text(struct ctf_walk *walk, const struct ctf_type *type, const uint8_t *text,
			  uint64_t bytes, bool ended)
{
	if (type->encoding != CTF_UTF8) {
		if (walk->record)
			record_wide(walk, type, text, bytes);
		return;
	}
	if (type->target && walk->event)
		ctf_target_text(type->target, walk->event, (const char *)text, bytes, ended);
}

static int walk_string(struct ctf_walk *walk, const struct ctf_type *type)
{
	struct ctf_cursor *cursor = &walk->cursor;
	const uint8_t *text;
	uint64_t left, bytes;
	int rc = align(cursor, type->align);

	if (rc < 0)
		return rc;
	text = ctf_walk_bytes_at(cursor);
	left = (cursor->window_end - cursor->at) / 8;
	bytes = text_end(type, text, left);
	if (bytes == left)
		return cursor->window_end < cursor->end
			       ? CTF_MORE
			       : bad(cursor, "a text does not end within the packet");
	cursor->at += (bytes + unit_bytes(type)) * 8;
	hand_out_text(walk, type, text, bytes, true);
	if (walk->record && type->encoding == CTF_UTF8)
		ctf_record_text(walk->record, type, (const char *)text, (size_t)bytes);
	return 0;
}

static int walk_struct(struct ctf_walk *walk, const struct ctf_type *type)
{
	struct ctf_record *record = walk->record;
	int rc = align(&walk->cursor, type->align);

	if (record)
		ctf_record_begin(record, type);
	for (uint32_t i = 0; rc == 0 && i < type->member_count; i++) {
		if (record)
			ctf_record_member(record, type->members[i].name, i);
		rc = ctf_walk(walk, type->members[i].type);
	}
	if (record)
		ctf_record_end(record, type);
	return rc;
}

static const struct ctf_choice *choice_for(const struct ctf_type *type, uint64_t tag)
{
	for (uint32_t i = 0; i < type->choice_count; i++) {
		const struct ctf_choice *choice = &type->choices[i];

		if (type->tag_signed ? (int64_t)tag >= (int64_t)choice->low &&
					       (int64_t)tag <= (int64_t)choice->high
				     : tag >= choice->low && tag <= choice->high)
			return choice;
	}
	return NULL;
}

/* An optional field that is not there. */
static int walk_absent(struct ctf_walk *walk, const struct ctf_type *type)
{
	if (walk->record) {
		ctf_record_begin(walk->record, type);
		ctf_record_end(walk->record, type);
	}
	return 0;
}

static int walk_variant(struct ctf_walk *walk, const struct ctf_type *type)
{
	const struct ctf_choice *choice = choice_for(type, walk->slots[type->source]);
	const struct ctf_member *member;
	int rc;

	if (!choice && type->is_optional)
		return walk_absent(walk, type);
	if (!choice)
		return bad(&walk->cursor, "the tag of a variant chooses nothing");
	member = &type->members[choice->member];
	if (walk->record) {
		ctf_record_begin(walk->record, type);
		ctf_record_member(walk->record, member->name, 0);
	}
	rc = ctf_walk(walk, member->type);
	if (walk->record)
		ctf_record_end(walk->record, type);
	return rc;
}

/* Characters: the bytes as they are. */
static int walk_characters(struct ctf_walk *walk, const struct ctf_type *type, uint64_t count)
{
	struct ctf_cursor *cursor = &walk->cursor;
	const uint8_t *text;
	uint64_t bytes;
	int rc = 0;

	if (count > (cursor->end - cursor->at) / 8)
		return bad(cursor, "a field reaches beyond the end of the packet");
	rc = need(cursor, count * 8);
	if (rc < 0)
		return rc;
	text = ctf_walk_bytes_at(cursor);
	bytes = text_end(type, text, count);
	cursor->at += count * 8;
	hand_out_text(walk, type, text, type->encoding == CTF_UTF8 ? count : bytes, bytes < count);
	if (walk->record && type->encoding == CTF_UTF8)
		ctf_record_text(walk->record, type, (const char *)text, (size_t)bytes);
	return 0;
}

/* Numbers that stand without gaps and that nobody wants. */
static bool can_skip(const struct ctf_walk *walk, const struct ctf_type *element)
{
	return (element->kind == CTF_INTEGER || element->kind == CTF_ENUM ||
		element->kind == CTF_FLOAT) &&
	       !walk->record && !element->slot_count && !element->role && !element->target &&
	       element->bits % element->align == 0;
}

static int skip_numbers(struct ctf_walk *walk, const struct ctf_type *element, uint64_t count)
{
	struct ctf_cursor *cursor = &walk->cursor;
	int rc;

	if (count > (cursor->end - cursor->at) / element->bits)
		return bad(cursor, "a field reaches beyond the end of the packet");
	rc = need(cursor, count * element->bits);
	if (rc == 0 && count) {
		if (cursor->at % 8 && cursor->order != element->order)
			return bad(cursor, "the byte order changes within a byte");
		cursor->order = element->order;
		cursor->at += count * element->bits;
	}
	return rc;
}

static int walk_elements(struct ctf_walk *walk, const struct ctf_type *type, uint64_t count)
{
	struct ctf_cursor *cursor = &walk->cursor;
	struct ctf_record *record = walk->record;
	int rc = align(cursor, type->align);

	if (rc < 0)
		return rc;
	if (type->is_text)
		return walk_characters(walk, type, count);
	if (can_skip(walk, type->element))
		return skip_numbers(walk, type->element, count);
	if (record)
		ctf_record_begin(record, type);
	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		if (walk->idle > IDLE_ELEMENTS_MAX && ctf_type_is_empty(type->element))
			break;
		if (record)
			ctf_record_member(record, NULL, i);
		rc = ctf_walk(walk, type->element);
	}
	if (record)
		ctf_record_end(record, type);
	return rc;
}

static int walk_kind(struct ctf_walk *walk, const struct ctf_type *type)
{
	switch ((enum ctf_kind)type->kind) {
	case CTF_INTEGER:
	case CTF_ENUM:
	case CTF_FLOAT:
		return walk_number(walk, type);
	case CTF_VARINT:
		return walk_varint(walk, type);
	case CTF_STRING:
		return walk_string(walk, type);
	case CTF_STRUCT:
		return walk_struct(walk, type);
	case CTF_VARIANT:
		return walk_variant(walk, type);
	case CTF_ARRAY:
		return walk_elements(walk, type, type->length);
	case CTF_SEQUENCE:
		return walk_elements(walk, type, walk->slots[type->source]);
	}
	return CTF_BAD;
}

int ctf_walk(struct ctf_walk *walk, const struct ctf_type *type)
{
	uint64_t before = walk->cursor.at;
	int rc = walk_kind(walk, type);

	/* What costs no bytes costs time: files of a few bytes could ask for years of it. */
	if (rc == 0 && walk->cursor.at == before && ++walk->idle > IDLE_MAX)
		rc = bad(&walk->cursor, "an event has too many fields without a bit");
	return rc;
}
