package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// otherwise are orders that are not the ones that were given: what an engine does that takes
// names for other things, leaves something out or adds something. Each is noticed by the
// first process inside, or by the witness, before the agent runs.
var otherwise = map[string]func(o map[string]any, host map[string]any, dir string){
	"a mask is not there":          func(_, h map[string]any, dir string) { drop(h, dir+"/secrets") },
	"another file is shown":        func(_, h map[string]any, _ string) { at(h, "/etc/passwd")["Source"] = "/etc/passwd" },
	"another directory is shown":   func(_, h map[string]any, _ string) { at(h, "/usr")["Source"] = "/etc" },
	"a share is not there":         func(_, h map[string]any, _ string) { drop(h, "/usr") },
	"a share can be written":       func(_, h map[string]any, _ string) { at(h, "/usr")["ReadOnly"] = false },
	"a file can be written":        func(_, h map[string]any, _ string) { at(h, "/etc/passwd")["ReadOnly"] = false },
	"the root can be written":      func(_, h map[string]any, _ string) { h["ReadonlyRootfs"] = false },
	"one more share":               func(_, h map[string]any, _ string) { add(h, "/etc", "/more", true) },
	"one more that can be written": func(_, h map[string]any, _ string) { add(h, "/srv", "/etc/more", false) },
	"one more within a share":      func(_, h map[string]any, _ string) { add(h, "/etc", "/usr/share/doc", true) },
	"one more in a room of ours":   func(_, h map[string]any, _ string) { add(h, "/etc", "/tmp/more", true) },
	"one more over /dev":           func(_, h map[string]any, _ string) { add(h, "/etc", "/dev/more", true) },
	"one more over /proc":          func(_, h map[string]any, _ string) { add(h, "/etc/passwd", "/proc/version", true) },
	"a file has another mode": func(_, h map[string]any, _ string) {
		if source, ok := at(h, "/etc/passwd")["Source"].(string); ok {
			os.Chmod(source, 0o555)
		}
	},
	"/sys is there":           func(_, h map[string]any, _ string) { delete(h["Tmpfs"].(map[string]any), "/sys") },
	"/proc can be written":    func(_, h map[string]any, _ string) { h["ReadonlyPaths"] = []string{"/proc/sys"} },
	"tables of proc are told": func(_, h map[string]any, _ string) { h["MaskedPaths"] = []string{} },
	"/tmp is not our own": func(_, h map[string]any, _ string) {
		delete(h["Tmpfs"].(map[string]any), "/tmp")
		add(h, "/tmp", "/tmp", false)
	},
	"/tmp is larger": func(_, h map[string]any, _ string) {
		h["Tmpfs"].(map[string]any)["/tmp"] = "rw,exec,mode=1777,size=90%"
	},
	"a right":                   func(_, h map[string]any, _ string) { h["CapDrop"], h["CapAdd"] = nil, []string{"NET_ADMIN"} },
	"the processes of the host": func(_, h map[string]any, _ string) { h["PidMode"] = "host" },
	"the name of the host":      func(o, h map[string]any, _ string) { h["UTSMode"] = "host"; delete(o, "Hostname") },
	"memory of the host":        func(_, h map[string]any, _ string) { h["IpcMode"] = "host" },
	"groups of the host":        func(_, h map[string]any, _ string) { h["CgroupnsMode"] = "host" },
	"another program":           func(_, h map[string]any, _ string) { at(h, "/ringfence-container")["Source"] = "/bin/sleep" },
}

func mountsOf(h map[string]any) []any { return h["Mounts"].([]any) }

func at(h map[string]any, target string) map[string]any {
	for _, m := range mountsOf(h) {
		if m := m.(map[string]any); m["Target"] == target {
			return m
		}
	}
	return map[string]any{}
}

func drop(h map[string]any, target string) {
	var out []any
	for _, m := range mountsOf(h) {
		if m.(map[string]any)["Target"] != target {
			out = append(out, m)
		}
	}
	h["Mounts"] = out
}

func add(h map[string]any, source, target string, readOnly bool) {
	h["Mounts"] = append(mountsOf(h), map[string]any{"Type": "bind", "Source": source, "Target": target, "ReadOnly": readOnly})
}

// TestBuiltOtherwise: a view that is not the planned one, and a container that is not the one
// that was asked for, end the start.
func TestBuiltOtherwise(t *testing.T) {
	f := newConfined(t)
	f.Put("secrets/key", []byte("not to be seen"), 0o600)
	mask := "[files]\nmask = [\"" + f.Dir + "/secrets\"]\n"
	play := func(change func(o, h map[string]any, dir string)) (status int, ran bool, talk string) {
		judged(t, f, confined+mask, func(_, path string, body []byte) ([]byte, string) {
			if !strings.HasSuffix(path, "/containers/create") {
				return body, ""
			}
			var o map[string]any
			if err := json.Unmarshal(body, &o); err != nil {
				t.Error(err)
			}
			change(o, o["HostConfig"].(map[string]any), f.Dir)
			out, err := json.Marshal(o)
			if err != nil {
				t.Error(err)
			}
			return out, ""
		})
		defer os.Remove(filepath.Join(f.State, "between"))
		r := f.On("echo ran; cat secrets/key", "--net", "none")
		return r.Status, strings.Contains(r.Stdout, "ran"), r.Stdout + r.Stderr
	}
	if _, ran, talk := play(func(_, _ map[string]any, _ string) {}); !ran || strings.Contains(talk, "not to be seen") {
		t.Fatalf("as ordered, the agent does not run: %s", talk)
	}
	for name, change := range otherwise {
		if status, ran, talk := play(change); ran || status != 125 {
			t.Errorf("%s: status %d\n%s", name, status, talk)
		}
	}
}
