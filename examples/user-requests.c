/*
 * user-requests.c - a server that logs the beginning and the end of each request itself.
 *
 * The main thread takes 100 requests, one after the other. Most of them only compute; some are slow,
 * each for a reason of its own: a mutex that another thread holds while it works, a sleep, the
 * disk. The server says so in events of its own, with libholdup:
 *
 *	shop:request_begin  request, flow
 *	shop:request_end    request, flow, kind (why it was slow), ns
 *
 * Record it, and ask about one request:
 *
 *	sudo holdup record -- user-requests
 *	holdup list --filter 'shop:request_end && kind != 0' run.holdup
 *	holdup why --from 'shop:request_begin:request == 20' --to 'shop:request_end:request == 20'
 */
#include <holdup/trace.h>

#include "cold.h"

#define REQUESTS 100

enum kind {
	PLAIN,
	LOCK,
	SLEEP,
	DISK
};

HOLDUP_ENUM(kinds, { "plain", PLAIN }, { "lock", LOCK }, { "sleep", SLEEP }, { "disk", DISK })
HOLDUP_EVENT(shop, request_begin, (u32, request), (flow, flow))
HOLDUP_EVENT(shop, request_end, (u32, request), (flow, flow), (enum, kind, kinds), (u64, ns))

static const struct example example = {
	.name = "user-requests",
	.shows =
		"A server logs the beginning and the end of each of 100 requests itself, with\n"
		"libholdup. Request 20 waits for a mutex, 50 sleeps, 80 reads the disk. The answer\n"
		"of the whole run is the sleep.",
	.wants_dir = true,
};

struct server {
	const struct run *run;
	int fd; /* of the data on the disk */
	pthread_mutex_t mutex;
	pthread_barrier_t begins, held;
	struct root sleep;
};

/* Holds the mutex, and works, from one request on that needs it. */
static void *hold(void *context)
{
	struct server *server = context;

	set_name("cache-keeper");
	pthread_barrier_wait(&server->begins);
	pthread_mutex_lock(&server->mutex);
	pthread_barrier_wait(&server->held);
	burn(run_ms(server->run, 40));
	pthread_mutex_unlock(&server->mutex);
	return NULL;
}

static enum kind kind_of(uint32_t request)
{
	return request == 20 ? LOCK : request == 50 ? SLEEP : request == 80 ? DISK : PLAIN;
}

static void read_disk(const struct server *server)
{
	uint64_t *block = new_block(), end_ns = now_ns() + run_ms(server->run, 40);

	for (uint64_t off = 0; now_ns() < end_ns; off = (off + COLD_BLOCK) % COLD_BYTES) {
		if (pread(server->fd, block, COLD_BLOCK, (off_t)off) != COLD_BLOCK)
			fail("pread");
	}
	free(block);
}

static void serve(struct server *server, uint32_t request)
{
	enum kind kind = kind_of(request);
	uint64_t start_ns;

	if (kind == LOCK) {
		pthread_barrier_wait(&server->begins);
		pthread_barrier_wait(&server->held);
	}
	start_ns = now_ns();
	holdup_shop_request_begin(request, 1000 + request);
	burn_some();
	switch (kind) {
	case LOCK:
		pthread_mutex_lock(&server->mutex);
		pthread_mutex_unlock(&server->mutex);
		break;
	case SLEEP:
		root_set(&server->sleep, nap(run_ms(server->run, 120)));
		break;
	case DISK:
		read_disk(server);
		break;
	case PLAIN:
		break;
	}
	holdup_shop_request_end(request, 1000 + request, kind, now_ns() - start_ns);
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct server server = { .run = &run, .mutex = PTHREAD_MUTEX_INITIALIZER };
	uint64_t start_ns;
	pthread_t thread;

	server.fd = cold_open(&run, O_DIRECT);
	pthread_barrier_init(&server.begins, NULL, 2);
	pthread_barrier_init(&server.held, NULL, 2);
	pthread_create(&thread, NULL, hold, &server);
	start_ns = now_ns();
	for (uint32_t request = 0; request < REQUESTS; request++)
		serve(&server, request);
	pthread_join(thread, NULL);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "timer",
				     .root = server.sleep,
				     .what = "the sleep of request 50",
			     });
}
