package settings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/test/stage"
)

// mark is in everything dangerous that is generated, and in nothing else.
const mark = "EVIL"

// receiver is a program that obeys a file of settings.
type receiver struct {
	name  string
	file  string // of a project
	seeds int    // of a run with fixed ones
	// open starts the program. What it returns reads a project: it tells where the
	// program sees a mark, and nothing if it refuses the file.
	open     func(t *testing.T) func(t *testing.T, project string) []string
	generate func(r *rand.Rand) string
	known    []string // hostile files of one idea each
	told     bool     // nothing stands for the file, but a person is told
	// naive is a judge as it should not be: it tells whether there is something.
	naive func(text string) bool
}

var receivers = []*receiver{&claude, &opencode, &codex, &gemini, &vscode, &git}

// judge makes what a program inside gets of a file.
type judge func(t *testing.T, r *receiver, text string) []byte

// ours is what ringfence shows.
func ours(t *testing.T, r *receiver, text string) []byte {
	root := t.TempDir()
	at := put(t, root, r.file, []byte(text))
	report, err := scan.Scan(root, scan.First(""))
	if err != nil {
		t.Fatal(err)
	}
	if r.told && slices.ContainsFunc(report.Findings, func(f scan.Finding) bool { return filepath.Join(root, f.Path) == at }) {
		return nil
	}
	for _, f := range report.Files {
		if f.Danger && f.Mended && filepath.Join(root, f.Path) == at {
			return f.Neutral
		}
	}
	return []byte(text)
}

// naive is what would be shown if the plain judge were right.
func naive(_ *testing.T, r *receiver, text string) []byte {
	if r.naive(text) {
		return nil
	}
	return []byte(text)
}

func put(t *testing.T, root, rel string, data []byte) string {
	t.Helper()
	at := filepath.Join(root, rel)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return at
}

// table is where one receiver reads, project after project.
type table struct {
	*receiver
	t    *testing.T
	dir  string
	n    int
	read func(t *testing.T, project string) []string
}

func (r *receiver) sit(t *testing.T) *table {
	dir, err := os.MkdirTemp("/var/tmp", "settings-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return &table{receiver: r, t: t, dir: dir}
}

// blank: nobody can see a mark in these bytes, because one letter of it is not there
// and nothing that could stand for it.
func blank(data []byte) bool {
	return !bytes.ContainsAny(data, "V\\$\x00") && !bytes.Contains(data, []byte("{env:")) && !bytes.Contains(data, []byte("{file:"))
}

// sees tells where the receiver sees a mark in what a judge lets through.
func (s *table) sees(by judge, text string) []string {
	data := by(s.t, s.receiver, text)
	if blank(data) {
		return nil
	}
	s.n++
	project := filepath.Join(s.dir, fmt.Sprint(s.n))
	put(s.t, project, ".git/HEAD", []byte("ref: refs/heads/main\n"))
	for _, dir := range []string{".git/objects", ".git/refs"} {
		if err := os.MkdirAll(filepath.Join(project, dir), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	put(s.t, project, "inject.txt", []byte(injected))
	put(s.t, project, s.file, data)
	if s.read == nil { // some take their time to start
		s.read = s.open(s.t)
	}
	return s.read(s.t, project)
}

// try reads one text. What is found is made as short as it can be.
func (s *table) try(what, text string) {
	found := s.sees(ours, text)
	if len(found) == 0 {
		return
	}
	short := s.shrink(text)
	s.t.Errorf("%s, %s: sees %q of\n%q\nand %q in %q, of %q", s.name, what, found, text, s.sees(ours, short), ours(s.t, s.receiver, short), short)
}

// shrink drops pieces as long as something is still seen, smaller ones each time.
func (s *table) shrink(text string) string {
	left := 200
	for size := len(text) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(text) && left > 0; {
			left--
			if less := text[:at] + text[at+size:]; strings.Contains(less, mark) && len(s.sees(ours, less)) > 0 {
				text = less
			} else {
				at += size
			}
		}
	}
	return text
}

func (r *receiver) random(seed uint64) string { return r.generate(rand.New(rand.NewPCG(seed, 13))) }

// each runs a test for every receiver, one after another: the machine may be small.
func each(t *testing.T, test func(t *testing.T, s *table)) {
	for _, r := range receivers {
		t.Run(r.name, func(t *testing.T) { test(t, r.sit(t)) })
	}
}

// TestKnown reads the hostile files that people thought of. The users share them: who
// reads is the same program for both.
func TestKnown(t *testing.T) {
	each(t, func(t *testing.T, s *table) {
		for i, text := range s.known {
			if stage.Mine(i) {
				s.try("known", text)
			}
		}
	})
}

// TestRandom reads what the generator makes of the seeds: the fixed ones, or as many
// as there is time for.
func TestRandom(t *testing.T) {
	halves := 1
	if id := os.Getuid(); id == 0 || id == 1711 {
		halves = 2
	}
	share := *forTime / time.Duration(halves*len(receivers))
	each(t, func(t *testing.T, s *table) {
		begin := time.Now()
		seed := *first
		for ; *forTime == 0 && seed < *first+uint64(s.seeds) || *forTime > 0 && time.Since(begin) < share; seed++ {
			if *forTime > 0 || stage.Mine(int(seed)) {
				s.try(fmt.Sprintf("seed %d", seed), s.random(seed))
			}
		}
		t.Logf("%d random files, of which %d went to the program", seed-*first, s.n)
	})
}

// TestControl: with a judge that reads as many do, the same files are found. An oracle
// that finds nothing there is blind.
func TestControl(t *testing.T) {
	each(t, func(t *testing.T, s *table) {
		known, random := 0, 0
		for _, text := range s.known {
			if len(s.sees(naive, text)) > 0 {
				known++
			}
		}
		for seed := *first; seed < *first+uint64(s.seeds/3); seed++ {
			if len(s.sees(naive, s.random(seed))) > 0 {
				random++
			}
		}
		t.Logf("a naive judge misses %d of %d known files and %d of %d random ones", known, len(s.known), random, s.seeds/3)
		if known == 0 || random == 0 {
			t.Error("a naive judge misses nothing: this proves nothing")
		}
	})
}

// ownText holds for what names a file of the project: an agent may read that whenever it
// likes. A place elsewhere that the generator broke becomes one.
func ownText(seen string) bool {
	at, path, _ := strings.Cut(seen, " = ")
	named := slices.Contains([]string{"instructions", "context.includeDirectories", "includeDirectories", "permissions.additionalDirectories"}, strings.TrimSuffix(at, ".[]"))
	return named && !strings.Contains(path, "://") && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~") && !strings.Contains(path, "..")
}
