/* budget.c - see budget.h. */
#include "record/budget.h"

#define PPM	    1000000u
#define OWE_SECONDS 30			 /* and owed at most what is allowed in so long */
#define SAVE_NS	    UINT64_C(1000000000) /* what is allowed in so long is saved at most */
/* A change costs CPU time itself: what was spent until then says nothing of the step. */
#define CHANGE_NS     UINT64_C(300000000)
#define WAIT_LEAST_NS UINT64_C(2000000000)
#define WAIT_MOST_NS  UINT64_C(60000000000)
#define STEP_SAVES    8u /* times its cost, seldom more */

void budget_begin(struct budget *budget, uint64_t share_ppm, uint32_t cpus, bool has_calls)
{
	*budget = (struct budget){
		.share_ppm = share_ppm,
		.cpus = cpus,
		.has_calls = has_calls,
		.step = STEP_ALL,
		.wait_ns = WAIT_LEAST_NS,
	};
}

/* CPU time that is allowed in 'ns'. */
static uint64_t allowed_in(const struct budget *budget, uint64_t ns)
{
	return (uint64_t)((__uint128_t)ns * budget->cpus * budget->share_ppm / PPM);
}

void budget_changed(struct budget *budget, uint64_t now_ns)
{
	budget->changed_ns = now_ns;
}

static void change(struct budget *budget, enum record_step step, uint64_t now_ns)
{
	if (step == STEP_NO_CALLS && !budget->has_calls)
		step = step > budget->step ? STEP_SWITCHES : STEP_ALL;
	budget->went_up = step < budget->step;
	budget->step = step;
	budget->changed_ns = now_ns;
}

/* An attempt to record more was over at once, or has lasted. */
static void judge_attempt(struct budget *budget, uint64_t now_ns, bool goes_down)
{
	uint64_t lasted_ns = now_ns - budget->changed_ns;

	if (!budget->went_up)
		return;
	if (goes_down && lasted_ns < budget->wait_ns)
		budget->wait_ns *= 2;
	else if (lasted_ns >= budget->wait_ns)
		budget->wait_ns = WAIT_LEAST_NS;
	else
		return;
	if (budget->wait_ns > WAIT_MOST_NS)
		budget->wait_ns = WAIT_MOST_NS;
	budget->went_up = false;
}

/* The next step, or one below it: a burst is over its budget while the steps between are tried. */
static enum record_step step_below(const struct budget *budget, uint64_t events_ns,
				   uint64_t allowed_ns)
{
	uint32_t step = budget->step + 1u;

	if (step == STEP_NO_CALLS && !budget->has_calls)
		step = STEP_SWITCHES;
	for (uint64_t much_ns = allowed_ns * STEP_SAVES; much_ns <= events_ns && step < STEP_NONE;
	     much_ns *= STEP_SAVES)
		step++;
	return (enum record_step)step;
}

bool budget_look(struct budget *budget, uint64_t now_ns, const struct budget_spent *spent)
{
	uint64_t spent_ns = spent->all_ns;
	uint64_t took_ns = now_ns - budget->looked_ns;
	uint64_t used_ns = spent_ns > budget->spent_ns ? spent_ns - budget->spent_ns : 0;
	uint64_t events_ns =
		spent->events_ns > budget->events_ns ? spent->events_ns - budget->events_ns : 0;
	uint64_t allowed_ns = allowed_in(budget, took_ns);
	int64_t most_ns = (int64_t)allowed_in(budget, SAVE_NS);
	bool goes_down;

	if (!budget->looked_ns) {
		budget->begun_ns = budget->looked_ns = budget->changed_ns = now_ns;
		budget->begun_spent_ns = budget->spent_ns = spent_ns;
		budget->events_ns = spent->events_ns;
		return false;
	}
	if (!took_ns)
		return false;
	budget->looked_ns = now_ns;
	budget->events_ns = spent->events_ns;
	budget->spent_ns = spent_ns > budget->spent_ns ? spent_ns : budget->spent_ns;
	budget->cost_ppm =
		(uint32_t)((__uint128_t)used_ns * PPM / ((__uint128_t)took_ns * budget->cpus));
	budget->saved_ns += (int64_t)allowed_ns - (int64_t)used_ns;
	if (budget->saved_ns > most_ns)
		budget->saved_ns = most_ns;
	if (budget->saved_ns < -OWE_SECONDS * most_ns)
		budget->saved_ns = -OWE_SECONDS * most_ns;

	goes_down = used_ns > allowed_ns && budget->saved_ns < 0 && budget->step < STEP_NONE &&
		    now_ns - budget->changed_ns > CHANGE_NS;
	judge_attempt(budget, now_ns, goes_down);
	if (goes_down) {
		change(budget, step_below(budget, events_ns, allowed_ns), now_ns);
		return true;
	}
	if (budget->step > STEP_ALL && budget->saved_ns >= most_ns &&
	    now_ns - budget->changed_ns >= budget->wait_ns) {
		change(budget, budget->step - 1, now_ns);
		return true;
	}
	return false;
}
