/* test_fdname.c - what a descriptor is called. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "event/event.h"
#include "proc/fdname.h"

static void links_become_names(void **unused)
{
	static const struct {
		struct fdname_object object;
		enum fd_role role;
		uint64_t inode;
		const char *name;
	} cases[] = {
		{ { .link = "/etc/passwd", .mode = S_IFREG }, FD_ROLE_FILE, 0, "/etc/passwd" },
		{ { .link = "/x (deleted)" }, FD_ROLE_FILE, 0, "/x (deleted)" },
		{ { .link = "/tmp", .mode = S_IFDIR }, FD_ROLE_DIR, 0, "/tmp" },
		{ { .link = "/tmp/fifo", .mode = S_IFIFO }, FD_ROLE_PIPE, 0, "/tmp/fifo" },
		{ { .link = "/dev/pts/3", .mode = S_IFCHR, .major = 136 },
		  FD_ROLE_TTY,
		  0,
		  "/dev/pts/3" },
		{ { .link = "/dev/null", .mode = S_IFCHR, .major = 1 },
		  FD_ROLE_DEVICE,
		  0,
		  "/dev/null" },
		{ { .link = "/dev/vda", .mode = S_IFBLK, .major = 254 },
		  FD_ROLE_DEVICE,
		  0,
		  "/dev/vda" },
		{ { .link = "pipe:[77]" }, FD_ROLE_PIPE, 77, "pipe:[77]" },
		{ { .link = "socket:[78]" }, FD_ROLE_SOCKET, 78, "socket:[78]" },
		{ { .link = "anon_inode:[eventpoll]" }, FD_ROLE_EPOLL, 0, "epoll" },
		{ { .link = "anon_inode:[eventfd]" }, FD_ROLE_EVENTFD, 0, "eventfd" },
		{ { .link = "anon_inode:[timerfd]" }, FD_ROLE_TIMERFD, 0, "timerfd" },
		{ { .link = "anon_inode:[signalfd]" }, FD_ROLE_SIGNALFD, 0, "signalfd" },
		{ { .link = "anon_inode:inotify" }, FD_ROLE_INOTIFY, 0, "inotify" },
		{ { .link = "anon_inode:[pidfd]", .pid = 12 }, FD_ROLE_PIDFD, 0, "pidfd 12" },
		{ { .link = "pidfd:[4711]" }, FD_ROLE_PIDFD, 0, "pidfd" },
		{ { .link = "anon_inode:[io_uring]" }, FD_ROLE_OTHER, 0, "io_uring" },
		{ { .link = "anon_inode:bpf-map" }, FD_ROLE_OTHER, 0, "bpf-map" },
		{ { .link = "net:[4026531840]" }, FD_ROLE_OTHER, 0, "net:[4026531840]" },
		{ { .link = "" }, FD_ROLE_OTHER, 0, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fdname name;

		fdname_make(&cases[i].object, &name);
		assert_string_equal(name.text, cases[i].name);
		assert_int_equal(name.role, cases[i].role);
		assert_int_equal(name.inode, cases[i].inode);
	}
}

static const char *name_of(struct fdname_socket socket, const char *local, const char *remote)
{
	static struct fdname name;

	if (!socket.path)
		socket.path = "";
	if (local)
		assert_int_equal(inet_pton(socket.family, local, socket.local), 1);
	if (remote)
		assert_int_equal(inet_pton(socket.family, remote, socket.remote), 1);
	fdname_make(&(struct fdname_object){ .link = "socket:[5]", .socket = &socket }, &name);
	assert_int_equal(name.inode, 5);
	assert_int_equal(name.role, socket.role);
	return name.text;
}

static void sockets_are_named_by_their_ends(void **unused)
{
	struct fdname_socket tcp = { .family = AF_INET,
				     .type = SOCK_STREAM,
				     .role = FD_ROLE_SOCKET };
	struct fdname_socket tcp6 = { .family = AF_INET6, .type = SOCK_STREAM, .local_port = 80 };
	struct fdname_socket udp = { .family = AF_INET, .type = SOCK_DGRAM };

	assert_string_equal(name_of(tcp, NULL, NULL), "tcp");
	tcp.local_port = 80;
	assert_string_equal(name_of(tcp, NULL, NULL), "tcp *:80");
	tcp.listens = true;
	assert_string_equal(name_of(tcp, NULL, NULL), "tcp listen *:80");
	tcp.listens = false;
	tcp.remote_port = 43210;
	assert_string_equal(name_of(tcp, "127.0.0.1", "10.1.2.3"),
			    "tcp 127.0.0.1:80->10.1.2.3:43210");
	assert_string_equal(name_of(tcp6, NULL, NULL), "tcp [::]:80");
	tcp6.remote_port = 81;
	assert_string_equal(name_of(tcp6, "::1", "fe80::1"), "tcp [::1]:80->[fe80::1]:81");
	assert_string_equal(name_of(tcp6, "::ffff:127.0.0.1", "::ffff:1.2.3.4"),
			    "tcp 127.0.0.1:80->1.2.3.4:81");
	udp.local_port = 53;
	assert_string_equal(name_of(udp, "127.0.0.1", NULL), "udp 127.0.0.1:53");
}

static void local_sockets_are_named_by_their_path(void **unused)
{
	struct fdname_socket local = { .family = AF_UNIX, .type = SOCK_STREAM };

	assert_string_equal(name_of(local, NULL, NULL), "unix");
	local.peer_pid = 440;
	assert_string_equal(name_of(local, NULL, NULL), "unix peer 440");
	local.inode = 11;
	local.peer_inode = 12;
	assert_string_equal(name_of(local, NULL, NULL), "unix 11->12");
	local.path = "/run/x.sock";
	assert_string_equal(name_of(local, NULL, NULL), "unix /run/x.sock peer 440");
	local.listens = true;
	assert_string_equal(name_of(local, NULL, NULL), "unix listen /run/x.sock");
	local.path = "@bus@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	assert_string_equal(name_of(local, NULL, NULL), "unix listen @bus");
}

static void other_sockets_say_their_kind(void **unused)
{
	struct fdname_socket netlink = { .family = AF_NETLINK, .type = SOCK_RAW, .protocol = 16 };
	struct fdname_socket packet = { .family = AF_PACKET, .type = SOCK_RAW };
	struct fdname_socket strange = { .family = 39 };

	assert_string_equal(name_of(netlink, NULL, NULL), "netlink generic");
	netlink.protocol = 99;
	assert_string_equal(name_of(netlink, NULL, NULL), "netlink 99");
	netlink.protocol = -1;
	assert_string_equal(name_of(netlink, NULL, NULL), "netlink");
	assert_string_equal(name_of(packet, NULL, NULL), "packet");
	assert_string_equal(name_of(strange, NULL, NULL), "socket of family 39");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_become_names),
		cmocka_unit_test(sockets_are_named_by_their_ends),
		cmocka_unit_test(local_sockets_are_named_by_their_path),
		cmocka_unit_test(other_sockets_say_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
