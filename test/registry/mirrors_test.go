package registry

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

const (
	mirrorUser, mirrorWord = "robot", "CANARYmirrorWord1"
	mirrorBasic            = "Basic cm9ib3Q6Q0FOQVJZbWlycm9yV29yZDE="
)

// files serves a directory to who has the login.
func (s *scene) files(dir string) *server {
	return s.serve("127.0.0.2", func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != mirrorUser || word != mirrorWord {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
	})
}

// client is a package manager with settings of the user, and a command that asks a mirror.
type client struct {
	tool   string
	prep   func(t *testing.T, dir string) // what the mirror has
	file   string                         // below the home, with @URL@ and @AUTH@ for its address without and with a login
	text   string
	more   [2]string // another file
	script string
	want   string
}

func shell(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>corp</groupId><artifactId>parent</artifactId><version>1.0</version><packaging>pom</packaging><description>from the mirror</description></project>`

var mirrorClients = []client{
	{tool: "gem", prep: func(t *testing.T, dir string) {
		shell(t, dir, `mkdir gems && printf 'Gem::Specification.new { |s| s.name = "lib"; s.version = "1.0.0"; s.summary = "x"; s.authors = ["a"]; s.files = [] }' > lib.gemspec && HOME=$PWD gem build -q lib.gemspec 2>/dev/null && mv lib-1.0.0.gem gems && HOME=$PWD gem generate_index -q -d .`)
	}, file: ".gemrc", text: "---\n:backtrace: false\n:sources:\n- @AUTH@/\n", script: "gem fetch lib; ls *.gem; cat ~/.gemrc", want: "lib-1.0.0.gem\n"},
	{tool: "composer", prep: func(t *testing.T, dir string) {
		shell(t, dir, `echo '{"packages":{"corp/lib":{"1.0.0":{"name":"corp/lib","version":"1.0.0","description":"from the mirror"}}}}' > packages.json`)
	}, file: ".config/composer/config.json", text: `{"config":{},"repositories":[{"type":"composer","url":"@URL@"},{"packagist.org":false}]}`,
		more:   [2]string{".config/composer/auth.json", `{"http-basic":{"@HOST@":{"username":"` + mirrorUser + `","password":"` + mirrorWord + `"}}}`},
		script: "export COMPOSER_ALLOW_SUPERUSER=1; composer -n show -a corp/lib; cat ~/.config/composer/*.json", want: "from the mirror"},
	{tool: "mvn", prep: func(t *testing.T, dir string) {
		shell(t, dir, "mkdir -p corp/parent/1.0 && echo '"+pom+"' > corp/parent/1.0/parent-1.0.pom")
	}, file: ".m2/settings.xml", text: `<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0"><mirrors><mirror><id>corp</id><mirrorOf>*</mirrorOf><url>@URL@</url></mirror></mirrors>
<servers><server><id>corp</id><username>` + mirrorUser + `</username><password>${env.MIRROR_WORD}</password></server></servers></settings>`,
		script: `printf '<project><modelVersion>4.0.0</modelVersion><parent><groupId>corp</groupId><artifactId>parent</artifactId><version>1.0</version><relativePath/></parent><artifactId>app</artifactId><packaging>pom</packaging></project>' > pom.xml; mvn -B validate 2>&1; cat ~/.m2/repository/corp/parent/1.0/*.pom ~/.m2/settings.xml`, want: "from the mirror"},
	{tool: "curl", prep: func(t *testing.T, dir string) {
		shell(t, dir, "mkdir m && echo from the mirror > m/a.pom && echo CANARYbeside > secret")
	},
		file: ".gradle/gradle.properties", text: "org.gradle.jvmargs=-Xmx1g\ncorpMavenUrl=@URL@/m\njiraUrl=@URL@/jira\njiraUsername=me\njiraToken=CANARYjira\ncorpMavenUsername=" + mirrorUser + "\ncorpMavenPassword=" + mirrorWord + "\n",
		more:   [2]string{".gradle/init.gradle", "println 'CANARY'\n"},
		script: `. ~/.gradle/gradle.properties; curl -sS -u $corpMavenUsername:$corpMavenPassword $corpMavenUrl/a.pom; curl -sS -X PUT -d x $corpMavenUrl/a.pom; for p in ..\;/secret %2e%2e\;a=b/secret ../secret; do curl -sS --path-as-is $corpMavenUrl/$p; done; cat ~/.gradle/*`, want: "from the mirror\nringfence: the mirror is only read"},
	{tool: "bundle", prep: func(t *testing.T, dir string) { shell(t, dir, "echo from the mirror > info") },
		file: ".bundle/config", text: "---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"@AUTH@\"\nBUNDLE_GEMS__CORP__TEST: \"me:CANARYother\"\n",
		script: "bundle config get mirror.https://rubygems.org; curl -sS $(sed -n 's/.*RUBYGEMS__ORG.*\"\\(.*\\)\"/\\1/p' ~/.bundle/config)/info; cat ~/.bundle/config", want: "from the mirror"},
}

// Package managers without a door: the mirror of the user's settings is read, with the
// login, which stays outside, though no rule allows its host. Without the settings it is not
// reached.
func TestMirrors(t *testing.T) {
	for i, c := range mirrorClients {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.tool, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatalf("%s is not here: run `make tools`", c.tool)
				}
				t.Skip(err)
			}
			s, dir := begin(t), t.TempDir()
			c.prep(t, dir)
			v := s.files(dir)
			s.env = append(s.env, "MIRROR_WORD="+mirrorWord)
			fill := strings.NewReplacer("@URL@", v.URL, "@AUTH@", strings.Replace(v.URL, "//", "//"+mirrorUser+":"+mirrorWord+"@", 1), "@HOST@", strings.TrimPrefix(v.URL, "http://"))
			s.env[3] = "XDG_CONFIG_HOME=" + filepath.Join(stage.Home, ".config")
			for _, f := range [][2]string{{c.file, c.text}, c.more} {
				if f[0] != "" {
					path := filepath.Join(stage.Home, f[0])
					s.write(path, fill.Replace(f[1]))
					t.Cleanup(func() { os.Remove(path) })
				}
			}
			out, _ := s.run(s.project(), c.script, "--verbose")
			if !strings.Contains(out, c.want) || strings.Contains(out, "CANARY") {
				t.Errorf("%s", out)
			}
			got := v.all()
			for _, a := range got {
				if a.authorization != mirrorBasic {
					t.Errorf("%+v", a)
				}
			}
			if len(got) == 0 {
				t.Error("control: the mirror was not asked")
			}
			if c.tool == "curl" && !strings.Contains(out, "init.gradle: it is a program") || c.tool == "bundle" && !strings.Contains(out, "the login of gems.corp.test is for no mirror") {
				t.Errorf("what is left is not named: %s", out)
			}
			os.Remove(filepath.Join(stage.Home, c.file))
			if s.run(s.project(), c.script); len(v.all()) > 0 {
				t.Error("control: without the settings it is asked")
			}
		})
	}
}

// A machine whose archive is a mirror of the company's: apt inside reads it, with the login of
// auth.conf. The machine's own /etc/apt is covered in a mount namespace of the test's.
func TestAptMirror(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can have another /etc/apt")
	}
	s, dir, etc := begin(t), t.TempDir(), t.TempDir()
	shell(t, dir, "printf 'Package: lib\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: a\\nDescription: from the mirror\\nFilename: ./lib.deb\\nSize: 1\\nSHA256: 0\\n' > Packages")
	v := s.files(dir)
	s.write(filepath.Join(etc, "sources.list"), "deb [trusted=yes] "+v.URL+"/ ./\n")
	s.write(filepath.Join(etc, "auth.conf"), "machine "+v.URL+" login "+mirrorUser+" password "+mirrorWord+"\n")
	const script = "mkdir -p s/lists/partial c/archives/partial; set -- -o Dir::State=$PWD/s -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/c -o APT::Sandbox::User=root; apt-get \"$@\" update; apt-cache \"$@\" show lib; cat /.ringfence/sources.list $APT_CONFIG"
	cmd := exec.Command("unshare", "-m", "sh", "-ec", `mount --bind "$0" /etc/apt; exec "$@"`, etc, stage.Ringfence, "run", "--verbose", "--", "sh", "-c", script)
	cmd.Dir, cmd.Env = s.project(), s.env
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), "Description: from the mirror") || strings.Contains(string(out), "CANARY") {
		t.Errorf("%s", out)
	}
	for _, a := range v.all() {
		if a.authorization != mirrorBasic {
			t.Errorf("%+v", a)
		}
	}
	if out, _ := s.run(s.project(), script); strings.Contains(out, "from the mirror") || len(v.all()) > 0 {
		t.Errorf("control: %s", out)
	}
}
