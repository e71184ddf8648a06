/* test_demangle.c - names as programmers wrote them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

static void check(const char *symbol, const char *function, const char *signature)
{
	struct demangled demangled = { 0 };

	demangle(symbol, &demangled);
	assert_string_equal(demangled.function, function);
	assert_string_equal(demangled.signature, signature);
	demangled_fini(&demangled);
}

static void names_of_c_stay(void **unused)
{
	check("main", "main", "main");
	check("read@@GLIBC_2.2.5", "read", "read");
	check("_ZNot_mangled", "_ZNot_mangled", "_ZNot_mangled");
	check("", "", "");
	check(".hidden", ".hidden", ".hidden");
}

static void suffixes_of_clones_go(void **unused)
{
	check("load.constprop.0", "load", "load.constprop.0");
	check("load.part.0.cold", "load", "load.part.0.cold");
	check("load.isra.0", "load", "load.isra.0");
	check("main.work", "main.work", "main.work"); /* Go */
}

static void names_of_cpp_lose_their_arguments(void **unused)
{
	check("_ZN9OrderBook3addERKSs", "OrderBook::add", "OrderBook::add(std::string const&)");
	check("_Z3maxIiET_S0_S0_", "max<int>", "int max<int>(int, int)");
	check("_ZN9OrderBook3addEi.part.0", "OrderBook::add",
	      "OrderBook::add(int) [clone .part.0]");
}

static void types_in_names_of_cpp_keep_what_they_return(void **unused)
{
	check("_ZNSt17_Function_handlerIFviE3LamE9_M_invokeERKSt9_Any_dataOi",
	      "std::_Function_handler<void (int), Lam>::_M_invoke",
	      "std::_Function_handler<void (int), Lam>::_M_invoke(std::_Any_data const&, int&&)");
	check("_ZZ4holdIiEvRT_iENKUlvE_clEv", "hold<int>(int&, int)::{lambda()#1}::operator()",
	      "hold<int>(int&, int)::{lambda()#1}::operator()() const");
	check("_ZNSt8_InvokerISt5tupleIJZ4holdIiEvRT_iEUlvE_EEEclEv",
	      "std::_Invoker<std::tuple<hold<int>(int&, int)::{lambda()#1}> >::operator()",
	      "std::_Invoker<std::tuple<hold<int>(int&, int)::{lambda()#1}> >::operator()()");
}

static void names_of_rust_lose_their_hash(void **unused)
{
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write");
	check("_RNvCs1234_7mycrate4work", "mycrate::work", "mycrate::work");
}

static void a_very_long_name_stays(void **unused)
{
	char symbol[10001] = "_Z";

	memset(symbol + 2, 'P', sizeof(symbol) - 3);
	symbol[sizeof(symbol) - 1] = '\0';
	check(symbol, symbol, symbol);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_c_stay),
		cmocka_unit_test(suffixes_of_clones_go),
		cmocka_unit_test(names_of_cpp_lose_their_arguments),
		cmocka_unit_test(types_in_names_of_cpp_keep_what_they_return),
		cmocka_unit_test(names_of_rust_lose_their_hash),
		cmocka_unit_test(a_very_long_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
