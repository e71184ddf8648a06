/*
 * thread.h - threads that take no signals: these are for the threads that were there before.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * As pthread_create(), with all signals blocked in the new thread but those of faults of its own. Returns
 * 0, or a positive errno. 'attr' may be NULL.
 */
int thread_start_quiet(pthread_t *out_thread, const pthread_attr_t *attr, void *(*run)(void *),
		       void *argument);

#endif
