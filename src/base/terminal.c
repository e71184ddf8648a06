/* terminal.c - a filter between stdio and a descriptor. */
#include "base/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#define BUFFER_BYTES (64u << 10)

/* Set while our own codes pass. */
static _Thread_local bool is_own;

/* What terminal_guard() put in the place of stdout and stderr. */
static struct terminal guarded_out = { .fd = STDOUT_FILENO };
static struct terminal guarded_err = { .fd = STDERR_FILENO };
static FILE *plain_stdout;

/* What stdout was before a pager got it. */
static struct {
	bool is_on;
	bool is_seen;	   /* something was written: the pager has the terminal */
	bool takes_errors; /* stderr is the terminal, too */
	struct winsize size;
} paged;

/* Whether all is printable ASCII, '\n' and '\t'. */
static bool is_plain(const char *bytes, size_t count)
{
	bool odd = false;

	for (size_t i = 0; i < count; i++) {
		unsigned char c = (unsigned char)bytes[i];

		odd |= (c < ' ' && c != '\n' && c != '\t') || c > '~';
	}
	return !odd;
}

/* Whether 'count' bytes may be the begin of a character, with bytes to come. */
static bool is_begin(const char *bytes, size_t count)
{
	unsigned char lead = (unsigned char)bytes[0];
	size_t wanted = lead < 0xc2 || lead > 0xf4 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;

	for (size_t i = 1; i < count; i++) {
		if (((unsigned char)bytes[i] & 0xc0) != 0x80)
			return false;
	}
	return count < wanted;
}

/*
 * One character from 'bytes' to *to, made harmless. Returns how many bytes it took; 0 when more
 * are needed to say what it is, which may not be where 'is_end'.
 */
static size_t put_character(char **to, const char *bytes, size_t count, bool is_end)
{
	char copy[5] = { 0 };
	uint32_t code = 0;
	size_t len;

	memcpy(copy, bytes, count < 4 ? count : 4);
	len = text_utf8(copy, &code);
	if (len && (text_is_safe(code) || code == '\n' || code == '\t')) {
		memcpy(*to, copy, len);
		*to += len;
		return len;
	}
	if (!len && !is_end && is_begin(bytes, count))
		return 0;
	len = len ? len : 1;
	for (size_t i = 0; i < len; i++)
		*to += sprintf(*to, "\\x%02x", (unsigned char)copy[i]);
	return len;
}

/* What was held and 'bytes', as far as it can be said what they are; the rest is held. */
static int put_filtered(struct terminal *terminal, const char *bytes, size_t count, bool is_end)
{
	size_t all = terminal->held_bytes + count, at = 0;
	AUTO_FREE char *whole = xmalloc(all + 1), *made = xmalloc(4 * all + 1);
	char *to = made;

	memcpy(whole, terminal->held, terminal->held_bytes);
	if (count)
		memcpy(whole + terminal->held_bytes, bytes, count);
	while (at < all) {
		size_t len = put_character(&to, whole + at, all - at, is_end);

		if (!len)
			break;
		at += len;
	}
	terminal->held_bytes = (uint8_t)(all - at);
	memcpy(terminal->held, whole + at, all - at);
	return file_write(terminal->fd, made, (size_t)(to - made));
}

int terminal_put(struct terminal *terminal, const char *bytes, size_t count)
{
	if (paged.is_on && terminal->fd == STDOUT_FILENO)
		paged.is_seen = true;
	if (is_own || (!terminal->held_bytes && is_plain(bytes, count)))
		return file_write(terminal->fd, bytes, count);
	return put_filtered(terminal, bytes, count, false);
}

int terminal_end(struct terminal *terminal)
{
	return terminal->held_bytes ? put_filtered(terminal, NULL, 0, true) : 0;
}

/* ------------------------------------------------------------------ as a stream */

