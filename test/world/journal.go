package world

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/journal"
)

// Journal is the record of all sessions of this world.
func (w *World) Journal() []journal.Record {
	w.t.Helper()
	var out []journal.Record
	for _, path := range w.journals() {
		out = append(out, w.readJournal(path)...)
	}
	return out
}

func (w *World) journals() []string {
	paths, _ := filepath.Glob(filepath.Join(w.State, "ringfence/journal/*.jsonl"))
	return paths
}

// readJournal reads the lines as any program would. The last one may still be
// being written.
func (w *World) readJournal(path string) []journal.Record {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []journal.Record
	for line := range strings.Lines(string(data)) {
		var r journal.Record
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatalf("%s: %v: %q", path, err, line)
		}
		out = append(out, r)
	}
	return out
}
