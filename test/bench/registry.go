package main

import (
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// maxBuilds is how many rounds there are of what takes a minute.
const maxBuilds = 3

// registry and modules measure the registry door: work from empty caches of packages
// inside, all of it in the store, beside the same work on the host with its caches full,
// and with empty ones as well: filling them is the package manager's own work, wherever it
// runs. Both compile from nothing.
func (b *bench) registry() error { return b.fromStore(b.npmPackages) }

func (b *bench) modules() error { return b.fromStore(b.goModules) }

func (b *bench) fromStore(make func(*packages) (job, error)) error {
	up, err := b.upstream()
	if err != nil {
		return err
	}
	defer up.Close()
	j, err := make(up)
	if err != nil {
		return err
	}
	few := *b
	few.rounds = min(b.rounds, maxBuilds)
	host, inside, err := few.turns(j)
	if err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	med, least := ratio(inside.clock, host.clock)
	b.add(j.name+" from the store / on the host, caches full", med <= 1.3, "at most 1.3", "%.2f (minima %.2f; %.2f s and %.2f s)", med, least, inside.clock.median(), host.clock.median())
	j.fresh += "; " + j.empty
	if host, inside, err = few.turns(j); err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	med, least = ratio(inside.clock, host.clock)
	b.note(j.name+" from the store / on the host, caches empty", "%.2f (minima %.2f; %.2f s and %.2f s)", med, least, inside.clock.median(), host.clock.median())
	return nil
}

// packages is an upstream on the loopback.
type packages struct {
	net.Listener
	url string
	dir string // of npm's files
}

func (b *bench) upstream() (*packages, error) {
	out, err := run(b.hosts("go", "env", "GOMODCACHE"))
	if err != nil {
		return nil, err
	}
	dir, err := b.workspace("upstream", nil)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	up := &packages{Listener: l, url: "http://" + l.Addr().String(), dir: dir}
	mods := filepath.Join(strings.TrimSpace(string(out)), "cache/download")
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), "/")
		at := filepath.Join(map[string]string{"go": mods, "npm": dir}[kind], rest)
		if kind == "npm" && !strings.Contains(rest, "/") {
			at += "/packument.json"
		}
		http.ServeFile(w, r, at)
	}))
	return up, nil
}

// hosts is a command with the caches that the user has, in the checkout.
func (b *bench) hosts(argv ...string) *exec.Cmd {
	cmd := b.command(b.source, argv...)
	cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"))
	return cmd
}

// goModules: ringfence itself, with the modules that it needs.
func (b *bench) goModules(up *packages) (job, error) {
	dir, err := b.workspace("modules", func(dir string) error {
		_, err := run(b.hosts("go", "mod", "download"))
		return errors.Join(err, b.in(dir, fmt.Sprintf("cp -R %[1]s/go.mod %[1]s/go.sum %[1]s/cmd %[1]s/internal .", quote([]string{b.source}))))
	})
	return job{name: "go build", dir: dir, runs: 1, script: "go build -buildvcs=false -o built ./cmd/ringfence && rm built", fresh: "rm -rf ~/.cache/go-build", empty: "rm -rf ~/go/pkg/mod",
		env: []string{"GOPROXY=" + up.url + "/go", "GOSUMDB=off", "GOFLAGS=-modcacherw"}}, err
}

// npmPackages: a hundred packages of twenty files each, from a registry.
func (b *bench) npmPackages(up *packages) (job, error) {
	dir, err := b.workspace("locked", func(dir string) error {
		if err := b.in(up.dir, `for p in $(seq 100); do mkdir -p made/p$p; for f in $(seq 20); do echo "exports.n = $f" >made/p$p/$f.js; done
		echo "{\"name\":\"p$p\",\"version\":\"1.0.0\"}" >made/p$p/package.json; done; npm pack --silent --offline --pack-destination . $(ls -d ./made/*)`); err != nil {
			return err
		}
		deps := ""
		for n := 1; n <= 100; n++ {
			name := fmt.Sprintf("p%d", n)
			if err := up.publish(name); err != nil {
				return err
			}
			deps += fmt.Sprintf(`,"%s":"1.0.0"`, name)
		}
		return b.in(dir, `echo '{"name":"bench","version":"1.0.0","dependencies":{`+deps[1:]+`}}' >package.json`,
			"npm install --no-audit --no-fund --loglevel=error --registry "+up.url+"/npm/")
	})
	return job{name: "npm ci", dir: dir, runs: 1, script: "npm ci --no-audit --no-fund --loglevel=error", fresh: "true", empty: "rm -rf ~/.npm/_cacache", env: []string{"npm_config_registry=" + up.url + "/npm/"}}, err
}

// publish has the registry tell of a package whose file is there.
func (up *packages) publish(name string) error {
	ball, err := os.ReadFile(filepath.Join(up.dir, name+"-1.0.0.tgz"))
	if err != nil {
		return err
	}
	at := filepath.Join(up.dir, name)
	if err := errors.Join(os.MkdirAll(at+"/-", 0o755), os.Rename(at+"-1.0.0.tgz", at+"/-/"+name+"-1.0.0.tgz")); err != nil {
		return err
	}
	sum := sha512.Sum512(ball)
	return os.WriteFile(at+"/packument.json", fmt.Appendf(nil, `{"name":"%[1]s","dist-tags":{"latest":"1.0.0"},"time":{"1.0.0":"2020-01-01T00:00:00.000Z"},
		"versions":{"1.0.0":{"name":"%[1]s","version":"1.0.0","dist":{"tarball":"%[2]s/npm/%[1]s/-/%[1]s-1.0.0.tgz","integrity":"sha512-%[3]s"}}}}`,
		name, up.url, base64.StdEncoding.EncodeToString(sum[:])), 0o644)
}
