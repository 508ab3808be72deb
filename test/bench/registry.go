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

// maxBuilds is how many rounds there are of what takes minutes.
const maxBuilds = 1

// registry and modules measure the registry door: work from empty caches inside, in a project
// that is new each time, with everything in the store, beside the same work on the host with
// its caches full. What is compiled both do from nothing, and where that is said both have it.
func (b *bench) registry() error {
	return b.fromStore(b.npmPackages, func(j job) error { return b.compare(j, "", b.rounds) })
}

func (b *bench) modules() error {
	return b.fromStore(b.goModules, func(j job) error {
		kept := j
		kept.name, kept.fresh = j.name+", compiled before", "true"
		kept.empty = "mkdir -p ~/.cache && cp -a " + quote([]string{b.home + "/compiled"}) + " ~/.cache/go-build"
		if err := b.in(j.dir, strings.Join(exported(j.env), " ")+" "+j.script, "cp -a ~/.cache/go-build ~/compiled"); err != nil {
			return err
		}
		if err := b.compare(kept, b.home+"/compiled", b.rounds); err != nil {
			return err
		}
		return b.compare(j, "", min(b.rounds, maxBuilds))
	})
}

func exported(env []string) (out []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		out = append(out, "export "+name+"="+quote([]string{value})+";")
	}
	return out
}

func (b *bench) fromStore(make func(*packages) (job, error), measure func(job) error) error {
	up, err := b.upstream()
	if err != nil {
		return err
	}
	defer up.Close()
	j, err := make(up)
	if err != nil {
		return err
	}
	return measure(j)
}

// compare measures a job with the caches of packages full on the host and empty inside, and
// again where there is nothing ready, so that the package manager fills its own cache.
func (b *bench) compare(j job, shown string, rounds int) error {
	for _, ready := range []bool{true, false} {
		if !ready && rounds < b.rounds {
			continue // it takes minutes, and filling a cache is a small part of them
		}
		host, inside, err := b.anew(j, shown, rounds, ready)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		med, least := ratio(inside, host)
		fmt.Fprintf(os.Stderr, "%s: ready %v: inside %.2f, host %.2f\n", j.name, ready, inside, host)
		const form = "%.2f (minima %.2f; %.2f s and %.2f s)"
		if ready {
			b.add(j.name+" from the store / on the host, caches full", med <= 1.3, "at most 1.3", form, med, least, inside.median(), host.median())
		} else {
			b.note(j.name+" from the store, nothing ready / on the host", form, med, least, inside.median(), host.median())
		}
	}
	return nil
}

// anew takes turns: on the host, and inside, in a session and a project of its own each time.
func (b *bench) anew(j job, shown string, rounds int, ready bool) (host, inside times, err error) {
	name, err := putTimer(j.dir)
	if err != nil {
		return nil, nil, err
	}
	flags := []string{"--workspace", j.dir}
	if shown != "" {
		flags = append(flags, "--ro", shown)
	}
	state := filepath.Join(b.home, ".local/state/ringfence")
	for n := range 1 + rounds {
		if err := os.RemoveAll(filepath.Join(state, "projects")); err != nil {
			return nil, nil, err
		}
		if !ready {
			if err := os.RemoveAll(filepath.Join(state, "registry/ready")); err != nil {
				return nil, nil, err
			}
		}
		out, err := b.once(j, name, j.script, j.fresh)
		if err != nil {
			return nil, nil, err
		}
		in, err := b.once(j, b.inside(flags, name, j.script, j.empty)...)
		if err != nil {
			return nil, nil, err
		}
		if n > 0 { // the first has filled the caches of the host, and the store
			host, inside = append(host, out), append(inside, in)
		}
	}
	return host, inside, nil
}

// once is how long a job takes, without what surrounds it.
func (b *bench) once(j job, argv ...string) (float64, error) {
	cmd := b.command(j.dir, argv...)
	cmd.Env = append(cmd.Env, j.env...)
	t, err := startTimer(cmd)
	if err != nil {
		return 0, err
	}
	defer t.stop()
	if err := t.once(); err != nil {
		return 0, err
	}
	return t.clock[0], nil
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
	return job{name: "go build", dir: dir, runs: 1, script: "export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-modcacherw; go build -buildvcs=false -o built ./cmd/ringfence && rm built", fresh: "rm -rf ~/.cache/go-build", empty: "true",
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
	return job{name: "npm ci", dir: dir, runs: 1, script: "npm ci --no-audit --no-fund --loglevel=error", fresh: "true", empty: "true", env: []string{"npm_config_registry=" + up.url + "/npm/"}}, err
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
