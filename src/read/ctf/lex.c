/* lex.c - cut the text of metadata into words, numbers and marks. */
#include "read/ctf/lex.h"

#include <ctype.h>
#include <string.h>

#include "read/ctf/type.h"

static struct ctf_token lex_wrong(struct ctf_lexer *lexer, const char *why)
{
	struct ctf_token token = { .kind = CTF_TOKEN_WRONG, .line = lexer->line, .text = why };

	lexer->end = lexer->at;
	return token;
}

/* Pass over blanks and comments. False when a comment does not end. */
static bool ctf_lex_skip_blanks(struct ctf_lexer *lexer)
{
	while (lexer->at < lexer->end) {
		size_t left = (size_t)(lexer->end - lexer->at);

		if (*lexer->at == '\n')
			lexer->line++;
		if (isspace((unsigned char)*lexer->at)) {
			lexer->at++;
		} else if (left >= 2 && memcmp(lexer->at, "//", 2) == 0) {
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
		} else if (left >= 2 && memcmp(lexer->at, "/*", 2) == 0) {
			const char *close = memmem(lexer->at + 2, left - 2, "*/", 2);

			if (!close)
				return false;
			for (; lexer->at < close + 2; lexer->at++)
				lexer->line += *lexer->at == '\n';
		} else {
			break;
		}
	}
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (isalpha((unsigned char)c))
		return tolower((unsigned char)c) - 'a' + 10;
	return 99;
}

/* Digits of a base; false when there are none or they do not fit. */
static bool lex_digits(struct ctf_lexer *lexer, int base, uint64_t *out_number)
{
	const char *start = lexer->at;
	uint64_t number = 0;

	for (; lexer->at < lexer->end && digit_of(*lexer->at) < base; lexer->at++) {
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit_of(*lexer->at), &number))
			return false;
	}
	*out_number = number;
	return lexer->at > start;
}

static struct ctf_token lex_number(struct ctf_lexer *lexer)
{
	struct ctf_token token = { .kind = CTF_TOKEN_NUMBER, .line = lexer->line };
	size_t left = (size_t)(lexer->end - lexer->at);
	int base = 10;

	if (left >= 2 && lexer->at[0] == '0' && tolower((unsigned char)lexer->at[1]) == 'x')
		base = 16;
	else if (left >= 2 && lexer->at[0] == '0' && tolower((unsigned char)lexer->at[1]) == 'b')
		base = 2;
	else if (lexer->at[0] == '0')
		base = 8;
	if (base == 16 || base == 2)
		lexer->at += 2;
	if (!lex_digits(lexer, base, &token.number))
		return lex_wrong(lexer, "this is no number of at most 64 bits");
	while (lexer->at < lexer->end && strchr("uUlL", *lexer->at) && *lexer->at)
		lexer->at++;
	return token;
}

/* Bytes of \uXXXX or \UXXXXXXXX, a character of a name; 0 = neither stands here. */
static size_t universal_bytes(const struct ctf_lexer *lexer)
{
	size_t left = (size_t)(lexer->end - lexer->at), digits;

	if (left < 2 || lexer->at[0] != '\\' || (lexer->at[1] != 'u' && lexer->at[1] != 'U'))
		return 0;
	digits = lexer->at[1] == 'u' ? 4 : 8;
	if (left < 2 + digits)
		return 0;
	for (size_t i = 0; i < digits; i++) {
		if (!isxdigit((unsigned char)lexer->at[2 + i]))
			return 0;
	}
	return 2 + digits;
}

/* Bytes of the next character of a name; 0 = the name ends here. */
static size_t name_bytes(const struct ctf_lexer *lexer)
{
	if (lexer->at == lexer->end)
		return 0;
	if (isalnum((unsigned char)*lexer->at) || *lexer->at == '_')
		return 1;
	return universal_bytes(lexer);
}

