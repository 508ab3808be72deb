package crates

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/strictjson"
)

// release is one line of what an index says of a crate. Fields that are not judged stay
// as they are.
type release struct {
	line    []byte
	rest    map[string]json.RawMessage
	version string
	want    store.Digest
	out     time.Time // zero: nobody says
}

const maxReleases = 1 << 16

var errIndex = &upstream.Failure{Why: "what the index tells of the crate cannot be read"}

// object reads an object whose names are as they are spelled, and there once.
func object(text []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	return m, strictjson.Walk(text, nil) == nil && json.Unmarshal(text, &m) == nil && m != nil
}

func word(m map[string]json.RawMessage, key string) string {
	var s string
	json.Unmarshal(m[key], &s) // what is no text says nothing
	return s
}

// readCrate reads an index file: a line for each release. One of another crate is a lie.
func readCrate(name string, body []byte) ([]release, error) {
	var out []release
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		m, ok := object(line)
		if !ok || !strings.EqualFold(word(m, "name"), name) || !crateVersion().MatchString(word(m, "vers")) || len(out) == maxReleases {
			return nil, errIndex
		}
		r := release{line: line, rest: m, version: word(m, "vers")}
		var err error
		if r.want, err = store.Hex(store.SHA256, word(m, "cksum")); err != nil {
			return nil, errIndex
		}
		if t, err := time.Parse(time.RFC3339, word(m, "pubtime")); err == nil {
			r.out = t
		}
		out = append(out, r)
	}
	return out, nil
}

// hold marks a release as yanked: cargo takes it where a lock file has it, and nowhere else.
func (r *release) hold() error {
	r.rest["yanked"] = json.RawMessage("true")
	line, err := json.Marshal(r.rest)
	r.line = line
	return err
}

// config is what an index says of itself.
type config struct {
	dl  string
	api string // "": it has none
}

// readConfig reads config.json.
func readConfig(body []byte) (config, error) {
	m, ok := object(body)
	c := config{dl: word(m, "dl"), api: strings.TrimRight(word(m, "api"), "/")}
	if !ok || c.dl == "" || len(c.dl) > 2048 {
		return config{}, errIndex
	}
	if u, err := url.Parse(c.api); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		c.api = ""
	}
	return c, nil
}

// file is where a release is found.
func (c config) file(name string, r release) string {
	if !strings.Contains(c.dl, "{") {
		return c.dl + "/" + name + "/" + r.version + "/download"
	}
	return strings.NewReplacer("{crate}", name, "{version}", r.version, "{prefix}", prefix(name), "{lowerprefix}", strings.ToLower(prefix(name)), "{sha256-checksum}", r.want.Sum).Replace(c.dl)
}

// readDates reads what the web API of a registry says of a crate: when each version came.
func readDates(body []byte) map[string]time.Time {
	m, ok := object(body)
	var all []map[string]json.RawMessage
	if !ok || json.Unmarshal(m["versions"], &all) != nil {
		return nil
	}
	out := map[string]time.Time{}
	for _, v := range all {
		if t, err := time.Parse(time.RFC3339, word(v, "created_at")); err == nil {
			out[word(v, "num")] = t
		}
	}
	return out
}
