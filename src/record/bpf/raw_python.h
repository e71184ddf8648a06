/*
 * raw_python.h - what the BPF programs are told of processes that run CPython, and what they tell of its frames.
 *
 * Which function a thread of a Python program is in stands in its memory: a chain of frames, each of a
 * code object. Where all of this lies differs by version; user space finds out for each process. A
 * frame is told by a key of its code object; the object itself once, in a record of its own.
 */
#ifndef RECORD_BPF_RAW_PYTHON_H
#define RECORD_BPF_RAW_PYTHON_H

#include <linux/types.h>

#define RAW_PYTHON_PROCESSES 4096
#define RAW_PYTHON_CODES     32768 /* that are known to have been told */
#define RAW_PYTHON_FRAMES    64	   /* of a thread, innermost first */
#define RAW_PYTHON_STEPS     96	   /* of the chain, with what is no function in it */
#define RAW_PYTHON_THREADS   256   /* that are looked through */
#define RAW_PYTHON_SHIM	     3 /* from this owner on a frame is none: a call of the interpreter from C */

/* Offsets of fields in the interpreter's objects. */
struct raw_python_layout {
	__u32 interpreter_next;
	__u32 interpreter_threads;
	__u32 thread_next;
	__u32 thread_number; /* the kernel's, as the thread sees it */
	__u32 thread_cframe; /* the address of what has the frame's address; 0 = there is none: */
	__u32 current_frame; /* in the cframe; else in the thread */
	__u32 frame_code;
	__u32 frame_previous;
	__u32 frame_instruction;
	__u32 frame_owner;
	__u32 frame_is_entry; /* 0 = calls from C have frames of their own: RAW_PYTHON_SHIM */
	__u32 code_file;
	__u32 code_name;
	__u32 code_table;
	__u32 code_line;
	__u32 code_start; /* of its instructions */
	__u32 text_ascii; /* where the characters of a text begin */
	__u32 text_wide;  /* where they are not all ASCII */
};

/* Of a process. */
struct raw_python {
	__u64 head;	 /* where the address of the first interpreter stands */
	__u64 code_type; /* what a code object has for its type */
	__u64 text_type; /* and a text */
	struct raw_python_layout at;
};

/*
 * It was called from C: the last one of a call of the interpreter. Behind this bit: how many words above the stack
 * pointer the frame lies that C keeps for this call; 0 = not known.
 */
#define RAW_PYTHON_ENTRY     1u
#define RAW_PYTHON_CALL_BITS 31

struct raw_python_frame {
	__u64 code; /* struct raw_python_code.key */
	__u32 unit; /* of its instructions, of two bytes each; RAW_PYTHON_BEGIN = before the first */
	__u32 flags;
};

#define RAW_PYTHON_BEGIN 0xffffffffu

/* Fields that all versions have at the same place, on 64-bit machines. */
#define RAW_PYTHON_TYPE	       8  /* of an object */
#define RAW_PYTHON_SIZE	       16 /* of an object of variable size: how many parts it has */
#define RAW_PYTHON_TEXT_STATE  32
#define RAW_PYTHON_BYTES_START 32

#define RAW_PYTHON_NAME	 256  /* bytes of a function's name, at most */
#define RAW_PYTHON_FILE	 1024 /* of a file's */
#define RAW_PYTHON_TABLE 8192 /* of where instructions stand in the file */

/* A text as it lies in memory. */
struct raw_python_text {
	__u16 bytes; /* 0 = it is none, or too long */
	__u8 width;  /* of a character: 1, 2, 4 */
	__u8 zero;
};

#define RAW_PYTHON_CODE 0xffffffffffffffffull /* what a record of a stack never begins with */

/* A record of nothing but this: a Python begins, and user space shall look at what it maps. */
#define RAW_PYTHON_BEGINS 0xfffffffffffffffeull

/* A record is cut behind the used part of 'table'. */
struct raw_python_code {
	__u64 kind; /* RAW_PYTHON_CODE */
	__u64 key;
	__u32 line; /* of its first one */
	__u32 table_bytes;
	struct raw_python_text name, file;
	__u8 name_text[RAW_PYTHON_NAME];
	__u8 file_text[RAW_PYTHON_FILE];
	__u8 table[RAW_PYTHON_TABLE];
};

/* The fields of a code object that tell it from all others at its address. */
struct raw_python_object {
	__u64 type, size, name, file, table;
	__u32 line, zero;
};

static inline __u64 raw_python_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* 'seed': of the process. */
static inline __u64 raw_python_key(__u64 seed, __u64 code, const struct raw_python_object *object)
{
	__u64 hash = raw_python_mix(seed, code);

	hash = raw_python_mix(hash, object->size);
	hash = raw_python_mix(hash, object->name);
	hash = raw_python_mix(hash, object->file);
	hash = raw_python_mix(hash, object->table);
	return raw_python_mix(hash, object->line);
}

/* The address in a reference of a frame: since 3.14 its lowest bit says whether it is counted. */
static inline __u64 raw_python_referred(__u64 reference)
{
	return reference & ~1ull;
}

/* Flags of the last frame of a call, of which 'call' is C's frame. */
static inline __u32 raw_python_entry(__u64 call, __u64 sp)
{
	__u64 words = (call - sp) / sizeof(__u64);

	return RAW_PYTHON_ENTRY | (words >> RAW_PYTHON_CALL_BITS ? 0 : (__u32)words << 1);
}

/* How far above the stack pointer; 0 = not known. */
static inline __u64 raw_python_call(__u32 flags)
{
	return (__u64)(flags >> 1) * sizeof(__u64);
}

/* Which of its 'size' instructions; false = it is none of them. */
static inline int raw_python_unit(__u64 instruction, __u64 start, __u64 size, __u32 *out_unit)
{
	__u64 bytes = instruction - start;

	*out_unit = RAW_PYTHON_BEGIN;
	if (bytes == (__u64)-2)
		return 1;
	if (bytes & 1 || bytes / 2 >= size || size > 0x10000000)
		return 0;
	*out_unit = (__u32)(bytes / 2);
	return 1;
}

/* How the 'state' of a text says that its characters follow it; 0 = they do not, or it is no text. */
static inline __u32 raw_python_width(__u32 state)
{
	__u32 width = state >> 2 & 7;

	return state >> 5 & 1 && (width == 1 || width == 2 || width == 4) ? width : 0;
}

static inline int raw_python_is_ascii(__u32 state)
{
	return state >> 6 & 1;
}

#endif
