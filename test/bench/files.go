package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// filesName is the name under which this program does things to many files.
const filesName = "bench-files"

const manyFiles = 2000

// What is done, in this order, each to 2000 files: all but the created ones were there
// before the session, so that in the live view each is saved for undo.
var deeds = []string{"create", "read", "rewrite", "rename", "unlink"}

// files compares calls that change many files, in a new session for each round.
func (b *bench) files() error {
	from, err := b.workspace("files", nil)
	if err != nil {
		return err
	}
	all, err := b.ways(from, "true")
	if err != nil {
		return err
	}
	got := map[string]map[string]times{}
	for _, w := range all {
		got[w.name] = map[string]times{}
		if err := copySelf(filepath.Join(w.dir, filesName)); err != nil {
			return err
		}
	}
	for n := range b.rounds {
		for i := range all { // whoever goes first may wait for the disk
			w := all[(n+i)%len(all)]
			spent, err := b.filesOnce(w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			for _, d := range deeds {
				got[w.name][d] = append(got[w.name][d], spent[d])
			}
		}
	}
	for _, d := range deeds {
		each := func(name string) float64 { return got[name][d].median() / manyFiles * 1e6 }
		med, least := ratio(got[live][d], got[plain][d])
		other, _ := ratio(got[live][d], got[unkept][d])
		b.note(d+" 2000 files, live / a plain mount", "%.1f (minima %.1f; without the keeper %.1f; plain %.0f µs a file, live %.0f, review %.0f)",
			med, least, other, each(plain), each(live), each(review))
	}
	return nil
}

// filesOnce plants the files and does everything to them once.
func (b *bench) filesOnce(w way) (map[string]float64, error) {
	old, text := filepath.Join(w.dir, "old"), make([]byte, 4<<10)
	if err := os.RemoveAll(old); err != nil {
		return nil, err
	}
	for _, d := range deeds {
		if err := os.MkdirAll(filepath.Join(old, d), 0o755); err != nil {
			return nil, err
		}
		for i := range manyFiles {
			if d == "create" {
				break
			}
			if err := os.WriteFile(fmt.Sprintf("%s/%s/f%04d.txt", old, d, i), text, 0o644); err != nil {
				return nil, err
			}
		}
	}
	if err := b.in(w.dir, "sync -f ."); err != nil {
		return nil, err
	}
	out, err := run(b.command(w.dir, append(w.argv, filepath.Join(w.dir, filesName), old)...))
	if err != nil {
		return nil, err
	}
	var spent map[string]float64
	return spent, json.Unmarshal(out, &spent)
}

// runFiles does it, where it is started, and prints the seconds for each.
func runFiles(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s DIRECTORY", filesName)
	}
	text, spent := make([]byte, 4<<10), map[string]float64{}
	do := map[string]func(name string) error{
		"create":  func(name string) error { return os.WriteFile(name, text, 0o644) },
		"rewrite": func(name string) error { return os.WriteFile(name, text, 0o644) },
		"rename":  func(name string) error { return os.Rename(name, name+".new") },
		"unlink":  os.Remove,
		"read": func(name string) error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.ReadFull(f, text)
			return err
		},
	}
	for _, d := range deeds {
		began := time.Now()
		for i := range manyFiles {
			if err := do[d](fmt.Sprintf("%s/%s/f%04d.txt", args[0], d, i)); err != nil {
				return err
			}
		}
		spent[d] = time.Since(began).Seconds()
	}
	return json.NewEncoder(os.Stdout).Encode(spent)
}
