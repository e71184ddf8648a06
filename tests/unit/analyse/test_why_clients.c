/* test_why_clients.c - of a server that works at another one's request that one is told, where it is known. */
#include "told.h"

#define MS 1000000

/*
 * Client 8 sends a request to server 9, client 7 another one; the server works at that of 8 for 20 ms, and
 * answers 7 then. 'between' is what the server does before it works.
 */
static struct told *served(const char *between, const char *socket)
{
	AUTO_FREE char *text =
		xasprintf("thread 7 7 1 R waiter\nthread 8 8 1 R other\nthread 9 9 1 S server\n"
			  "fd 9 3 accepted %s\nfd 9 4 accepted %s\n"
			  "  0 cpu0 switch 0(runnable) 7\n"
			  "  0 cpu1 switch 0(runnable) 9\n"
			  "  1000us cpu1 enter recvfrom 3\n"
			  "  1001us cpu1 switch 9(blocked) 8\n"
			  "  2000us cpu1 enter sendto 5\n"
			  "  2001us cpu1 waking 9 cpu 1\n"
			  "  2002us cpu1 leave sendto 5\n"
			  "  2003us cpu1 switch 8(runnable) 9\n"
			  "  2004us cpu1 leave recvfrom 5\n"
			  "%s"
			  "  3000us cpu0 enter recvfrom 6\n"
			  "  3001us cpu0 switch 7(blocked) 0\n"
			  "  22000us cpu1 enter sendto 4\n"
			  "  22001us cpu1 waking 7 cpu 0\n"
			  "  22002us cpu1 leave sendto 5\n"
			  "  22010us cpu0 switch 0(runnable) 7\n"
			  "  22011us cpu0 leave recvfrom 5\n"
			  "  25000us cpu0 switch 7(runnable) 0\n",
			  socket, socket, between);

	struct told *told = replayed(text);

	(void)explained(told, 7, 1 * MS, 24 * MS);
	return told;
}

static const struct why_root *work_of(const struct told *told, int32_t tid)
{
	for (size_t i = 0; i < told->why.root_count; i++) {
		if (told->why.roots[i].kind == WHY_OTHER_THREAD &&
		    told->why.roots[i].who.tid == tid)
			return &told->why.roots[i];
	}
	fail_msg("%d did not work for it", tid);
	return NULL;
}

static void it_works_at(const char *between, const char *socket, int32_t client)
{
	struct told *told = served(between, socket);

	assert_in_range(work_of(told, 9)->ns, 18 * MS, 20 * MS);
	assert_int_equal(work_of(told, 9)->client.tid, client);
	told_free(told);
}

static void whose_request_it_read_last(void **unused)
{
	(void)unused;
	it_works_at("", "\"tcp A->B\"", 8);
	it_works_at("", "\"unix 5->6\"", 8);
}

static void another_request_that_it_did_not_wait_for(void **unused)
{
	(void)unused;
	it_works_at("  2010us cpu1 enter recvfrom 4\n  2011us cpu1 leave recvfrom 5\n",
		    "\"tcp A->B\"", 0);
	/* Nothing came with that one. */
	it_works_at("  2010us cpu1 enter recvfrom 4\n  2011us cpu1 leave recvfrom -11\n",
		    "\"tcp A->B\"", 8);
}

static void who_reads_from_a_pipe_serves_nobody(void **unused)
{
	(void)unused;
	it_works_at("", "pipe:[5]", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_request_it_read_last),
		cmocka_unit_test(another_request_that_it_did_not_wait_for),
		cmocka_unit_test(who_reads_from_a_pipe_serves_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
