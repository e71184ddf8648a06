/*
 * process.c - who we are and what is loaded where, told once to each trace.
 *
 * The list of modules is kept: asking the loader takes a lock of its own, so it is done only
 * where nobody can expect otherwise - when the program begins, forks and ends. What is loaded
 * in between is told at the next of these.
 */
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/locks/locks_int.h"

#define MODULES	   1024
#define PATH_BYTES 496

struct module {
	uint64_t start, end, bias;
	char path[PATH_BYTES];
};

struct modules {
	uint32_t count; /* atomic; those before are whole */
	uint32_t busy;	/* atomic; somebody adds to it */
	struct module modules[MODULES];
};

static struct process before_begin;
struct process *process = &before_begin;

static struct modules *all; /* NULL = no memory, or not begun */

static bool module_is_known(const struct module *module)
{
	for (uint32_t i = 0; i < all->count; i++) {
		if (all->modules[i].start == module->start &&
		    strcmp(all->modules[i].path, module->path) == 0)
			return true;
	}
	return false;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module *module = &all->modules[all->count];
	bool is_first = *(bool *)context;

	(void)size;
	*(bool *)context = false;
	if (all->count == MODULES)
		return 1;
	memset(module, 0, sizeof(*module));
	module->bias = info->dlpi_addr;
	module->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *head = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + head->p_vaddr;

		if (head->p_type != PT_LOAD)
			continue;
		module->start = start < module->start ? start : module->start;
		if (start + head->p_memsz > module->end)
			module->end = start + head->p_memsz;
	}
	if (is_first && !info->dlpi_name[0])
		(void)!readlink("/proc/self/exe", module->path, PATH_BYTES - 1);
	else
		strncpy(module->path, info->dlpi_name, PATH_BYTES - 1);
	if (!module_is_known(module)) /* pairs with the acquire in tell_modules() */
		__atomic_store_n(&all->count, all->count + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Ask the loader. */
static void modules_look(void)
{
	bool is_first = true;
	int error = errno;

	if (!all || __atomic_exchange_n(&all->busy, 1, __ATOMIC_ACQUIRE))
		return;
	(void)dl_iterate_phdr(add_module, &is_first);
	__atomic_store_n(&all->busy, 0, __ATOMIC_RELEASE);
	errno = error;
}

/* Those that the present trace does not know. */
static void tell_modules(uint32_t pid)
{
	uint32_t count = all ? __atomic_load_n(&all->count, __ATOMIC_ACQUIRE) : 0;
	uint32_t i = __atomic_exchange_n(&process->told, count, __ATOMIC_RELAXED);

	for (; i < count; i++) {
		const struct module *module = &all->modules[i];

		holdup_lock_module(pid, module->start, module->end, module->bias, module->path);
	}
}

void process_tell(void)
{
	uint64_t now = __atomic_load_n(&holdup_state_.control.session, __ATOMIC_ACQUIRE);
	uint32_t pid = (uint32_t)getpid();

	__atomic_store_n(&process->pid, pid, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&process->session, now, __ATOMIC_ACQ_REL) == now)
		return; /* another thread was here first */
	__atomic_store_n(&process->told, 0, __ATOMIC_RELAXED);
	if (!locks_on())
		return;
	holdup_lock_begin(pid, (uint32_t)getppid());
	tell_modules(pid);
}

static void look_and_tell(void)
{
	modules_look();
	if (locks_on())
		tell_modules(process_pid());
}

/* In the child there is one thread; nobody adds to the list there any more. */
static void forked_child(void)
{
	if (all)
		all->busy = 0;
	*process = (struct process){ 0 };
}

static void *get_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* After the events were registered (101), before the constructors of whoever uses locks. */
static __attribute__((constructor(102))) void locks_begin(void)
{
	int error = errno;
	struct process *wiped = get_pages(sizeof(*wiped));

	(void)real();
	if (wiped) {
		(void)madvise(wiped, sizeof(*wiped), MADV_WIPEONFORK); /* else forked_child() */
		*wiped = before_begin;
		process = wiped;
	}
	all = get_pages(sizeof(*all));
	(void)pthread_atfork(look_and_tell, NULL, forked_child);
	look_and_tell();
	errno = error;
}

static __attribute__((destructor(102))) void locks_end(void)
{
	int error = errno;

	look_and_tell();
	errno = error;
}
