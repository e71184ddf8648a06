/*
 * frame_base.h - the frame pointer of a function that keeps one, by the stack pointer at one of its calls.
 *
 * Of a thread that sleeps /proc/PID/syscall has two registers only, and the table of such a function
 * (.eh_frame) begins at the third, the frame pointer. What it lies above the stack pointer is told by the
 * instructions that the function begins with: after "mov %rsp,%rbp" it pushes registers and subtracts the room of
 * its variables (System V ABI for x86-64, "The Stack Frame").
 *
 * Code and table may be anything.
 */
#ifndef SYMBOL_FRAME_BASE_H
#define SYMBOL_FRAME_BASE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The registers that the table goes by at 'pc', an address in the process, to find where the frame begins; bit =
 * number in DWARF. 0 = there is no table.
 */
uint64_t frame_base_registers(Dwfl_Module *module, uint64_t pc);

/*
 * The bytes between the two at 'pc', an address in the process, of a call or of what is before it, and where the
 * function is entered. False where it is not known: another machine, a table that goes by something else,
 * instructions of other kinds.
 */
bool frame_base_find(Dwfl_Module *module, uint64_t pc, uint64_t *out_bytes, uint64_t *out_entry);

/* The same for the instructions from where the frame pointer was set up to the call. */
bool frame_base_bytes(const uint8_t *code, size_t code_bytes, uint64_t *out_bytes);

/*
 * Can the instruction right before 'back', an address in the process, have called the function that is entered at
 * 'entry'? A call by a register or by memory can; one with a distance where that leads to the
 * function, to a jump (of a procedure linkage table, or of a linker), or to a function that jumps there at its end.
 * What lies on the stack for another reason, such as the return address of a call that is over, seldom fits.
 */
bool frame_base_is_call(Dwfl_Module *module, uint64_t back, uint64_t entry);

#endif
