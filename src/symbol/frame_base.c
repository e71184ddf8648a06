/* frame_base.c - see frame_base.h. */
#include "symbol/frame_base.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

uint64_t frame_base_registers(Dwfl_Module *module, uint64_t pc)
{
	GElf_Addr bias = 0;
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *row = NULL;
	uint64_t registers = 0;
	Dwarf_Op *ops;
	size_t count;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &row) != 0)
		return 0;
	if (dwarf_frame_cfa(row, &ops, &count) == 0) {
		for (size_t i = 0; i < count; i++) {
			if (ops[i].atom >= DW_OP_breg0 && ops[i].atom <= DW_OP_breg31)
				registers |= UINT64_C(1) << (ops[i].atom - DW_OP_breg0);
			else if (ops[i].atom == DW_OP_bregx && ops[i].number < 64)
				registers |= UINT64_C(1) << ops[i].number;
		}
	}
	free(row);
	return registers;
}

#if defined(__x86_64__)

#define CODE_MAX   256 /* bytes of a function's beginning */
#define ROWS_MAX   32  /* of the table, from the call back to where the frame pointer was set up */
#define ENTRY_ROWS 4   /* and from there to the function's beginning */
#define CALL_MIN   2   /* bytes of an instruction that calls */
#define CALL_MAX   7
#define NEAR	   5	/* one with a distance: that is of 4 bytes, and counts from behind it */
#define TAIL_MAX   4096 /* of a function that may jump to the one that waits */
/* Numbers in DWARF, of %rbp and %rsp. */
#define FRAME_BASE	   6
#define STACK_POINTER_BASE 7
#define SAVED \
	16 /* it lies so far under where the frame begins: with its old value, and the return address */

/* ------------------------------------------------------------------ the table */

/*
 * Does the table find where the frame begins at so many bytes from the register here? *out_start is where it began
 * to say so in these words.
 */
static bool goes_by(Dwarf_CFI *cfi, uint64_t address, unsigned int number, unsigned int bytes,
		    uint64_t *out_start)
{
	Dwarf_Frame *row = NULL;
	Dwarf_Addr start = 0, end = 0;
	bool is_signal, goes = false;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_cfi_addrframe(cfi, address, &row) != 0)
		return false;
	if (dwarf_frame_info(row, &start, &end, &is_signal) >= 0 && !is_signal &&
	    dwarf_frame_cfa(row, &ops, &count) == 0)
		goes = count == 1 &&
		       ((ops[0].atom == DW_OP_bregx && ops[0].number == number &&
			 ops[0].number2 == bytes) ||
			(ops[0].atom == DW_OP_breg0 + number && ops[0].number == bytes));
	free(row);
	*out_start = start;
	return goes && start <= address;
}

/* The table of a file, and where it is loaded. */
struct table {
	Dwfl_Module *module;
	Dwarf_CFI *cfi;
	GElf_Addr bias;
};

/* By their names: a part of a function may lie behind another one. */
static bool is_same_function(const struct table *table, uint64_t one, uint64_t other)
{
	const char *name = dwfl_module_addrname(table->module, one + table->bias);
	AUTO_FREE char *kept = name ? xasprintf("%s", name) : NULL;

	name = kept ? dwfl_module_addrname(table->module, other + table->bias) : NULL;
	return name && strcmp(name, kept) == 0;
}

/*
 * Where a function has given up its frame, to return, but goes on behind that for whoever jumps there: the row of
 * "ret" alone. Where it is set up, the old frame pointer lies on the stack just before.
 */
static bool is_return_within(const struct table *table, uint64_t address, uint64_t *out_start)
{
	uint64_t start;

	return goes_by(table->cfi, address, STACK_POINTER_BASE, sizeof(uint64_t), out_start) &&
	       *out_start && goes_by(table->cfi, *out_start - 1, FRAME_BASE, SAVED, &start) &&
	       is_same_function(table, *out_start - 1, address + 1);
}

/* Where the frame pointer has been set up. */
static bool base_begin(const struct table *table, uint64_t address, uint64_t *out_begin)
{
	uint64_t start;
	bool found = false;

	for (int i = 0; i < ROWS_MAX; i++) {
		if (goes_by(table->cfi, address, FRAME_BASE, SAVED, &start)) {
			found = true;
			*out_begin = start;
		} else if (!found || !is_return_within(table, address, &start)) {
			break;
		}
		if (!start)
			break;
		address = start - 1;
	}
	return found;
}

