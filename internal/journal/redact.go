package journal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redactor makes records that can be shown to strangers. What tells of a person, of a
// machine, of a project or of a secret becomes a pseudonym: the same for the same
// word within one Redactor, and nothing that another could be compared with.
type Redactor struct {
	key    [32]byte
	home   string
	words  []string          // names of the user and of the host
	public func(string) bool // holds for hosts that everybody knows
}

// NewRedactor makes one with a key of its own, which nobody keeps.
func NewRedactor(home string, words []string, public func(host string) bool) *Redactor {
	r := &Redactor{home: filepath.Clean(home), public: public}
	rand.Read(r.key[:])
	for _, w := range words {
		if len(w) > 1 {
			r.words = append(r.words, w)
		}
	}
	return r
}

// pseudonym is the same for the same kind and word.
func (d *Redactor) pseudonym(kind, word string) string {
	if word == "" {
		return ""
	}
	mac := hmac.New(sha256.New, d.key[:])
	mac.Write([]byte(kind + "\x00" + word))
	return kind + "-" + strings.ToLower(base32.HexEncoding.EncodeToString(mac.Sum(nil)[:5]))
}

// Record is the redacted record. Its hash of the line before is gone too: who has
// it could try out what stood there.
func (d *Redactor) Record(r Record) Record {
	r.Prev = Hash{}
	r.Secret = d.pseudonym("secret", r.Secret)
	r.Digest = d.pseudonym("digest", r.Digest)
	r.Addr = d.address(r.Addr)
	r.Source = d.text(r.Source)
	r.Rule = d.rule(r.Rule)
	r.Command = d.command(r.Command)
	r.Method = d.method(r.Method)
	r.Name = d.name(r)
	r.Reason = d.reason(r)
	var list strings.Builder // not bounded: a pseudonym may be longer than what it stands for
	for _, item := range r.List.All() {
		list.WriteString(d.item(r, item) + "\x00")
	}
	r.List = Names{list.String()}
	return r
}

// name redacts Name by what it is in this record.
func (d *Redactor) name(r Record) string {
	switch {
	case r.Kind == Session && r.Event == Limit:
		return r.Name
	case r.Kind == Session:
		return d.pseudonym("name", r.Name)
	case r.Kind == Work && r.Event == Exec:
		return d.command(r.Name)
	case r.Kind == Work && r.Event == Brake:
		return d.pseudonym("package", r.Name)
	case r.Kind == Work:
		return d.path(r.Name)
	}
	return d.host(r.Name)
}

// reason redacts the free text. What the broker, decoys and texts say repeats what the
// agent sent: of that nothing stays.
func (d *Redactor) reason(r Record) string {
	if r.Kind == Broker || r.Kind == Decoy || r.Kind == Text {
		return d.pseudonym("text", r.Reason)
	}
	return d.text(r.Reason)
}

func (d *Redactor) item(r Record, item string) string {
	switch {
	case r.Event == Walls, r.Event == Unheld, r.Event == Env && (r.State == "passed" || slices.Contains(ordinary, item)):
		return item
	case r.Event == Env: // what ringfence sets may be named after a secret
		return d.pseudonym("variable", item)
	case r.Event == Granted && slices.Contains([]string{"pass", "force", "set"}, r.State):
		return d.pseudonym("variable", item)
	case r.Event == Granted && slices.Contains([]string{"group", "publish", "host-port", "net"}, r.State):
		return item
	case r.Event == Granted && (r.State == "allow" || r.State == "ip"):
		return d.rule(item)
	case r.Event == Policy:
		return d.text(item)
	case r.Event == Exit:
		return d.pseudonym("text", item)
	}
	return d.path(item)
}

// host keeps what everybody knows.
func (d *Redactor) host(name string) string {
	if name == "" || d.public(name) {
		return name
	}
	return d.pseudonym("host", strings.ToLower(name))
}

func (d *Redactor) address(addr string) string {
	if a, err := netip.ParseAddr(addr); err == nil && a.IsLoopback() || addr == "inside" {
		return addr
	}
	return d.pseudonym("address", addr)
}

