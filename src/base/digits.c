/* digits.c - the table of pairs. */
#include "base/digits.h"

#define TEN(d)                                                                                     \
	d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" d "8" d "9"

const char digits_pairs[201] =
	TEN("0") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9");
