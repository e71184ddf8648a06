/* go_runtime.c - see go_runtime.h. */
#include "stuck/go_runtime.h"

#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "stuck/maps.h"
#include "stuck/remote.h"
#include "stuck/snap_int.h"

#define GO_OWNER    "Go"
#define GO_BUILD_ID 4u

static bool has_go_note(struct asleep *asleep)
{
	struct look *look = &asleep->snap->look;
	struct remote memory = { .look = look, .process = asleep->process };
	uint64_t base;
	char exe[1024];
	const char *name;
	bool has;

	if (look_link(look, asleep->process, "exe", exe, sizeof(exe)) <= 0)
		return false;
	name = strrchr(exe, '/');
	if (!name || !maps_library(look, asleep->process, name + 1, &base))
		return false;
	has = remote_has_note(&memory, base, GO_OWNER, GO_BUILD_ID);
	remote_fini(&memory);
	return has;
}

bool runs_go(struct asleep *asleep)
{
	struct map *known = &asleep->snap->by_go;
	uint64_t tgid = (uint64_t)asleep->process->tgid;

	if (!map_find(known, tgid))
		map_put(known, tgid, has_go_note(asleep));
	return *map_find(known, tgid);
}
