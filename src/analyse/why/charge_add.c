/*
 * charge_add.c - adds time to the roots that it is charged to, and to the hops on the way there.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/charge_add.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "event/stacks.h"

uint32_t charge_text(struct charger *charger, const char *text)
{
	return names_add(&charger->query->why->texts, text, 4096);
}

/* The text of a state word; there are few of them, and they come again and again. */
uint32_t charge_word_text(struct charger *charger, uint32_t word)
{
	struct word_memo *memo = &charger->word_memo[(word * 0x9e3779b1u) >> 22];

	if (!memo->text || memo->word != word) {
		memo->word = word;
		memo->text = charge_text(charger, describe_word(charger->query, word)) + 1;
	}
	return memo->text - 1;
}

/* -------------------------------------------------------------- adding it up */

static bool same_root(const struct root *a, const struct root *b)
{
	return a->kind == b->kind && a->class == b->class && a->slot == b->slot &&
	       a->what == b->what && a->object == b->object && a->reason == b->reason &&
	       a->inferred == b->inferred && a->what_data == b->what_data;
}

/* The same for a text that is a constant. */
uint32_t charge_what(struct charger *charger, const char *text)
{
	struct what_memo *memo = &charger->what_memo[((uintptr_t)text >> 3) % WHATS];

	if (memo->text != text)
		*memo = (struct what_memo){ text, charge_text(charger, text) };
	return memo->id;
}

/* Reasons that are only a kind are looked for once. */
uint32_t charge_reason(struct charger *charger, enum why_reason_kind kind)
{
	if (!charger->reason_memo[kind])
		charger->reason_memo[kind] = why_reason_id(
			why_reason_keep(charger->query->why, &(struct why_reason){ .kind = kind }));
	return charger->reason_memo[kind];
}

uint32_t charge_unsure(struct charger *charger, uint32_t unsure)
{
	const struct why_reason reason = { .kind = WHY_REASON_UNSURE, .number = unsure };
	uint32_t id = unsure < ARRAY_LEN(charger->unsure_memo) ? charger->unsure_memo[unsure] : 0;

	if (id)
		return id;
	id = why_reason_id(why_reason_keep(charger->query->why, &reason));
	if (unsure < ARRAY_LEN(charger->unsure_memo))
		charger->unsure_memo[unsure] = id;
	return id;
}

static uint32_t root_of(struct charger *charger, const struct root *key)
{
	uint64_t hash =
		hash_mix(hash_mix(hash_mix(hash_mix(key->kind, key->class), key->slot), key->what),
			 key->object);
	uint64_t *found;
	uint32_t *memo;

	hash = hash_mix(hash_mix(hash_mix(hash, key->reason), key->inferred), key->what_data);
	memo = &charger->root_memo[hash >> 40 & (MEMO - 1)];
	if (*memo && same_root(&charger->roots[*memo - 1], key))
		return *memo - 1;
	/* Equal hashes of different keys: take the next number. */
	while ((found = map_find(&charger->root_index, hash))) {
		if (same_root(&charger->roots[*found], key)) {
			*memo = (uint32_t)*found + 1;
			return (uint32_t)*found;
		}
		hash++;
	}
	charger->roots = vec_room(charger->roots, charger->root_count, &charger->root_cap,
				  sizeof(*charger->roots));
	charger->roots[charger->root_count] = *key;
	map_put(&charger->root_index, hash, charger->root_count);
	return (uint32_t)charger->root_count++;
}

static void add_flow(struct charger *charger, uint32_t root, uint32_t node, uint64_t ns)
{
	uint64_t key = (uint64_t)root << 32 | node;
	struct flow_memo *memo = &charger->flow_memo[hash_mix(0, key) >> 20 & (MEMO - 1)];
	uint64_t *found;

	if (memo->flow && memo->key == key) {
		charger->flows[memo->flow - 1].ns += ns;
		return;
	}
	found = map_find(&charger->flow_index, key);
	*memo = (struct flow_memo){ key, (uint32_t)(found ? *found : charger->flow_count) + 1 };
	if (found) {
		charger->flows[*found].ns += ns;
		return;
	}
	charger->flows = vec_room(charger->flows, charger->flow_count, &charger->flow_cap,
				  sizeof(*charger->flows));
	map_put(&charger->flow_index, key, charger->flow_count);
	charger->flows[charger->flow_count++] = (struct flow){ root, node, ns };
}

/* Of a window of any length few spans are kept: those near one another are one. */
static void add_span(struct charger *charger, struct root *root, uint64_t ns)
{
	const struct query *query = charger->query;
	const struct tl_interval *own = &charger->own;
	struct why_span *last = root->span_count ? &root->spans[root->span_count - 1] : NULL;

	if (last && own->start_ns <= last->end_ns + query->opts->spans_ns) {
		last->ns += ns;
		if (own->end_ns > last->end_ns)
			last->end_ns = own->end_ns;
		return;
	}
	root->spans =
		vec_room(root->spans, root->span_count, &root->span_cap, sizeof(*root->spans));
	root->spans[root->span_count++] = (struct why_span){ own->start_ns, own->end_ns, ns,
							     query->tl->threads[query->slot]->tid };
}

uint32_t charge_add(struct charger *charger, const struct place *place, struct root key,
		    uint64_t ns)
{
	uint32_t index;
	struct root *root;

	key.class = place->class;
	key.inferred = place->inferred;
	index = root_of(charger, &key);
	root = &charger->roots[index];
	root->ns += ns;
	root->count++;
	if (ns > root->longest_ns)
		root->longest_ns = ns;
	if (charger->waited != STACK_NONE)
		code_root(charger->query, root, charger->waited, ns);
	if (charger->query->opts->spans_ns)
		add_span(charger, root, ns);
	add_flow(charger, index, place->node, ns);
	return index;
}

