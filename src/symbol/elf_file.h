/*
 * elf_file.h - what a program or library file says of itself: symbols, segments, notes.
 *
 * Addresses are those of the file (before it is loaded anywhere); offsets are bytes
 * from the file's start. The file may be anything: what is damaged is left out, and
 * nothing in it can do worse than that. Whether the machine is ours is for the caller
 * to ask. One thread at a time.
 */
#ifndef SYMBOL_ELF_FILE_H
#define SYMBOL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct elf_file;

enum elf_machine {
	ELF_MACHINE_OTHER,
	ELF_MACHINE_X86_64,
	ELF_MACHINE_AARCH64,
};

enum elf_symbol_kind {
	ELF_SYMBOL_FUNCTION,
	ELF_SYMBOL_INDIRECT, /* its code is chosen when the program starts (IFUNC) */
	ELF_SYMBOL_LABEL,    /* without a type: a place in assembler code, or data */
	ELF_SYMBOL_DATA,
};

/* The texts live until elf_file_close(). */
struct elf_symbol {
	const char *name;    /* without its version */
	const char *version; /* "GLIBC_2.14"; NULL = none is known */
	uint64_t address;
	uint64_t bytes; /* how far it reaches; 0 = not known */
	enum elf_symbol_kind kind;
	bool is_default;  /* what a program that is linked today gets */
	bool is_imported; /* used here, defined in another file */
};

/* A USDT point of .note.stapsdt. The texts live until elf_file_close(). */
struct elf_usdt {
	const char *provider;
	const char *name;
	const char *args;   /* "-4@%edi 8@-8(%rbp)"; may be empty */
	uint64_t address;   /* moved with the file if that was relocated (prelink) */
	uint64_t semaphore; /* address of a counter, 16 bits; 0 = none */
};

/*
 * Open a file and read its tables. Returns 0, or a negative errno with err filled:
 *   -ENOEXEC  it is no program or library,
 *   other     as open(2).
 */
int elf_file_open(const char *path, struct elf_file **out_file, struct err *err);

/* The same of an open file, which moves here; -1 = it could not be opened, errno says why. */
int elf_file_take(int fd, const char *path, struct elf_file **out_file, struct err *err);

void elf_file_close(struct elf_file *file); /* NULL is fine */

/* The open file, of which all of this was read; a view. */
int elf_file_fd(const struct elf_file *file);

enum elf_machine elf_file_machine(const struct elf_file *file);

/* .symtab (of the file or of its separate debug file) and .dynsym; views. */
const struct elf_symbol *elf_file_symbols(const struct elf_file *file, size_t *out_count);

/* Is there more than the names that other files need? */
bool elf_file_has_symtab(const struct elf_file *file);

/* The points of .note.stapsdt; views. */
const struct elf_usdt *elf_file_usdt(const struct elf_file *file, size_t *out_count);

/* The libraries that it asks for by name (DT_NEEDED); views. */
const char *const *elf_file_needed(const struct elf_file *file, size_t *out_count);

/*
 * Take the symbols of the debug file that belongs to this build, below 'debug_root'
 * ("/usr/lib/debug"), if the file has none itself and there is such a file.
 */
void elf_file_add_debug(struct elf_file *file, const char *debug_root);

/* The offset of an address that is loaded from the file; 'code': and can be executed. */
bool elf_file_offset(const struct elf_file *file, uint64_t address, bool code,
		     uint64_t *out_offset);

/* Address of the first symbol of that name that is defined here, of any kind. */
bool elf_file_find(const struct elf_file *file, const char *name, uint64_t *out_address);

#endif
