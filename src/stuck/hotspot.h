/*
 * hotspot.h - who owns the monitor that a thread of a Java program waits for.
 *
 * HotSpot exports where the fields of its own structures are (gHotSpotVMStructs, vmStructs.cpp), for
 * debuggers. Read from there are the list of Java threads, the monitor that each wants to enter or waits in,
 * and the monitor's owner: OpenJDK 11 and later, on 64 bits. Locks of java.util.concurrent: hotspot_park.c.
 */
#ifndef STUCK_HOTSPOT_H
#define STUCK_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

struct asleep;
struct hotspot;

/* What the thread waits for, a monitor or what it is parked for; false = neither, or it is not known. */
bool hotspot_wait(struct asleep *asleep);

/* The same of a thread that waits for no monitor, by the address of its JavaThread. */
bool hotspot_parked(struct asleep *asleep, struct hotspot *hotspot, uint64_t thread);

/* What a look knows of one Java process; NULL is fine. */
void hotspot_free(struct hotspot *hotspot);

#endif
