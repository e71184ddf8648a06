/*
 * logged-shop.c - log events with libholdup as asked for, and say when that was.
 *
 * usage: logged-shop      each line of input is one of
 *	order		shop:ordered, with fields of many kinds
 *	sale MS		a span shop:sale of so many milliseconds, in the first thread
 *	across MS	the same, but it ends on another CPU than it began on
 *	other MS	it begins in a thread that ends, and its end comes from another one: no pair
 *	open		it begins, and does not end
 *	noise COUNT	so many times shop:noise
 *	storm MS	shop:noise in two threads as fast as they can
 * Prints its number first, and for each line when the first event came and how long it was to the last one, ns.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdup/trace.h>

HOLDUP_EVENT(shop, ordered, (u64, order), (str, customer), (seq_u16, items), (bytes, blob),
	     (f64, price))
HOLDUP_EVENT(shop, noise, (u64, n), (str, text))
HOLDUP_SPAN(shop, sale, (u64, order))

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rest(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (ms)
		nanosleep(&pause, NULL);
}

static void order(void)
{
	static const uint16_t items[] = { 3, 1, 4, 1, 5 };

	holdup_shop_ordered(4711, "Smith & Sons", items, 5, "\0\1\2", 3, 19.99);
}

static void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void *begin_sale(void *unused)
{
	holdup_shop_sale_begin(1);
	return unused;
}

static void *make_noise(void *until_ns)
{
	while (now_ns() < *(uint64_t *)until_ns) {
		for (uint64_t n = 0; n < 1000; n++)
			holdup_shop_noise(n, "all the time and as fast as it can");
	}
	return NULL;
}

static void in_thread(void *(*work)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, argument) == 0)
		pthread_join(thread, NULL);
}

static void storm(long ms)
{
	uint64_t until_ns = now_ns() + (uint64_t)ms * 1000000;
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, make_noise, &until_ns);

	make_noise(&until_ns);
	if (rc == 0)
		pthread_join(thread, NULL);
}

static void serve(const char *word, long number)
{
	uint64_t begin_ns;

	if (strcmp(word, "order") == 0)
		order();
	for (long n = 0; strcmp(word, "noise") == 0 && n < number; n++)
		holdup_shop_noise((uint64_t)n, "");
	if (strcmp(word, "storm") == 0)
		storm(number);
	if (strcmp(word, "across") == 0)
		use_cpu(0);
	if (strcmp(word, "other") == 0)
		in_thread(begin_sale, NULL);
	begin_ns = now_ns();
	if (strcmp(word, "sale") == 0 || strcmp(word, "across") == 0 || strcmp(word, "open") == 0)
		holdup_shop_sale_begin(1);
	rest(strcmp(word, "noise") != 0 && strcmp(word, "storm") != 0 ? number : 0);
	if (strcmp(word, "across") == 0)
		use_cpu((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	if (strcmp(word, "sale") == 0 || strcmp(word, "across") == 0 || strcmp(word, "other") == 0)
		holdup_shop_sale_end();
	printf("%llu %llu\n", (unsigned long long)begin_ns,
	       (unsigned long long)(now_ns() - begin_ns));
	fflush(stdout);
}

int main(void)
{
	char line[64], word[16];
	long number = 0;

	printf("%d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		number = 0;
		if (sscanf(line, "%15s %ld", word, &number) >= 1)
			serve(word, number);
	}
	return 0;
}
