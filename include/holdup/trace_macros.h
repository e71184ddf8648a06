/*
 * trace_macros.h - private part of holdup/trace.h: from a declaration to functions.
 *
 * A field (TYPE, NAME, ...) belongs to a class of fields: one number, a pointer with a
 * count, and so on. HOLDUP_K_type_ names the class and HOLDUP_C_type_ the C type; for each class
 * there are the macros that make parameters, descriptions and pieces of it.
 */
#ifndef HOLDUP_TRACE_MACROS_H
#define HOLDUP_TRACE_MACROS_H

#include <holdup/trace_hot.h>

/* What a field is, in struct holdup_field_. Never renumbered. */
enum holdup_type_ {
	HOLDUP_T_u8_ = 1,
	HOLDUP_T_u16_ = 2,
	HOLDUP_T_u32_ = 3,
	HOLDUP_T_u64_ = 4,
	HOLDUP_T_i8_ = 5,
	HOLDUP_T_i16_ = 6,
	HOLDUP_T_i32_ = 7,
	HOLDUP_T_i64_ = 8,
	HOLDUP_T_x8_ = 9,
	HOLDUP_T_x16_ = 10,
	HOLDUP_T_x32_ = 11,
	HOLDUP_T_x64_ = 12,
	HOLDUP_T_f32_ = 13,
	HOLDUP_T_f64_ = 14,
	HOLDUP_T_bool_ = 15,
	HOLDUP_T_flow_ = 16,
	HOLDUP_T_enum_ = 17,
	HOLDUP_T_str_ = 30,
	HOLDUP_T_seq_ = 64, /* + the type of an element */
	HOLDUP_T_arr_ = 128,
	HOLDUP_T_bytes_ = HOLDUP_T_seq_ + HOLDUP_T_x8_,
};

