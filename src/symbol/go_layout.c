/* go_layout.c - see go_layout.h. Types of Go are children of units; each is wanted once. */
#include "symbol/go_layout.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define DIES_MAX    4000000u /* that are looked at in a file */
#define MEMBERS_MAX 256u
#define HEAD_BYTES  4096u
#define FIELD_MAX   65536u /* no field lies further in its structure */
#define GO_BUILD_ID 4u

/* Where a name has changed over the versions, all of them. */
static const struct {
	enum go_field field;
	const char *type, *member;
} go_members[] = {
	{ GO_G_STACK, "runtime.g", "stack" },
	{ GO_G_SCHED, "runtime.g", "sched" },
	{ GO_G_SYSCALL_SP, "runtime.g", "syscallsp" },
	{ GO_G_SYSCALL_PC, "runtime.g", "syscallpc" },
	{ GO_G_STATUS, "runtime.g", "atomicstatus" },
	{ GO_G_ID, "runtime.g", "goid" },
	{ GO_G_WAIT_SINCE, "runtime.g", "waitsince" },
	{ GO_G_WAIT_REASON, "runtime.g", "waitreason" },
	{ GO_G_M, "runtime.g", "m" },
	{ GO_G_WAITING, "runtime.g", "waiting" },
	{ GO_G_CREATED_PC, "runtime.g", "gopc" },
	{ GO_G_START_PC, "runtime.g", "startpc" },
	{ GO_STACK_LO, "runtime.stack", "lo" },
	{ GO_STACK_HI, "runtime.stack", "hi" },
	{ GO_SCHED_SP, "runtime.gobuf", "sp" },
	{ GO_SCHED_PC, "runtime.gobuf", "pc" },
	{ GO_SCHED_LR, "runtime.gobuf", "lr" },
	{ GO_M_THREAD, "runtime.m", "procid" },
	{ GO_SUDOG_G, "runtime.sudog", "g" },
	{ GO_SUDOG_NEXT, "runtime.sudog", "next" },
	{ GO_SUDOG_PREV, "runtime.sudog", "prev" },
	{ GO_SUDOG_ELEM, "runtime.sudog", "elem" },
	{ GO_SUDOG_WAIT_LINK, "runtime.sudog", "waitlink" },
	{ GO_SUDOG_C, "runtime.sudog", "c" },
	{ GO_CHAN_COUNT, "runtime.hchan", "qcount" },
	{ GO_CHAN_ROOM, "runtime.hchan", "dataqsiz" },
	{ GO_CHAN_TYPE, "runtime.hchan", "elemtype" },
	{ GO_CHAN_TIMER, "runtime.hchan", "timer" },
	{ GO_MODULE_NAMES, "runtime.moduledata", "funcnametab" },
	{ GO_MODULE_UNITS, "runtime.moduledata", "cutab" },
	{ GO_MODULE_FILES, "runtime.moduledata", "filetab" },
	{ GO_MODULE_PCS, "runtime.moduledata", "pctab" },
	{ GO_MODULE_FUNCTIONS, "runtime.moduledata", "pclntable" },
	{ GO_MODULE_TABLE, "runtime.moduledata", "ftab" },
	{ GO_MODULE_TEXT, "runtime.moduledata", "text" },
	{ GO_MODULE_TEXT_END, "runtime.moduledata", "etext" },
	{ GO_MODULE_TEXTS, "runtime.moduledata", "textsectmap" },
	{ GO_MODULE_TYPES, "runtime.moduledata", "types" },
	{ GO_MODULE_DATA, "runtime.moduledata", "gofunc" },
	{ GO_FUNC_ENTRY, "runtime._func", "entryoff" },
	{ GO_FUNC_ENTRY, "runtime._func", "entryOff" },
	{ GO_FUNC_NAME, "runtime._func", "nameoff" },
	{ GO_FUNC_NAME, "runtime._func", "nameOff" },
	{ GO_FUNC_SP, "runtime._func", "pcsp" },
	{ GO_FUNC_FILE, "runtime._func", "pcfile" },
	{ GO_FUNC_LINE, "runtime._func", "pcln" },
	{ GO_FUNC_PCDATA, "runtime._func", "npcdata" },
	{ GO_FUNC_UNIT, "runtime._func", "cuOffset" },
	{ GO_FUNC_FUNCDATA, "runtime._func", "nfuncdata" },
	{ GO_INLINED_NAME, "runtime.inlinedCall", "func_" },
	{ GO_INLINED_NAME, "runtime.inlinedCall", "nameOff" },
	{ GO_INLINED_PC, "runtime.inlinedCall", "parentPc" },
	{ GO_TYPE_NAME, "runtime._type", "str" },
	{ GO_TYPE_NAME, "internal/abi.Type", "Str" },
	{ GO_TYPE_FLAGS, "runtime._type", "tflag" },
	{ GO_TYPE_FLAGS, "internal/abi.Type", "TFlag" },
	{ GO_SEMA_TREE, "runtime.semaRoot", "treap" },
	{ GO_P_TIMERS, "runtime.p", "timers" },
	{ GO_P_DELETED, "runtime.p", "deletedTimers" },
	{ GO_TIMERS_HEAP, "runtime.timers", "heap" },
	{ GO_TIMERS_STOPPED, "runtime.timers", "zombies" },
	{ GO_MUTEX_SEMA, "sync.Mutex", "sema" },
	{ GO_MUTEX_INNER_SEMA, "internal/sync.Mutex", "sema" },
	{ GO_RWMUTEX_WRITER, "sync.RWMutex", "writerSem" },
	{ GO_RWMUTEX_READER, "sync.RWMutex", "readerSem" },
	{ GO_GROUP_SEMA, "sync.WaitGroup", "sema" },
	{ GO_GROUP_STATE2, "sync.WaitGroup", "state2" },
	{ GO_TRACED_ELEM, "runtime.maybeTraceablePtr", "vu" },
	{ GO_TRACED_C, "runtime.maybeTraceableChan", "vu" },
	{ GO_POLL_FD, "runtime.pollDesc", "fd" },
	{ GO_POLL_SELF, "runtime.pollDesc", "self" },
	{ GO_POLL_READER, "runtime.pollDesc", "rg" },
	{ GO_POLL_WRITER, "runtime.pollDesc", "wg" },
};

