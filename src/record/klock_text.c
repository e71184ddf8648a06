/* klock_text.c - classes of locks in a table; paths are turned and given their mount. */
#include "record/klock_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/bpf/raw_lock.h"
#include "record/klock_places.h"
#include "record/raw_text.h"

enum whose {
	NOBODYS,
	A_PROCESS,
	A_FILE,
	A_PIPE,
	A_SYSTEM,
	A_LABEL,
};

static const struct {
	const char *what;
	enum whose whose;
} classes[RAW_LOCK_CLASS_COUNT] = {
	[RAW_LOCK_UNKNOWN] = { "", NOBODYS },
	[RAW_LOCK_MMAP] = { "address space lock (mmap_lock)", A_PROCESS },
	[RAW_LOCK_INODE] = { "inode lock (i_rwsem)", A_FILE },
	[RAW_LOCK_INVALIDATE] = { "page cache lock (invalidate_lock)", A_FILE },
	[RAW_LOCK_RMAP] = { "lock of mappings (i_mmap_rwsem)", A_FILE },
	[RAW_LOCK_POSITION] = { "file position lock (f_pos_lock)", A_FILE },
	[RAW_LOCK_BLOCKS] = { "block map lock (i_data_sem)", A_FILE },
	[RAW_LOCK_XATTR] = { "attribute lock (xattr_sem)", A_FILE },
	[RAW_LOCK_XFS] = { "inode lock (xfs i_lock)", A_FILE },
	[RAW_LOCK_SEQ] = { "read lock (seq_file)", A_FILE },
	[RAW_LOCK_KERNFS] = { "open file lock (kernfs)", A_FILE },
	[RAW_LOCK_PIPE] = { "pipe lock (pipe->mutex)", A_PIPE },
	[RAW_LOCK_UMOUNT] = { "mount lock (s_umount)", A_SYSTEM },
	[RAW_LOCK_RENAME] = { "rename lock (s_vfs_rename_mutex)", A_SYSTEM },
	[RAW_LOCK_FREEZE] = { "freeze lock (s_writers)", A_SYSTEM },
	[RAW_LOCK_JOURNAL] = { "journal lock (j_barrier)", A_LABEL },
	[RAW_LOCK_CHECKPOINT] = { "journal lock (j_checkpoint_mutex)", A_LABEL },
	[RAW_LOCK_DISK_OPEN] = { "disk lock (open_mutex)", A_LABEL },
	[RAW_LOCK_EXEC] = { "lock of running programs (exec_update_lock)", A_PROCESS },
	[RAW_LOCK_CRED] = { "lock of running programs (cred_guard_mutex)", A_PROCESS },
	[RAW_LOCK_THREADS] = { "lock of threads (cgroup_threadgroup_rwsem)", A_PROCESS },
	[RAW_LOCK_ANON] = { "lock of anonymous memory (anon_vma)", NOBODYS },
	[RAW_LOCK_EPOLL] = { "epoll lock (ep->mtx)", NOBODYS },
	[RAW_LOCK_URING] = { "io_uring lock (uring_lock)", NOBODYS },
	[RAW_LOCK_UNIX_READ] = { "read lock of a unix socket (iolock)", NOBODYS },
	[RAW_LOCK_UNIX_BIND] = { "bind lock of a unix socket (bindlock)", NOBODYS },
	[RAW_LOCK_KERNFS_TREE] = { "tree lock of sysfs or cgroupfs (kernfs_rwsem)", NOBODYS },
	[RAW_LOCK_SEM_TABLE] = { "lock of System V semaphores (sem_ids)", NOBODYS },
	[RAW_LOCK_MSG_TABLE] = { "lock of System V message queues (msg_ids)", NOBODYS },
	[RAW_LOCK_SHM_TABLE] = { "lock of System V shared memory (shm_ids)", NOBODYS },
	[RAW_LOCK_TTY_WRITE] = { "terminal write lock (atomic_write_lock)", A_LABEL },
	[RAW_LOCK_TTY] = { "terminal lock", A_LABEL },
	[RAW_LOCK_DEVICE] = { "device lock", A_LABEL },
};

