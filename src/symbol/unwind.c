/* unwind.c - see unwind.h. */
#include "symbol/unwind.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/die_name.h"
#include "symbol/extents.h"
#include "symbol/frame_base.h"
#include "symbol/inlined.h"
#include "symbol/symbol_spans.h"
#include "symbol/units.h"
#include "symbol/unwind_int.h"

#define UNWIND_PAGE_MAX 65536 /* bytes of a page of any machine */
#define THREAD		1     /* the only one */
#define BUILD_ID_MAX	UNWIND_BUILD_ID_MAX
#define NAMES_BIAS	UINT64_C(0x100000000000) /* any; a file is not loaded there */
#define ENTRY_BYTES	64 /* of the code that a program or its loader begins with */
#define ENTRY_ARGS	65536

/* The number of the stack pointer in DWARF. */
#if defined(__aarch64__)
#define UNWIND_SP 31
#else
#define UNWIND_SP 7
#define UNWIND_FP 6
#endif

struct unwind_module {
	int fd; /* a view: that of its map */
	uint64_t bias;
};

/* Where a map of code puts its file, and whether a loader did that: it maps segments from their beginnings. */
struct unwind_image {
	uint64_t bias;
	bool is_known; /* else it is no code of an ELF file */
	bool is_loaded;
	bool is_32; /* of i386, where we are its x86-64 */
	bool is_go; /* Go's linker made it */
};

struct unwinder {
	const struct unwind_map *maps; /* a view */
	size_t map_count;
	struct unwind_image *images;	/* owned; of the maps */
	struct unwind_module *reported; /* owned */
	size_t reported_count;
	Dwfl *dwfl;
	bool is_attached;
	bool is_32;				      /* a 32-bit program's: so are all files */
	bool (*is_known)(void *context, uint64_t pc); /* of code in no file; may be NULL */
	void *known_context;
	struct unwind_start start; /* of the walk that is under way; a view */
	bool is_beyond;		   /* since the last frame it asked for what was not copied */
	uint64_t absent;	   /* registers that are not known in the last frame */
	struct unwind_frame *frames;
	size_t frame_count, frame_max;
	bool is_cut; /* it ended at our own word */
	const char *cut_why;
};

size_t unwind_reg_count(void)
{
#if defined(__x86_64__)
	return 17;
#elif defined(__aarch64__)
	return 33;
#else
	return 0;
#endif
}

size_t unwinder_reg_count(const struct unwinder *unwinder)
{
	return unwinder->is_32 ? UNWIND_REGS_32 : unwind_reg_count();
}

/* Hexadecimal. False where the file has none. */
static bool unwind_build_id(Dwfl_Module *module, char out_id[2 * BUILD_ID_MAX + 1])
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *id;
	GElf_Addr at;
	int count = dwfl_module_build_id(module, &id, &at);

	if (count <= 1 || count > BUILD_ID_MAX)
		return false;
	for (int i = 0; i < count; i++) {
		out_id[2 * i] = digits[id[i] >> 4];
		out_id[2 * i + 1] = digits[id[i] & 15];
	}
	out_id[2 * count] = '\0';
	return true;
}

/* ------------------------------------------------------------------ what libdw asks for */

static int find_no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		       char **file_name, Elf **elf)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file_name;
	(void)elf;
	return -1;
}

/* libdwfl's own way asks servers, too, and believes what a file says of paths. */
static int find_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		      const char *file_name, const char *link, GElf_Word checksum,
		      char **out_file_name)
{
	struct debug_wanted wanted = {
		.root = DEBUG_ROOT,
		.path = file_name ? file_name : "",
		.link = link,
		.link_crc = checksum,
	};
	const struct unwind_names *names = *data; /* NULL where it is walked */
	GElf_Addr at;
	int count = dwfl_module_build_id(module, &wanted.id, &at), fd;

	(void)name;
	(void)base;
	wanted.id_bytes = count > 0 ? (size_t)count : 0;
	fd = debug_file_open(&wanted, out_file_name); /* libdwfl frees the name */
	if (fd >= 0 || !names || names->debug_fd < 0)
		return fd;
	fd = fcntl(names->debug_fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0)
		*out_file_name = xstrdup("added debug file");
	return fd;
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_debug,
};