/* Where the function is entered that has set it up: there the return address is all that lies on the stack. */
static bool entry_before(Dwarf_CFI *cfi, uint64_t begin, uint64_t *out_entry)
{
	uint64_t start;

	for (int i = 0; i < ENTRY_ROWS && begin; i++, begin = start) {
		if (goes_by(cfi, begin - 1, STACK_POINTER_BASE, sizeof(uint64_t), out_entry))
			return true;
		if (!goes_by(cfi, begin - 1, STACK_POINTER_BASE, SAVED, &start))
			return false;
	}
	return false;
}

/* Of the file, as ELF counts. Returns how many are there. */
static size_t code_at(Elf *elf, uint64_t address, uint8_t *out_code, size_t max)
{
	size_t count = 0;
	GElf_Phdr header;

	if (!elf || elf_getphdrnum(elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		Elf_Data *data;
		uint64_t into, bytes;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X) || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		into = address - header.p_vaddr;
		bytes = header.p_filesz - into < max ? header.p_filesz - into : max;
		data = elf_getdata_rawchunk(elf, (int64_t)(header.p_offset + into), bytes,
					    ELF_T_BYTE);
		if (!data || data->d_size < bytes)
			return 0;
		memcpy(out_code, data->d_buf, bytes);
		return bytes;
	}
	return 0;
}

/* ------------------------------------------------------------------ instructions */

/*
 * What a compiler puts between, by the first byte, or the second behind 0x0f (Intel's Software Developer's Manual,
 * volume 2, appendix A). All of these have a ModRM byte.
 */
enum {
	PLAIN_NONE,
	PLAIN_READ, /* neither operand becomes another, or it is of vectors */
	PLAIN_RM,   /* the operand that may be memory does */
	PLAIN_REG,  /* the other one does */
};

static const uint8_t plain_one[256] = {
	[0x01] = PLAIN_RM,   [0x03] = PLAIN_REG,  [0x09] = PLAIN_RM,   [0x0b] = PLAIN_REG,
	[0x21] = PLAIN_RM,   [0x23] = PLAIN_REG,  [0x29] = PLAIN_RM,   [0x2b] = PLAIN_REG,
	[0x31] = PLAIN_RM,   [0x33] = PLAIN_REG,  [0x38] = PLAIN_READ, [0x39] = PLAIN_READ,
	[0x3a] = PLAIN_READ, [0x3b] = PLAIN_READ, [0x63] = PLAIN_REG,  [0x80] = PLAIN_RM,
	[0x81] = PLAIN_RM,   [0x83] = PLAIN_RM,	  [0x84] = PLAIN_READ, [0x85] = PLAIN_READ,
	[0x88] = PLAIN_READ, [0x89] = PLAIN_RM,	  [0x8a] = PLAIN_READ, [0x8b] = PLAIN_REG,
	[0x8d] = PLAIN_REG,  [0xc1] = PLAIN_RM,	  [0xc6] = PLAIN_READ, [0xc7] = PLAIN_RM,
	[0xd1] = PLAIN_RM,
};

static const uint8_t plain_two[256] = {
	[0x10] = PLAIN_READ, [0x11] = PLAIN_READ, [0x12] = PLAIN_READ, [0x13] = PLAIN_READ,
	[0x16] = PLAIN_READ, [0x17] = PLAIN_READ, [0x1e] = PLAIN_READ, [0x1f] = PLAIN_READ,
	[0x28] = PLAIN_READ, [0x29] = PLAIN_READ, [0x57] = PLAIN_READ, [0x6e] = PLAIN_READ,
	[0x6f] = PLAIN_READ, [0x7e] = PLAIN_RM,	  [0x7f] = PLAIN_READ, [0xaf] = PLAIN_REG,
	[0xb6] = PLAIN_REG,  [0xb7] = PLAIN_REG,  [0xbe] = PLAIN_REG,  [0xbf] = PLAIN_REG,
	[0xd6] = PLAIN_READ, [0xef] = PLAIN_READ,
};

enum {
	REX_B = 1,
	REX_R = 4,
	REX_W = 8,
	STACK_POINTER = 4
};

struct instruction {
	const uint8_t *code; /* behind prefixes */
	size_t left;
	uint8_t rex;
	bool is_short; /* operands of 16 bits */
};

