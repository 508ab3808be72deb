# Two commands matter: `make run` shows ringfence at work, `make test` proves it.
# The rest are their parts.

GO ?= go
export CGO_ENABLED = 0
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)

PREFIX ?= /usr/local

.PHONY: build run test tools bench pages vet install clean

build:
	@mkdir -p bin
	@$(GO) build -trimpath -buildvcs=false -ldflags "-s -w -X ringfence.dev/ringfence/internal/cli.Version=$(VERSION)" -o bin/ringfence ./cmd/ringfence

# A throw-away workspace with canaries planted outside it. With a terminal it
# ends in a shell inside the sandbox; without one it plays the same as a script.
run: build
	@scripts/demo bin/ringfence

# What the tests need beyond Go: installed where possible, named where not.
tools:
	@scripts/tools

# The suites against the real binary run one after another: some of them look for
# anything that a session may have left on the machine.
test: build tools vet
	@$(GO) test -count=1 -timeout 20m ./cmd/... ./internal/...
	@$(GO) test -count=1 -timeout 45m -p 1 ./test/...

vet:
	@$(GO) vet ./...
	@test -z "$$(gofmt -l cmd internal test)" || { gofmt -l cmd internal test; exit 1; }

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
