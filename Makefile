# holdup - where is my program stuck, and why?
#
#	make            install what is missing, build build/holdup
#	make run        record and explain a real program
#	make check      install what is missing, build, run all tests
#	make install    into PREFIX (/usr/local), below DESTDIR; make uninstall removes it
#	make help       the other targets
BUILD	?= build
PREFIX	?= /usr/local
DESTDIR	?=
LIBDIR	?=
WERROR	?= true
FUZZ_SECONDS ?= 10
MESON_FLAGS ?=
TEST_FLAGS ?=
BENCH_ARGS ?=

setup_flags = -Dwerror=$(WERROR) $(MESON_FLAGS)
# A run of tests shows the output of failed ones and leaves its log in FOLDER/meson-logs.
test_in = tools/with-tracefs tools/run-tests $(1) $(2) $(TEST_FLAGS) </dev/null
count_in = tools/count-tests $(1)/meson-logs/testlog.json

.PHONY: all run check lint format fuzz-smoke sanitize sanitize-address sanitize-thread
.PHONY: install uninstall clean help clean-root package dist reproducible site

all:
	@tools/setup build
	@tools/build $(BUILD) $(setup_flags) && echo "$(BUILD)/holdup is built"

run: all
	@tools/run $(BUILD)

check:
	@tools/setup check
	@tools/build $(BUILD) $(setup_flags)
	@rc=0; $(call test_in,$(BUILD),) || rc=1; $(call count_in,$(BUILD)) || rc=1; exit $$rc

lint:
	@tools/setup lint
	@tools/build $(BUILD) $(setup_flags)
	@tools/lint $(BUILD)

format:
	@tools/setup lint
	git ls-files -co --exclude-standard '*.[ch]' | grep -v vmlinux.h | xargs clang-format-14 -i

fuzz-smoke:
	@tools/setup fuzz
	@CC=clang tools/build build-fuzz $(setup_flags) -Dfuzz=true -Db_sanitize=address,undefined \
		-Db_lundef=false
	@tools/fuzz build-fuzz $(FUZZ_SECONDS)

# The whole suite under the address and undefined behaviour sanitizers, what has threads under
# the thread sanitizer.
sanitize: sanitize-address sanitize-thread

sanitize-address:
	@tools/setup check
	@tools/build build-asan $(setup_flags) -Db_sanitize=address,undefined \
		-Dc_args=-fno-sanitize-recover=all
	@rc=0; HOLDUP_SANITIZED=1 $(call test_in,build-asan,--no-suite check) || rc=1; \
		$(call count_in,build-asan) || rc=1; exit $$rc

sanitize-thread:
	@tools/setup check
	@tools/build build-tsan $(setup_flags) -Db_sanitize=thread
	@rc=0; HOLDUP_SANITIZED=1 setarch -R $(call test_in,build-tsan,--suite stress --suite unit --suite threads) || \
		rc=1; $(call count_in,build-tsan) || rc=1; exit $$rc

bench-%:
	@tools/setup bench
	@tools/build $(BUILD) $(setup_flags)
	@HOLDUP=$(abspath $(BUILD))/holdup HOLDUP_EXAMPLES=$(abspath $(BUILD))/examples \
		tools/with-tracefs tools/bench $(BUILD) $* $(BENCH_ARGS)

# The documentation as plain HTML, in BUILD/site.
site:
	@tools/setup site
	@tools/site $(BUILD)/site

# Proves run, check, install and the packages in a fresh Debian root (root, network).
clean-root:
	@tools/clean-root

# LIBDIR, below PREFIX: where this system's loader and pkg-config look, when it is not given.
install: all
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" tools/install $(BUILD)

uninstall:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" tools/install --remove $(BUILD)

# Debian's packages, and a tarball that builds without git, in dist/.
package:
	@tools/package deb

dist:
	@tools/package tar

# Builds twice, elsewhere, and compares every byte of what is installed.
reproducible:
	@tools/setup build
	@tools/reproducible

clean:
	rm -rf $(BUILD) build-ci build-asan build-tsan build-fuzz dist

help:
	@sed -n '3,7s/^#//p' Makefile
	@echo '	make lint       formatter, static analysis, checks of the source'
	@echo '	make format     lay out the C source'
	@echo '	make sanitize   the tests under the address, undefined and thread sanitizers'
	@echo '	make fuzz-smoke every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo '	make bench-NAME one of bench/, with BENCH_ARGS'
	@echo '	make clean-root prove run, check, install and the packages in a fresh Debian root'
	@echo '	make package    Debian packages in dist/'
	@echo '	make dist       a tarball that builds without git in dist/'
	@echo '	make reproducible  build twice and compare'
	@echo '	make site       the documentation as plain HTML, in $(BUILD)/site'
	@echo '	make clean      remove what was built'