static size_t number_bytes(const struct instruction *at, uint8_t op)
{
	if (op == 0x81 || op == 0xc7)
		return at->is_short ? 2 : 4;
	return op == 0x80 || op == 0x83 || op == 0xc1 || op == 0xc6;
}

/* Of a ModRM byte and what belongs to it; 0 = they are not all there. */
static size_t modrm_bytes(const uint8_t *code, size_t left)
{
	size_t bytes = 1;
	uint8_t mod, rm;

	if (left < 2)
		return left && code[0] >> 6 == 3;
	mod = code[0] >> 6;
	rm = code[0] & 7;
	if (mod != 3 && rm == 4)
		bytes += mod == 0 && (code[1] & 7) == 5 ? 5 : 1;
	else if (mod == 0 && rm == 5)
		bytes += 4;
	bytes += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return bytes <= left ? bytes : 0;
}

/* The room of the variables. */
static bool takes_room(const struct instruction *at, size_t bytes, uint64_t *room)
{
	uint8_t op = at->code[0];
	int32_t number;

	if ((op != 0x81 && op != 0x83) || at->code[1] != 0xec || at->rex != (0x40 | REX_W) ||
	    at->is_short)
		return false;
	if (op == 0x83)
		number = at->code[2] < 128 ? at->code[2] : at->code[2] - 256;
	else
		memcpy(&number, at->code + bytes - sizeof(number), sizeof(number));
	*room += (uint64_t)(int64_t)number;
	return true;
}

/* Returns its bytes; 0 = it is of another kind, or it writes the stack pointer in a way that is not known. */
static size_t plain_bytes(const struct instruction *at, uint64_t *room)
{
	bool is_two = at->code[0] == 0x0f;
	size_t op_bytes = is_two ? 2 : 1, modrm, number, bytes;
	const uint8_t *code = at->code;
	uint8_t kind;

	if (at->left < 2)
		return 0;
	kind = is_two ? plain_two[code[1]] : plain_one[code[0]];
	modrm = modrm_bytes(code + op_bytes, at->left - op_bytes);
	number = is_two ? 0 : number_bytes(at, code[0]);
	bytes = op_bytes + modrm + number;
	if (kind == PLAIN_NONE || !modrm || bytes > at->left)
		return 0;
	if (!is_two && takes_room(at, bytes, room))
		return bytes;
	code += op_bytes;
	if (kind == PLAIN_RM && *code >> 6 == 3 && (*code & 7) == STACK_POINTER &&
	    !(at->rex & REX_B))
		return 0;
	return kind == PLAIN_REG && (*code >> 3 & 7) == STACK_POINTER && !(at->rex & REX_R) ? 0
											    : bytes;
}

/* A register, or a number: what is pushed, and what is loaded. */
static size_t short_bytes(const struct instruction *at, uint64_t *room)
{
	uint8_t op = at->code[0];
	size_t bytes = 1;

	if ((op & 0xf8) == 0x50) {
		*room += 8;
	} else if ((op & 0xf8) == 0xb8) {
		if ((op & 7) == STACK_POINTER && !(at->rex & REX_B))
			return 0;
		bytes += at->rex & REX_W ? 8 : at->is_short ? 2 : 4;
	} else if (op != 0x90 && op != 0x98 && op != 0x99) {
		return 0;
	}
	return bytes <= at->left ? bytes : 0;
}

static size_t one_bytes(const uint8_t *code, size_t left, uint64_t *room)
{
	struct instruction at = { .code = code, .left = left };
	size_t bytes;

	while (at.left &&
	       (*at.code == 0x66 || *at.code == 0xf2 || *at.code == 0xf3 || *at.code == 0x64)) {
		at.is_short |= *at.code == 0x66;
		at.code++;
		at.left--;
	}
	if (at.left && (*at.code & 0xf0) == 0x40) {
		at.rex = *at.code++;
		at.left--;
	}
	if (!at.left)
		return 0;
	bytes = short_bytes(&at, room);
	if (!bytes)
		bytes = plain_bytes(&at, room);
	return bytes ? left - at.left + bytes : 0;
}

bool frame_base_bytes(const uint8_t *code, size_t code_bytes, uint64_t *out_bytes)
{
	uint64_t room = 0;

	for (size_t at = 0, bytes; at < code_bytes; at += bytes) {
		bytes = one_bytes(code + at, code_bytes - at, &room);
		if (!bytes)
			break;
	}
	*out_bytes = room;
	return room < INT32_MAX && room % 8 == 0;
}