static pid_t unwind_next_thread(Dwfl *dwfl, void *context, void **thread_context)
{
	(void)dwfl;
	if (*thread_context)
		return 0;
	*thread_context = context;
	return THREAD;
}

static bool unwind_get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread_context)
{
	(void)dwfl;
	*thread_context = context;
	return tid == THREAD;
}

static bool unwind_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out_word, void *context)
{
	struct unwinder *unwinder = context;
	const struct unwind_start *start = &unwinder->start;
	uint64_t at = (unwinder->is_32 ? (uint32_t)address : address) - start->stack_at;
	size_t bytes = unwinder->is_32 ? sizeof(uint32_t) : sizeof(*out_word);

	(void)dwfl;
	if (at > start->stack_bytes || start->stack_bytes - at < bytes) {
		unwinder->is_beyond = true;
		return false;
	}
	*out_word = 0;
	memcpy(out_word, start->stack + at, bytes); /* of 32 bits: both are little-endian */
	return true;
}

/* Those that are known, each run of them. */
static bool unwind_set_known(Dwfl_Thread *thread, const Dwarf_Word *regs, size_t count,
			     uint64_t absent)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && !(absent >> end & 1); end++)
			;
		if (end > i &&
		    !dwfl_thread_state_registers(thread, (int)i, (unsigned int)(end - i), regs + i))
			return false;
		end += end == i;
	}
	return true;
}

static bool unwind_set_registers(Dwfl_Thread *thread, void *context)
{
	const struct unwinder *unwinder = context;
	size_t count = unwinder->start.reg_count;
	Dwarf_Word regs[64];

	for (size_t i = 0; i < count; i++)
		regs[i] = unwinder->start.regs[i];
#if defined(__aarch64__)
	count--; /* the program counter has no number there */
	dwfl_thread_state_register_pc(thread, regs[count]);
#endif
	return unwind_set_known(thread, regs, count, unwinder->start.absent);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = unwind_next_thread,
	.get_thread = unwind_get_thread,
	.memory_read = unwind_read,
	.set_initial_registers = unwind_set_registers,
};

/* ------------------------------------------------------------------ files */

bool unwind_bias(Elf *elf, uint64_t start, uint64_t offset, uint64_t bytes, uint64_t *out_bias)
{
	size_t count = 0;
	GElf_Phdr header;

	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    offset + bytes <= header.p_offset ||
		    offset >= header.p_offset + header.p_filesz || !(header.p_flags & PF_X))
			continue;
		*out_bias = start - offset + header.p_offset - header.p_vaddr;
		return true;
	}
	return false;
}

/* Does a map from this offset on have the beginning of a segment of code? */
static bool unwind_begins(Elf *elf, uint64_t offset)
{
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_X && offset <= header.p_offset &&
		    header.p_offset - offset < UNWIND_PAGE_MAX)
			return true;
	}
	return false;
}

static bool unwind_is_32(const GElf_Ehdr *head)
{
#if defined(__x86_64__)
	return head->e_machine == EM_386 && head->e_ident[EI_CLASS] == ELFCLASS32;
#else
	(void)head;
	return false;
#endif
}

static bool unwind_has_section(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *its = gelf_getshdr(section, &header)
					  ? elf_strptr(elf, names, header.sh_name)
					  : NULL;

		if (its && strcmp(its, name) == 0)
			return true;
	}
	return false;
}

static struct unwind_image unwind_image_of(const struct unwind_map *map)
{
	Elf *elf = map->fd < 0 ? NULL : elf_begin(map->fd, ELF_C_READ_MMAP, NULL);
	struct unwind_image image = { 0 };
	GElf_Ehdr head;

