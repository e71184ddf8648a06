/* unit_bus_none.c - stands in for unit_bus.c where there was no libsystemd. */
#include <errno.h>

#include "base/err.h"
#include "record/unit_bus.h"

bool unit_bus_is_built(void)
{
	return false;
}

int unit_bus_run(const struct unit_listener *listener, struct err *err)
{
	(void)listener;
	return err_set(err, -ENOTSUP, "holdup was built without libsystemd");
}
