/*
 * demangle.h - names of functions as their programmers wrote them: C++, Rust, and what compilers append.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

struct demangled {
	char *function;	 /* "std::vector<int>::push_back": no arguments, suffixes, hashes; owned */
	char *signature; /* whole; owned */
};

/* Replaces what is there. Any text is fine: what is not mangled stays. */
void demangle(const char *symbol, struct demangled *demangled);

void demangled_fini(struct demangled *demangled); /* zeroed is fine */

#endif