	image.is_known = gelf_getehdr(elf, &head) && /* NULL is fine */
			 unwind_bias(elf, map->start, map->offset, map->bytes, &image.bias);
	image.is_loaded = image.is_known && unwind_begins(elf, map->offset);
	image.is_32 = image.is_known && unwind_is_32(&head);
	image.is_go = image.is_known && unwind_has_section(elf, ".gopclntab");
	/* These can be in one place only: elsewhere are copies of their code. */
	if (image.is_known && head.e_type == ET_EXEC && image.bias)
		image.is_loaded = false;
	elf_end(elf); /* NULL is fine */
	return image;
}

/* A file that is there already, with its code in this place, or in any. */
static bool unwind_has(const struct unwinder *unwinder, const struct unwind_map *map,
		       const uint64_t *bias)
{
	for (size_t i = 0; i < unwinder->reported_count; i++) {
		if (unwinder->reported[i].fd == map->fd &&
		    (!bias || unwinder->reported[i].bias == *bias))
			return true;
	}
	return false;
}

static void unwind_report(struct unwinder *unwinder, size_t index)
{
	const struct unwind_map *map = &unwinder->maps[index];
	uint64_t bias = unwinder->images[index].bias;
	int fd = dup(map->fd);
	Dwfl_Module *module =
		fd < 0 ? NULL
		       : dwfl_report_elf(unwinder->dwfl, map->path, map->path, fd, bias, true);

	if (!module) {
		mem_close_fd(&fd);
		return;
	}
	unwinder->reported[unwinder->reported_count++] = (struct unwind_module){ map->fd, bias };
}

/* What each map is of. Where some are of x86-64, those of i386 are none. */
static void unwind_look(struct unwinder *unwinder)
{
	size_t count = 0, count_32 = 0;

	for (size_t i = 0; i < unwinder->map_count; i++) {
		unwinder->images[i] = unwind_image_of(&unwinder->maps[i]);
		count += unwinder->images[i].is_known;
		count_32 += unwinder->images[i].is_32;
	}
	unwinder->is_32 = count && count == count_32;
	for (size_t i = 0; i < unwinder->map_count; i++) {
		if (unwinder->images[i].is_32 && !unwinder->is_32)
			unwinder->images[i] = (struct unwind_image){ 0 };
	}
}

/*
 * Each file once in each place. libdw drops a file that is told to be where it cannot be, so what a program
 * mapped again on its own, as V8 does with a part of its code, counts only where nothing else of the file does.
 */
static void unwind_report_all(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->map_count; i++) {
		if (unwinder->images[i].is_loaded &&
		    !unwind_has(unwinder, &unwinder->maps[i], &unwinder->images[i].bias))
			unwind_report(unwinder, i);
	}
	for (size_t i = 0; i < unwinder->map_count; i++) {
		if (unwinder->images[i].is_known && !unwind_has(unwinder, &unwinder->maps[i], NULL))
			unwind_report(unwinder, i);
	}
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	dwfl_end(unwinder->dwfl); /* NULL is fine */
	free(unwinder->images);
	free(unwinder->reported);
	free(unwinder);
}

struct unwinder *unwinder_new(const struct unwind_map *maps, size_t count)
{
	struct unwinder *unwinder;

