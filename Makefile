# The everyday commands; each is a thin call of CMake or of a script, which can be used by themselves.

.PHONY: help build build-tests demo test test-slow bench-check check format asan tsan fuzz clean
.DEFAULT_GOAL := help

help:  ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

# Not configured again where it is already: `make test` has then added the tests, and they stay.
build/release/build.ninja:
	cmake --preset release -DOCTET_TESTS=OFF --log-level=WARNING

build: build/release/build.ninja  ## builds build/release/octet
	cmake --build build/release --target octet

build-tests:
	cmake --preset release -DOCTET_TESTS=ON --log-level=WARNING
	cmake --build build/release

demo:  ## installs what is missing, builds, and asks the bundled model to define a word
	scripts/install-deps demo
	@$(MAKE) --no-print-directory build
	build/release/octet generate --model models/tiny-glm5-nvfp4 --chat --temperature 0 --prompt "Define walrus."

test:  ## installs what is missing, builds, and runs the fast tests
	scripts/install-deps test
	@$(MAKE) --no-print-directory build-tests
	@scripts/run_tests

test-slow: build-tests  ## runs the slow tests; takes minutes
	@scripts/run_tests --slow

bench-check: build-tests  ## measures this machine against what octet promises
	@scripts/bench_check

check:  ## checks formatting, includes and the limits of files
	scripts/check_format
	scripts/check_includes
	scripts/check_files

format:  ## formats every C++ file
	scripts/check_format --fix

# Of the test scripts only the one with damaged input: the others run whole answers, which the programs cover.
asan:  ## builds with the address and undefined-behaviour sanitizers and runs the fast tests
	cmake --preset asan --log-level=WARNING
	cmake --build build/asan
	@scripts/run_tests --build build/asan _tests cli_errors

tsan:  ## builds with the thread sanitizer and runs the fast test programs
	cmake --preset tsan --log-level=WARNING
	cmake --build build/tsan
	@scripts/run_tests --build build/tsan --no-scripts

fuzz:  ## builds the fuzz targets with Clang and runs each for a while (FUZZ_SECONDS, 20)
	cmake --preset fuzz --log-level=WARNING
	cmake --build build/fuzz --target fuzz/all
	@scripts/run_fuzz build/fuzz $(or $(FUZZ_SECONDS),20)

clean:  ## removes build/
	rm -rf build
