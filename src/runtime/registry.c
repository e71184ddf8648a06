/*
 * registry.c - events by id, and their TSDL text (CTF 1.8, section 7).
 *
 * Names of fields get a '_' in front, as the specification asks where they could be
 * keywords: readers take it away.
 */
#include "runtime/registry.h"

#include <string.h>
#include <sys/mman.h>

#include <holdup/trace.h>

#include "runtime/rules.h"
#include "runtime/text.h"

#define TEXT_MAX   (32u << 20) /* bytes of descriptions; only what is used takes memory */
#define NAMES_MAX  (4u << 20)
#define EVENTS_MAX (HOLDUP_NEWS_ * 1024u)
#define ONE_TEXT   16384 /* bytes of one description, at most */
#define PLACES_MAX 4096	 /* programs and libraries with events, files of them in C++ */

struct entry {
	uint32_t number;
	uint32_t major; /* offsets in names */
	uint32_t name;
	uint32_t text; /* offset and length in metadata, without the number */
	uint32_t text_bytes;
};

struct class
{
	uint32_t name;
	uint32_t count; /* of its events */
};

static struct {
	struct entry *entries;
	char *names;
	char *metadata;
	uint32_t count; /* published with release */
	uint32_t name_bytes;
	size_t metadata_bytes; /* published with release */
	struct class classes[HOLDUP_NEWS_];
	uint32_t class_count;
	bool ready;
	struct {
		struct holdup_event_ *const *from; /* NULL: free */
		struct holdup_event_ *const *to;
	} places[PLACES_MAX];
	uint32_t place_count; /* published with release */
} known;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool make_ready(void)
{
	if (!known.entries)
		known.entries = reserve(EVENTS_MAX * sizeof(*known.entries));
	if (!known.names)
		known.names = reserve(NAMES_MAX);
	if (!known.metadata)
		known.metadata = reserve(TEXT_MAX);
	known.ready = known.entries && known.names && known.metadata;
	return known.ready;
}

/* --------------------------------------------------------------- description */

static void add_quoted(struct text *text, const char *string)
{
	text_add(text, "\"");
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			text_add(text, "\\");
		if (*string == '\n')
			text_add(text, "\\n");
		else
			text_bytes(text, string, 1);
	}
	text_add(text, "\"");
}

