/* print_address.c - addresses of networks, identifiers and sets of bits as text. */
#include <string.h>

#include "base/digits.h"
#include "base/outbuf.h"
#include "fields/print_int.h"

#define FAMILY_INET  2
#define FAMILY_INET6 10

static void put_byte(struct outbuf *out, uint8_t byte, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";

	outbuf_room(out);
	*out->at++ = set[byte >> 4];
	*out->at++ = set[byte & 15];
}

/* "10.0.0.1", or "010.000.000.001" where 'zeros' */
static void put_ip4(struct outbuf *out, const uint8_t *address, bool zeros, bool reverse)
{
	outbuf_room(out);
	for (int i = 0; i < 4; i++) {
		uint8_t byte = address[reverse ? 3 - i : i];

		if (i)
			*out->at++ = '.';
		out->at = zeros ? digits_fixed(out->at, byte, 3) : digits_u32(out->at, byte);
	}
}

static void put_ip6_whole(struct outbuf *out, const uint8_t *address, bool colons)
{
	for (int i = 0; i < 16; i++) {
		if (colons && i && i % 2 == 0)
			outbuf_char(out, ':');
		put_byte(out, address[i], false);
	}
}

/* The longest run of zero words, of two at least; *out_count is 0 when there is none. */
static int longest_zeros(const uint8_t *address, int words, int *out_count)
{
	int best = -1, best_count = 1;

	for (int i = 0; i < words; i++) {
		int count = 0;

		while (i + count < words && !address[2 * (i + count)] &&
		       !address[2 * (i + count) + 1])
			count++;
		if (count > best_count) {
			best_count = count;
			best = i;
		}
	}
	*out_count = best < 0 ? 0 : best_count;
	return best;
}

/* RFC 5952; the last 32 bits as IPv4 where they are one. */
static void put_ip6_short(struct outbuf *out, const uint8_t *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool has_ip4 = memcmp(address, mapped, sizeof(mapped)) == 0 ||
		       ((address[8] | 2) == 2 && address[9] == 0 && address[10] == 0x5e &&
			address[11] == 0xfe);
	int words = has_ip4 ? 6 : 8, count;
	int zeros = longest_zeros(address, words, &count);
	bool colon = false;

	outbuf_room(out);
	for (int i = 0; i < words; i++) {
		if (i == zeros && count) {
			if (colon || i == 0)
				*out->at++ = ':';
			*out->at++ = ':';
			colon = false;
			i += count - 1;
			continue;
		}
		if (colon)
			*out->at++ = ':';
		out->at = digits_hex(out->at, (uint64_t)address[2 * i] << 8 | address[2 * i + 1]);
		colon = true;
	}
	if (!has_ip4)
		return;
	if (colon)
		*out->at++ = ':';
	put_ip4(out, address + 12, false, false);
}

static void put_ip6(struct outbuf *out, const char *how, const uint8_t *address)
{
	if (strchr(how, 'c'))
		put_ip6_short(out, address);
	else
		put_ip6_whole(out, address, *how == 'I');
}

/* A struct sockaddr: "10.0.0.1:80", "[::1]:80" */
static void put_socket(struct outbuf *out, const char *how, struct span span, bool big_endian)
{
	bool with_port = strchr(how, 'p') != NULL;
	uint32_t family = span.bytes < 4 ? 0
			  : big_endian	 ? (uint32_t)span.data[0] << 8 | span.data[1]
					 : (uint32_t)span.data[1] << 8 | span.data[0];
	bool is_ip6 = family == FAMILY_INET6;

	if ((family != FAMILY_INET && !is_ip6) || span.bytes < (is_ip6 ? 28u : 16u))
		return;
	if (is_ip6 && with_port)
		outbuf_char(out, '[');
	if (is_ip6)
		put_ip6(out, how, span.data + 8);
	else
		put_ip4(out, span.data + 4, *how == 'i', false);
	if (is_ip6 && with_port)
		outbuf_char(out, ']');
	if (!with_port)
		return;
	outbuf_room(out);
	*out->at++ = ':';
	out->at = digits_u32(out->at, (uint32_t)span.data[2] << 8 | span.data[3]);
}

static void put_mac(struct outbuf *out, const char *how, const uint8_t *address)
{
	bool reverse = how[1] == 'R';
	char between = how[1] == 'F' ? '-' : ':';

	for (int i = 0; i < 6; i++) {
		if (i && *how == 'M')
			outbuf_char(out, between);
		put_byte(out, address[reverse ? 5 - i : i], false);
	}
}

static void put_uuid(struct outbuf *out, const char *how, const uint8_t *bytes)
{
	static const uint8_t guid[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	bool is_guid = how[1] == 'l' || how[1] == 'L';
	bool upper = how[1] == 'L' || how[1] == 'B';

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			outbuf_char(out, '-');
		put_byte(out, bytes[is_guid ? guid[i] : i], upper);
	}
}

/* What is too short for its address is said to be so, in libtraceevent's words. */
static bool print_address_has(struct outbuf *out, struct span span, uint32_t bytes,
			      const char *what)
{
	if (span.data && span.bytes >= bytes)
		return true;
	outbuf_string(out, "INVALID");
	outbuf_string(out, what);
	return false;
}

bool print_address(struct outbuf *out, const char *more, struct span span, bool big_endian)
{
	switch (more[0]) {
	case 'I':
	case 'i':
		if (more[1] == 'S')
			put_socket(out, more, span, big_endian);
		else if (more[1] == '6' && print_address_has(out, span, 16, "IPv6"))
			put_ip6(out, more, span.data);
		else if (more[1] == '4' && print_address_has(out, span, 4, "IPv4"))
			put_ip4(out, span.data, *more == 'i',
				more[2] == 'l' || (more[2] == 'h' && !big_endian));
		return true;
	case 'M':
	case 'm':
		if (print_address_has(out, span, 6, "MAC"))
			put_mac(out, more, span.data);
		return true;
	case 'U':
		if (print_address_has(out, span, 16, "UUID"))
			put_uuid(out, more, span.data);
		return true;
	default:
		return false;
	}
}

/* Bit 'index' of a mask made of longs. */
static bool bit(struct span span, uint64_t index, bool big_endian)
{
	uint64_t byte = index / 8;

	if (big_endian) /* the bytes of each long are turned around */
		byte = byte / 8 * 8 + (7 - byte % 8);
	return byte < span.bytes && (span.data[byte] >> (index % 8) & 1);
}

void print_bitmask(struct outbuf *out, struct span span, bool big_endian)
{
	for (uint64_t byte = span.bytes; byte-- > 0;) {
		uint8_t value = 0;

		for (uint32_t i = 0; i < 8; i++)
			value |= (uint8_t)(bit(span, byte * 8 + i, big_endian) << i);
		put_byte(out, value, false);
		if (byte && byte % 4 == 0)
			outbuf_char(out, ',');
	}
}

void print_bit_list(struct outbuf *out, struct span span, uint64_t bits, bool big_endian)
{
	uint64_t count = (uint64_t)span.bytes * 8 < bits ? (uint64_t)span.bytes * 8 : bits;
	bool any = false;

	for (uint64_t first = 0; first < count; first++) {
		uint64_t last = first;

		if (!bit(span, first, big_endian))
			continue;
		while (last + 1 < count && bit(span, last + 1, big_endian))
			last++;
		outbuf_room(out);
		if (any)
			*out->at++ = ',';
		out->at = digits_u64(out->at, first);
		if (last > first) {
			*out->at++ = '-';
			out->at = digits_u64(out->at, last);
		}
		any = true;
		first = last;
	}
}
