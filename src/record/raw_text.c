/* raw_text.c - texts out of the raw fields that the BPF program tells. */
#include "record/raw_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "record/bpf/raw.h"
#include "wire/wire.h"

void raw_path(const char *text, size_t bytes, char *out, size_t room)
{
	size_t at = --room, from = 0;

	while (from < bytes) {
		size_t len = strnlen(text + from, bytes - from);

		if (len + 1 > at)
			break;
		at -= len + 1;
		out[at] = '/';
		memcpy(out + at + 1, text + from, len);
		from += len + 1;
	}
	if (at == room)
		out[--at] = '/';
	memmove(out, out + at, room - at);
	out[room - at] = '\0';
}

/* "./x" from /a on is /a/x. */
static void put_asked(const struct raw_name *raw, char *out, size_t room)
{
	size_t len = strnlen(raw->text, raw->text_bytes), used = 0;
	const char *path = raw->text;

	if (len && *path != '/') {
		size_t folder = len < raw->text_bytes ? len + 1 : len;

		raw_path(path + folder, raw->text_bytes - folder, out, room - RAW_NAME_MAX - 2);
		used = strlen(out);
		while (len > 2 && path[0] == '.' && path[1] == '/') {
			path += 2;
			len -= 2;
		}
		if (used > 1)
			out[used++] = '/';
	}
	memcpy(out + used, path, len);
	out[used + len] = '\0';
}

/* "127.0.0.1:80", or the path of a unix socket; '@' stands for what begins an abstract one. */
static void put_peer(const struct raw_name *raw, char *out, size_t room)
{
	char address[INET6_ADDRSTRLEN] = "";

	if (raw->family == AF_INET && inet_ntop(AF_INET, raw->remote, address, sizeof(address)))
		(void)snprintf(out, room, "%s:%u", address, raw->remote_port);
	else if (raw->family == AF_INET6 &&
		 inet_ntop(AF_INET6, raw->remote, address, sizeof(address)))
		(void)snprintf(out, room, "[%s]:%u", address, raw->remote_port);
	else if (raw->family == AF_UNIX && raw->text_bytes)
		(void)snprintf(out, room, "%.*s", (int)strnlen(raw->text, raw->text_bytes),
			       raw->text);
	else
		out[0] = '\0';
}

static void put_args(const struct raw_name *raw, char *out)
{
	size_t len = raw->text_bytes < RAW_ARGS_MAX ? raw->text_bytes : RAW_ARGS_MAX;

	while (len && !raw->text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		out[i] = raw->text[i] ? raw->text[i] : ' ';
	out[len] = '\0';
	if (raw->flags & RAW_CUT)
		strcat(out, "...");
}

bool raw_text(const struct raw_name *raw, char *out, size_t room)
{
	switch (raw->kind) {
	case RAW_KIND_ASKED:
		put_asked(raw, out, room);
		return true;
	case RAW_KIND_ASKED_PEER:
		put_peer(raw, out, room);
		return true;
	case RAW_KIND_ARGS:
		put_args(raw, out);
		return true;
	case RAW_KIND_VTID:
		(void)snprintf(out, room, "%d", raw->pid);
		return true;
	case RAW_KIND_OWNER:
		out[0] = '\0';
		return true;
	default:
		return false;
	}
}

bool raw_unix_path(const char *bytes, size_t len, char *out)
{
	if (len >= RAW_UNIX_SLOT)
		len = RAW_UNIX_SLOT - 1;
	if (len && bytes[0])
		len = strnlen(bytes, len);
	for (size_t i = 0; i < len; i++)
		out[i] = bytes[i] ? bytes[i] : '@';
	out[len] = '\0';
	return len > 0;
}

enum fd_watch raw_watch(const struct raw_name *raw, struct wire_name *out_wire)
{
	switch (raw->kind) {
	case RAW_KIND_ASKED:
	case RAW_KIND_ASKED_PEER:
		out_wire->inode = (uint32_t)raw->fd;
		out_wire->fd = -1;
		return FD_ASKED;
	case RAW_KIND_ARGS:
		out_wire->inode = 0;
		out_wire->fd = -1;
		return FD_RUNS;
	case RAW_KIND_VTID: /* the number is the text */
		out_wire->fd = -1;
		out_wire->inode = raw->inode;
		return FD_VTID;
	case RAW_KIND_OWNER:
		out_wire->inode =
			(uint32_t)raw->pid | (raw->flags & RAW_INFERRED ? FD_OWNER_INFERRED : 0);
		out_wire->fd = -1;
		return FD_OWNER;
	}
	if (raw->call == RAW_CALL_HELD) {
		out_wire->inode =
			(uint32_t)raw->pid | (raw->flags & RAW_SEVERAL ? FD_HELD_BY_SEVERAL : 0);
		return FD_HELD;
	}
	if (raw->call != RAW_CALL_WATCHED)
		return FD_NAMED;
	return raw->flags & RAW_FOR_ROOM ? FD_WATCHED_ROOM : FD_WATCHED;
}