/* clang-format off */
#define HOLDUP_K_u8_ ONE
#define HOLDUP_C_u8_ uint8_t
#define HOLDUP_K_u16_ ONE
#define HOLDUP_C_u16_ uint16_t
#define HOLDUP_K_u32_ ONE
#define HOLDUP_C_u32_ uint32_t
#define HOLDUP_K_u64_ ONE
#define HOLDUP_C_u64_ uint64_t
#define HOLDUP_K_i8_ ONE
#define HOLDUP_C_i8_ int8_t
#define HOLDUP_K_i16_ ONE
#define HOLDUP_C_i16_ int16_t
#define HOLDUP_K_i32_ ONE
#define HOLDUP_C_i32_ int32_t
#define HOLDUP_K_i64_ ONE
#define HOLDUP_C_i64_ int64_t
#define HOLDUP_K_x8_ ONE
#define HOLDUP_C_x8_ uint8_t
#define HOLDUP_K_x16_ ONE
#define HOLDUP_C_x16_ uint16_t
#define HOLDUP_K_x32_ ONE
#define HOLDUP_C_x32_ uint32_t
#define HOLDUP_K_x64_ ONE
#define HOLDUP_C_x64_ uint64_t
#define HOLDUP_K_f32_ ONE
#define HOLDUP_C_f32_ float
#define HOLDUP_K_f64_ ONE
#define HOLDUP_C_f64_ double
#define HOLDUP_K_bool_ ONE
#define HOLDUP_C_bool_ bool
#define HOLDUP_K_flow_ ONE
#define HOLDUP_C_flow_ uint64_t
#define HOLDUP_K_enum_ ENUM
#define HOLDUP_C_enum_ int32_t
/* <stdbool.h> makes bool a macro in C. */
#define HOLDUP_K__Bool_ ONE
#define HOLDUP_C__Bool_ bool
#define HOLDUP_T__Bool_ HOLDUP_T_bool_
#define HOLDUP_K_str_ STR
#define HOLDUP_C_str_ char
#define HOLDUP_K_bytes_ BYTES
#define HOLDUP_K_seq_u8_ SEQ
#define HOLDUP_C_seq_u8_ uint8_t
#define HOLDUP_T_seq_u8_ (HOLDUP_T_seq_ + HOLDUP_T_u8_)
#define HOLDUP_K_arr_u8_ ARR
#define HOLDUP_C_arr_u8_ uint8_t
#define HOLDUP_T_arr_u8_ (HOLDUP_T_arr_ + HOLDUP_T_u8_)
#define HOLDUP_K_seq_u16_ SEQ
#define HOLDUP_C_seq_u16_ uint16_t
#define HOLDUP_T_seq_u16_ (HOLDUP_T_seq_ + HOLDUP_T_u16_)
#define HOLDUP_K_arr_u16_ ARR
#define HOLDUP_C_arr_u16_ uint16_t
#define HOLDUP_T_arr_u16_ (HOLDUP_T_arr_ + HOLDUP_T_u16_)
#define HOLDUP_K_seq_u32_ SEQ
#define HOLDUP_C_seq_u32_ uint32_t
#define HOLDUP_T_seq_u32_ (HOLDUP_T_seq_ + HOLDUP_T_u32_)
#define HOLDUP_K_arr_u32_ ARR
#define HOLDUP_C_arr_u32_ uint32_t
#define HOLDUP_T_arr_u32_ (HOLDUP_T_arr_ + HOLDUP_T_u32_)
#define HOLDUP_K_seq_u64_ SEQ
#define HOLDUP_C_seq_u64_ uint64_t
#define HOLDUP_T_seq_u64_ (HOLDUP_T_seq_ + HOLDUP_T_u64_)
#define HOLDUP_K_arr_u64_ ARR
#define HOLDUP_C_arr_u64_ uint64_t
#define HOLDUP_T_arr_u64_ (HOLDUP_T_arr_ + HOLDUP_T_u64_)
#define HOLDUP_K_seq_i8_ SEQ
#define HOLDUP_C_seq_i8_ int8_t
#define HOLDUP_T_seq_i8_ (HOLDUP_T_seq_ + HOLDUP_T_i8_)
#define HOLDUP_K_arr_i8_ ARR
#define HOLDUP_C_arr_i8_ int8_t
#define HOLDUP_T_arr_i8_ (HOLDUP_T_arr_ + HOLDUP_T_i8_)
#define HOLDUP_K_seq_i16_ SEQ
#define HOLDUP_C_seq_i16_ int16_t
#define HOLDUP_T_seq_i16_ (HOLDUP_T_seq_ + HOLDUP_T_i16_)
#define HOLDUP_K_arr_i16_ ARR
#define HOLDUP_C_arr_i16_ int16_t
#define HOLDUP_T_arr_i16_ (HOLDUP_T_arr_ + HOLDUP_T_i16_)
#define HOLDUP_K_seq_i32_ SEQ
#define HOLDUP_C_seq_i32_ int32_t
#define HOLDUP_T_seq_i32_ (HOLDUP_T_seq_ + HOLDUP_T_i32_)
#define HOLDUP_K_arr_i32_ ARR
#define HOLDUP_C_arr_i32_ int32_t
#define HOLDUP_T_arr_i32_ (HOLDUP_T_arr_ + HOLDUP_T_i32_)
#define HOLDUP_K_seq_i64_ SEQ
#define HOLDUP_C_seq_i64_ int64_t
#define HOLDUP_T_seq_i64_ (HOLDUP_T_seq_ + HOLDUP_T_i64_)
#define HOLDUP_K_arr_i64_ ARR
#define HOLDUP_C_arr_i64_ int64_t
#define HOLDUP_T_arr_i64_ (HOLDUP_T_arr_ + HOLDUP_T_i64_)
#define HOLDUP_K_seq_x8_ SEQ
#define HOLDUP_C_seq_x8_ uint8_t
#define HOLDUP_T_seq_x8_ (HOLDUP_T_seq_ + HOLDUP_T_x8_)
#define HOLDUP_K_arr_x8_ ARR
#define HOLDUP_C_arr_x8_ uint8_t
#define HOLDUP_T_arr_x8_ (HOLDUP_T_arr_ + HOLDUP_T_x8_)
#define HOLDUP_K_seq_x16_ SEQ
#define HOLDUP_C_seq_x16_ uint16_t
#define HOLDUP_T_seq_x16_ (HOLDUP_T_seq_ + HOLDUP_T_x16_)
#define HOLDUP_K_arr_x16_ ARR
#define HOLDUP_C_arr_x16_ uint16_t
#define HOLDUP_T_arr_x16_ (HOLDUP_T_arr_ + HOLDUP_T_x16_)
#define HOLDUP_K_seq_x32_ SEQ
#define HOLDUP_C_seq_x32_ uint32_t
#define HOLDUP_T_seq_x32_ (HOLDUP_T_seq_ + HOLDUP_T_x32_)
#define HOLDUP_K_arr_x32_ ARR
#define HOLDUP_C_arr_x32_ uint32_t
#define HOLDUP_T_arr_x32_ (HOLDUP_T_arr_ + HOLDUP_T_x32_)
#define HOLDUP_K_seq_x64_ SEQ
#define HOLDUP_C_seq_x64_ uint64_t
#define HOLDUP_T_seq_x64_ (HOLDUP_T_seq_ + HOLDUP_T_x64_)
#define HOLDUP_K_arr_x64_ ARR
#define HOLDUP_C_arr_x64_ uint64_t
#define HOLDUP_T_arr_x64_ (HOLDUP_T_arr_ + HOLDUP_T_x64_)
#define HOLDUP_K_seq_f32_ SEQ
#define HOLDUP_C_seq_f32_ float
#define HOLDUP_T_seq_f32_ (HOLDUP_T_seq_ + HOLDUP_T_f32_)
#define HOLDUP_K_arr_f32_ ARR
#define HOLDUP_C_arr_f32_ float
#define HOLDUP_T_arr_f32_ (HOLDUP_T_arr_ + HOLDUP_T_f32_)
#define HOLDUP_K_seq_f64_ SEQ
#define HOLDUP_C_seq_f64_ double
#define HOLDUP_T_seq_f64_ (HOLDUP_T_seq_ + HOLDUP_T_f64_)
#define HOLDUP_K_arr_f64_ ARR
#define HOLDUP_C_arr_f64_ double
#define HOLDUP_T_arr_f64_ (HOLDUP_T_arr_ + HOLDUP_T_f64_)