static const char *const go_sized[GO_SIZES] = {
	[GO_SIZE_G] = "runtime.g",
	[GO_SIZE_FUNC] = "runtime._func",
	[GO_SIZE_INLINED] = "runtime.inlinedCall",
};

static const char *const go_names[GO_VARIABLES] = {
	[GO_ALL_GS] = "runtime.allgs",
	[GO_REASONS] = "runtime.waitReasonStrings",
	[GO_FIRST_MODULE] = "runtime.firstmoduledata",
	[GO_ALL_PS] = "runtime.allp",
	[GO_SEMAPHORES] = "runtime.semtable",
};

/* A note of Go in what a header says is of notes. */
static bool is_go_notes(const uint8_t *bytes, size_t count)
{
	Elf64_Nhdr note;

	while (count >= sizeof(note)) {
		size_t step;

		memcpy(&note, bytes, sizeof(note));
		if (note.n_namesz > count || note.n_descsz > count)
			return false;
		step = sizeof(note) + ((note.n_namesz + 3u) & ~3u) + ((note.n_descsz + 3u) & ~3u);
		if (step > count)
			return false;
		if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(bytes + sizeof(note), "Go\0\0", 4) == 0)
			return true;
		bytes += step;
		count -= step;
	}
	return false;
}

bool go_layout_is_go(int fd)
{
	uint8_t bytes[HEAD_BYTES] = { 0 };
	ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (got < (ssize_t)sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (size_t i = 0; i < head.e_phnum && head.e_phoff < HEAD_BYTES; i++) {
		size_t at = head.e_phoff + i * sizeof(part);

		if (at + sizeof(part) > (size_t)got)
			return false;
		memcpy(&part, bytes + at, sizeof(part));
		if (part.p_type == PT_NOTE && part.p_offset < (size_t)got &&
		    part.p_filesz <= (size_t)got - part.p_offset &&
		    is_go_notes(bytes + part.p_offset, part.p_filesz))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ fields */

static void go_take_member(struct go_layout *layout, const char *type, Dwarf_Die *member)
{
	const char *name = dwarf_diename(member);
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	if (!name || !dwarf_attr(member, DW_AT_data_member_location, &attribute) ||
	    dwarf_formudata(&attribute, &offset) != 0 || offset >= FIELD_MAX)
		return;
	for (size_t i = 0; i < ARRAY_LEN(go_members); i++) {
		if (strcmp(go_members[i].member, name) != 0 ||
		    strcmp(go_members[i].type, type) != 0)
			continue;
		layout->at[go_members[i].field] = offset;
		layout->has[go_members[i].field] = true;
	}
}

static bool go_is_wanted(const char *type)
{
	for (size_t i = 0; i < ARRAY_LEN(go_members); i++) {
		if (strcmp(go_members[i].type, type) == 0)
			return true;
	}
	return false;
}

static void go_take_type(struct go_layout *layout, Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	int bytes = dwarf_bytesize(type);
	Dwarf_Die member;

	if (!name || !go_is_wanted(name) || dwarf_child(type, &member) != 0)
		return;
	for (size_t i = 0; i < GO_SIZES; i++) {
		if (strcmp(go_sized[i], name) == 0 && bytes > 0 && bytes < (int)FIELD_MAX)
			layout->sizes[i] = (uint64_t)bytes;
	}
	for (size_t i = 0; i < MEMBERS_MAX; i++) {
		if (dwarf_tag(&member) == DW_TAG_member)
			go_take_member(layout, name, &member);
		if (dwarf_siblingof(&member, &member) != 0)
			break;
	}
}

static void go_read_types(struct go_layout *layout, Dwarf *dwarf)
{
	size_t left = DIES_MAX;
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;
	uint8_t kind;

	while (left && dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &top, NULL) == 0) {
		left--;
		if (kind != DW_UT_compile || dwarf_child(&top, &die) != 0)
			continue;
		while (left && left--) {
			if (dwarf_tag(&die) == DW_TAG_structure_type)
				go_take_type(layout, &die);
			if (dwarf_siblingof(&die, &die) != 0)
				break;
		}
	}
}

/* ------------------------------------------------------------------ variables */

static void go_take_symbol(struct go_layout *layout, const char *name, const GElf_Sym *symbol)
{
	for (size_t i = 0; i < GO_VARIABLES; i++) {
		if (strcmp(go_names[i], name) != 0)
			continue;
		layout->variables[i] = symbol->st_value;
		layout->variable_bytes[i] = symbol->st_size;
		layout->has_variables[i] = true;
	}
}

static void go_read_symbols(struct go_layout *layout, Elf *elf, Elf_Scn *section,
			    const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;

	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (name && strncmp(name, "runtime.", 8) == 0)
			go_take_symbol(layout, name, &symbol);
	}
}

static const char *go_read_variables(struct go_layout *layout, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_SYMTAB)
			go_read_symbols(layout, elf, section, &head);
	}
	for (size_t i = 0; i < GO_VARIABLES_NEEDED; i++) {
		if (!layout->has_variables[i])
			return "the program has no symbols (-ldflags=-s)";
	}
	return NULL;
}

