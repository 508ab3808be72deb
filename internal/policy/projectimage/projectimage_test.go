package projectimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy"
)

func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	inside  = ".devcontainer/devcontainer.json"
	outside = ".devcontainer.json"
)

var digest = "@sha256:" + strings.Repeat("0a", 32)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		file  string // that decides
		want  string
		line  int
		rest  string
	}{
		{"comments", map[string]string{inside: "// ours\n{\n  /* x */ \"name\": \"x\",\n  \"image\": \"go:1\", // pinned\n}\n"}, inside, "go:1", 4, ""},
		{"the first counts", map[string]string{inside: `{"image": "a"}`, outside: `{"image": "b"}`, "Dockerfile": "FROM c"}, inside, "a", 1, ""},
		{"of the root", map[string]string{outside: `{"image": "b"}`, "Dockerfile": "FROM c"}, outside, "b", 1, ""},
		{"a digest", map[string]string{outside: `{"image": "reg.example:5000/team/tools:1` + digest + `"}`}, outside, "reg.example:5000/team/tools:1" + digest, 1, ""},
		{"what is for others", map[string]string{inside: `{"image": "a", "runArgs": ["--privileged"], "mounts": ["source=/,target=/host"], "initializeCommand": "evil", "é\"": 1}`},
			inside, "a", 1, "runArgs, mounts, initializeCommand, …"},
		{"a file in place of the directory", map[string]string{".devcontainer": "x", outside: `{"image": "b"}`}, outside, "b", 1, ""},
		{"Dockerfile", map[string]string{"Dockerfile": "# syntax=docker/dockerfile:1\n\nfrom\tgo:1" + digest + " as x\nCMD [\"a\"]\ncmd b\nLABEL a=b \\\n  # why\n  c=d\n"}, "Dockerfile", "go:1" + digest, 3, "CMD, LABEL"},
		{"Dockerfile over lines", map[string]string{"Dockerfile": "\ufeffFROM \\\r\n  go:1\r\n"}, "Dockerfile", "go:1", 1, ""},
	} {
		i := Find(project(t, c.files))
		if i == nil || i.File != c.file || i.Name != c.want || i.Line != c.line || i.Why != "" || i.Rest() != c.rest || len(i.Digest) != 64 {
			t.Errorf("%s: %+v", c.name, i)
		}
	}
	if i := Find(project(t, map[string]string{"README": ""})); i != nil {
		t.Errorf("nothing names %+v", i)
	}
}

// TestNone: what names no image says why, and no other file is asked instead.
func TestNone(t *testing.T) {
	for text, builds := range map[string]bool{
		`{"build": {"dockerfile": "Dockerfile"}}`:        true,
		`{"dockerFile": "Dockerfile"}`:                   true,
		`{"dockerComposeFile": "c.yml", "service": "x"}`: true,
		`{"image": "a", "build": {"dockerfile": "D"}}`:   false,
		`{"image": "a", "image": "b"}`:                   false,
		`{"image": ["a"]}`:                               false,
		`{"image": ""}`:                                  false,
		`{"image": "--privileged"}`:                      false,
		`{"image": "${localEnv:X}"}`:                     false,
		`{"image": "a b"}`:                               false,
		`{"image": "../x"}`:                              false,
		`{"image": "a?x=1"}`:                             false,
		`{"image": "a\u001b]0;x"}`:                       false,
		`{"Image": "a"}`:                                 false,
		`["a"]`:                                          false,
		``:                                               false,
		"{\"a\": 1 // \u2028, \"image\": \"b\"\n}":       false,
		strings.Repeat("[", 1<<17):                       false,
		`{"image": "` + strings.Repeat("a", 600) + `"}`:  false,
		`{"image": "a"}` + strings.Repeat(" ", maxBytes): false,
		`{"x": [` + strings.Repeat("1,", 9000) + `1], "image": "a"}`: false,
	} {
		i := Find(project(t, map[string]string{inside: text, outside: `{"image": "b"}`, "Dockerfile": "FROM c\n"}))
		if i == nil || i.Name != "" || i.Why == "" || i.Builds != builds || i.File != inside {
			t.Errorf("%.60q: %+v", text, i)
		}
	}
	for text, builds := range map[string]bool{
		"FROM a\nRUN evil\n":                     true,
		"FROM a\nCOPY x /\n":                     true,
		"FROM a\nENV PATH=/x\n":                  true,
		"FROM a\nWORKDIR /x\n":                   true,
		"FROM a\nVOLUME /x\n":                    true,
		"FROM a AS b\nFROM b\n":                  true,
		"ARG X=1\nFROM a:$X\n":                   true,
		"FROM scratch\n":                         true,
		"FROM a\nCMD x \\\nRUN evil\nRUN evil\n": true,
		"FROM $X\n":                              false,
		"FROM --platform=linux/arm64 a\n":        false,
		"FROM a b\n":                             false,
		"FROM\n":                                 false,
		"":                                       false,
		"FROM a \\\n":                            false,
		"FROM a \\\n\nRUN x\n":                   false,
		"# escape=`\nFROM a\n":                   false,
		"# syntax=evil/frontend\nFROM a\n":       false,
		"FROM a\rRUN x\n":                        false,
		"FROM a\x00\n":                           false,
		"FROM \xff\n":                            false,
		"CMD x\nFROM a\n":                        true,
	} {
		i := Find(project(t, map[string]string{"Dockerfile": text}))
		if i == nil || i.Name != "" || i.Why == "" || i.Builds != builds {
			t.Errorf("%q: %+v", text, i)
		}
	}
}

