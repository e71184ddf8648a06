/* digits.c - the tables. */
#include "base/digits.h"

#define TEN(d) d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"

const char digits_pairs[201] =
	TEN("0") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9");

#define THREE_OF(d) d "0 " d "1 " d "2 " d "3 " d "4 " d "5 " d "6 " d "7 " d "8 " d "9 "
#define HUNDRED(d)      \
	THREE_OF(d "0") \
	THREE_OF(d "1") \
	THREE_OF(d "2") \
	THREE_OF(d "3") \
	THREE_OF(d "4") \
	THREE_OF(d "5") THREE_OF(d "6") THREE_OF(d "7") THREE_OF(d "8") THREE_OF(d "9")

const char digits_triples[4001] = HUNDRED("0") HUNDRED("1") HUNDRED("2") HUNDRED("3") HUNDRED("4")
	HUNDRED("5") HUNDRED("6") HUNDRED("7") HUNDRED("8") HUNDRED("9");

#define ONE(a)           \
	{                \
		{ a }, 1 \
	}
#define TWO(a, b)           \
	{                   \
		{ a, b }, 2 \
	}
#define THREE(a, b, c)         \
	{                      \
		{ a, b, c }, 3 \
	}
#define TWOS(a)                                                                                    \
	TWO(a, '0'), TWO(a, '1'), TWO(a, '2'), TWO(a, '3'), TWO(a, '4'), TWO(a, '5'), TWO(a, '6'), \
		TWO(a, '7'), TWO(a, '8'), TWO(a, '9')
#define THREES(a, b)                                                                              \
	THREE(a, b, '0'), THREE(a, b, '1'), THREE(a, b, '2'), THREE(a, b, '3'), THREE(a, b, '4'), \
		THREE(a, b, '5'), THREE(a, b, '6'), THREE(a, b, '7'), THREE(a, b, '8'),           \
		THREE(a, b, '9')
#define HUNDREDS(a)                                                                     \
	THREES(a, '0'), THREES(a, '1'), THREES(a, '2'), THREES(a, '3'), THREES(a, '4'), \
		THREES(a, '5'), THREES(a, '6'), THREES(a, '7'), THREES(a, '8'), THREES(a, '9')

const struct digits_small digits_small[1000] = {
	ONE('0'),      ONE('1'),      ONE('2'),	     ONE('3'),	    ONE('4'),	   ONE('5'),
	ONE('6'),      ONE('7'),      ONE('8'),	     ONE('9'),	    TWOS('1'),	   TWOS('2'),
	TWOS('3'),     TWOS('4'),     TWOS('5'),     TWOS('6'),	    TWOS('7'),	   TWOS('8'),
	TWOS('9'),     HUNDREDS('1'), HUNDREDS('2'), HUNDREDS('3'), HUNDREDS('4'), HUNDREDS('5'),
	HUNDREDS('6'), HUNDREDS('7'), HUNDREDS('8'), HUNDREDS('9'),
};
