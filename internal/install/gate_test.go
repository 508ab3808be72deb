package install

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/fault"
)

// world is a machine with settings, or without.
type world struct {
	t    *testing.T
	root string
	Gate
}

func newWorld(t *testing.T, settings string) world {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{t, root, Gate{Settings: root + "/etc/claude-code/managed-settings.json", Record: root + "/var/lib/ringfence/managed.json", Program: "/usr/local/bin/ringfence"}}
	if settings != "" {
		w.write(settings)
	}
	return w
}

func (w world) write(text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.Settings), 0o755), os.WriteFile(w.Settings, []byte(text), 0o640)); err != nil {
		w.t.Fatal(err)
	}
}

// tree is every file with its mode and content.
func (w world) tree() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		out[path] = info.Mode().String() + string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w world) install() string {
	w.t.Helper()
	if err := w.Install(); err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(w.Settings)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w world) uninstall() {
	w.t.Helper()
	if _, err := w.Uninstall(); err != nil {
		w.t.Fatal(err)
	}
}

var texts = []string{
	"", "{}", "{ }\n", "{\n}\n",
	`{"a":1}`, `{"hooks":{}}`, `{"hooks":{"PreToolUse":[]}}`, "{\"permissions\": {\"deny\": [\"Read(x)\"], \"allow\": []}, \"z\": [1, 2]}",
	"{\n\t\"z\": 1,\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Edit\", \"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n\t\t]\n\t},\n\t\"a\": {\"b\": null}\n}\n",
	"{\r\n    \"model\": \"opus\",\r\n    \"permissions\": {\r\n        \"deny\": [\r\n            \"WebFetch\"\r\n        ]\r\n    }\r\n}",
	`{"env":{"A":"b"},"x":1}`, `{"env": {"CLAUDE_CODE_SIMPLE": "1"}}`, "{\n  \"env\": {\n    \"A\": \"b\"\n  }\n}\n",
	`{"permissions":{"deny":["Bash(sudo:*)"]},"\u0068ooks":{"Stop":[{"hooks":[]}]}}`,
}

// TestInstallUninstall: what stood there stays in its order, and comes back to the byte.
func TestInstallUninstall(t *testing.T) {
	for _, text := range texts {
		w := newWorld(t, text)
		before := w.tree()
		got := w.install()
		if w.install() != got {
			t.Errorf("%q: installed differently the second time", text)
		}
		if text != "" && !keeps(t, text, got) {
			t.Errorf("%q became %s", text, got)
		}
		for _, line := range strings.Split(strings.TrimRight(text, "}] \r\n\t"), "\n")[:max(0, strings.Count(text, "\n")-3)] {
			if !strings.Contains(got, line) {
				t.Errorf("the line %q is not as it was in %s", line, got)
			}
		}
		w.uninstall()
		if !maps.Equal(before, w.tree()) {
			t.Errorf("%q: left %v", text, w.tree())
		}
		w.uninstall()
		if !maps.Equal(before, w.tree()) {
			t.Errorf("%q: the second time", text)
		}
	}
}

// keeps holds if all of old is in the new settings, lists at their beginning.
func keeps(t *testing.T, was, is string) bool {
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(was), &a), json.Unmarshal([]byte(is), &b)); err != nil {
		t.Fatal(err)
	}
	return within(a, b)
}

func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		for k, v := range a {
			ok = ok && within(v, m[k])
		}
		return ok
	case []any:
		l, ok := b.([]any)
		if !ok || len(l) < len(a) {
			return false
		}
		for i := range a {
			ok = ok && within(a[i], l[i])
		}
		return ok
	}
	return reflect.DeepEqual(a, b)
}

// TestEditedMeanwhile: what others changed since stays, and ours goes.
func TestEditedMeanwhile(t *testing.T) {
	for _, text := range texts {
		w := newWorld(t, text)
		got := w.install()
		at := strings.Index(got, "{") + 1
		edited := got[:at] + `"added": [1], ` + got[at:]
		w.write(edited)
		w.uninstall()
		data, err := os.ReadFile(w.Settings)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var now, want map[string]any
		if text == "" {
			text = "{}"
		}
		if err := errors.Join(json.Unmarshal(data, &now), json.Unmarshal([]byte(text), &want)); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		want["added"] = []any{1.0}
		if !reflect.DeepEqual(now, want) {
			t.Errorf("%q: left %s", text, data)
		}
		if strings.Contains(string(data), "ringfence") {
			t.Errorf("%q: ours is still there: %s", text, data)
		}
	}
}

// TestEditedThenInstalled: a second install after an edit gives the edit back.
func TestEditedThenInstalled(t *testing.T) {
	w := newWorld(t, `{"a": 1}`)
	got := w.install()
	w.write(strings.Replace(got, `"a": 1`, `"a": 2`, 1))
	w.Program = "/usr/bin/ringfence"
	if got := w.install(); strings.Contains(got, "/usr/local/bin/ringfence") || strings.Count(got, gateMark) != 4 {
		t.Errorf("two gates: %s", got)
	}
	w.uninstall()
	data, err := os.ReadFile(w.Settings)
	if err != nil || string(data) != `{"a": 2}` {
		t.Errorf("%s %v", data, err)
	}
}

