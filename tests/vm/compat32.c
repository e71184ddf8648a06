/*
 * compat32.c - a 32-bit program without a library, for the guest of tools/vm-test.
 *
 * Sleeps 150 ms, reads a file and ends; by the 32-bit numbers of the system calls,
 * of which most mean something else to a 64-bit program (162 is sync there).
 *
 *	gcc -m32 -static -nostdlib -fno-pie -no-pie -fno-stack-protector -O1 compat32.c
 *
 * -DPAUSES=10: sleeps and reads so often.
 */
#ifndef PAUSES
#define PAUSES 1
#endif

enum {
	SYS_EXIT = 1,
	SYS_READ = 3,
	SYS_OPEN = 5,
	SYS_CLOSE = 6,
	SYS_NANOSLEEP = 162
};

struct timespec32 {
	int seconds;
	int nanoseconds;
};

static int call(int number, int a, int b, int c)
{
	int result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return result;
}

__attribute__((noreturn, used)) void _start(void)
{
	struct timespec32 pause = { 0, 150000000 };
	char text[64];
	int fd, rc = 0;

	for (int i = 0; i < PAUSES; i++) {
		rc |= call(SYS_NANOSLEEP, (int)&pause, 0, 0);
		fd = call(SYS_OPEN, (int)"/etc/passwd", 0, 0);
		if (fd < 0 || call(SYS_READ, fd, (int)text, sizeof(text)) <= 0)
			rc = 1;
		call(SYS_CLOSE, fd, 0, 0);
	}
	for (;;)
		call(SYS_EXIT, rc != 0, 0, 0);
}
