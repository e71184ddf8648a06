/*
 * hotspot.h - who owns the monitor that a thread of a Java program waits for.
 *
 * HotSpot exports where the fields of its own structures are (gHotSpotVMStructs, vmStructs.cpp), for
 * debuggers. Read from there are the list of Java threads, the monitor that each wants to enter or waits in,
 * and the monitor's owner: OpenJDK 11 and later, on 64 bits.
 */
#ifndef STUCK_HOTSPOT_H
#define STUCK_HOTSPOT_H

#include <stdbool.h>

struct asleep;
struct hotspot;

/* What the thread waits for, when it is a monitor; false = it is none, or it is not known. */
bool hotspot_wait(struct asleep *asleep);

/* What a look knows of one Java process; NULL is fine. */
void hotspot_free(struct hotspot *hotspot);

#endif
