/* print_locks.c - all that the reading library says of locks, a line each, for answers.py. */
#include <inttypes.h>
#include <stdio.h>

#include <holdup/read.h>

static void print_lock(struct hr_locks *locks, uint32_t index)
{
	struct hr_lock lock = { .struct_size = sizeof(lock) };
	struct hr_lock_owner owner = { .struct_size = sizeof(owner) };
	struct hr_lock_site site = { .struct_size = sizeof(site) };

	if (hr_lock_get(locks, index, &lock) < 0)
		return;
	printf("lock|%s|%s|%s|%" PRId32 "|%#" PRIx64, hr_lock_kind_name(lock.kind), lock.name,
	       lock.program, lock.pid, lock.address);
	printf("|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64,
	       lock.taken, lock.contended, lock.wait_ns, lock.wait_max_ns, lock.hold_ns,
	       lock.nobody_ns, lock.unknown_ns);
	printf("\n");
	for (uint32_t i = 0; i < lock.owner_count; i++) {
		if (hr_lock_owner_get(locks, index, i, &owner) == 0)
			printf("owner|%" PRId32 "|%" PRIu64 "\n", owner.tid, owner.ns);
	}
	for (uint32_t i = 0; i < lock.site_count; i++) {
		if (hr_lock_site_get(locks, index, i, &site) == 0)
			printf("site|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n", site.name,
			       site.taken, site.contended, site.wait_ns);
	}
}

static void print_kernel(struct hr_locks *locks, uint32_t index)
{
	struct hr_kernel_lock lock = { .struct_size = sizeof(lock) };
	struct hr_kernel_lock_owner owner = { .struct_size = sizeof(owner) };
	struct hr_kernel_lock_caller caller = { .struct_size = sizeof(caller) };

	if (hr_kernel_lock_get(locks, index, &lock) < 0)
		return;
	printf("kernel|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n", lock.name,
	       lock.waits, lock.spins, lock.wait_ns, lock.wait_max_ns, lock.spin_ns);
	for (uint32_t i = 0; i < lock.owner_count; i++) {
		if (hr_kernel_lock_owner_get(locks, index, i, &owner) == 0)
			printf("owner|%" PRId32 "|%s|%s|%u|%" PRIu64 "|%" PRIu64 "\n", owner.tid,
			       owner.comm, owner.in, owner.is_told, owner.count, owner.ns);
	}
	for (uint32_t i = 0; i < lock.caller_count; i++) {
		if (hr_kernel_lock_caller_get(locks, index, i, &caller) == 0)
			printf("caller|%s|%s|%" PRIu64 "|%" PRIu64 "\n", caller.call,
			       caller.function, caller.count, caller.ns);
	}
}

int main(int argc, char **argv)
{
	struct hr_trace *trace;
	struct hr_locks *locks;
	char error[512];

	if (argc != 2 || hr_open(argv[1], NULL, &trace, error, sizeof(error)) < 0) {
		fprintf(stderr, "print_locks: %s\n", argc == 2 ? error : "which trace?");
		return 1;
	}
	if (hr_locks_new(trace, &locks) < 0) {
		fprintf(stderr, "print_locks: %s\n", hr_error(trace));
		hr_close(trace);
		return 1;
	}
	for (uint32_t i = 0; i < hr_lock_count(locks); i++)
		print_lock(locks, i);
	for (uint32_t i = 0; i < hr_kernel_lock_count(locks); i++)
		print_kernel(locks, i);
	hr_locks_free(locks);
	hr_close(trace);
	return 0;
}