// ours are rules of one word that are none of a user's.
var ours = []string{"bounds", "decoys"}

// rule keeps the words of ringfence itself, which hold spaces, and public hosts.
func (d *Redactor) rule(rule string) string {
	if rule == "" || d.public(rule) || slices.Contains(ours, rule) {
		return rule
	}
	if strings.Contains(rule, " ") {
		return d.text(rule)
	}
	return d.pseudonym("rule", rule)
}

// programs are those whose names tell nothing. Any other name of a process is one that
// the agent may have given it.
var programs = []string{"bash", "bun", "cargo", "cat", "claude", "codex", "curl", "deno", "dash", "env", "gemini", "git", "git-remote-http", "go", "java", "make",
	"node", "npm", "npx", "opencode", "perl", "pip", "pip3", "pnpm", "python", "python3", "ruby", "sh", "ssh", "true", "uv", "uvx", "wget", "yarn", "zsh"}

// command keeps the name of a program that is on any machine, but not where it lies.
func (d *Redactor) command(s string) string {
	switch {
	case slices.Contains(programs, s):
		return s
	case strings.Contains(s, "/"):
		return d.path(s)
	}
	return d.pseudonym("program", s)
}

// methods of HTTP, and what a person does afterwards. Any other word is the agent's.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "apply", "discard", "undo", "rm", "gc"}

func (d *Redactor) method(s string) string {
	if slices.Contains(methods, s) {
		return s
	}
	return d.pseudonym("method", s)
}

// ordinary are variables that every session has.
var ordinary = []string{"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER", "XDG_RUNTIME_DIR", "RINGFENCE", "RINGFENCE_NOTE", "GIT_CONFIG_GLOBAL"}

// system are directories whose names are the same on every machine.
var system = []string{"bin", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}

// common are names in any project.
var common = []string{".git", "hooks", "pre-commit", "post-commit", "post-checkout", "post-merge", "pre-push", "config", ".claude", ".codex", ".gemini", ".github", ".vscode", "workflows", "node_modules", "src", "test", "docs",
	"settings.json", "settings.local.json", "package.json", "Makefile", ".envrc", ".env", "go.mod", "Cargo.toml", "pyproject.toml", ".config", ".cache", "ringfence", "policy.toml"}

// path keeps the shape of a path: a name in it is the same wherever it stands.
func (d *Redactor) path(p string) string {
	rest, prefix := p, ""
	if d.home != "/" && (p == d.home || strings.HasPrefix(p, d.home+"/")) {
		prefix, rest = "~", p[len(d.home):]
	} else if first := strings.Split(p, "/"); len(first) > 2 && first[0] == "" && slices.Contains(system, first[1]) {
		prefix, rest = "/"+first[1], p[1+len(first[1]):]
	}
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		if part != "" && !slices.Contains(common, part) {
			parts[i] = d.pseudonym("x", part)
		}
	}
	return prefix + strings.Join(parts, "/")
}

// telling finds what in a text may tell something: paths, hosts, addresses, words of
// the user. What holds no dot, slash, @ or backslash, and is none of the user's own
// names, is a word.
var telling = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s"'(),;=\[\]]+`) })

func (d *Redactor) text(s string) string {
	return telling().ReplaceAllStringFunc(s, func(word string) string {
		bare := strings.TrimRight(word, ".:")
		end := word[len(bare):]
		switch {
		case bare == "":
			return word
		case strings.Contains(bare, "/"):
			path, line, ok := strings.Cut(bare, ":")
			if ok {
				line = ":" + line
			}
			return d.path(path) + d.digits(line) + end
		case strings.ContainsAny(bare, `.@\`) || strings.Count(bare, ":") > 1 || slices.ContainsFunc(d.words, func(w string) bool { return strings.Contains(bare, w) }):
			return d.host(bare) + end
		}
		return word
	})
}

// digits keeps the number of a line or a port.
func (d *Redactor) digits(s string) string {
	if strings.Trim(s, ":0123456789") == "" {
		return s
	}
	return ":" + d.pseudonym("text", s)
}