	if (!unwind_reg_count() || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	unwinder = xcalloc(1, sizeof(*unwinder));
	unwinder->maps = maps;
	unwinder->map_count = count;
	unwinder->reported = xcalloc(count + 1, sizeof(*unwinder->reported));
	unwinder->images = xcalloc(count + 1, sizeof(*unwinder->images));
	unwinder->dwfl = dwfl_begin(&dwfl_callbacks);
	if (!unwinder->dwfl) {
		unwinder_free(unwinder);
		return NULL;
	}
	dwfl_report_begin(unwinder->dwfl);
	unwind_look(unwinder);
	unwind_report_all(unwinder);
	(void)dwfl_report_end(unwinder->dwfl, NULL, NULL); /* nothing was there before */
	unwinder->is_attached =
		dwfl_attach_state(unwinder->dwfl, NULL, THREAD, &thread_callbacks, unwinder);
	return unwinder;
}

/* ------------------------------------------------------------------ walking */

static uint32_t unwind_map_of(const struct unwinder *unwinder, uint64_t pc)
{
	for (size_t i = 0; i < unwinder->map_count; i++) {
		if (pc - unwinder->maps[i].start < unwinder->maps[i].bytes)
			return (uint32_t)i;
	}
	return UNWIND_NO_MAP;
}

/* As its map puts it, whether or not libdw knows of that. */
static uint64_t unwind_address(const struct unwinder *unwinder, uint32_t map, uint64_t pc)
{
	return unwinder->images[map].is_known ? pc - unwinder->images[map].bias : 0;
}

static uint64_t unwind_sp(const struct unwinder *unwinder, Dwfl_Frame *state)
{
	Dwarf_Word sp = 0;

	return dwfl_frame_reg(state, unwinder->is_32 ? UNWIND_SP_32 : UNWIND_SP, &sp) == 0 ? sp : 0;
}

/* The registers that are not known in this frame, of those that were not in the first one. */
static uint64_t unwind_absent(const struct unwinder *unwinder, Dwfl_Frame *state)
{
	uint64_t absent = 0;
	Dwarf_Word word;

	for (uint64_t left = unwinder->start.absent; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(left);

		if (dwfl_frame_reg(state, i, &word) != 0)
			absent |= UINT64_C(1) << i;
	}
	return absent;
}

/*
 * Go's scheduler, and C, run on the stack of the thread, goroutines on others. The tables of the code that goes from
 * one to the other do not say so: what follows there would be what the stack held before.
 */
static bool unwind_leaves_stack(const struct unwinder *unwinder, uint32_t map, uint64_t pc)
{
	static const char *const names[] = { "runtime.mcall", "runtime.systemstack",
					     "runtime.asmcgocall", "runtime.morestack" };
	Dwfl_Module *module =
		unwinder->images[map].is_go ? dwfl_addrmodule(unwinder->dwfl, pc) : NULL;
	const char *name = module ? dwfl_module_addrname(module, pc) : NULL;

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++) {
		size_t bytes = strlen(names[i]);

		if (strncmp(name, names[i], bytes) == 0 &&
		    (!name[bytes] || strcmp(name + bytes, ".abi0") == 0))
			return true;
	}
	return false;
}

/* Called for each frame; what stands in code of no file is the end, as it would be a guess. */
static int unwind_take_frame(Dwfl_Frame *state, void *context)
{
	struct unwinder *unwinder = context;
	struct unwind_frame *frame = &unwinder->frames[unwinder->frame_count];
	Dwarf_Addr pc;
	bool is_leaf;

	unwinder->is_beyond = false;
	unwinder->absent = unwind_absent(unwinder, state);
	if (unwinder->frame_count >= unwinder->frame_max) {
		unwinder->is_cut = true;
		unwinder->cut_why = "too many frames";
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(state, &pc, &is_leaf))
		return DWARF_CB_ABORT;
	*frame = (struct unwind_frame){ .pc = pc,
					.sp = unwind_sp(unwinder, state),
					.is_call = !is_leaf };
	pc -= frame->is_call;
	frame->map = unwind_map_of(unwinder, pc);
	if (frame->map == UNWIND_NO_MAP && unwinder->is_known &&
	    unwinder->is_known(unwinder->known_context, pc)) {
		frame->pc = pc;
		unwinder->frame_count++;
		return DWARF_CB_OK;
	}
	if (frame->map == UNWIND_NO_MAP || unwinder->maps[frame->map].fd < 0) {
		unwinder->is_cut = true;
		unwinder->cut_why = frame->map == UNWIND_NO_MAP
					    ? "code that is in no file (made at run time?)"
					    : "its file is missing";
		/* It is known that it returns there; from there on it would be a guess. */
		unwinder->frame_count++;
		return DWARF_CB_ABORT;
	}
	frame->address = unwind_address(unwinder, frame->map, pc);
	unwinder->frame_count++;
	if (!unwind_leaves_stack(unwinder, frame->map, pc))
		return DWARF_CB_OK;
	unwinder->is_cut = true;
	unwinder->cut_why = "goroutines have stacks of their own";
	return DWARF_CB_ABORT;
}