#define HOLDUP_CAT__(a, b) a##b
#define HOLDUP_CAT_(a, b) HOLDUP_CAT__(a, b)
#define HOLDUP_CAT3_(a, b, c) HOLDUP_CAT_(HOLDUP_CAT_(a, b), c)

/* m a1, m a2 ... for arguments a in parentheses, with 's' between. */
#define HOLDUP_COMMA_() ,
#define HOLDUP_NO_()
#define HOLDUP_PLUS_() +
#define HOLDUP_EACH_1_(m, s, a) m a
#define HOLDUP_EACH_2_(m, s, a, ...) m a s() HOLDUP_EACH_1_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_3_(m, s, a, ...) m a s() HOLDUP_EACH_2_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_4_(m, s, a, ...) m a s() HOLDUP_EACH_3_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_5_(m, s, a, ...) m a s() HOLDUP_EACH_4_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_6_(m, s, a, ...) m a s() HOLDUP_EACH_5_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_7_(m, s, a, ...) m a s() HOLDUP_EACH_6_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_8_(m, s, a, ...) m a s() HOLDUP_EACH_7_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_9_(m, s, a, ...) m a s() HOLDUP_EACH_8_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_10_(m, s, a, ...) m a s() HOLDUP_EACH_9_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_11_(m, s, a, ...) m a s() HOLDUP_EACH_10_(m, s, __VA_ARGS__)
#define HOLDUP_EACH_12_(m, s, a, ...) m a s() HOLDUP_EACH_11_(m, s, __VA_ARGS__)
#define HOLDUP_COUNT__(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, n, ...) n
#define HOLDUP_COUNT_(...) HOLDUP_COUNT__(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define HOLDUP_EACH_(m, s, ...) HOLDUP_CAT3_(HOLDUP_EACH_, HOLDUP_COUNT_(__VA_ARGS__), _)(m, s, __VA_ARGS__)

/* With the class of the field's type: HOLDUP_what_CLASS_(type, name, ...). */
#define HOLDUP_BY_CLASS_(what, type) HOLDUP_CAT3_(what, HOLDUP_K_##type##_, _)

/* Parameters. */
#define HOLDUP_PARAM_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_PARAM_, type)(type, __VA_ARGS__)
#define HOLDUP_PARAM_ONE_(type, name) HOLDUP_C_##type##_ name
#define HOLDUP_PARAM_ENUM_(type, name, labels) int32_t name
#define HOLDUP_PARAM_STR_(type, name) const char *name
#define HOLDUP_PARAM_SEQ_(type, name) const HOLDUP_C_##type##_ *name, size_t name##_count
#define HOLDUP_PARAM_BYTES_(type, name) const void *name, size_t name##_count
#define HOLDUP_PARAM_ARR_(type, name, length) const HOLDUP_C_##type##_ *name

