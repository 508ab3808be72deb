package knownsecrets

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/file"
)

// sample turns a pattern into one path or name that it must match.
func sample(pattern string) string { return strings.ReplaceAll(pattern, "*", "x1") }

func TestEveryPathRowMatchesItself(t *testing.T) {
	const home = "/home/u"
	form := regexp.MustCompile(`^(~/|/)?[^/~][^/]*(/[^/]+)*/?$`)
	seen := map[string]bool{}
	for _, r := range paths() {
		p := r.entry.Pattern
		if seen[p] {
			t.Errorf("%s: twice", p)
		}
		seen[p] = true
		if r.entry.Class == "" || r.entry.What == "" || !form.MatchString(p) || strings.TrimSpace(p) != p {
			t.Errorf("row %+v is malformed", r.entry)
		}
		abs := sample(p)
		if r.root == inHome {
			abs = home + "/" + r.rest
			abs = sample(abs)
		} else if r.root == anywhere {
			abs = "/data/" + abs
		}
		if e, ok := Path(home, abs); !ok {
			t.Errorf("%s: %s matches no row", p, abs)
		} else if e != r.entry && !strings.Contains(p, "*") {
			t.Errorf("%s: %s is answered by %s", p, abs, e.Pattern)
		}
		if _, ok := Path(home, strings.TrimSuffix(abs, "/")+"/deep/er"); r.tree && !ok {
			t.Errorf("%s: what lies below %s matches no row", p, abs)
		}
		if _, ok := Path("/home/other", abs); r.root == inHome && ok && !loose(abs) {
			t.Errorf("%s: %s matches although it lies in another home", p, abs)
		}
	}
}

// loose reports whether the bare name of a path is catalogued wherever it lies.
func loose(path string) bool {
	return slices.ContainsFunc(paths(), func(r row) bool {
		return r.root == anywhere && file.Star(r.rest, path[strings.LastIndex(path, "/")+1:])
	})
}

func TestEveryEnvRowMatchesItself(t *testing.T) {
	seen := map[string]bool{}
	for e, line := range decode(envText) {
		if e.Class != Secret && e.Class != Socket && e.Class != Loader || e.What == "" {
			t.Errorf("rows %q are malformed: %+v", line, e)
		}
		for _, p := range strings.Fields(line) {
			if seen[p] {
				t.Errorf("%s: twice", p)
			}
			seen[p] = true
			got, ok := Env(sample(p))
			if !ok || !strings.Contains(p, "*") && got.Pattern != p {
				t.Errorf("%s: answered by %+v", p, got)
			}
			if lower := strings.ToLower(sample(p)); e.Class == Secret {
				if _, ok := Env(lower); !ok {
					t.Errorf("%s: a secret in lower case matches no row", lower)
				}
			}
		}
	}
}

func TestPath(t *testing.T) {
	for path, class := range map[string]Class{
		"/home/u/.ssh":                         "ssh",
		"/home/u/.ssh/id_ed25519":              "ssh",
		"/home/u/.ssh/agent/s.1":               "socket",
		"/home/u/.gnupg/S.gpg-agent":           "pgp",
		"/home/u/.aws/credentials":             "cloud",
		"/home/u/.aws/../.aws//credentials":    "cloud",
		"/home/u/.config/gh/hosts.yml":         "forge",
		"/home/u/.netrc":                       "login",
		"/home/u/.docker/config.json":          "container",
		"/home/u/.kube/config":                 "kubernetes",
		"/home/u/.npmrc":                       "package",
		"/home/u/.claude/.credentials.json":    "agent",
		"/home/u/.config/Bitwarden CLI/x":      "vault",
		"/home/u/.config/google-chrome-beta/x": "browser",
		"/home/u/src/p/.env":                   "project",
		"/home/u/src/p/deploy.pem":             "key",
		"/etc/shadow":                          "system",
		"/run/user/1000/bus":                   "socket",
		"/run/user/1000/containers/auth.json":  "container",
		"/var/run/docker.sock":                 "socket",
		"/proc/1/environ":                      "system",
	} {
		if e, ok := Path("/home/u", path); !ok || e.Class != class {
			t.Errorf("Path(%s) = %+v, %t; want class %s", path, e, ok, class)
		}
	}
	for _, path := range []string{
		"/", "/home", "/home/u", "/home/u/src", "/home/u/src/p", "/home/u/.config", "/home/u/.cargo",
		"/home/u/.sshx", "/home/u/.netrc/x", "/home/u/.config/nvim", "/home/u/Documents/p",
		"/home/other/.ssh", "/home/ux/.ssh", "/srv/p", "/workspaces/p", "/tmp/p", "/usr/lib",
		"/etc", "/etc/shadow-not", "/dev/shm", "/run", "", "relative/.ssh",
	} {
		if e, ok := Path("/home/u", path); ok {
			t.Errorf("Path(%q) = %+v; want none", path, e)
		}
	}
	for _, home := range []string{"", ".", "home/u"} {
		if _, ok := Path(home, "/home/u/.ssh/config"); ok {
			t.Errorf("home %q matched", home)
		}
	}
	if _, ok := Path("/", "/.ssh/config"); !ok {
		t.Error("a home of / matches nothing")
	}
}

func TestEnv(t *testing.T) {
	for name, class := range map[string]Class{
		"ANTHROPIC_API_KEY": Secret, "GITHUB_TOKEN": Secret, "github_token": Secret, "MY_DB_PASSWORD": Secret,
		"npm_config__auth": Secret, "https_proxy": Secret, "CARGO_REGISTRIES_CORP_TOKEN": Secret,
		"SSH_AUTH_SOCK": Socket, "DBUS_SESSION_BUS_ADDRESS": Socket, "DOCKER_HOST": Socket,
		"VSCODE_IPC_HOOK_CLI": Socket, "REMOTE_CONTAINERS_IPC": Socket, "TMUX": Socket, "XAUTHORITY": Socket,
		"LD_PRELOAD": Loader, "BASH_ENV": Loader, "ENV": Loader, "BASH_FUNC_ls%%": Loader, "NODE_OPTIONS": Loader,
		"PYTHONSTARTUP": Loader, "RUSTC_WRAPPER": Loader, "GIT_SSH_COMMAND": Loader, "GIT_CONFIG_COUNT": Loader,
		"GLIBC_TUNABLES": Loader, "SSL_CERT_FILE": Loader, "GIT_ASKPASS": Loader,
	} {
		if e, ok := Env(name); !ok || e.Class != class {
			t.Errorf("Env(%s) = %+v, %t; want class %s", name, e, ok, class)
		}
	}
	for _, name := range []string{
		"", "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "TMPDIR", "TERM", "COLORTERM",
		"TERM_PROGRAM", "LANG", "LC_ALL", "TZ", "NO_COLOR", "EDITOR", "VISUAL", "PAGER", "GIT_PAGER",
		"GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "CI", "CC", "AWS_REGION", "AWS_PROFILE",
		"GOOGLE_CLOUD_PROJECT", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "PYTHONUNBUFFERED", "GOMAXPROCS",
		"env", "ld_preload", "display", "XDG_SESSION_TYPE", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM",
	} {
		if e, ok := Env(name); ok {
			t.Errorf("Env(%s) = %+v; want none", name, e)
		}
	}
}
