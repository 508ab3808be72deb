package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	largeDirs, largeFiles = 1000, 100 // 100 000 files
	changes               = 1000
)

// large measures a repository of 100 000 files: launches in either view, what undo
// costs while nothing changes, and the commands after a session of 1000 changes.
func (b *bench) large() error {
	dir, err := b.workspace("large", func(dir string) error {
		return b.in(dir, fmt.Sprintf(`for d in $(seq %d); do mkdir $d; for f in $(seq %d); do echo text >$d/$f.txt; done; done`, largeDirs, largeFiles),
			`git init -q; git config gc.auto 0; git add .; git -c user.name=bench -c user.email=bench@localhost commit -qm bench; git status`)
	})
	if err != nil {
		return err
	}
	empty, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := run(b.command(b.home, b.inside([]string{"--workspace", dir}, "true")...)); err != nil {
		return err
	}
	first := time.Since(began)
	if err := b.launches(dir, empty); err != nil {
		return err
	}
	b.note("first launch ever with 100 000 files", "%.0f ms", first.Seconds()*1e3)
	return b.afterwards(dir)
}

// launches compares starts in the large repository and in an empty directory.
func (b *bench) launches(dir, empty string) error {
	at := func(dir string, flags ...string) []string {
		return b.inside(append(flags, "--workspace", dir), "true")
	}
	commands := [][]string{at(empty), at(dir), at(empty, "--review"), at(dir, "--review"), {"git", "-C", dir, "status"}}
	all := make([]times, len(commands))
	for range b.rounds { // there and back: a command must not owe its time to its neighbour
		for range 2 {
			got, err := b.hyperfine(b.home, 1, commands...)
			if err != nil {
				return err
			}
			for i := range all {
				all[i] = append(all[i], got[i]...)
			}
			slices.Reverse(commands)
			slices.Reverse(all)
		}
	}
	for i, name := range []string{live, review} {
		med, least := ratio(all[2*i+1], all[2*i])
		b.add("start with 100 000 files / empty, "+name, med <= 1.1, "at most 1.10", "%.2f (minima %.2f)", med, least)
	}
	more, status := all[1].median()-all[0].median(), all[4].median()
	b.add("undo at launch while nothing changed / git status", more <= 0.05*status, "at most 0.05", "%.3f (minima %.3f; %.1f ms more, git status %.0f ms)",
		more/status, (all[1].min()-all[0].min())/all[4].min(), more*1e3, status*1e3)
	few, err := b.listings(at(empty))
	if err != nil {
		return err
	}
	many, err := b.listings(at(dir))
	b.note("directory listings with 100 000 files / empty", "%d / %d", many, few)
	return err
}

// change makes 1000 changes: 400 files rewritten, 300 made, 300 deleted.
const change = `i=1; while [ $i -le 400 ]; do echo changed >$i/1.txt; i=$((i+1)); done
while [ $i -le 700 ]; do echo made >$i/made.txt; i=$((i+1)); done
while [ $i -le 1000 ]; do echo $i/1.txt; i=$((i+1)); done | xargs rm`

// afterwards times the commands that follow a session, and looks at their effect.
func (b *bench) afterwards(dir string) error {
	got := map[string]times{}
	for range max(1, b.rounds/2) {
		for _, s := range []struct{ flag, command, back string }{
			{"--live", "undo", "true"},
			{"--review", "apply", "git reset -q --hard; git clean -qfd"},
		} {
			if err := b.session(dir, s.flag, s.command, got); err != nil {
				return fmt.Errorf("%s: %w", s.command, err)
			}
			if err := b.in(dir, s.back); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		t := got[name]
		command, view, _ := strings.Cut(name, ", ")
		what := fmt.Sprintf("%s of 1000 changes among 100 000 files, %s", command, view)
		text := fmt.Sprintf("%.2f s (least %.2f)", t.median(), t.min())
		if strings.HasPrefix(command, "diff") {
			b.add(what, t.median() <= 1, "at most 1 s", "%s", text)
		} else {
			b.note(what, "%s", text)
		}
	}
	return nil
}

// session changes things inside, shows them, and ends with a command.
func (b *bench) session(dir, flag, command string, got map[string]times) error {
	if _, err := run(b.command(dir, b.inside([]string{flag}, "sh", "-euc", change)...)); err != nil {
		return err
	}
	for name, argv := range map[string][]string{"diff, " + flag[2:]: {"diff"}, "diff --patch, " + flag[2:]: {"diff", "--patch"}} {
		spent, _, err := b.shows(dir, argv...)
		if err != nil {
			return err
		}
		got[name] = append(got[name], spent)
	}
	_, out, err := b.shows(dir, "diff", "--json")
	if err != nil {
		return err
	}
	var shown struct{ Entries []json.RawMessage }
	if err := json.Unmarshal(out, &shown); err != nil || len(shown.Entries) != changes {
		return fmt.Errorf("diff shows %d changes (%w)", len(shown.Entries), err)
	}
	began := time.Now()
	if _, err := run(b.command(dir, b.ringfence, command, "--yes")); err != nil {
		return err
	}
	command += ", " + flag[2:]
	got[command] = append(got[command], time.Since(began).Seconds())
	status, err := run(b.command(dir, "git", "status", "--porcelain"))
	if want := map[string]int{"--review": changes}[flag]; err == nil && bytes.Count(status, []byte("\n")) != want {
		err = fmt.Errorf("%d changes are on the host, not %d", bytes.Count(status, []byte("\n")), want)
	}
	return err
}

// shows runs a command that ends with 1 where it has something to show.
func (b *bench) shows(dir string, argv ...string) (float64, []byte, error) {
	cmd := b.command(dir, append([]string{b.ringfence}, argv...)...)
	began := time.Now()
	out, err := cmd.Output()
	spent := time.Since(began).Seconds()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == 1 {
		return spent, out, nil
	}
	return spent, out, fmt.Errorf("%v shows nothing: %w", argv, err)
}