bool frame_base_find(Dwfl_Module *module, uint64_t pc, uint64_t *out_bytes, uint64_t *out_entry)
{
	struct table table = { .module = module };
	GElf_Addr elf_bias = 0;
	Elf *elf = module ? dwfl_module_getelf(module, &elf_bias) : NULL;
	uint8_t code[CODE_MAX];
	uint64_t begin = 0;
	size_t bytes;

	table.cfi = module ? dwfl_module_eh_cfi(module, &table.bias) : NULL;
	if (!table.cfi || !elf || !base_begin(&table, pc - table.bias, &begin) ||
	    pc - table.bias < begin || !entry_before(table.cfi, begin, out_entry))
		return false;
	begin += table.bias;
	*out_entry += table.bias;
	bytes = pc - begin < sizeof(code) ? pc - begin : sizeof(code);
	return code_at(elf, begin - elf_bias, code, bytes) == bytes &&
	       frame_base_bytes(code, bytes, out_bytes);
}

/* By a register or memory, of any length. */
static bool is_call_by_value(const uint8_t *behind)
{
	for (size_t bytes = CALL_MIN; bytes <= CALL_MAX; bytes++) {
		const uint8_t *call = behind - bytes;

		if (call[0] == 0xff && (call[1] >> 3 & 7) == 2 &&
		    modrm_bytes(call + 1, bytes - 1) == bytes - 1)
			return true;
	}
	return false;
}

/* Where an instruction of NEAR bytes leads that lies at 'address'. */
static uint64_t near_target(const uint8_t *code, uint64_t address)
{
	int32_t distance;

	memcpy(&distance, code + NEAR - sizeof(distance), sizeof(distance));
	return address + NEAR + (uint64_t)(int64_t)distance;
}

/* endbr64, and "jmp" with a distance or by memory. */
static bool is_jump(const uint8_t *code, size_t bytes)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (bytes > sizeof(landing) && memcmp(code, landing, sizeof(landing)) == 0) {
		code += sizeof(landing);
		bytes -= sizeof(landing);
	}
	if (bytes && *code == 0xf2) {
		code++;
		bytes--;
	}
	return bytes >= NEAR && (code[0] == 0xe9 || (code[0] == 0xff && (code[1] >> 3 & 7) == 4));
}

/* Of any byte, as if an instruction began there: few others look like a jump to that place. */
static bool has_jump(const uint8_t *code, size_t bytes, uint64_t address, uint64_t entry)
{
	for (size_t at = 0; at + NEAR <= bytes; at++) {
		uint64_t to = address + at + 2 + (uint64_t)(int64_t)(int8_t)code[at + 1];

		if ((code[at] == 0xe9 && near_target(code + at, address + at) == entry) ||
		    (code[at] == 0xeb && to == entry))
			return true;
	}
	return false;
}

static bool leads_to(Elf *elf, uint64_t target, uint64_t entry)
{
	AUTO_FREE uint8_t *code = NULL;
	size_t bytes;

	if (target == entry)
		return true;
	code = xmalloc(TAIL_MAX);
	bytes = code_at(elf, target, code, TAIL_MAX);
	return is_jump(code, bytes) || has_jump(code, bytes, target, entry);
}

bool frame_base_is_call(Dwfl_Module *module, uint64_t back, uint64_t entry)
{
	GElf_Addr bias = 0;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	uint8_t code[CALL_MAX];
	const uint8_t *near = code + CALL_MAX - NEAR;

	if (!elf || code_at(elf, back - bias - CALL_MAX, code, CALL_MAX) != CALL_MAX)
		return false;
	return is_call_by_value(code + CALL_MAX) ||
	       (*near == 0xe8 &&
		leads_to(elf, near_target(near, back - bias - NEAR), entry - bias));
}

#else

bool frame_base_bytes(const uint8_t *code, size_t code_bytes, uint64_t *out_bytes)
{
	(void)code;
	(void)code_bytes;
	(void)out_bytes;
	return false;
}

bool frame_base_find(Dwfl_Module *module, uint64_t pc, uint64_t *out_bytes, uint64_t *out_entry)
{
	(void)module;
	(void)pc;
	(void)out_bytes;
	(void)out_entry;
	return false;
}

bool frame_base_is_call(Dwfl_Module *module, uint64_t back, uint64_t entry)
{
	(void)module;
	(void)back;
	(void)entry;
	return false;
}

#endif
