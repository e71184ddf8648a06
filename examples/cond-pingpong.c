/* cond-pingpong.c - two threads take turns with a condition variable; one is slow. */
#include "truth.h"

#define TURNS 150

static const struct example example = {
	.name = "cond-pingpong",
	.shows = "Two threads take 150 turns each, handing over with a condition variable. The\n"
		 "partner computes for 2 ms a turn, the main thread hardly at all. The answer is\n"
		 "the partner.",
};

struct table {
	const struct run *run;
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	int turn; /* even: the main thread's; under mutex */
	struct root root;
};

/* Wait for a turn of this parity. */
static void begin_turn(struct table *table, int parity)
{
	pthread_mutex_lock(&table->mutex);
	while (table->turn % 2 != parity)
		pthread_cond_wait(&table->turned, &table->mutex);
	pthread_mutex_unlock(&table->mutex);
}

static void end_turn(struct table *table)
{
	pthread_mutex_lock(&table->mutex);
	table->turn++;
	pthread_cond_signal(&table->turned);
	pthread_mutex_unlock(&table->mutex);
}

static void *play(void *context)
{
	struct table *table = context;
	uint64_t ns = 0;

	set_name("slow-partner");
	for (int i = 0; i < TURNS; i++) {
		begin_turn(table, 1);
		ns += burn(run_ms(table->run, 2));
		end_turn(table);
	}
	root_set(&table->root, ns);
	return NULL;
}

int main(int argc, char **argv)
{
	struct run run = run_begin(&example, argc, argv);
	struct table table = { .run = &run,
			       .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .turned = PTHREAD_COND_INITIALIZER };
	uint64_t start_ns = now_ns();
	pthread_t partner;

	pthread_create(&partner, NULL, play, &table);
	for (int i = 0; i < TURNS; i++) {
		begin_turn(&table, 0);
		end_turn(&table);
	}
	pthread_join(partner, NULL);
	return run_end(&run, &(struct truth){
				     .start_ns = start_ns,
				     .end_ns = now_ns(),
				     .kind = "other_thread",
				     .also = "lock",
				     .root = table.root,
				     .error_ns = TURNS * 20000, /* handing over, part of its turn */
				     .what = "the partner's turns",
			     });
}