void charge_part(struct root *root, uint32_t id, uint64_t ns)
{
	for (size_t i = 0; i < root->part_count; i++) {
		if (root->parts[i].id == id) {
			root->parts[i].ns += ns;
			return;
		}
	}
	root->parts =
		vec_room(root->parts, root->part_count, &root->part_cap, sizeof(*root->parts));
	root->parts[root->part_count++] = (struct part){ id, ns };
}

static uint32_t new_hop(struct charger *charger, const struct place *place, uint32_t slot,
			const struct wait *wait, const struct led *led)
{
	struct query *query = charger->query;
	struct node key = {
		.parent = place->node,
		.slot = slot,
		.waker = wait->woken_ns ? wait->waker.slot : SLOT_NONE,
		.what = charge_text(charger, describe_in(query, wait)),
		.object = charge_text(charger, describe_object(query, slot, wait)),
		.woken_by = charge_text(charger, describe_packet(query, wait)),
		.woken_by_data = why_reason_id(query_packet(query, wait)),
		.is_call = word_is_call(query, wait->in),
		.no_name = wait_has_no_name(query, slot, wait),
		.woken_by_call = actor_is_call(query, &wait->waker),
		.lock = led->lock,
		.owner = led->owner,
		.expects = SLOT_NONE,
		.holder = SLOT_NONE,
		.inferred = led->inferred,
		.helper = why_reason_id(query_helper(query, wait)),
		.halted = wait_halted(wait),
		.by_packet = wait->waker.kind == ACTOR_NETWORK && !wait->waker.signal,
		.count = 1,
	};
	uint64_t hash =
		hash_mix(hash_mix(hash_mix(hash_mix(key.parent, key.slot), key.what), key.object),
			 key.woken_by);
	uint64_t *found;

	hash = hash_mix(hash_mix(hash_mix(hash_mix(hash, key.waker), key.lock), key.owner),
			key.inferred);
	hash = hash_mix(hash_mix(hash, key.helper), key.woken_by_data);
	while ((found = map_find(&charger->node_index, hash))) {
		struct node *node = &charger->nodes[*found];

		if (node->parent == key.parent && node->slot == key.slot &&
		    node->what == key.what && node->object == key.object &&
		    node->woken_by == key.woken_by && node->waker == key.waker &&
		    node->lock == key.lock && node->owner == key.owner &&
		    node->inferred == key.inferred && node->helper == key.helper &&
		    node->woken_by_data == key.woken_by_data) {
			node->count++;
			return (uint32_t)*found;
		}
		hash++;
	}
	charger->nodes = vec_room(charger->nodes, charger->node_count, &charger->node_cap,
				  sizeof(*charger->nodes));
	charger->nodes[charger->node_count] = key;
	map_put(&charger->node_index, hash, charger->node_count);
	return (uint32_t)charger->node_count++;
}

/* Waits alike make the same hop: its texts are not made again. */
uint32_t charge_hop(struct charger *charger, const struct place *place, uint32_t slot,
		    const struct wait *wait, const struct led *led)
{
	const uint32_t flags = WAIT_DISK_SLEEP | WAIT_STOPPED | WAIT_THROTTLED | WAIT_EXPECTS;
	struct hop_key key;
	struct hop_memo *memo;
	uint64_t hash;

	memset(&key, 0, sizeof(key));
	key.parent = place->node;
	key.slot = slot;
	key.waker = wait->waker.slot;
	key.in = wait->in;
	key.object = wait->object;
	key.futex = wait_named_futex(charger->query, slot, wait);
	key.flags = wait->flags & flags;
	key.name = wait->waker.name;
	key.word = wait->waker.word;
	key.below = wait->waker.below;
	key.origin = wait->origin.kind == ACTOR_TIMER ? wait->origin.name : 0;
	key.by = wait->origin.kind == ACTOR_THREAD ? wait->origin.slot : SLOT_NONE;
	key.origin_kind = wait->origin.time_ns ? wait->origin.kind : ACTOR_NONE;
	key.lock = led->lock;
	key.owner = led->owner;
	key.inferred = led->inferred;
	key.fd = wait->fd;
	key.kind = wait->waker.kind;
	key.signal = wait->waker.signal;
	key.woken = wait->woken_ns != 0;
	hash = hash_mix(hash_mix(hash_mix(key.parent, key.slot), key.in), key.object);
	hash = hash_mix(hash_mix(hash_mix(hash_mix(hash, key.word), key.waker), key.owner),
			key.inferred);
	memo = &charger->hop_memo[hash >> 20 & (MEMO - 1)];
	if (memo->node && memcmp(&memo->key, &key, sizeof(key)) == 0) {
		charger->nodes[memo->node - 1].count++;
		return memo->node - 1;
	}
	memo->key = key;
	memo->node = new_hop(charger, place, slot, wait, led) + 1;
	return memo->node - 1;
}

/* Who had the kernel lock that it asked for. */
void charge_note_holder(struct charger *charger, struct node *node, const struct wait *wait)
{
	const char *holding;
	uint32_t holder = query_holder(charger->query, wait, &holding);

	if (holder == SLOT_NONE)
		return;
	node->many_held |= node->holder != SLOT_NONE && node->holder != holder;
	node->holder = holder;
	if (holding[0])
		node->holding = charge_text(charger, holding);
	node->holding_call = word_is_call(charger->query, wait->origin.word);
}

/* ------------------------------------------------------------------ the rule */
