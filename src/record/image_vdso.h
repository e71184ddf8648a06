/*
 * image_vdso.h - the code that the kernel gives to every program, as files without names.
 *
 * It is the kernel's own, never what a program has in its place: that may have been written to.
 */
#ifndef RECORD_IMAGE_VDSO_H
#define RECORD_IMAGE_VDSO_H

/* That of programs like this one. A descriptor; -1 = there is none. */
int image_vdso(void);

/* That of 32-bit programs on x86-64. A descriptor; -1 = the kernel does not give it. */
int image_vdso_32(void);

#endif