static const char *plain_type(unsigned type)
{
	static const char *const names[] = {
		[HOLDUP_T_u8_] = "uint8_t",	 [HOLDUP_T_u16_] = "uint16_t",
		[HOLDUP_T_u32_] = "uint32_t",	 [HOLDUP_T_u64_] = "uint64_t",
		[HOLDUP_T_i8_] = "int8_t",	 [HOLDUP_T_i16_] = "int16_t",
		[HOLDUP_T_i32_] = "int32_t",	 [HOLDUP_T_i64_] = "int64_t",
		[HOLDUP_T_x8_] = "hex8_t",	 [HOLDUP_T_x16_] = "hex16_t",
		[HOLDUP_T_x32_] = "hex32_t",	 [HOLDUP_T_x64_] = "hex64_t",
		[HOLDUP_T_f32_] = "float32_t",	 [HOLDUP_T_f64_] = "float64_t",
		[HOLDUP_T_bool_] = "bool8_t",	 [HOLDUP_T_flow_] = "flow_t",
		[HOLDUP_T_str_] = "utf8_string",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static void add_labels(struct text *text, const struct holdup_label_ *labels)
{
	text_add(text, "enum : int32_t { ");
	for (; labels && labels->name; labels++) {
		add_quoted(text, labels->name);
		text_add(text, " = ");
		text_signed(text, labels->value);
		text_add(text, labels[1].name ? ", " : " ");
	}
	text_add(text, "}");
}

/* False for a type that this version does not know. */
static bool add_field(struct text *text, const struct holdup_field_ *field)
{
	unsigned element = field->type & 63u;
	const char *type = plain_type(element);

	if (element == HOLDUP_T_enum_ && field->labels && field->labels->name) {
		text_add(text, "\t\t");
		add_labels(text, field->labels);
		text_add(text, " _");
		text_add(text, field->name);
		text_add(text, ";\n");
		return true;
	}
	if (element == HOLDUP_T_enum_)
		type = "int32_t";
	if (!type)
		return false;
	if (field->type & HOLDUP_T_seq_) {
		text_add(text, "\t\tuint32_t __");
		text_add(text, field->name);
		text_add(text, "_length;\n");
	}
	text_add(text, "\t\t");
	text_add(text, type);
	text_add(text, " _");
	text_add(text, field->name);
	if (field->type & HOLDUP_T_seq_) {
		text_add(text, "[__");
		text_add(text, field->name);
		text_add(text, "_length]");
	} else if (field->type & HOLDUP_T_arr_) {
		text_add(text, "[");
		text_number(text, field->length);
		text_add(text, "]");
	}
	text_add(text, ";\n");
	return true;
}

/* What TSDL has no word for: spans, flows, the display format. */
static void add_extras(struct text *text, const struct holdup_event_ *event)
{
	char extras[2048];
	struct text uri;

	text_begin(&uri, extras, sizeof(extras));
	text_add(&uri, "holdup:?kind=");
	text_add(&uri, event->kind == 'b' ? "begin" : event->kind == 'n' ? "end" : "event");
	for (unsigned i = 0; i < event->field_count; i++) {
		if (event->fields[i].type == HOLDUP_T_flow_) {
			text_add(&uri, "&flow=");
			text_add(&uri, event->fields[i].name);
		}
	}
	if (event->format) {
		text_add(&uri, "&format="); /* the last one: takes the rest */
		text_add(&uri, event->format);
	}
	text_add(text, "\tmodel.emf.uri = ");
	add_quoted(text, extras);
	text_add(text, ";\n");
}

/* Everything but the line with the number. */
static bool describe(struct text *text, const struct holdup_event_ *event)
{
	bool good = true;

	text_add(text, "\tname = \"");
	text_add(text, event->major);
	text_add(text, ":");
	text_add(text, event->name);
	text_add(text, "\";\n\tstream_id = 0;\n");
	add_extras(text, event);
	text_add(text, "\tfields := struct {\n");
	for (unsigned i = 0; i < event->field_count; i++)
		good &= add_field(text, &event->fields[i]);
	text_add(text, "\t};\n};\n\n");
	return good && !text->cut;
}

/* ------------------------------------------------------------------ registry */

static uint32_t keep_name(const char *name)
{
	size_t bytes = strlen(name) + 1;
	uint32_t at = known.name_bytes;

	if (bytes > NAMES_MAX - at)
		return UINT32_MAX;
	memcpy(known.names + at, name, bytes);
	known.name_bytes += (uint32_t)bytes;
	return at;
}

/* The class of this name, made when there is room; HOLDUP_NEWS_ when not. */
static uint32_t class_of(uint32_t major)
{
	for (uint32_t i = 0; i < known.class_count; i++) {
		if (strcmp(known.names + known.classes[i].name, known.names + major) == 0)
			return i;
	}
	if (known.class_count == HOLDUP_NEWS_)
		return HOLDUP_NEWS_;
	known.classes[known.class_count] = (struct class){ .name = major };
	return known.class_count++;
}

static const struct entry *find_same(const struct text *text)
{
	for (uint32_t i = 0; i < known.count; i++) {
		const struct entry *entry = &known.entries[i];

		if (entry->text_bytes == text->length &&
		    memcmp(known.metadata + entry->text, text->data, text->length) == 0)
			return entry;
	}
	return NULL;
}

/* A number for it: number in its class << 6 | class. 0: there are too many. */
static uint32_t class_take_number(uint32_t major)
{
	uint32_t class = class_of(major);

	/* Number 0 says "none": the first event of the first class is its second. */
	if (class == HOLDUP_NEWS_ || known.classes[class].count >= 1023)
		return 0;
	return ++known.classes[class].count << 6 | class;
}

static const struct entry *add_new(const struct holdup_event_ *event, const struct text *text)
{
	struct entry *entry = &known.entries[known.count];
	size_t at = known.metadata_bytes;
	char line[64];
	struct text head;

	if (known.count == EVENTS_MAX || sizeof(line) + text->length > TEXT_MAX - at)
		return NULL;
	entry->major = keep_name(event->major);
	entry->name = keep_name(event->name);
	if (entry->major == UINT32_MAX || entry->name == UINT32_MAX)
		return NULL;
	entry->number = class_take_number(entry->major);
	if (!entry->number)
		return NULL;
	text_begin(&head, line, sizeof(line));
	text_add(&head, "event {\n\tid = ");
	text_number(&head, entry->number);
	text_add(&head, ";\n");
	entry->text = (uint32_t)(at + head.length);
	entry->text_bytes = (uint32_t)text->length;
	memcpy(known.metadata + at, line, head.length);
	memcpy(known.metadata + entry->text, text->data, text->length);
	/* pair with registry_metadata(), registry_apply() */
	__atomic_store_n(&known.metadata_bytes, entry->text + text->length, __ATOMIC_RELEASE);
	__atomic_store_n(&known.count, known.count + 1, __ATOMIC_RELEASE);
	return entry;
}

static bool add_event(struct holdup_event_ *event)
{
	char description[ONE_TEXT];
	const struct entry *entry;
	struct text text;
	bool is_new = false;

	text_begin(&text, description, sizeof(description));
	if (event->abi != HOLDUP_ABI_ || !describe(&text, event))
		return false;
	entry = find_same(&text);
	if (!entry) {
		entry = add_new(event, &text);
		is_new = entry != NULL;
	}
	if (entry)
		event->number = entry->number;
	return is_new;
}

static void keep_place(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	uint32_t i = 0;

	while (i < known.place_count && known.places[i].from)
		i++;
	if (i == PLACES_MAX)
		return; /* never on, as their ids stay */
	known.places[i].to = to;
	__atomic_store_n(&known.places[i].from, from, __ATOMIC_RELEASE);
	if (i == known.place_count)
		__atomic_store_n(&known.place_count, i + 1, __ATOMIC_RELEASE);
}

bool registry_add(struct holdup_event_ *const *from, struct holdup_event_ *const *to)
{
	bool is_new = false;

	if (!known.ready && !make_ready())
		return false;
	for (struct holdup_event_ *const *at = from; at < to; at++)
		is_new |= add_event(*at);
	keep_place(from, to);
	return is_new;
}

void registry_remove(struct holdup_event_ *const *from)
{
	for (uint32_t i = 0; i < known.place_count; i++) {
		if (known.places[i].from == from)
			__atomic_store_n(&known.places[i].from, NULL, __ATOMIC_RELEASE);
	}
}

const char *registry_metadata(size_t *out_bytes)
{
	*out_bytes = __atomic_load_n(&known.metadata_bytes, __ATOMIC_ACQUIRE);
	return known.metadata;
}

static bool allows(const struct holdup_control_ *control, const struct entry *entry)
{
	return rules_allow(control->rules, known.names + entry->major, known.names + entry->name);
}

bool registry_allows(const struct holdup_control_ *control, uint32_t number)
{
	uint32_t count = __atomic_load_n(&known.count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		if (known.entries[i].number == number)
			return allows(control, &known.entries[i]);
	}
	return false;
}

static void add_name(struct text *names, const struct entry *entry)
{
	size_t length = names->length;

	text_number(names, entry->number);
	text_add(names, " ");
	text_add(names, known.names + entry->major);
	text_add(names, ":");
	text_add(names, known.names + entry->name);
	text_add(names, "\n");
	if (names->cut) { /* a whole line or none */
		names->data[length] = '\0';
		names->length = length;
	}
}

/* The ids of all events that programs look at. A class that is off needs no second word. */
static void set_ids(const struct holdup_control_ *control, uint64_t mask)
{
	uint32_t count = __atomic_load_n(&known.place_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		struct holdup_event_ *const *at =
			__atomic_load_n(&known.places[i].from, __ATOMIC_ACQUIRE);

		for (; at && at < known.places[i].to; at++) {
			uint32_t number = (*at)->number;
			bool class_is_on = mask >> number % HOLDUP_CLASSES_ & 1;

			if (number && class_is_on && !registry_allows(control, number))
				number = 0;
			__atomic_store_n(&(*at)->id, number ? number : HOLDUP_OFF_,
					 __ATOMIC_RELAXED);
		}
	}
}

void registry_apply(struct holdup_control_ *control)
{
	uint32_t count = __atomic_load_n(&known.count, __ATOMIC_ACQUIRE);
	struct text names;
	uint64_t mask = 0;

	text_begin(&names, control->names, sizeof(control->names));
	for (uint32_t i = 0; i < count; i++) {
		if (allows(control, &known.entries[i]))
			mask |= UINT64_C(1) << known.entries[i].number % HOLDUP_CLASSES_;
		if (!names.cut)
			add_name(&names, &known.entries[i]);
	}
	control->event_count = count;
	set_ids(control, mask);
	__atomic_store_n(&control->mask, mask, __ATOMIC_RELEASE);
}
