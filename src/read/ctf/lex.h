/*
 * lex.h - the words of TSDL, the language of CTF 1.8 metadata.
 */
#ifndef READ_CTF_LEX_H
#define READ_CTF_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctf_arena;

enum ctf_token_kind {
	CTF_TOKEN_END,
	CTF_TOKEN_WORD, /* keywords as well */
	CTF_TOKEN_NUMBER,
	CTF_TOKEN_TEXT,	  /* a literal string, or a literal character */
	CTF_TOKEN_ASSIGN, /* := */
	CTF_TOKEN_DOTS,	  /* ... */
	CTF_TOKEN_MARK,	  /* any other single character */
	CTF_TOKEN_WRONG,  /* no token; see 'text' */
};

struct ctf_token {
	uint8_t kind; /* enum ctf_token_kind */
	char mark;
	uint32_t line; /* from 1 */
	uint64_t number;
	const char *text; /* word, literal string, or what is wrong: kept in the arena */
};

struct ctf_lexer {
	const char *at, *end;
	uint32_t line;
	struct ctf_arena *arena;
};

/* The next token. After CTF_TOKEN_END and CTF_TOKEN_WRONG comes the same again. */
struct ctf_token ctf_lex_next(struct ctf_lexer *lexer);

#endif