// TestHostileFiles: nothing is read through a link, and nothing makes us wait.
func TestHostileFiles(t *testing.T) {
	elsewhere := project(t, map[string]string{"devcontainer.json": `{"image": "evil"}`})
	for name, plant := range map[string]func(root string) error{
		"link": func(root string) error {
			return os.Symlink(filepath.Join(elsewhere, "devcontainer.json"), filepath.Join(root, outside))
		},
		"linked directory": func(root string) error { return os.Symlink(elsewhere, filepath.Join(root, ".devcontainer")) },
		"link to nothing":  func(root string) error { return os.Symlink("/nowhere", filepath.Join(root, outside)) },
		"pipe":             func(root string) error { return unix.Mkfifo(filepath.Join(root, outside), 0o644) },
		"directory":        func(root string) error { return os.MkdirAll(filepath.Join(root, inside), 0o755) },
		"socket": func(root string) error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(root, outside)})
		},
		"sparse and long": func(root string) error {
			at := filepath.Join(root, outside)
			if err := os.WriteFile(at, []byte(`{"image": "evil"}`), 0o644); err != nil {
				return err
			}
			return os.Truncate(at, 1<<40)
		},
	} {
		root := project(t, map[string]string{"Dockerfile": "FROM c\n"})
		if err := plant(root); err != nil {
			t.Fatal(name, err)
		}
		if i := Find(root); i == nil || i.Name != "" || i.Why == "" || i.Digest != "" || i.Builds {
			t.Errorf("%s: %+v", name, i)
		} else {
			t.Log(name, i.Why)
		}
	}
}

// TestDigest: any change of the file is another file to trust.
func TestDigest(t *testing.T) {
	a := Find(project(t, map[string]string{outside: `{"image": "a"}`}))
	b := Find(project(t, map[string]string{outside: `{"image": "a" }`}))
	if a.Digest == b.Digest || a.Key() == a.File {
		t.Errorf("%+v %+v", a, b)
	}
}

// FuzzDockerfile: a name that comes out is one, stands in the text, and has no instruction
// beside it that changes the image.
func FuzzDockerfile(f *testing.F) {
	for _, s := range []string{"FROM a\n", "# escape=`\nFROM a", "FROM a \\\n# x\n AS b\nCMD x", "\ufefffrom a\r\nLABEL \\\r\n x\r\n", "ARG A\nFROM $A", "FROM a\nRUN <<EOF\nFROM b\nEOF\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i := dockerfile(text)
		if (i.Name == "") == (i.Why == "") {
			t.Fatalf("%+v", i)
		}
		if i.Name == "" {
			return
		}
		if !strings.Contains(string(text), i.Name) || i.Line < 1 {
			t.Fatalf("%+v of %q", i, text)
		}
		again := dockerfile([]byte("FROM " + i.Name + "\n"))
		if policy.CheckImage(i.Name) == nil && again.Name != i.Name {
			t.Fatalf("%q, again %+v", i.Name, again)
		}
		for line := range strings.Lines(string(text)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if len(i.Unused) == 0 && !strings.Contains(string(text), `\`) && strings.EqualFold(word, "run") {
				t.Fatalf("%q is not seen in %q", line, text)
			}
		}
	})
}

// FuzzDevcontainer: as for a Dockerfile; a member that is not used is said.
func FuzzDevcontainer(f *testing.F) {
	for _, s := range []string{`{"image": "a"}`, "// x\n{\"image\": \"a\", \"mounts\": [],}", `{"build": {}}`, `{"image": 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i := devcontainer(text)
		if (i.Name == "") == (i.Why == "") || i.Name != "" && i.Line < 1 {
			t.Fatalf("%+v", i)
		}
		if len(i.Rest()) > 8*42+40 {
			t.Fatalf("%q", i.Rest())
		}
	})
}