static struct ctf_token lex_word(struct ctf_lexer *lexer)
{
	struct ctf_token token = { .kind = CTF_TOKEN_WORD, .line = lexer->line };
	const char *start = lexer->at;
	size_t bytes;

	while ((bytes = name_bytes(lexer)) > 0)
		lexer->at += bytes;
	token.text = ctf_keep(lexer->arena, start, (size_t)(lexer->at - start));
	return token;
}

/* What stands behind a backslash. */
static char lex_escape(struct ctf_lexer *lexer)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	const char *known;
	uint32_t value = 0;
	char c = *lexer->at++;

	if (c == 'x') {
		for (int i = 0; i < 2 && lexer->at < lexer->end && digit_of(*lexer->at) < 16; i++)
			value = value * 16 + (uint32_t)digit_of(*lexer->at++);
		return (char)value;
	}
	if (c >= '0' && c <= '7') {
		value = (uint32_t)(c - '0');
		for (int i = 0; i < 2 && lexer->at < lexer->end && digit_of(*lexer->at) < 8; i++)
			value = value * 8 + (uint32_t)digit_of(*lexer->at++);
		return (char)value;
	}
	known = c ? strchr(from, c) : NULL;
	return known ? to[known - from] : c;
}

/* "TEXT" or 'TEXT'; it may have several lines. */
static struct ctf_token lex_text(struct ctf_lexer *lexer)
{
	struct ctf_token token = { .kind = CTF_TOKEN_TEXT, .line = lexer->line };
	char quote = *lexer->at++;
	const char *start = lexer->at, *end = start;
	size_t bytes = 0;
	char *text;

	while (end < lexer->end && *end != quote && *end != '\0')
		end += *end == '\\' && end + 1 < lexer->end ? 2 : 1;
	if (end >= lexer->end || *end != quote)
		return lex_wrong(lexer, quote == '"' ? "a literal string does not end"
						     : "a literal character does not end");
	text = ctf_take(lexer->arena, (size_t)(end - start) + 1);
	while (lexer->at < end) {
		char c = *lexer->at++;

		lexer->line += c == '\n';
		text[bytes++] = c == '\\' ? lex_escape(lexer) : c;
	}
	lexer->at = end + 1;
	token.text = text;
	return token;
}

static struct ctf_token lex_mark(struct ctf_lexer *lexer)
{
	struct ctf_token token = { .kind = CTF_TOKEN_MARK, .line = lexer->line };
	size_t left = (size_t)(lexer->end - lexer->at);

	token.mark = *lexer->at;
	if (left >= 2 && memcmp(lexer->at, ":=", 2) == 0) {
		token.kind = CTF_TOKEN_ASSIGN;
		lexer->at += 2;
	} else if (left >= 3 && memcmp(lexer->at, "...", 3) == 0) {
		token.kind = CTF_TOKEN_DOTS;
		lexer->at += 3;
	} else if (token.mark && strchr("{}[]<>();:,=.*-+", token.mark)) {
		lexer->at++;
	} else {
		return lex_wrong(lexer, "a character that has no meaning here");
	}
	return token;
}

struct ctf_token ctf_lex_next(struct ctf_lexer *lexer)
{
	if (!ctf_lex_skip_blanks(lexer))
		return lex_wrong(lexer, "a comment does not end");
	if (lexer->at == lexer->end)
		return (struct ctf_token){ .kind = CTF_TOKEN_END, .line = lexer->line };
	if (isdigit((unsigned char)*lexer->at))
		return lex_number(lexer);
	if (lexer->at[0] == 'L' && lexer->end - lexer->at > 1 &&
	    (lexer->at[1] == '"' || lexer->at[1] == '\''))
		lexer->at++;
	if (*lexer->at == '"' || *lexer->at == '\'')
		return lex_text(lexer);
	if (name_bytes(lexer) > 0)
		return lex_word(lexer);
	return lex_mark(lexer);
}
