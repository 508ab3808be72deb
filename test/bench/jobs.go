package main

import (
	"fmt"
	"os"
)

// jobs prepares the four pieces of work. None needs a network.
func (b *bench) jobs() ([]job, error) {
	var all []job
	for _, make := range []func() (job, error){b.gitStatus, b.goBuild, b.npmCI, b.find} {
		j, err := make()
		if err != nil {
			return nil, fmt.Errorf("prepare work: %w", err)
		}
		all = append(all, j)
	}
	return all, nil
}

// in runs commands in a workspace on the host.
func (b *bench) in(dir string, scripts ...string) error {
	for _, s := range scripts {
		if _, err := run(b.command(dir, "sh", "-euc", s)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// gitStatus: a repository of 6000 files.
func (b *bench) gitStatus() (job, error) {
	dir, err := b.workspace("repository", func(dir string) error {
		return b.in(dir,
			`for d in $(seq 200); do mkdir $d; for f in $(seq 30); do echo "$d $f" >$d/$f; done; done`,
			`git init -q; git add .; git -c user.name=bench -c user.email=bench@localhost commit -qm bench`)
	})
	return job{name: "git status", dir: dir, runs: 5, script: "git status"}, err
}

// goBuild: ringfence itself, from vendored modules.
func (b *bench) goBuild() (job, error) {
	dir, err := b.workspace("source", func(dir string) error {
		from := quote([]string{b.source})
		if err := b.in(dir, fmt.Sprintf("cp -R %[1]s/go.mod %[1]s/go.sum %[1]s/cmd %[1]s/internal .", from)); err != nil {
			return err
		}
		cmd := b.command(dir, "go", "mod", "vendor")
		cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME")) // for the modules that are there already
		_, err := run(cmd)
		return err
	})
	return job{name: "go build", dir: dir, runs: 1, script: "CGO_ENABLED=0 go build -buildvcs=false -o built ./cmd/ringfence && rm built"}, err
}

// npmCI: twenty packages of fifty files each, from tarballs beside the lock file.
func (b *bench) npmCI() (job, error) {
	dir, err := b.workspace("node", func(dir string) error {
		return b.in(dir, `for p in $(seq 20); do mkdir -p made/p$p; for f in $(seq 50); do echo "exports.n = $f" >made/p$p/$f.js; done
		echo "{\"name\":\"p$p\",\"version\":\"1.0.0\"}" >made/p$p/package.json; done`,
			`mkdir packed; npm pack --silent --offline --pack-destination packed $(ls -d ./made/*)`,
			`echo '{"name":"bench","version":"1.0.0"}' >package.json
		npm install --offline --ignore-scripts --no-audit --no-fund --loglevel=error ./packed/*.tgz`)
	})
	return job{name: "npm ci", dir: dir, runs: 1, script: "npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error"}, err
}

// find: the large tree.
func (b *bench) find() (job, error) {
	dir, err := b.workspace("tree", plant)
	return job{name: "find", dir: dir, runs: 2, script: "find . -size +1k"}, err
}
