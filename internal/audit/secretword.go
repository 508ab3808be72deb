package audit

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// lazy compiles an expression when it is first used: a launch needs none of them.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// shapes are the forms by which issuers make their tokens recognisable, and those by
// which a URL or a header carries one.
var shapes = lazy(strings.Join([]string{
	`\bsk-[\w-]{20,}`, `\b[rs]k_(?:live|test)_\w{16,}`, `\bgh[opsur]_\w{20,}`, `\bgithub_pat_\w{20,}`, `\bglpat-[\w-]{16,}`,
	`\bxox[a-z]-[\w-]{10,}`, `\bxapp-[\w-]{10,}`, `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, `\bAIza[\w-]{30,}`, `\bya29\.[\w-]{10,}`,
	`\bnpm_\w{30,}`, `\bpypi-[\w-]{20,}`, `\bhf_\w{20,}`, `\bdop_v1_\w{20,}`, `\beyJ[\w-]{8,}\.[\w-]{8,}\.`,
	`-----BEGIN [A-Z ]*PRIVATE KEY`, `AGE-SECRET-KEY-1`,
	`(?i)\bbearer\s+[\w.~+/=-]{12,}`, `://[^/\s:@$]+:[^/\s@${}]{3,}@`,
}, "|"))

// reference is a value that only says where the secret is.
var reference = lazy(`^["']?(?:[$` + "`" + `]|\{env:|\{file:|<|op://|vault:|!)`)

// endings of names that hold secrets, besides what the catalogue knows.
var endings = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "SECRET_KEY", "PASSPHRASE", "AUTH_TOKEN", "AUTHORIZATION", "CREDENTIALS"}

// secretName reports whether a variable, an option or a key of that name holds a
// secret: GITHUB_TOKEN, --api-key and accessToken alike.
func secretName(name string) bool {
	upper := upperSnake(name)
	for _, e := range endings {
		if upper == e || strings.HasSuffix(upper, "_"+e) {
			return true
		}
	}
	e, ok := knownsecrets.Env(upper)
	return ok && e.Class == knownsecrets.Secret
}

func upperSnake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range strings.TrimLeft(name, "-") {
		switch {
		case r == '-' || r == '.' || r == ' ':
			r = '_'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// held reports whether a value under a secret's name can be the secret itself: not a
// reference, a switch or a path of a file.
func held(value string) bool {
	value = strings.Trim(value, `"'`)
	return len(value) >= 6 && !reference().MatchString(value) && value[0] != '/' && !strings.HasPrefix(value, "~/")
}

var assignment = lazy(`(?:^|[\s;&|"'(])(?:export\s+|set -gx\s+)?(--?[A-Za-z][\w-]*|[A-Za-z_]\w*)(?:=|\s+)("[^"]*"|'[^']*'|[^\s;&|"']+)`)

// secretIn names what of a line of shell holds a secret: the name it is given to, or
// its shape. It never returns the secret.
func secretIn(line string) string {
	for _, m := range assignment().FindAllStringSubmatch(line, -1) {
		if named := strings.Contains(m[0], m[1]+"=") || strings.HasPrefix(m[1], "-") || strings.Contains(m[0], "set -gx"); named && secretName(m[1]) && held(m[2]) {
			return strings.TrimLeft(m[1], "-")
		}
	}
	if shapes().MatchString(line) {
		return "a token by its shape"
	}
	return ""
}

// setting is a line of a file of settings: a name, a sign, a value.
var setting = lazy(`["']?([A-Za-z_][\w.-]*)["']?\s*[:=]\s*["']?([^\s"',]+)`)

// loneToken is a file that is a token and nothing else.
var loneToken = lazy(`^[\w.~+/=-]{20,}$`)

// secretLine is the first line of a file that holds a secret, 0 if none does.
func secretLine(data []byte) int {
	text := string(data)
	if loneToken().MatchString(strings.TrimSpace(text)) {
		return 1
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if len(line) > 1<<16 {
			line = line[:1<<16]
		}
		if shapes().MatchString(line) {
			return n
		}
		words := strings.Fields(line)
		for i, w := range words { // as .netrc writes it
			if w == "password" && i+1 < len(words) && held(words[i+1]) {
				return n
			}
		}
		for _, m := range setting().FindAllStringSubmatch(line, -1) {
			if name := strings.TrimLeft(m[1], "_"); secretName(name) && held(m[2]) {
				return n
			}
		}
	}
	return 0
}