/* The same as arguments. */
#define HOLDUP_ARG_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_ARG_, type)(type, __VA_ARGS__)
#define HOLDUP_ARG_ONE_(type, name) name
#define HOLDUP_ARG_ENUM_(type, name, labels) name
#define HOLDUP_ARG_STR_(type, name) name
#define HOLDUP_ARG_SEQ_(type, name) name, name##_count
#define HOLDUP_ARG_BYTES_ HOLDUP_ARG_SEQ_
#define HOLDUP_ARG_ARR_(type, name, length) name

/* Descriptions. */
#define HOLDUP_FIELD_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_FIELD_, type)(type, __VA_ARGS__)
#define HOLDUP_FIELD_ONE_(type, name) { #name, HOLDUP_T_##type##_, 0, NULL },
#define HOLDUP_FIELD_ENUM_(type, name, labels) { #name, HOLDUP_T_##type##_, 0, holdup_enum_##labels##_ },
#define HOLDUP_FIELD_STR_ HOLDUP_FIELD_ONE_
#define HOLDUP_FIELD_SEQ_ HOLDUP_FIELD_ONE_
#define HOLDUP_FIELD_BYTES_ HOLDUP_FIELD_ONE_
#define HOLDUP_FIELD_ARR_(type, name, length) { #name, HOLDUP_T_##type##_, length, NULL },

/* Is the length of all fields known when compiling? 0 + 0 ... */
#define HOLDUP_VARIES_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_VARIES_, type)
#define HOLDUP_VARIES_ONE_ 0
#define HOLDUP_VARIES_ENUM_ 0
#define HOLDUP_VARIES_STR_ 1
#define HOLDUP_VARIES_SEQ_ 1
#define HOLDUP_VARIES_BYTES_ 1
#define HOLDUP_VARIES_ARR_ 1

/* If so: members of a packed struct, and what is stored in them. */
#define HOLDUP_MEMBER_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_MEMBER_, type)(type, __VA_ARGS__)
#define HOLDUP_MEMBER_ONE_(type, name) HOLDUP_C_##type##_ name;
#define HOLDUP_MEMBER_ENUM_(type, name, labels) int32_t name;
#define HOLDUP_MEMBER_STR_(type, name)
#define HOLDUP_MEMBER_SEQ_(type, name)
#define HOLDUP_MEMBER_BYTES_(type, name)
#define HOLDUP_MEMBER_ARR_(type, name, length)
#define HOLDUP_SET_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_SET_, type)(type, __VA_ARGS__)
#define HOLDUP_SET_ONE_(type, name) payload_.fields.name = name;
#define HOLDUP_SET_ENUM_(type, name, labels) payload_.fields.name = name;
#define HOLDUP_SET_STR_(type, name)
#define HOLDUP_SET_SEQ_(type, name)
#define HOLDUP_SET_BYTES_(type, name)
#define HOLDUP_SET_ARR_(type, name, length)

/* If not: pieces of memory, in the order of the fields. */
#define HOLDUP_PIECE_(type, ...) HOLDUP_BY_CLASS_(HOLDUP_PIECE_, type)(type, __VA_ARGS__)
#define HOLDUP_PIECE_ONE_(type, name) holdup_piece_(pieces_ + at_++, &name, sizeof(name));
#define HOLDUP_PIECE_ENUM_(type, name, labels) holdup_piece_(pieces_ + at_++, &name, sizeof(name));
/*
 * Another thread may change the string meanwhile: its end is a piece of its own, and no other
 * one may come into it, or readers would take the rest for the fields that follow.
 */
#define HOLDUP_PIECE_STR_(type, name) \
	holdup_piece_(pieces_ + at_++, name, (name ? strlen(name) : 0) | HOLDUP_PIECE_TEXT_); \
	holdup_piece_(pieces_ + at_++, "", 1);