void unwinder_knows(struct unwinder *unwinder, bool (*is_known)(void *context, uint64_t pc),
		    void *context)
{
	unwinder->is_known = is_known;
	unwinder->known_context = context;
}

/* Does a table tell how to go on from here? */
static bool unwind_has_table(Dwfl_Module *module, uint64_t pc)
{
	GElf_Addr bias;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(module, &bias);
	bool has = cfi && dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0;

	free(frame);
	return has;
}

/*
 * glibc's clone() ends its table before the system call, as that is wrong for the child; of the parent the
 * stack is as the caller left it. True: *out_return is where it returns to.
 */
static bool unwind_clone(const struct unwinder *unwinder, uint64_t pc, uint64_t *out_return)
{
#if defined(__x86_64__)
	static const char *const names[] = { "clone", "__clone", "clone3", "__clone3" };
	Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, pc);
	const char *name;
	bool is_clone = false;

	/* A name takes long to find. */
	if (!module || unwinder->is_32 || unwinder->start.stack_bytes < sizeof(*out_return) ||
	    unwind_has_table(module, pc))
		return false;
	name = dwfl_module_addrname(module, pc);
	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		is_clone |= strcmp(name, names[i]) == 0;
	if (!is_clone)
		return false;
	memcpy(out_return, unwinder->start.stack, sizeof(*out_return));
	return unwind_map_of(unwinder, *out_return - 1) != UNWIND_NO_MAP; /* else it is the child */
#else
	(void)unwinder;
	(void)pc;
	(void)out_return;
	return false;
#endif
}

/* The n-th word of the stack from 'at' on. */
static bool unwind_word(struct unwinder *unwinder, uint64_t at, uint64_t n, uint64_t *out_word)
{
	size_t bytes = unwinder->is_32 ? sizeof(uint32_t) : sizeof(*out_word);

	return unwind_read(NULL, at + n * bytes, out_word, unwinder);
}

/*
 * Does this address lie in what the kernel calls first of that file, which no table tells of? *out_entry is where
 * that begins.
 */
static bool unwind_is_entry(Dwfl_Module *module, uint64_t pc, uint64_t *out_entry)
{
	GElf_Addr bias = 0;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	GElf_Ehdr head;

	if (!elf || !gelf_getehdr(elf, &head) || pc - bias - head.e_entry >= ENTRY_BYTES)
		return false;
	*out_entry = bias + head.e_entry;
	return !unwind_has_table(module, pc);
}

/*
 * Is this frame the first of its program? glibc's loader begins with code that no table tells of. The kernel puts
 * there on the stack: the number of the arguments, they, a zero (System V ABI, "Process Initialization").
 */
static bool unwind_is_first(struct unwinder *unwinder, const struct unwind_frame *frame)
{
	uint64_t pc = frame->pc - frame->is_call, entry, args, first, zero;

	return unwind_is_entry(dwfl_addrmodule(unwinder->dwfl, pc), pc, &entry) &&
	       unwind_word(unwinder, frame->sp, 0, &args) && args && args < ENTRY_ARGS &&
	       unwind_word(unwinder, frame->sp, 1, &first) && first > frame->sp &&
	       unwind_word(unwinder, frame->sp, 1 + args, &zero) && !zero;
}