/* Of stderr: to the pager while it has the terminal. */
static int put_message(const char *bytes, size_t count)
{
	bool is_paged = paged.is_seen && paged.takes_errors;
	int rc;

	guarded_err.fd = is_paged ? STDOUT_FILENO : STDERR_FILENO;
	rc = terminal_put(&guarded_err, bytes, count);
	guarded_err.fd = STDERR_FILENO;
	return rc == -EPIPE && is_paged ? terminal_put(&guarded_err, bytes, count) : rc;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t count)
{
	struct terminal *terminal = cookie;
	int rc = terminal == &guarded_err ? put_message(bytes, count)
					  : terminal_put(terminal, bytes, count);

	terminal->error = terminal->error ? terminal->error : rc;
	errno = rc < 0 ? -rc : errno;
	return rc < 0 ? 0 : (ssize_t)count; /* 0 is a failure here */
}

static int cookie_close(void *cookie)
{
	struct terminal *terminal = cookie;
	int rc = terminal_end(terminal), fd = terminal->fd;

	free(terminal);
	if (close(fd) < 0 && rc == 0)
		return -1;
	errno = rc < 0 ? -rc : errno;
	return rc < 0 ? -1 : 0;
}

static FILE *stream_of(struct terminal *terminal, cookie_close_function_t *close_it, int mode)
{
	FILE *stream = fopencookie(
		terminal, "w", (cookie_io_functions_t){ .write = cookie_write, .close = close_it });

	if (stream)
		(void)setvbuf(stream, NULL, mode, BUFFER_BYTES); /* else it has a smaller one */
	return stream;
}

/* What is not open to write to fails to be written to: /dev/null, to be read. */
static void fill_closed(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDONLY); /* the lowest free number: this one */
	}
}

void terminal_guard(void)
{
	FILE *out = stream_of(&guarded_out, NULL, isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF);
	FILE *errors = stream_of(&guarded_err, NULL, _IOLBF);

	fill_closed();
	if (!out || !errors) {
		(void)!write(STDERR_FILENO, "holdup: out of memory\n", 22);
		abort();
	}
	plain_stdout = stdout;
	stdout = out;
	stderr = errors;
}

int terminal_finish(void)
{
	bool failed = ferror(stdout);
	int rc;

	errno = 0;
	failed |= fflush(stdout) != 0;
	rc = failed ? -(errno ? errno : EIO) : 0;
	if (failed && plain_stdout && guarded_out.error)
		rc = guarded_out.error;
	if (rc == 0 && plain_stdout)
		rc = terminal_end(&guarded_out);
	(void)fflush(stderr); /* there is nobody left to tell */
	if (plain_stdout)
		(void)terminal_end(&guarded_err);
	return rc;
}

static struct winsize size_of(int fd)
{
	struct winsize size = { 0 };

	return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size : (struct winsize){ 0 };
}

static struct winsize shown_size(FILE *out)
{
	if (out == stdout && paged.is_on)
		return paged.size;
	return size_of(out == stdout ? STDOUT_FILENO : fileno(out));
}

void terminal_begin_paged(void)
{
	paged.size = size_of(STDOUT_FILENO);
	paged.takes_errors = isatty(STDERR_FILENO) == 1;
	paged.is_on = true;
}

void terminal_end_paged(void)
{
	paged.is_on = paged.is_seen = false;
}

bool terminal_shows(int fd)
{
	return (paged.is_on && fd == STDOUT_FILENO) || isatty(fd) == 1;
}

unsigned int terminal_columns(FILE *out)
{
	return shown_size(out).ws_col;
}

unsigned int terminal_rows(FILE *out)
{
	return shown_size(out).ws_row;
}

FILE *terminal_open(int fd)
{
	struct terminal *terminal = xcalloc(1, sizeof(*terminal));
	FILE *stream;

	terminal->fd = fd;
	stream = stream_of(terminal, cookie_close, isatty(fd) == 1 ? _IOLBF : _IOFBF);
	if (!stream) {
		free(terminal);
		mem_close_fd(&fd);
	}
	return stream;
}

void terminal_codes(FILE *out, const char *codes)
{
	(void)fflush(out); /* a failure stays in the stream */
	is_own = true;
	(void)fputs(codes, out);
	(void)fflush(out);
	is_own = false;
}

FILE *terminal_stdout(void)
{
	return plain_stdout ? plain_stdout : stdout;
}