#define HOLDUP_PIECE_SEQ_(type, name) \
	uint32_t name##_length_ = (uint32_t)name##_count; \
	holdup_piece_(pieces_ + at_++, &name##_length_, 4); \
	holdup_piece_(pieces_ + at_++, name, name##_count * sizeof(*name));
#define HOLDUP_PIECE_BYTES_(type, name) \
	uint32_t name##_length_ = (uint32_t)name##_count; \
	holdup_piece_(pieces_ + at_++, &name##_length_, 4); \
	holdup_piece_(pieces_ + at_++, name, name##_count);
#define HOLDUP_PIECE_ARR_(type, name, length) \
	holdup_piece_(pieces_ + at_++, name, (length) * sizeof(*name));
/* clang-format on */

static inline void holdup_piece_(struct holdup_piece_ *piece, const void *data, size_t bytes)
{
	piece->data = data;
	piece->bytes = bytes;
}

/* The events of this program or library: the linker collects them. */
extern struct holdup_event_ *const __start_holdup_events[]
	__attribute__((weak, visibility("hidden")));
extern struct holdup_event_ *const __stop_holdup_events[]
	__attribute__((weak, visibility("hidden")));

/* Runs in every file that includes this; all but the first find nothing to do. */
static __attribute__((constructor(101), used)) void holdup_begin_(void)
{
	holdup_register_(__start_holdup_events, __stop_holdup_events);
}

static __attribute__((destructor(101), used)) void holdup_end_(void)
{
	holdup_unregister_(__start_holdup_events, __stop_holdup_events);
}

/* clang-format off */
#define HOLDUP_DESCRIBE_(major_, name_, kind_, format_, fields_, count_) \
	static struct holdup_event_ holdup_event_##major_##_##name_##_ = { \
		HOLDUP_OFF_, 0, HOLDUP_ABI_, kind_, count_, #major_, #name_, format_, fields_ \
	}; \
	static struct holdup_event_ *const holdup_at_##major_##_##name_##_ \
		__attribute__((section("holdup_events"), used)) = \
			&holdup_event_##major_##_##name_##_;

#define HOLDUP_BARE_(major, name, kind, format) \
	HOLDUP_DESCRIBE_(major, name, kind, format, NULL, 0) \
	static inline __attribute__((always_inline, unused)) void holdup_write_##major##_##name##_(uint32_t id_) \
	{ \
		uint64_t none_ = 0; \
		if (__builtin_expect(id_ == HOLDUP_OFF_, 0)) { \
			id_ = holdup_news_(&holdup_event_##major##_##name##_); \
			if (id_ == HOLDUP_OFF_) \
				return; \
		} \
		holdup_put_(id_, &none_, 0); \
	} \
	static inline __attribute__((always_inline, unused)) void holdup_##major##_##name(void) \
	{ \
		uint32_t id_ = __atomic_load_n(&holdup_event_##major##_##name##_.id, __ATOMIC_RELAXED); \
		if (holdup_on_(id_)) \
			holdup_write_##major##_##name##_(id_); \
	}

#define HOLDUP_FULL_(major, name, kind, format, ...) \
	static const struct holdup_field_ holdup_fields_##major##_##name##_[] = { \
		HOLDUP_EACH_(HOLDUP_FIELD_, HOLDUP_NO_, __VA_ARGS__) \
	}; \
	HOLDUP_DESCRIBE_(major, name, kind, format, holdup_fields_##major##_##name##_, \
			 HOLDUP_COUNT_(__VA_ARGS__)) \
	static inline __attribute__((always_inline, unused)) void holdup_write_##major##_##name##_( \
		uint32_t id_, HOLDUP_EACH_(HOLDUP_PARAM_, HOLDUP_COMMA_, __VA_ARGS__)) \
	{ \
		if (__builtin_expect(id_ == HOLDUP_OFF_, 0)) { \
			id_ = holdup_news_(&holdup_event_##major##_##name##_); \
			if (id_ == HOLDUP_OFF_) \
				return; \
		} \
		if (!(HOLDUP_EACH_(HOLDUP_VARIES_, HOLDUP_PLUS_, __VA_ARGS__))) { \
			struct __attribute__((packed)) holdup_plain_##major##_##name##_ { \
				HOLDUP_EACH_(HOLDUP_MEMBER_, HOLDUP_NO_, __VA_ARGS__) \
				char end_[1]; \
			}; \
			union { \
				struct holdup_plain_##major##_##name##_ fields; \
				uint64_t words[(sizeof(struct holdup_plain_##major##_##name##_) + 7) / 8]; \
			} payload_; \
			payload_.words[sizeof(payload_.words) / 8 - 1] = 0; \
			HOLDUP_EACH_(HOLDUP_SET_, HOLDUP_NO_, __VA_ARGS__) \
			holdup_put_(id_, payload_.words, sizeof(payload_.fields) - 1); \
		} else { \
			struct holdup_piece_ pieces_[2 * HOLDUP_COUNT_(__VA_ARGS__)]; \
			size_t at_ = 0; \
			HOLDUP_EACH_(HOLDUP_PIECE_, HOLDUP_NO_, __VA_ARGS__) \
			holdup_put_pieces_(id_, pieces_, at_); \
		} \
	} \
	static inline __attribute__((always_inline, unused)) void holdup_##major##_##name( \
		HOLDUP_EACH_(HOLDUP_PARAM_, HOLDUP_COMMA_, __VA_ARGS__)) \
	{ \
		uint32_t id_ = __atomic_load_n(&holdup_event_##major##_##name##_.id, __ATOMIC_RELAXED); \
		if (holdup_on_(id_)) \
			holdup_write_##major##_##name##_( \
				id_, HOLDUP_EACH_(HOLDUP_ARG_, HOLDUP_COMMA_, __VA_ARGS__)); \
	}

#define HOLDUP_EVENT_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, pick, ...) pick
#define HOLDUP_EVENT_(...) HOLDUP_EVENT_PICK_(__VA_ARGS__, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_N_, HOLDUP_EVENT_0_, HOLDUP_WRONG_, 0)(__VA_ARGS__)
#define HOLDUP_EVENT_0_(major, name) HOLDUP_BARE_(major, name, 'e', NULL)
#define HOLDUP_EVENT_N_(major, name, ...) HOLDUP_FULL_(major, name, 'e', NULL, __VA_ARGS__)
#define HOLDUP_EVENT_AS_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, pick, ...) pick
#define HOLDUP_EVENT_AS_(...) HOLDUP_EVENT_AS_PICK_(__VA_ARGS__, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_N_, HOLDUP_EVENT_AS_0_, HOLDUP_WRONG_, HOLDUP_WRONG_, 0)(__VA_ARGS__)
#define HOLDUP_EVENT_AS_0_(major, name, format) HOLDUP_BARE_(major, name, 'e', format)
#define HOLDUP_EVENT_AS_N_(major, name, format, ...) HOLDUP_FULL_(major, name, 'e', format, __VA_ARGS__)
#define HOLDUP_SPAN_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, pick, ...) pick
#define HOLDUP_SPAN_(...) HOLDUP_SPAN_PICK_(__VA_ARGS__, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_N_, HOLDUP_SPAN_0_, HOLDUP_WRONG_, 0)(__VA_ARGS__)
#define HOLDUP_SPAN_0_(major, name) \
	HOLDUP_BARE_(major, name##_begin, 'b', NULL) \
	HOLDUP_SPAN_END_(major, name)
#define HOLDUP_SPAN_N_(major, name, ...) \
	HOLDUP_FULL_(major, name##_begin, 'b', NULL, __VA_ARGS__) \
	HOLDUP_SPAN_END_(major, name)
#define HOLDUP_SPAN_END_(major, name) \
	HOLDUP_BARE_(major, name##_end, 'n', NULL) \
	static inline __attribute__((unused)) void holdup_scope_##major##_##name##_(const char *unused_) \
	{ \
		(void)unused_; \
		holdup_##major##_##name##_end(); \
	}

#define HOLDUP_SCOPE_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, pick, ...) pick
#define HOLDUP_SCOPE_(...) HOLDUP_SCOPE_PICK_(__VA_ARGS__, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_N_, HOLDUP_SCOPE_0_, HOLDUP_WRONG_, 0)(__VA_ARGS__)
#define HOLDUP_SCOPE_0_(major, name) \
	HOLDUP_SCOPE_VAR_(major, name); \
	holdup_##major##_##name##_begin()
#define HOLDUP_SCOPE_N_(major, name, ...) \
	HOLDUP_SCOPE_VAR_(major, name); \
	holdup_##major##_##name##_begin(__VA_ARGS__)
#define HOLDUP_SCOPE_VAR_(major, name) \
	char HOLDUP_CAT_(holdup_scope_, __LINE__) \
		__attribute__((cleanup(holdup_scope_##major##_##name##_), unused)) = 0
/* clang-format on */

#endif