/* libdw takes that for the end, too: the table goes by a register that is not known. */
static bool unwind_is_blind(const struct unwinder *unwinder)
{
	const struct unwind_frame *frame;
	uint64_t pc;

	if (!unwinder->frame_count || !unwinder->absent)
		return false;
	frame = &unwinder->frames[unwinder->frame_count - 1];
	pc = frame->pc - frame->is_call;
	return frame_base_registers(dwfl_addrmodule(unwinder->dwfl, pc), pc) & unwinder->absent;
}

/* As unwinder_walk(), from what is in 'unwinder'. */
static void unwind_walk_up(struct unwinder *unwinder, const char **out_end)
{
	size_t before = unwinder->frame_count;
	int rc = dwfl_getthread_frames(unwinder->dwfl, THREAD, unwind_take_frame, unwinder);

	*out_end = "no file has unwind tables";
	if (unwinder->is_cut)
		*out_end = unwinder->cut_why;
	else if (rc != 0 && unwinder->frame_count &&
		 unwind_is_first(unwinder, &unwinder->frames[unwinder->frame_count - 1]))
		*out_end = NULL;
	else if (unwind_is_blind(unwinder))
		*out_end = "a register that leads on is not known";
	else if (unwinder->is_beyond) /* which libdw takes for a frame that nobody called */
		*out_end = "it is longer than the copied part";
	else if (rc == 0)
		*out_end = unwinder->frame_count > before + 1 ? NULL : "its caller is not known";
}

/*
 * Where it ends as the frame pointer is not known: by the instructions of the function that needs it. The functions
 * that it called have kept it, so it was the same all the time. There stands what the function's caller called by.
 */
static bool unwind_find_base(struct unwinder *unwinder, uint64_t *out_base)
{
	const struct unwind_frame *frame = &unwinder->frames[unwinder->frame_count - 1];
	uint64_t bytes, entry, back, map;

	if (unwinder->is_32 || !frame->sp ||
	    !frame_base_find(dwfl_addrmodule(unwinder->dwfl, frame->pc - frame->is_call),
			     frame->pc - frame->is_call, &bytes, &entry) ||
	    !unwind_word(unwinder, frame->sp + bytes, 1, &back))
		return false;
	*out_base = frame->sp + bytes;
	map = unwind_map_of(unwinder, back - 1);
	return map != UNWIND_NO_MAP && unwinder->images[map].is_known &&
	       frame_base_is_call(dwfl_addrmodule(unwinder->dwfl, back - 1), back, entry);
}

static void unwind_walk_known(struct unwinder *unwinder, const char **out_end)
{
	size_t before = unwinder->frame_count;
	struct unwind_start *start = &unwinder->start;
	uint64_t regs[64], base;

	unwind_walk_up(unwinder, out_end);
#if defined(UNWIND_FP)
	if (unwinder->is_cut || unwinder->frame_count == before ||
	    !(unwinder->absent >> UNWIND_FP & 1) || !unwind_find_base(unwinder, &base))
		return;
	memcpy(regs, start->regs, start->reg_count * sizeof(*regs));
	regs[UNWIND_FP] = base;
	start->regs = regs;
	start->absent &= ~(UINT64_C(1) << UNWIND_FP);
	unwinder->frame_count = before;
	unwinder->is_beyond = false;
	unwind_walk_up(unwinder, out_end);
#else
	(void)before;
	(void)start;
	(void)regs;
	(void)base;
#endif
}

