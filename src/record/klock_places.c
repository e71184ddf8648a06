/* klock_places.c - /proc/self/mountinfo. */
#include "record/klock_places.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

#define AGAIN_NS   100000000u /* what is not mounted is looked for again after so long */
#define MINOR_BITS 20

struct mounted {
	uint32_t dev;
	char *root, *point; /* owned */
};

struct klock_places {
	struct mounted *mounts; /* owned; in the kernel's order */
	size_t mount_count, mount_cap;
	uint64_t mounts_ns;
};

struct klock_places *klock_places_new(void)
{
	return xcalloc(1, sizeof(struct klock_places));
}

static void forget_mounts(struct klock_places *places)
{
	for (size_t i = 0; i < places->mount_count; i++) {
		free(places->mounts[i].root);
		free(places->mounts[i].point);
	}
	places->mount_count = 0;
}

void klock_places_free(struct klock_places *places)
{
	if (!places)
		return;
	forget_mounts(places);
	free(places->mounts);
	free(places);
}

/* Blanks and the like stand there as "\040". */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool octal = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' &&
			     from[2] >= '0' && from[2] <= '7' && from[3] >= '0' && from[3] <= '7';

		*to++ = octal ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'))
			      : *from;
		from += octal ? 3 : 0;
	}
	*to = '\0';
}

static void read_mounts(struct klock_places *places)
{
	AUTO_FILE FILE *file = fopen("/proc/self/mountinfo", "re");
	AUTO_FREE char *line = NULL;
	size_t room = 0;

	forget_mounts(places);
	while (file && getline(&line, &room, file) > 0) {
		AUTO_FREE char *root = NULL, *point = NULL;
		unsigned major, minor;

		if (sscanf(line, "%*d %*d %u:%u %ms %ms", &major, &minor, &root, &point) != 4)
			continue;
		unescape(root);
		unescape(point);
		places->mounts = vec_room(places->mounts, places->mount_count, &places->mount_cap,
					  sizeof(*places->mounts));
		places->mounts[places->mount_count++] = (struct mounted){
			.dev = major << MINOR_BITS | minor,
			.root = xstrdup(root),
			.point = xstrdup(point),
		};
	}
}

/* What of 'path' lies below 'root'; NULL = none. */
static const char *below(const char *path, const char *root)
{
	size_t length = strlen(root);

	if (strcmp(root, "/") == 0)
		return path;
	if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return NULL;
	return path + length;
}

static char *find_path(const struct klock_places *places, uint32_t dev, const char *path)
{
	for (size_t i = 0; i < places->mount_count; i++) {
		const struct mounted *mount = &places->mounts[i];
		const char *rest = mount->dev == dev ? below(path, mount->root) : NULL;

		if (!rest)
			continue;
		if (rest[0] == '/' && rest[1] == '\0')
			rest = "";
		if (strcmp(mount->point, "/") == 0)
			return xstrdup(*rest ? rest : "/");
		return xasprintf("%s%s", mount->point, rest);
	}
	return NULL;
}

char *klock_places_path(struct klock_places *places, uint32_t dev, const char *path)
{
	uint64_t now_ns = clock_now_ns();
	char *found = find_path(places, dev, path);

	if (found)
		return found;
	if (places->mounts_ns && now_ns - places->mounts_ns < AGAIN_NS)
		return NULL;
	places->mounts_ns = now_ns;
	read_mounts(places);
	return find_path(places, dev, path);
}
