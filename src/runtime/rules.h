/*
 * rules.h - which events are on: patterns such as "shop,net:rx*,-shop:tick".
 *
 * A pattern is CLASS or CLASS:EVENT with * and ?; '-' before it switches off, "all" is
 * every event. The last one that fits decides; an event that none fits is off.
 */
#ifndef RUNTIME_RULES_H
#define RUNTIME_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Do the patterns make sense? */
bool rules_are_sane(const char *rules);

bool rules_allow(const char *rules, const char *major, const char *name);

/*
 * Put 'more' behind the patterns in 'rules', which has room for 'size' bytes; 'off' turns each
 * of them round. Patterns that come again move to the end. Returns 0, -EINVAL, or -E2BIG when
 * they do not fit, and changes nothing then.
 */
int rules_add(char *rules, size_t size, const char *more, bool off);

#endif
