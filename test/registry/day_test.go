package registry

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// day is a day's work on a project of one language: what it begins with and what is done.
type day struct {
	name   string
	server *server
	files  []string
	script string
}

// commit closes each day. The tree that it names is all that the work left in the project.
const commit = " && git add -A && git -c user.name=a -c user.email=a@a.test commit -qm day && git rev-parse HEAD^{tree}"

func (s *scene) days() []day {
	m, n, p, c := s.modules(), s.npmRegistry("127.0.0.1"), s.pypi("127.0.0.1"), s.crates("127.0.0.1")
	m.add("example.test/base", "v1.0.0", "", aged)
	m.add("example.test/lib", "v1.2.0", "require example.test/base v1.0.0\n", aged)
	n.add("lib", "1.0.0", aged)
	n.add("@corp/lib", "2.0.0", aged)
	p.add("lib", "1.0.0", aged, "base")
	p.add("base", "2.0", aged)
	c.add("libx", "1.0.0", aged)
	s.python(p)
	s.rust(c)
	s.env = append(s.env, "npm_config_registry="+n.URL, "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw")
	return []day{
		{"go", m.server, []string{"go.mod", "module app.test\n\ngo 1.21\n\nrequire example.test/lib v1.2.0\n", ".gitignore", "app\n",
			"main.go", "package main\n\nimport \"example.test/lib\"\n\nfunc main() { println(version()) }\n\nfunc version() string { return lib.Version }\n",
			"main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestVersion(t *testing.T) {\n\tif version() != \"v1.2.0\" {\n\t\tt.Fatal(version())\n\t}\n}\n"},
			"go mod tidy && go build -o app . && ./app && go test . | cut -f 1,2 && go mod verify"},
		{"npm", n.server, []string{"package.json", `{"name":"app","version":"1.0.0","dependencies":{"lib":"^1.0.0"},"scripts":{"pretest":"echo before","test":"node test.js","posttest":"echo after","postinstall":"echo made > made"}}`,
			".gitignore", "node_modules\n", ".npmrc", "omit-lockfile-registry-resolved=true\n", "test.js", "console.log(require('lib').version, require('@corp/lib').version)\n"},
			"npm install --silent && rm -r node_modules made && npm ci --silent && npm install --silent @corp/lib && npm test --silent"},
		{"pip", p.server, []string{"requirements.txt", "lib==1.0.0\n", ".gitignore", "out\n__pycache__\n", "test_app.py", "import lib, base, unittest\n\nclass Test(unittest.TestCase):\n    def test(self):\n        self.assertEqual((lib.version, base.version), ('1.0.0', '2.0'))\n"},
			pip + "-q -r requirements.txt && PYTHONPATH=out python3 -m unittest -q 2>&1 | grep OK && ls out"},
		{"cargo", c.server, []string{"Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nlibx = \"1\"\n", ".gitignore", "target\n",
			"src/main.rs", "fn main() { println!(\"{}\", libx::VERSION) }\n\n#[test]\nfn version() { assert_eq!(libx::VERSION, \"1.0.0\") }\n"},
			"cargo build --quiet && cargo run --quiet && cargo test --quiet | grep passed | cut -d ';' -f 1"},
	}
}

// begun is a new project of the day, with an empty repository.
func (s *scene) begun(d day) string {
	s.t.Helper()
	dir := s.project(d.files...)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// compiled is the build cache of the host's own run.
func (s *scene) compiled() string { return filepath.Join(s.state, "compiled") }

// native plays a script on the host, with a home and caches of its own.
func (s *scene) native(dir, script string) string {
	s.t.Helper()
	home := s.t.TempDir()
	cargo, err := os.ReadFile(filepath.Join(stage.Home, ".cargo/config.toml"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join(home, ".cargo/config.toml"), string(cargo))
	if err := os.MkdirAll(s.compiled(), 0o755); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(s.env), "HOME="+home, "GOCACHE="+s.compiled())
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("control: %s: %v\n%s%s", script, err, &out, &talk)
	}
	return out.String()
}

// A day's work on a project of each language comes to the same as on the host, to the byte.
// What a package manager fetched then no other project fetches again: from empty
// caches of its own, the second takes nothing of a package's contents from upstream.
func TestDay(t *testing.T) {
	for i, name := range []string{"go", "npm", "pip", "cargo"} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			d := s.days()[i]
			want := s.native(s.begun(d), d.script+commit)
			d.server.all()
			for n, least := range []int64{1, 0} {
				got := s.alone(s.begun(d), d.script+commit)
				if got != want {
					t.Errorf("inside:\n%s\non the host:\n%s", got, want)
				}
				once := d.server.contents(t)
				if n == 0 && once < least || n > 0 && once > 0 {
					t.Errorf("project %d took %d bytes", n+1, once)
				}
			}
		})
	}
}

// alone is must without what the client says beside its results.
func (s *scene) alone(dir, script string) string {
	s.t.Helper()
	// The standard library need not be compiled once more for this.
	script = "mkdir -p ~/.cache && cp -r " + s.compiled() + " ~/.cache/go-build && " + script
	out := s.must(dir, "R=$({ "+script+"; } 2>/tmp/said) || { cat /tmp/said; exit 1; }; printf 'RESULTS\\n%s\\nEND\\n' \"$R\"", "--ro", s.compiled())
	_, out, _ = strings.Cut(out, "RESULTS\n")
	out, _, _ = strings.Cut(out, "END\n")
	return out
}

// contents is how many bytes of packages were sent, each at most once; what was asked is
// forgotten.
func (v *server) contents(t *testing.T) (n int64) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range v.all() {
		if !slices.Contains([]string{".zip", ".mod", ".tgz", ".whl", ".metadata", ".crate"}, filepath.Ext(a.path)) {
			continue
		}
		if seen[a.path] {
			t.Errorf("%s was fetched twice", a.path)
		}
		seen[a.path], n = true, n+a.sent
	}
	return n
}