/* The call of clone(), and its caller as if that stood before its return address. */
static void unwind_walk_clone(struct unwinder *unwinder, uint64_t pc, uint64_t to,
			      const char **out_end)
{
	struct unwind_start *start = &unwinder->start;
	uint64_t regs[64];
	uint32_t map = unwind_map_of(unwinder, pc);

	unwinder->frames[0] = (struct unwind_frame){ .pc = pc,
						     .map = map,
						     .address = unwind_address(unwinder, map, pc) };
	unwinder->frame_count = 1;
	memcpy(regs, start->regs, start->reg_count * sizeof(*regs));
	regs[UNWIND_SP] += sizeof(to);
	regs[start->reg_count - 1] = to - 1;
	start->regs = regs;
	unwind_walk_known(unwinder, out_end);
	if (unwinder->frame_count > 1) {
		unwinder->frames[1].pc = to;
		unwinder->frames[1].is_call = true;
	}
}

size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_start *start,
		     struct unwind_frame *out_frames, size_t max, const char **out_end)
{
	uint64_t pc, to;

	unwinder->start = *start;
	unwinder->frames = out_frames;
	unwinder->frame_count = 0;
	unwinder->frame_max = max;
	unwinder->is_beyond = unwinder->is_cut = false;
	*out_end = "no file has unwind tables";
	if (start->reg_count != unwinder_reg_count(unwinder))
		return 0;
	pc = start->regs[start->reg_count - 1];
	if (!unwinder->is_attached) {
		/* No file at all: the leaf is still known. */
		out_frames[0] = (struct unwind_frame){
			.pc = pc,
			.map = unwind_map_of(unwinder, pc),
		};
		return max > 0;
	}
	if (max > 1 && unwind_clone(unwinder, pc, &to))
		unwind_walk_clone(unwinder, pc, to, out_end);
	else
		unwind_walk_known(unwinder, out_end);
	return unwinder->frame_count;
}

/* ------------------------------------------------------------------ names */

struct unwind_names *unwind_names_new(int fd, const char *path)
{
	struct unwind_names *names = xcalloc(1, sizeof(*names));
	int own = dup(fd);
	void **data;

	names->debug_fd = -1;
	names->dwfl = dwfl_begin(&dwfl_callbacks);
	if (names->dwfl && own >= 0) {
		dwfl_report_begin(names->dwfl);
		names->module = dwfl_report_elf(names->dwfl, path, path, own, NAMES_BIAS, true);
		(void)dwfl_report_end(names->dwfl, NULL, NULL); /* nothing was there before */
	}
	if (!names->module)
		mem_close_fd(&own);
	if (!names->module || !dwfl_module_getelf(names->module, &names->bias)) {
		unwind_names_free(names);
		return NULL;
	}
	if (dwfl_module_info(names->module, &data, NULL, NULL, NULL, NULL, NULL, NULL))
		*data = names; /* for find_debug() */
	names->units = units_new(names->module);
	names->spans = symbol_spans_new(names->module);
	return names;
}

const char *unwind_names_build_id(struct unwind_names *names)
{
	if (!names->build_id[0] && !unwind_build_id(names->module, names->build_id))
		return NULL;
	return names->build_id;
}

bool unwind_names_add_debug(struct unwind_names *names, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const unsigned char *own;
	const void *other = NULL;
	GElf_Addr at;
	int bytes = dwfl_module_build_id(names->module, &own, &at);
	ssize_t other_bytes = elf ? dwelf_elf_gnu_build_id(elf, &other) : -1;
	bool is_its = bytes > 0 && other_bytes == bytes && memcmp(own, other, (size_t)bytes) == 0;

	elf_end(elf); /* NULL is fine */
	if (is_its)
		names->debug_fd = fd;
	return is_its;
}

bool unwind_names_have_lines(struct unwind_names *names)
{
	Dwarf_Addr bias;

	return dwfl_module_getdwarf(names->module, &bias) != NULL;
}

static void unwind_put_name(struct demangled *demangled, const char *symbol,
			    struct unwind_name *out_name)
{
	demangle(symbol, demangled);
	out_name->function = demangled->function;
	out_name->signature = demangled->signature;
}

