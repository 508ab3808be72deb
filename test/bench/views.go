package main

import (
	"bytes"
	"fmt"
)

// viewJob is work that is done in every way, and whether a review of it has a target.
type viewJob struct {
	job
	settle string // once in each copy, on the host
	judged bool
}

// views compares real work in the two views and on plain writable mounts. It goes by
// the clock: what the keeper does is no processor time of the agent's.
func (b *bench) views() error {
	for _, prepare := range []func() (viewJob, error){b.viewGitStatus, b.viewGitCommit, b.viewGoBuild, b.viewNpmCI} {
		j, err := prepare()
		if err != nil {
			return fmt.Errorf("prepare work: %w", err)
		}
		all, err := b.ways(j.dir, j.settle)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		got, used, first, err := b.wayTurns(j.job, all)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		med, least := ratio(got[review], got[live])
		processor, _ := ratio(used[review], used[live])
		text := fmt.Sprintf("%.2f (minima %.2f, processor time %.2f, first time %.2f)", med, least, processor, first[review]/first[live])
		if j.judged {
			b.add(j.name+" in review / live", med <= 1.1, "at most 1.10", "%s", text)
		} else {
			b.note(j.name+" in review / live", "%s", text)
		}
		med, least = ratio(got[live], got[plain])
		other, _ := ratio(got[live], got[unkept])
		b.note(j.name+" live / a plain mount", "%.2f (minima %.2f, first time %.2f; without the keeper %.2f; plain %.0f ms)",
			med, least, first[live]/first[plain], other, got[plain].median()*1e3)
	}
	return nil
}

// wayTurns lets the ways take turns, run by run. The first of each stands apart: it
// fills caches, copies what is changed for the first time, and saves it for undo.
func (b *bench) wayTurns(j job, all []way) (got, used map[string]times, first map[string]float64, err error) {
	timers := make([]*timer, len(all))
	var talk bytes.Buffer
	for i, w := range all {
		name, err := putTimer(w.dir)
		if err != nil {
			return nil, nil, nil, err
		}
		cmd := b.command(w.dir, append(w.argv, name, j.script)...)
		cmd.Stderr = &talk
		if timers[i], err = startTimer(cmd); err != nil {
			return nil, nil, nil, err
		}
		defer timers[i].stop()
	}
	got, used, first = map[string]times{}, map[string]times{}, map[string]float64{}
	for n := range 1 + b.rounds*j.runs {
		for k := range all { // whoever goes first may wait for the disk
			i := (n + k) % len(all)
			if err := timers[i].once(); err != nil {
				return nil, nil, nil, fmt.Errorf("%s: %w\n%s", all[i].name, err, talk.Bytes())
			}
		}
	}
	for i, w := range all {
		first[w.name], got[w.name] = timers[i].clock[0], timers[i].clock[1:]
		used[w.name] = timers[i].processor[1:]
	}
	return got, used, first, nil
}

// tenThousand is a repository of 10 000 files.
func (b *bench) tenThousand() (string, error) {
	return b.workspace("ten-thousand", func(dir string) error {
		return b.in(dir,
			`for d in $(seq 200); do mkdir $d; for f in $(seq 50); do echo "$d $f" >$d/$f; done; done`,
			`git init -q; git config gc.auto 0; git config maintenance.auto false
			git config user.name bench; git config user.email bench@localhost; git add .; git commit -qm bench`)
	})
}

func (b *bench) viewGitStatus() (viewJob, error) {
	dir, err := b.tenThousand()
	return viewJob{job{name: "git status", dir: dir, runs: 3, script: "git status"}, "git status", true}, err
}

func (b *bench) viewGitCommit() (viewJob, error) {
	dir, err := b.workspace("commit", func(dir string) error {
		from, err := b.tenThousand()
		if err != nil {
			return err
		}
		return b.in(dir, "cp -a "+quote([]string{from + "/."})+" .")
	})
	return viewJob{job{name: "git commit", dir: dir, runs: 2, script: "date +%N >1/1; git add 1/1; git commit -qm bench"}, "git status", false}, err
}

// viewGoBuild: a small server that imports nothing but the standard library, one of
// its files changed each time, with the build cache in the workspace.
func (b *bench) viewGoBuild() (viewJob, error) {
	const build = `GOCACHE=$PWD/.gocache GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=0 go build -trimpath -buildvcs=false -o built .`
	dir, err := b.workspace("server", func(dir string) error {
		return b.in(dir, `printf 'module server.test\n\ngo 1.24\n' >go.mod; printf 'package main\n' >changed.go
		printf 'package main\n\nimport "net/http"\n\nfunc main() { http.ListenAndServe("127.0.0.1:0", nil) }\n' >main.go`, build)
	})
	return viewJob{job{name: "go build", dir: dir, runs: 1, script: `printf 'package main\n\nconst changed = "%s"\n' "$(date +%N)" >changed.go; ` + build}, "true", true}, err
}

func (b *bench) viewNpmCI() (viewJob, error) {
	j, err := b.npmCI()
	return viewJob{j, "true", true}, err
}
