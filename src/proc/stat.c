/*
 * stat.c - one line of /proc/PID/stat taken apart.
 */
#include "proc/stat.h"

#include <stdlib.h>
#include <string.h>

#include "proc/proc.h"

bool stat_parse(const char *line, struct proc_stat *out_stat)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')');
	struct proc_stat stat = { .last = STAT_PPID - 1 };
	const char *at;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	stat.comm = open + 1;
	stat.comm_bytes = (size_t)(close - open - 1);
	stat.state = close[2];
	at = close + 3;
	while (stat.last + 1 < STAT_FIELDS) {
		char *end;
		uint64_t number = strtoull(at, &end, 10);

		if (end == at)
			break;
		stat.field[++stat.last] = number;
		at = end;
	}
	*out_stat = stat;
	return true;
}

bool stat_read(int dir_fd, const char *path, char line[STAT_BYTES_MAX], struct proc_stat *out_stat)
{
	return proc_read(dir_fd, path, line, STAT_BYTES_MAX) > 0 && stat_parse(line, out_stat);
}

void stat_copy_comm(const struct proc_stat *stat, char *out_comm, size_t room)
{
	size_t bytes = stat->comm_bytes < room ? stat->comm_bytes : room - 1;

	memcpy(out_comm, stat->comm, bytes);
	out_comm[bytes] = '\0';
}
