/*
 * model-device.c - a program waits for a device outside of the computer.
 *
 * The device is a process behind a socket, which is asked for 20 values. It answers at once, but
 * three times only after 15 ms.
 *
 *	device:ask     number
 *	device:answer  number
 *
 *	sudo holdup check examples/models/model-device.yaml -- model-device
 */
#include <holdup/trace.h>
#include <sys/socket.h>

#include "planted.h"

#define VALUES 20

HOLDUP_EVENT(device, ask, (u32, number))
HOLDUP_EVENT(device, answer, (u32, number))

static const struct example example = {
	.name = "model-device",
	.shows =
		"A device, which is a process behind a socket, is asked for 20 values. Three times it\n"
		"answers only after 15 ms.",
};

static bool is_slow(uint32_t number)
{
	return number == 2 || number == 12 || number == 13;
}

static _Noreturn void be_device(const struct run *run, int fd)
{
	uint32_t number;

	while (read(fd, &number, sizeof(number)) == sizeof(number)) {
		if (is_slow(number))
			nap(run_ms(run, 15));
		if (write(fd, &number, sizeof(number)) != sizeof(number))
			break;
	}
	_exit(0);
}

static void ask(int fd, struct plants *plants, uint32_t number)
{
	uint32_t answer;

	planted_begin(plants);
	holdup_device_ask(number);
	if (write(fd, &number, sizeof(number)) != sizeof(number) ||
	    read(fd, &answer, sizeof(answer)) != sizeof(answer))
		fail("the device");
	holdup_device_answer(number);
	planted_end(plants, is_slow(number) ? "timer" : NULL, "slow-device");
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct plants plants = { .count = 0 };
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		fail("socketpair");
	planted_alone(last_cpu(), 10);
	pid = fork_named("slow-device");
	if (pid == 0) {
		close(fds[0]);
		be_device(&run, fds[1]);
	}
	close(fds[1]);
	for (uint32_t number = 0; number < VALUES; number++)
		ask(fds[0], &plants, number);
	close(fds[0]);
	wait_for(pid);
	return planted_print(&run, &plants);
}
