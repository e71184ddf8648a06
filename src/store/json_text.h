/*
 * json_text.h - texts of any bytes in JSON, and JSON that every parser reads.
 *
 * A command line, a file name, a host's name are bytes; JSON holds characters. Bytes that are no
 * UTF-8 are written as \xNN, in the string's own text, and so is a backslash that would read as one:
 * what is read back is what was there. Whoever shows the text sees what text_escaped() makes of it.
 */
#ifndef STORE_JSON_TEXT_H
#define STORE_JSON_TEXT_H

#include <stddef.h>

/* 'bytes' as valid UTF-8. NULL is "". Free it with free(). */
char *json_text_coded(const char *bytes);

/* The bytes that json_text_coded() made 'text' of. Free it with free(). */
char *json_text_bytes(const char *text);

/*
 * The same JSON in ASCII: each character of more bytes is a \u escape. json-c 0.18 refuses such
 * characters where it is strict. Terminated; free it with free(). NULL when there are bytes that are
 * no UTF-8, with *out_bad the place of the first one.
 */
char *json_text_ascii(const char *json, size_t bytes, size_t *out_bytes, size_t *out_bad);

#endif
