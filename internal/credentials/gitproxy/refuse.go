package gitproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// denial is an answer that is ours. Git prints the text of one after "remote:".
type denial struct {
	status int
	text   string
	lfs    bool // git-lfs wants it in JSON
}

func deny(status int, format string, args ...any) *denial {
	return &denial{status: status, text: fmt.Sprintf(format, args...)}
}

// allows names the setting that switches a refusal off.
func allows(rule string) string {
	return fmt.Sprintf("policy [broker] git = [%q] allows them", rule)
}

// toward puts the denial into words that the client of a route understands.
func (d *denial) toward(rt route) *denial {
	d.lfs = rt.call >= lfsBatch
	return d
}

func (d *denial) write(w http.ResponseWriter) {
	text := "ringfence: " + d.text
	if !d.lfs {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(d.status)
		fmt.Fprintln(w, text)
		return
	}
	w.Header().Set("Content-Type", lfsType)
	w.WriteHeader(d.status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}

// fail tells the client that a request came to nothing, and records why.
func (f *Forge) fail(w http.ResponseWriter, a access, d *denial, why string) {
	f.record(Event{Repo: a.repo, Service: a.service, Anonymous: a.anonymous, Denied: true, Reason: why})
	d.toward(a.route).write(w)
}

// clean makes text of the forge fit for a terminal.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r >= ' ' && r < 0x7f {
			return r
		}
		return -1
	}, s))
}
