package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/fault"
)

// TestSummarySchema: the schema has every field that a summary can have, and no other.
func TestSummarySchema(t *testing.T) {
	b, err := os.ReadFile("../../../docs/summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	defs := schema["$defs"].(map[string]any)
	compareSchema(t, "", reflect.TypeFor[Summary](), schema, defs)
}

// compareSchema walks a type and what the schema says of it.
func compareSchema(t *testing.T, at string, of reflect.Type, schema, defs map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if items, ok := schema["items"].(map[string]any); ok {
		compareSchema(t, at+"[]", of.Elem(), items, defs)
		return
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return
	}
	fields, required := fieldsOf(of)
	if have := slices.Sorted(maps.Keys(properties)); !slices.Equal(have, slices.Sorted(maps.Keys(fields))) {
		t.Errorf("%s: the schema has %q, a summary %q", at, have, slices.Sorted(maps.Keys(fields)))
		return
	}
	var need []string
	for _, name := range schema["required"].([]any) {
		need = append(need, name.(string))
	}
	slices.Sort(need)
	slices.Sort(required)
	if !slices.Equal(need, required) {
		t.Errorf("%s: the schema requires %q, a summary always has %q", at, need, required)
	}
	for name, field := range fields {
		compareSchema(t, at+"."+name, field, properties[name].(map[string]any), defs)
	}
}

// fieldsOf are the fields of a type in JSON, and those that are always there.
func fieldsOf(of reflect.Type) (fields map[string]reflect.Type, required []string) {
	fields = map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		fields[name] = f.Type
		if !strings.Contains(rest, "omit") {
			required = append(required, name)
		}
	}
	return fields, required
}

func sunk(t *testing.T, s *Sink, status int, failed error) error {
	t.Helper()
	defer s.Close()
	return s.Write(nil, status, failed)
}

// TestSinkFollowsNoLink: the agent may have made the links, and later others.
func TestSinkFollowsNoLink(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	for _, dir := range []string{"work", "work/there", "outside"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	victim := filepath.Join(root, "outside/victim")
	if err := errors.Join(os.WriteFile(victim, []byte("kept"), 0o644), os.Symlink(victim, "work/link"), os.Symlink("../outside", "work/dir")); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"work/link", "work/dir/new", filepath.Join(root, "work/dir/new"), "work", "work/", "", "absent/x", "."} {
		if s, err := OpenSink(where); err == nil {
			s.Close()
			t.Errorf("%q was taken", where)
		}
	}
	s, err := OpenSink("work/there/out")
	if err != nil {
		t.Fatal(err)
	}
	// What an agent does meanwhile.
	if err := errors.Join(os.Symlink(victim, "work/there/out"), os.Rename("work/there", "work/moved"), os.Symlink("../outside", "work/there")); err != nil {
		t.Fatal(err)
	}
	if err := sunk(t, s, 0, nil); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(victim); string(b) != "kept" {
		t.Errorf("the victim has %q", b)
	}
	if _, err := os.Lstat(filepath.Join(root, "outside/out")); err == nil {
		t.Error("it was written through a link")
	}
	if b, err := os.ReadFile("work/moved/out"); err != nil || !json.Valid(b) {
		t.Errorf("%q, %v", b, err)
	}
}

// TestSinkDescriptor: a descriptor that is not one to write to is refused before anything
// runs.
func TestSinkDescriptor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, fd := range []uintptr{r.Fd(), dir.Fd(), 1 << 20} {
		if s, err := OpenSink(fmt.Sprint(fd)); err == nil {
			s.Close()
			t.Errorf("descriptor %d was taken", fd)
		}
	}
	s, err := OpenSink(fmt.Sprint(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := sunk(t, s, 125, fault.New(fault.Refused, "try \u202eagain", "no\x1b[31m")); err != nil {
		t.Fatal(err)
	}
	var got Summary
	b := make([]byte, 4096)
	n, _ := r.Read(b)
	if err := json.Unmarshal(b[:n], &got); err != nil || got.Exit != 125 || got.Error != "no\x1b[31m" || got.Hint != "try \u202eagain" || got.Version != 1 {
		t.Errorf("%s: %v", b[:n], err)
	}
	for _, c := range b[:n-1] {
		if c < ' ' || c > '~' {
			t.Fatalf("%q has what a terminal obeys", b[:n])
		}
	}
}
