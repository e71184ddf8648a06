/* zip.c - one block at a time, by the libraries of the field. */
#include "read/tracedat/zip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

struct dat_zip {
	enum dat_zip_kind kind;
	ZSTD_DCtx *zstd; /* owned; NULL = made when first used */
};

enum dat_zip_kind dat_zip_kind(const char *name)
{
	static const struct {
		const char *name;
		enum dat_zip_kind kind;
	} kinds[] = {
		{ "none", DAT_ZIP_NONE },
		{ "zlib", DAT_ZIP_ZLIB },
		{ "zstd", DAT_ZIP_ZSTD },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return DAT_ZIP_UNKNOWN;
}

struct dat_zip *dat_zip_new(enum dat_zip_kind kind)
{
	struct dat_zip *zip = xcalloc(1, sizeof(*zip));

	zip->kind = kind;
	return zip;
}

void dat_zip_free(struct dat_zip *zip)
{
	if (!zip)
		return;
	ZSTD_freeDCtx(zip->zstd);
	free(zip);
}

static int64_t unpack_zlib(const void *from, size_t bytes, void *to, size_t room)
{
	uLongf made = room;

	return uncompress(to, &made, from, bytes) == Z_OK ? (int64_t)made : -1;
}

static int64_t unpack_zstd(struct dat_zip *zip, const void *from, size_t bytes, void *to,
			   size_t room)
{
	size_t made;

	if (!zip->zstd)
		zip->zstd = ZSTD_createDCtx();
	if (!zip->zstd)
		return -1;
	made = ZSTD_decompressDCtx(zip->zstd, to, room, from, bytes);
	return ZSTD_isError(made) ? -1 : (int64_t)made;
}

int64_t dat_zip_unpack(struct dat_zip *zip, const void *from, size_t bytes, void *to, size_t room)
{
	switch (zip->kind) {
	case DAT_ZIP_ZLIB:
		return unpack_zlib(from, bytes, to, room);
	case DAT_ZIP_ZSTD:
		return unpack_zstd(zip, from, bytes, to, room);
	case DAT_ZIP_NONE:
	case DAT_ZIP_UNKNOWN:
		break;
	}
	return -1;
}