static void unwind_symbol(struct unwind_names *names, uint64_t pc, struct unwind_name *out_name)
{
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name = symbol_spans_find(names->spans, pc, &offset, &symbol);
	int type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;
	uint64_t entry;

	if (!name || !*name)
		return;
	/* A symbol without a size ends nobody knows where; but its first byte is its own, and all of the entry. */
	if (!(unwind_is_entry(names->module, pc, &entry) && pc - offset == entry) &&
	    ((offset && offset >= symbol.st_size) || (type != STT_FUNC && type != STT_GNU_IFUNC)))
		return;
	unwind_put_name(&names->demangled[UNWIND_INLINED_MAX], name, out_name);
}

static void unwind_extent(struct unwind_names *names, uint64_t address,
			  struct unwind_name *out_name)
{
	if (!names->has_asked_extents)
		names->extents = extents_new(dwfl_module_getelf(names->module, &(GElf_Addr){ 0 }));
	names->has_asked_extents = true;
	if (names->extents && !extents_find(names->extents, address, &out_name->start))
		out_name->start = 0;
}

/* ------------------------------------------------------------------ inlined functions */

/*
 * From the innermost one up to the function itself. out_names[0] has the line of the address; the last
 * one becomes what the function is, of which the caller knows the name.
 */
static size_t unwind_inlined(struct unwind_names *names, Dwarf_Die *unit, Dwarf_Addr address,
			     struct unwind_name out_names[UNWIND_INLINED_MAX + 1])
{
	Dwarf_Die inlined[INLINED_MAX];
	struct unwind_name function = out_names[0];
	size_t found = 0;

	for (size_t i = inlined_find(unit, address, inlined); i > 0 && found < UNWIND_INLINED_MAX;
	     i--) {
		AUTO_FREE char *name = die_name(&inlined[i - 1]);
		struct inlined_call call = inlined_call_of(unit, &inlined[i - 1]);

		if (!name)
			continue;
		unwind_put_name(&names->demangled[found], name, &out_names[found]);
		out_names[found].is_inlined = true;
		found++;
		out_names[found] = function;
		out_names[found].file = call.file;
		out_names[found].line = call.line;
	}
	return found + 1;
}

static void unwind_line(Dwarf_Die *unit, Dwarf_Addr address, struct unwind_name *out_name)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0;

	if (!line || dwarf_lineno(line, &number) != 0)
		return;
	out_name->file = dwarf_linesrc(line, NULL, NULL);
	out_name->line = out_name->file && number > 0 ? (uint32_t)number : 0;
}

size_t unwind_names_find(struct unwind_names *names, uint64_t address,
			 struct unwind_name out_names[UNWIND_INLINED_MAX + 1])
{
	struct unwind_name *out_name = &out_names[0];
	uint64_t pc = address + names->bias;
	Dwarf_Addr bias;
	Dwarf_Die *unit;

	*out_name = (struct unwind_name){ 0 };
	unwind_symbol(names, pc, out_name);
	if (!out_name->function)
		unwind_extent(names, address, out_name);
	out_name->build_id = unwind_names_build_id(names);
	unit = units_find(names->units, pc, &bias);
	if (!unit)
		return 1;
	unwind_line(unit, pc - bias, out_name);
	return unwind_inlined(names, unit, pc - bias, out_names);
}

bool unwind_names_address(struct unwind_names *names, uint64_t offset, uint64_t *out_address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(names->module, &bias);
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < INT_MAX; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*out_address = header.p_vaddr + (offset - header.p_offset);
		return true;
	}
	return false;
}

void unwind_names_free(struct unwind_names *names)
{
	if (!names)
		return;
	variables_free(names->variables);
	extents_free(names->extents);
	units_free(names->units);
	symbol_spans_free(names->spans);
	dwfl_end(names->dwfl); /* NULL is fine */
	for (size_t i = 0; i <= UNWIND_INLINED_MAX; i++)
		demangled_fini(&names->demangled[i]);
	free(names);
}