static bool go_has_all(const struct go_layout *layout)
{
	for (size_t i = 0; i < GO_NEEDED; i++) {
		if (!layout->has[i])
			return false;
	}
	return layout->sizes[GO_SIZE_G] && layout->sizes[GO_SIZE_FUNC] &&
	       layout->sizes[GO_SIZE_INLINED];
}

static const char *go_layout_of(Elf *elf, struct go_layout *layout)
{
	GElf_Ehdr head;
	const char *why;
	Dwarf *dwarf;

	if (!gelf_getehdr(elf, &head) || gelf_getclass(elf) != ELFCLASS64 ||
	    (head.e_machine != EM_X86_64 && head.e_machine != EM_AARCH64))
		return "the program is of another machine";
	layout->entry = head.e_entry;
	layout->is_arm = head.e_machine == EM_AARCH64;
	why = go_read_variables(layout, elf);
	if (why)
		return why;
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dwarf)
		return "the program has no debug information (-ldflags=-w)";
	go_read_types(layout, dwarf);
	dwarf_end(dwarf);
	layout->at[GO_SUDOG_ELEM] += layout->at[GO_TRACED_ELEM];
	layout->at[GO_SUDOG_C] += layout->at[GO_TRACED_C];
	return go_has_all(layout)
		       ? NULL
		       : "this version of Go's runtime is not known (supported: 1.18 and "
			 "later)";
}

const char *go_layout_read(int fd, struct go_layout *out_layout)
{
	const char *why;
	Elf *elf;

	*out_layout = (struct go_layout){ 0 };
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return "the program's file is not readable";
	why = go_layout_of(elf, out_layout);
	elf_end(elf);
	return why;
}
