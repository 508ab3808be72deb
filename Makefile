# Two commands matter: `make run` shows ringfence at work, `make test` proves it.
# The rest are their parts.

GO ?= go
export CGO_ENABLED = 0
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)

PREFIX ?= /usr/local

.PHONY: build run check quiet test test-gvisor test-microvm test-podman test-all tools bench pages vet lint install clean

# What is built first is carried in the second: see internal/sandbox/self.
BUILD = $(GO) build -trimpath -buildvcs=false
CARRIED = cmd/ringfence/carried.bin

build:
	@mkdir -p bin
	@$(BUILD) -ldflags "-s -w" -o $(CARRIED) ./cmd/ringfence/small
	@$(BUILD) -tags ringfence_carried -ldflags "-s -w -X main.carriedName=$$(sha256sum <$(CARRIED) | cut -c 1-32) -X ringfence.dev/ringfence/internal/cli/command.Version=$(VERSION)" -o bin/ringfence ./cmd/ringfence

# A throw-away workspace with canaries planted outside it. With a terminal it
# ends in a shell inside the sandbox; without one it plays the same as a script.
run: build
	@scripts/demo bin/ringfence

# What the tests need beyond Go: installed where possible, named where not.
tools:
	@scripts/tools

# An answer soon: what is wrong by the look of it, and the tests of the packages whose
# own tests start no program. What did not change since is not tested again. Tests that
# play thousands of random cases are short here, and the compiler takes memory for time.
QUIET = $(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "os/exec"}}{{$$p = ""}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "os/exec"}}{{$$p = ""}}{{end}}{{end}}{{if and .TestGoFiles $$p}}{{$$p}}{{else if and .XTestGoFiles $$p}}{{$$p}}{{end}}' ./internal/... ./test/arch ./test/tier

check: export GOGC = 400
check: VETTED = ./cmd/... ./internal/... ./test/arch ./test/tier
check: vet
	@$(MAKE) --no-print-directory -j 2 bin/lint-shipped quiet

quiet:
	@$(GO) test -short -vet=off -ldflags '-s -w' $$($(QUIET))

# Each suite plays on a host of its own, so that three at a time do not see each other;
# with more of them a machine of two cores is too slow for what has to happen soon.
# What vet says and what a debugger needs is not made again for each of the binaries.
test: build tools vet lint
	@STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 60m -p 3 ./...
	@$(MAKE) --no-print-directory test-gvisor test-microvm test-podman

# The attacks and a day of each agent on the rung of gVisor, as one user each.
test-gvisor: build tools
	@RINGFENCE_TEST_RUNG=gvisor STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 20m -p 3 ./test/attack ./test/netattack
	@RINGFENCE_TEST_RUNG=gvisor STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 20m -run TestDay ./test/agents

# Claude Code in a virtual machine under software emulation: a short day, and a screen.
test-microvm: build tools
	@RINGFENCE_TEST_RUNG=microvm STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 20m -run 'TestDay|TestTypedInAMachine' ./test/agents

# The heart of test/engine once more, with Podman in Docker's place.
test-podman: build tools
	@RINGFENCE_TEST_ENGINE=podman STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 20m -run 'TestVerify|TestVessel|TestLimits|TestImage|TestNothingOnce|TestContainerKilled|TestEngineKilled' ./test/engine

# Every combination of case, view, agent and user: hours.
test-all: build tools vet
	@RINGFENCE_TEST=all STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 0 -p 3 ./...
	@RINGFENCE_TEST=all RINGFENCE_TEST_ENGINE=podman STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 0 ./test/engine
	@RINGFENCE_TEST=all RINGFENCE_TEST_RUNG=container STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 0 -p 3 ./test/attack ./test/netattack
	@RINGFENCE_TEST=all RINGFENCE_TEST_RUNG=gvisor STAGE_BIN=$(CURDIR)/bin/ringfence $(GO) test -count=1 -vet=off -ldflags '-s -w' -timeout 0 -p 3 ./test/attack ./test/netattack ./test/script ./test/agents

VETTED = ./...
vet:
	@$(GO) vet $(VETTED)
	@test -z "$$(gofmt -l cmd internal test)" || { gofmt -l cmd internal test; exit 1; }

# What is suspicious, and what nobody calls. Both read the whole program, so they run only
# when some of it is newer than their last word. The tests are most of what there is to
# read: make check leaves them to make test. fmt calls a Format that deadcode cannot see.
# What a tag brings is called, too: the far link's near end by the places behind tags.
SOURCES = go.mod tools/go.mod staticcheck.conf $(shell find cmd internal test -name '*.go')
LINT = $(GO) tool -modfile=tools/go.mod

lint: bin/lint

bin/lint: STATICCHECK = ./...
bin/lint-shipped: STATICCHECK = -tests=false ./...

bin/lint bin/lint-shipped: $(SOURCES)
	@mkdir -p bin
	@$(LINT) staticcheck $(STATICCHECK)
	@dead=$$($(LINT) deadcode -tags ringfence_loop ./cmd/...) || exit 1; dead=$$(echo "$$dead" | grep -v 'unreachable func: [A-Za-z]*[.]Format$$'); \
	test -z "$$dead" || { echo "$$dead"; exit 1; }
	@touch $@

bench: build tools
	@scripts/bench

# The manual and the completions are made by the program; a test wants them current.
pages: build
	@rm -f docs/man/*.1 packaging/completion/ringfence.*
	@mkdir -p docs/man packaging/completion
	@bin/ringfence man --dir docs/man
	@for shell in bash zsh fish; do bin/ringfence completion $$shell >packaging/completion/ringfence.$$shell || exit 1; done

# Where AppArmor restricts user namespaces (Ubuntu), the profile lets this binary,
# at a path that only root can write, make them.
install: build
	install -D -m 755 bin/ringfence $(DESTDIR)$(PREFIX)/bin/ringfence
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 packaging/completion/ringfence.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ringfence
	install -D -m 644 packaging/completion/ringfence.zsh $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ringfence
	install -D -m 644 packaging/completion/ringfence.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ringfence.fish
	if [ -d /etc/apparmor.d ] && [ -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ]; then \
	  install -D -m 644 packaging/apparmor/ringfence $(DESTDIR)/etc/apparmor.d/ringfence && \
	  apparmor_parser -r $(DESTDIR)/etc/apparmor.d/ringfence; fi

clean:
	@rm -rf bin
