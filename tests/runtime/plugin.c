/* plugin.c - what is loaded and unloaded while others log. */
#include <holdup/trace.h>

HOLDUP_EVENT(plugin, step, (u64, n))

void plugin_step(uint64_t n);

__attribute__((visibility("default"))) void plugin_step(uint64_t n)
{
	holdup_plugin_step(n);
}
