/* copies.c - see copies.h. */
#include "read/perf/copies.h"

#include "base/file.h"
#include "base/hash.h"
#include "event/facts.h"
#include "read/perf/attr.h"
#include "read/perf/file.h"
#include "read/perf/regs.h"
#include "read/perf/scan.h"
#include "read/stack_walk.h"

static bool has_user_part(const struct perf_rest *rest, bool swap)
{
	for (uint32_t i = 0; i + 1 < rest->chain_count; i++) {
		if (perf_u64(rest->chain + (size_t)8 * i, swap) == PERF_CONTEXT_USER)
			return true;
	}
	return false;
}

struct perf_copy perf_copy_of(const struct perf_file *file, const struct perf_attr *attr,
			      const struct perf_record *record, const struct perf_rest *rest,
			      uint64_t place)
{
	const uint64_t wanted = PERF_HAS_REGS_USER | PERF_HAS_STACK_USER;
	struct perf_copy copy = { 0 };
	struct walk_dump dump;

	if ((attr->sample_type & wanted) != wanted || has_user_part(rest, file->swap))
		return copy;
	copy = (struct perf_copy){
		.attr = attr, .place = place, .bytes = record->bytes, .has_regs = rest->regs != NULL
	};
	if (!rest->regs)
		return copy;
	copy.hash = hash_bytes(
		rest->regs, (size_t)8 * (size_t)__builtin_popcountll(attr->regs_user), rest->abi);
	if (rest->stack_bytes)
		copy.hash = hash_bytes(rest->stack, rest->stack_bytes, copy.hash);
	if (perf_regs_take(attr, rest, file->facts->arch, file->swap, &dump))
		copy.pc = dump.regs[dump.reg_count - 1];
	return copy;
}

bool perf_copy_read(const struct perf_file *file, const struct perf_copy *copy, uint8_t *room,
		    struct walk_dump *out_dump)
{
	const size_t part = copy->place >> PERF_PLACE_SHIFT;
	const uint64_t offset = copy->place & ((UINT64_C(1) << PERF_PLACE_SHIFT) - 1);
	struct perf_record record;
	struct perf_rest rest;

	/* The words of the stack are in its order, too. */
	return !file->swap && part < file->part_count && copy->bytes <= PERF_COPY_ROOM &&
	       file_read_at(file->parts[part].fd, offset, room, copy->bytes) == copy->bytes &&
	       perf_record_at(room, copy->bytes, file->swap, &record) > 0 &&
	       record.bytes == copy->bytes && record.type == PERF_SAMPLE &&
	       perf_attr_rest(copy->attr, &record, file->swap, &rest) &&
	       perf_regs_take(copy->attr, &rest, file->facts->arch, file->swap, out_dump);
}