/* As /proc/PID/fd has it; of a file system that is mounted nowhere, as the kernel calls it. */
static char *file_text(const struct raw_lock *raw, size_t text_bytes, struct klock_places *places)
{
	char path[RAW_LOCK_TEXT + RAW_LOCK_NAME + 2];
	AUTO_FREE char *where = NULL;
	const char *gone = raw->flags & RAW_LOCK_DELETED ? " (deleted)" : "";
	const char *folder = raw->flags & RAW_LOCK_FOLDER ? "directory " : "";

	if (!text_bytes && !(raw->flags & RAW_LOCK_FOLDER))
		return xasprintf("inode %llu of %.*s (%.*s)", (unsigned long long)raw->inode,
				 (int)sizeof(raw->label), raw->label, (int)sizeof(raw->fs),
				 raw->fs);
	raw_path(raw->text, text_bytes, path, sizeof(path));
	if (raw->flags & RAW_LOCK_CUT)
		return xasprintf("%s...%s%s", folder, path, gone);
	where = klock_places_path(places, raw->dev, path);
	if (where)
		return xasprintf("%s%s%s", folder, where, gone);
	return xasprintf("%s%s on %.*s (%.*s)", folder, path, (int)sizeof(raw->label), raw->label,
			 (int)sizeof(raw->fs), raw->fs);
}

static char *system_text(const struct raw_lock *raw, struct klock_places *places)
{
	AUTO_FREE char *where = klock_places_path(places, raw->dev, "/");

	return xasprintf("%s%s%.*s (%.*s)", where ? where : "", where ? ", " : "",
			 (int)sizeof(raw->label), raw->label, (int)sizeof(raw->fs), raw->fs);
}

/* Memory to free; NULL = nothing more is known. */
static char *whose_text(const struct raw_lock *raw, size_t text_bytes, struct klock_places *places)
{
	switch (classes[raw->class].whose) {
	case A_PROCESS:
		return xasprintf("%.*s[%d]", (int)sizeof(raw->label), raw->label, raw->pid);
	case A_PIPE:
		if (strncmp(raw->fs, "pipefs", sizeof(raw->fs)) == 0)
			return xasprintf("pipe:[%llu]", (unsigned long long)raw->inode);
		return file_text(raw, text_bytes, places);
	case A_FILE:
		return file_text(raw, text_bytes, places);
	case A_SYSTEM:
		return system_text(raw, places);
	case A_LABEL:
		return xasprintf("%.*s", (int)sizeof(raw->label), raw->label);
	default:
		return NULL;
	}
}

/*
 * "rtnl_mutex", "rcu_state+0x1480", of what the kernel prints as "NAME+OFFSET/SIZE [MODULE]". Locks in memory that
 * was allocated have no symbol.
 */
static void put_symbol(const struct raw_lock *raw, size_t text_bytes, char *out, size_t room)
{
	size_t bytes = strnlen(raw->text, text_bytes);
	const char *offset = memchr(raw->text, '+', bytes), *size = memchr(raw->text, '/', bytes);
	bool at_start = offset && strncmp(offset, "+0x0/", 5) == 0;

	if (!offset || !size || size < offset || offset == raw->text)
		return;
	(void)snprintf(out, room, "%.*s", (int)((at_start ? offset : size) - raw->text), raw->text);
	if (strchr(out, ' '))
		out[0] = '\0';
}

/* It ends where the addresses begin. */
static void plain(char *text)
{
	for (; *text; text++) {
		if (*text == '\t' || *text == '\n')
			*text = '?';
	}
}

void klock_text(const struct raw_lock *raw, size_t bytes, struct klock_places *places, char *out,
		size_t room)
{
	size_t head = offsetof(struct raw_lock, text), used;
	size_t text_bytes = raw->text_bytes < bytes - head ? raw->text_bytes : bytes - head;
	size_t frames = raw->frame_bytes / sizeof(raw->frames[0]);
	AUTO_FREE char *whose = NULL;

	out[0] = '\0';
	if (raw->class > RAW_LOCK_UNKNOWN && raw->class < RAW_LOCK_CLASS_COUNT) {
		whose = whose_text(raw, text_bytes, places);
		(void)snprintf(out, room, "%s%s%s", classes[raw->class].what, whose ? " of " : "",
			       whose ? whose : "");
	} else {
		put_symbol(raw, text_bytes, out, room);
	}
	plain(out);
	used = strlen(out);
	for (size_t i = 0; i < frames && i < RAW_LOCK_FRAMES && raw->frames[i]; i++) {
		int more = snprintf(out + used, room - used, "%c%llx", i ? ' ' : '\t',
				    (unsigned long long)raw->frames[i]);

		if (more < 0 || (size_t)more >= room - used)
			break;
		used += (size_t)more;
	}
	out[used] = '\0';
}
