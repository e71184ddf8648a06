/* guests.c - a list of connections and what each is at. */
#include "view/guests.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"

/* The one that has asked nothing for longest makes room. */
static void shut_oldest(struct guests *guests)
{
	struct guest *oldest = NULL;

	for (struct guest *guest = guests->first; guest; guest = guest->next) {
		if (guest->is_asking && (!oldest || guest->since_ns <= oldest->since_ns))
			oldest = guest;
	}
	if (oldest)
		(void)shutdown(oldest->fd, SHUT_RDWR); /* its end is seen as any other */
}

struct guest *guests_add(struct guests *guests, int fd)
{
	struct guest *guest = xcalloc(1, sizeof(*guest));

	*guest = (struct guest){ .fd = fd, .since_ns = clock_now_ns(), .is_asking = true };
	pthread_mutex_lock(&guests->lock);
	if (guests->count >= GUESTS_FULL)
		shut_oldest(guests);
	guest->next = guests->first;
	guests->first = guest;
	guests->count++;
	pthread_mutex_unlock(&guests->lock);
	return guest;
}

void guests_remove(struct guests *guests, struct guest *guest)
{
	pthread_mutex_lock(&guests->lock);
	for (struct guest **at = &guests->first; *at; at = &(*at)->next) {
		if (*at == guest) {
			*at = guest->next;
			guests->count--;
			break;
		}
	}
	pthread_mutex_unlock(&guests->lock);
	free(guest);
}

void guests_note(struct guests *guests, struct guest *guest, bool is_asking, bool is_waiting)
{
	pthread_mutex_lock(&guests->lock);
	guest->is_asking = is_asking;
	guest->is_waiting = is_waiting;
	guest->since_ns = clock_now_ns();
	pthread_mutex_unlock(&guests->lock);
}

void guests_check(struct guests *guests)
{
	uint64_t time_ns = clock_now_ns();

	pthread_mutex_lock(&guests->lock);
	for (struct guest *guest = guests->first; guest; guest = guest->next) {
		uint64_t limit_ns = guest->is_asking ? GUEST_ASK_NS : GUEST_ANSWER_NS;

		if (!guest->is_waiting && time_ns - guest->since_ns > limit_ns)
			(void)shutdown(guest->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&guests->lock);
}