// TestKilledEarly: a record that says nothing yet takes nothing away.
func TestKilledEarly(t *testing.T) {
	w := newWorld(t, "{}")
	before := w.tree()
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.Record), 0o700), os.WriteFile(w.Record, []byte(`{"made":["`+w.root+`/var","`+w.root+`/var/lib","`+w.root+`/var/lib/ringfence"]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.uninstall()
	if !maps.Equal(before, w.tree()) {
		t.Errorf("left %v", w.tree())
	}
}

// TestRefused: what cannot be edited safely is left exactly as it is.
func TestRefused(t *testing.T) {
	for text, says := range map[string]string{
		"{\n// mine\n\"a\": 1}": ":2: a comment", "{/* */}": "a comment", "": "", "\n": "is empty", "[]": "an object", "{\"a\":1,}": ":1:", "{\"a\":1,\"a\":2}": ":1:",
		"{\"hooks\": []}": "hooks is not an object", "{\"env\": []}": "env is not an object", "{\"hooks\": {\"PreToolUse\": {}}}": "is not a list", "\xef\xbb\xbf{}": ":1:", "{} x": ":1:", "{\"a\":1": ":1:", "null": "an object",
	} {
		if text == "" {
			continue
		}
		w := newWorld(t, text)
		before := w.tree()
		err := w.Install()
		if fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
		for path, what := range before {
			if w.tree()[path] != what {
				t.Errorf("%q: %s changed", text, path)
			}
		}
		if _, err := w.Uninstall(); fault.KindOf(err) == fault.Failed && err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	w := newWorld(t, "{}")
	if err := errors.Join(os.Rename(w.Settings, w.root+"/x"), os.Symlink(w.root+"/x", w.Settings)); err != nil {
		t.Fatal(err)
	}
	if err := w.Install(); fault.KindOf(err) != fault.Refused {
		t.Errorf("a link: %v", err)
	}
}

// TestMergeRemove: for any settings, adding and taking away is the identity on what they
// mean, and the text stays JSON in between.
func TestMergeRemove(t *testing.T) {
	rules := gateRules("/usr/bin/ringfence")
	rapid.Check(t, func(t *rapid.T) {
		text := drawSettings().Draw(t, "settings")
		merged, edit, err := mergeRules([]byte(text), rules)
		if err != nil {
			t.Skip()
		}
		if err := checkSettings(merged, "merged"); err != nil {
			t.Fatalf("%v\n%s", err, merged)
		}
		again, more, err := mergeRules(merged, rules)
		if err != nil || string(again) != string(merged) || len(more.Rules) != 0 {
			t.Fatalf("the second time differs: %v\n%s", err, again)
		}
		back := removeRules(merged, edit)
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(text), &a), json.Unmarshal(back, &b)); err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%v\nbefore %s\nafter  %s", err, text, back)
		}
	})
}

// settings draws objects that have some of the names that matter.
func drawSettings() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		value := rapid.SampledFrom([]any{nil, true, 1.5, "x \"{[ ,", []any{}, map[string]any{}, []any{map[string]any{"matcher": "Edit", "hooks": []any{}}, "y"}})
		object := func(label string, names ...string) map[string]any {
			m := map[string]any{}
			for _, n := range names {
				if rapid.Bool().Draw(t, label+n) {
					m[n] = value.Draw(t, label+n)
				}
			}
			return m
		}
		root := object("", "a", "z", "hooks", "permissions", "env")
		if rapid.Bool().Draw(t, "full") {
			root["hooks"] = object("hooks.", "Stop", "PreToolUse", "SessionStart")
			root["permissions"] = object("permissions.", "deny", "allow")
		}
		var out []byte
		var err error
		if step := rapid.SampledFrom([]string{"", " ", "\t", "    "}).Draw(t, "indent"); step == "" {
			out, err = json.Marshal(root)
		} else {
			out, err = json.MarshalIndent(root, "", step)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	})
}

// FuzzMerge: whatever the settings are, they are refused or stay JSON with all they had.
func FuzzMerge(f *testing.F) {
	for _, t := range texts {
		f.Add([]byte(t))
	}
	rules := gateRules("/usr/bin/ringfence")
	f.Fuzz(func(t *testing.T, text []byte) {
		if checkSettings(text, "x") != nil {
			return
		}
		merged, edit, err := mergeRules(text, rules)
		if err != nil {
			return
		}
		if err := checkSettings(merged, "merged"); err != nil {
			t.Fatalf("%v\n%s", err, merged)
		}
		if !keeps(t, string(text), string(merged)) {
			t.Fatalf("lost something: %s", merged)
		}
		if back := removeRules(merged, edit); checkSettings(back, "back") != nil {
			t.Fatalf("not JSON: %s", back)
		}
	})
}
