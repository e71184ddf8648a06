/*
 * shop.c - a program that logs its own events with libholdup: docs/instrument.md explains it.
 *
 * Three orders are paid; the second one is slow, because the bank is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <holdup/trace.h>

enum bank {
	BANK_CITY,
	BANK_RIVER
};

HOLDUP_ENUM(bank, { "city", BANK_CITY }, { "river", BANK_RIVER })
HOLDUP_SPAN(shop, order, (flow, order), (str, customer))
HOLDUP_EVENT(shop, paid, (flow, order), (f64, amount), (enum, at, bank))
HOLDUP_EVENT_AS(shop, stock, "{count} of {article} left", (str, article), (u32, count))

static void pay(uint64_t order, double amount, enum bank bank)
{
	const struct timespec slow = { .tv_nsec = 50000000 };

	if (bank == BANK_RIVER)
		(void)nanosleep(&slow, NULL);
	holdup_shop_paid(order, amount, bank);
}

static void serve(uint64_t order, const char *customer, enum bank bank)
{
	HOLDUP_SCOPE(shop, order, order, customer); /* ends with this function */
	pay(order, 19.99 + (double)order, bank);
	holdup_shop_stock("lamp", (uint32_t)(100 - order));
}

int main(void)
{
	serve(1, "Ada", BANK_CITY);
	serve(2, "Grace", BANK_RIVER);
	serve(3, "Edsger", BANK_CITY);
	return 0;
}
