package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secretWords end the name of a setting that holds a secret, whatever the
// catalogue of environment variables says of it.
var secretWords = []string{
	"TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY",
	"PRIVATE_KEY", "AUTHORIZATION", "BEARER", "COOKIE", "CREDENTIAL", "CREDENTIALS",
}

// secretName reports whether a key, an option or a variable of that name holds
// a secret: apiKey, --api-key, X-Api-Key and GITHUB_TOKEN alike.
func (s *scrubber) secretName(name string) bool {
	snake := upperSnake(name)
	for _, w := range secretWords {
		if snake == w || strings.HasSuffix(snake, "_"+w) {
			return true
		}
	}
	return s.judge.Secret != nil && (s.judge.Secret(name) || s.judge.Secret(snake))
}

// upperSnake spells a name as a variable would be spelled: fooBar and --foo-bar
// become FOO_BAR.
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

// isOption reports whether an argument is an option whose value comes next.
func isOption(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, "= ")
}

// shapes are the forms by which issuers make their tokens recognisable, and the
// two by which a URL or a header carries one.
var shapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`\b(?:sk|rk|pk)[-_][\w-]{16,}`, `\bgh[opsur]_\w{20,}`, `\bgithub_pat_\w{20,}`, `\bglpat-[\w-]{16,}`,
		`\bxox[a-z]-[\w-]{10,}`, `\bxapp-[\w-]{10,}`, `\b(?:AKIA|ASIA)[0-9A-Z]{16}`, `\bAIza[\w-]{30,}`, `\bya29\.[\w-]{10,}`,
		`\bnpm_\w{30,}`, `\bpypi-[\w-]{20,}`, `\bhf_\w{20,}`, `\bdop_v1_\w{20,}`, `\beyJ[\w-]{8,}(?:\.[\w-]{8,})+`,
		`-----BEGIN [A-Z ]*PRIVATE KEY`, `AGE-SECRET-KEY-`,
		`(?i)\bbearer\s+[\w.~+/=-]{8,}`, `(?i)\bauthorization:\s*[^\s"']+(?:\s+[\w.~+/=-]{8,})?`, `(?i)\bauthorization:\s*\S`,
		`(?i)\bhttps?://[^/\s@]+@`, `://[^/\s:@]*:[^/\s@]+@`,
	}, "|"))
})

// assignments finds NAME=VALUE anywhere: a variable before a command, a query of
// a URL, an option with its value.
var assignments = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([\w.-]+)=["']?([^\s"'&]+)`)
})

// references finds a value that only says which variable holds the secret.
var references = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\$\w+|\$\{\w+\}|\{env:\w+\})$`)
})

// looksSecret reports whether text has the shape of a secret.
func looksSecret(text string) bool { return shapes().MatchString(text) }

// MayBeSecret is looksSecret where a mistake costs little: it also holds for text with a
// long word that nobody would say, as tokens of no known make are.
func MayBeSecret(text string) bool {
	return looksSecret(text) || slices.ContainsFunc(strings.FieldsFunc(text, notToken), opaque)
}

// notToken ends a word that could be a token.
func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-+=", r))
}

// opaque holds for a long word with letters and digits, and for a very long one.
func opaque(word string) bool {
	const long, veryLong = 16, 32
	return len(word) >= veryLong || len(word) >= long && strings.ContainsAny(word, "0123456789") && strings.Trim(word, "0123456789") != ""
}

// leaks reports whether text gives a secret away under a harmless key.
func (s *scrubber) leaks(text string) bool {
	if looksSecret(text) {
		return true
	}
	for _, m := range assignments().FindAllStringSubmatch(text, -1) {
		if !harmless(m[2]) && s.secretName(m[1]) {
			return true
		}
	}
	return false
}

// harmless reports whether a value cannot be a secret under any name: a switch,
// a small number, the name of a variable.
func harmless(value string) bool {
	switch value {
	case "", "true", "false":
		return true
	}
	if len(value) < 9 && strings.Trim(value, "0123456789") == "" {
		return true
	}
	return references().MatchString(value)
}
