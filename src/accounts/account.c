/* account.c - kernel.task_delayacct. */
#include "accounts/account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "accounts/list.h"
#include "accounts/proc.h"
#include "accounts/socket.h"

#define SWITCH "/proc/sys/kernel/task_delayacct"

static bool account_has_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(line, word); at; at = strstr(at + 1, word)) {
		if ((at == line || at[-1] == ' ') &&
		    (at[length] == ' ' || at[length] == '\n' || !at[length]))
			return true;
	}
	return false;
}

void delays_account_read(struct delays_account *out_account)
{
	struct delays_account account = { .state = DELAYS_ACCOUNT_NONE };
	char line[4096];

	if (delays_proc_read("/proc/cmdline", line, sizeof(line)) < 0)
		line[0] = '\0';
	account.since_boot = account_has_word(line, "delayacct");
	if (delays_proc_read(SWITCH, line, sizeof(line)) > 0) {
		account.state = line[0] == '0' ? DELAYS_ACCOUNT_OFF : DELAYS_ACCOUNT_ON;
	} else if (access("/proc/self/schedstat", F_OK) == 0 &&
		   !account_has_word(line, "nodelayacct")) {
		account.state = DELAYS_ACCOUNT_ON; /* before 5.14 there was no switch */
		account.since_boot = true;
	}
	account.since_boot = account.since_boot && account.state == DELAYS_ACCOUNT_ON;
	account.has_since = account.since_boot;
	*out_account = account;
}

int delays_account_find_since(struct delays_account *account, struct delays_socket *socket,
			      struct err *err)
{
	const struct delays_select all = { .all = true };
	AUTO_FREE struct delays_request *requests = NULL;
	struct delays_ids ids = { 0 };
	uint64_t now_ns;
	int rc = delays_list(&all, &ids, err);

	if (rc < 0 || account->since_boot || account->state != DELAYS_ACCOUNT_ON) {
		delays_ids_fini(&ids);
		return rc;
	}
	requests = xcalloc(ids.count + 1, sizeof(*requests));
	for (size_t i = 0; i < ids.count; i++)
		requests[i].id = ids.ids[i].tid;
	rc = delays_socket_ask(socket, requests, ids.count, err);
	now_ns = delays_now_ns();
	for (size_t i = 0; rc == 0 && i < ids.count; i++) {
		uint64_t life_ns = requests[i].stats.life_us * 1000;

		if (requests[i].error || !delays_stats_counted(&requests[i].stats) ||
		    life_ns > now_ns)
			continue;
		if (!account->has_since || now_ns - life_ns < account->since_ns)
			account->since_ns = now_ns - life_ns;
		account->has_since = true;
	}
	delays_ids_fini(&ids);
	return rc;
}

int delays_account_turn(bool on, struct err *err)
{
	AUTO_CLOSE int fd = open(SWITCH, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, on ? "1" : "0", 1) != 1)
		return err_set(err, -errno, "cannot write %s: %s%s", SWITCH, strerror(errno),
			       errno == EACCES || errno == EPERM ? " (use sudo)" : "");
	return 0;
}
