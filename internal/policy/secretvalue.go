package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// use is one kind of credential.
type use struct {
	name    string
	hosts   bool // it has no host of its own
	user    bool // it may have a user's name
	publish bool // it is for a registry of packages
	path    bool // its hosts may have a path
}

var uses = []use{
	{name: "anthropic"}, {name: "openai"}, {name: "gemini"},
	{name: "github"}, {name: "gitlab"}, {name: "gitea", hosts: true},
	{name: "npm", hosts: true, user: true, publish: true, path: true}, {name: "pypi", hosts: true, user: true, publish: true, path: true},
	{name: "cargo", hosts: true, publish: true, path: true}, {name: "go", hosts: true, user: true, path: true}, {name: "maven", hosts: true, user: true, publish: true, path: true},
	{name: "bearer", hosts: true, path: true}, {name: "basic", hosts: true, user: true, path: true}, {name: "header", hosts: true, path: true},
	{name: "aws"},
}

// SecretUses lists the kinds of credentials.
func SecretUses() []string {
	out := make([]string, len(uses))
	for i := range uses {
		out[i] = uses[i].name
	}
	return out
}

func findUse(name string) *use {
	for i := range uses {
		if uses[i].name == name {
			return &uses[i]
		}
	}
	return nil
}

// maxSecretName is short enough that hardly any token passes for a name.
const maxSecretName = 32

// CheckSecretName reports why a secret cannot have that name. The error does not
// quote it: somebody may have put the value there.
func CheckSecretName(v string) error {
	if v == "" || len(v) > maxSecretName || strings.Trim(v, nameBytes) != "" || v[0] == '-' || v[0] == '_' {
		return fmt.Errorf("the name of a secret has 1 to %d letters, digits, - and _, and begins with a letter or a digit", maxSecretName)
	}
	return nil
}

func checkSecretName(v string) error { return CheckSecretName(v) }

// checkFrom reads KIND[:ARGUMENT].
func checkFrom(v string) error {
	if err := checkText(v); err != nil {
		return err
	}
	kind, arg, has := strings.Cut(v, ":")
	switch kind {
	case "store", "command":
		if has {
			return fmt.Errorf("%q: nothing follows %s", v, kind)
		}
		return nil
	case "env":
		return checkName(arg)
	case "file":
		return checkPath(arg)
	case "pass", "keyring":
		if arg == "" || arg[0] == '-' {
			return fmt.Errorf("%q: write %s:NAME", v, kind)
		}
		return nil
	case "secret-service":
		return checkAttributes(arg)
	}
	return fmt.Errorf("%q is no source: store, env:VAR, file:PATH, pass:NAME, keyring:NAME, secret-service:ATTR=VALUE or command", v)
}

func checkAttributes(arg string) error {
	for pair := range strings.SplitSeq(arg, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || value == "" || name[0] == '-' || value[0] == '-' {
			return fmt.Errorf("%q: write secret-service:ATTR=VALUE, more of them after commas", "secret-service:"+arg)
		}
	}
	return nil
}

// checkHeader takes a token of RFC 9110 that no other part of a request hangs on.
func checkHeader(v string) error {
	if v == "" || len(v) > 64 || strings.Trim(v, nameBytes+"!#$%&'*+.^`|~") != "" {
		return fmt.Errorf("%q is no name of a header", v)
	}
	switch strings.ToLower(v) {
	case "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "proxy-connection", "expect":
		return fmt.Errorf("%q says how a request is carried and holds no credential", v)
	}
	return nil
}

func checkUser(v string) error {
	if err := checkText(v); err != nil {
		return err
	}
	if v == "" || len(v) > maxHost || strings.Contains(v, ":") {
		return fmt.Errorf("%q is no name of a user: no colon, and not empty", v)
	}
	return nil
}

func checkRole(v string) error {
	parts := strings.SplitN(v, ":", 6)
	if len(v) > maxHost || len(parts) != 6 || parts[0] != "arn" || !strings.HasPrefix(parts[1], "aws") || strings.Trim(parts[1], nameBytes) != "" ||
		parts[2] != "iam" || parts[3] != "" || len(parts[4]) != 12 || strings.Trim(parts[4], "0123456789") != "" {
		return fmt.Errorf("%q is no role: write arn:aws:iam::123456789012:role/NAME", v)
	}
	if name, ok := strings.CutPrefix(parts[5], "role/"); !ok || name == "" || strings.Trim(name, nameBytes+"+=,.@/") != "" {
		return fmt.Errorf("%q is no role: write arn:aws:iam::123456789012:role/NAME", v)
	}
	return nil
}

// The bounds of AWS itself.
const (
	minTTL           = 15 * time.Minute
	maxTTL           = time.Hour
	maxSessionPolicy = 2048
)

func checkTTL(v string) error {
	_, err := ParseTTL(v)
	return err
}

// ParseTTL reads how long credentials last: "15m" to "1h".
func ParseTTL(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < minTTL || d > maxTTL || d%time.Second != 0 {
		return 0, fmt.Errorf("%q: credentials last from 15m to 1h", v)
	}
	return d, nil
}

func checkSessionPolicy(v string) error {
	var object map[string]any
	switch err := json.Unmarshal([]byte(v), &object); {
	case len(v) > maxSessionPolicy:
		return fmt.Errorf("a session policy has at most %d bytes", maxSessionPolicy)
	case err != nil || object == nil:
		return errors.New("the session policy is not an object of JSON")
	}
	return nil
}

func checkRegion(v string) error {
	if len(v) > 32 || !strings.Contains(v, "-") || strings.Trim(v, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		v[0] < 'a' || strings.Contains(v, "--") || strings.HasSuffix(v, "-") {
		return fmt.Errorf("%q is no region such as eu-central-1", v)
	}
	return nil
}
