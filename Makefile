# For those who expect one: each target calls a script, which does the work and has a --help.
.PHONY: build run test test-coverage static package

build:
	script/build

run:
	script/server

test:
	script/test

test-coverage:
	script/coverage

static:
	script/lint --all

package:
	script/package
