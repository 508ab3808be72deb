package phantom

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

const (
	digits  = "0123456789"
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters = lowers + uppers
	alnums  = letters + digits
	hexes   = "0123456789abcdef"
)

// stream is the randomness of one label in this session.
func stream(seed []byte, label string) *rand.ChaCha8 {
	h := hmac.New(sha256.New, seed)
	h.Write([]byte("ringfence mask\x00" + label))
	return rand.NewChaCha8([32]byte(h.Sum(nil)))
}

func text(r *rand.Rand, n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// draw makes the phantom of a secret by make, again if by chance it has a run of it.
// The shape belongs to the label: values of one shape under one key are one phantom.
func (m *maker) draw(k key, shape, secret string, make func(*rand.Rand) string) string {
	label := strings.ToLower(k.name) + "\x00" + shape
	m.uses[label]++
	if m.work++; m.spent() {
		return ""
	}
	m.learn(secret)
	out := ""
	for try := range 8 {
		out = make(rand.New(stream(m.seed, fmt.Sprintf("%s\x00%d\x00%d", label, m.uses[label], try))))
		if !shared(secret, out) && !m.known.shares(out) {
			break
		}
	}
	return out
}

// learn writes down what is hidden. The host of an address of mail is not.
func (m *maker) learn(secret string) {
	if m.secrets == nil || words[strings.ToLower(secret)] {
		return
	}
	if f := emailForm().FindStringSubmatch(secret); f != nil && isHost(f[1]) {
		secret = strings.TrimSuffix(secret, f[1])
	}
	m.secrets.add(secret)
}

// Shorter passwords than leastLength all become of that length; maxLength is enough
// for whatever is longer.
const (
	leastLength = 16
	maxLength   = 4096
)

// opaque makes the phantom of a value that has no parts.
func (m *maker) opaque(k key, v string) string {
	if isBase64(v) && knownPrefix(v) == "" {
		return m.base64(k, v)
	}
	return m.word(k, v)
}

// word is the same of letters and digits alone, for what stands between others.
func (m *maker) word(k key, v string) string {
	prefix := knownPrefix(v)
	rest := v[len(prefix):]
	if isUUID(v) {
		return m.draw(k, "uuid", v, func(r *rand.Rand) string {
			h := marked(r, 30, hexes)
			return h[:8] + "-" + h[8:12] + "-4" + h[12:15] + "-8" + h[15:18] + "-" + h[18:]
		})
	}
	alphabet := alphabetOf(rest)
	n := min(len(rest), maxLength)
	if prefix == "" && alphabet != hexes && alphabet != strings.ToUpper(hexes) {
		n = max(n, leastLength)
	}
	return m.draw(k, fmt.Sprint(prefix, n, alphabet), rest, func(r *rand.Rand) string {
		return prefix + marked(r, n, alphabet)
	})
}

func (m *maker) base64(k key, v string) string {
	n := min(len(v), maxLength)/4*3 - strings.Count(v, "=")
	return m.draw(k, fmt.Sprint("base64", n), v, func(r *rand.Rand) string {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		markBytes(raw)
		return base64.StdEncoding.EncodeToString(raw)
	})
}

// first is what a text of this alphabet begins with.
func first(alphabet string) string {
	if s := strings.Trim(alphabet, digits); s != "" {
		return s
	}
	return digits
}

// alphabetOf is the smallest of a few that a value could be of.
func alphabetOf(v string) string {
	switch {
	case len(v) >= 8 && only(v, hexes) && strings.ContainsAny(v, digits):
		return hexes
	case len(v) >= 8 && only(v, strings.ToUpper(hexes)) && strings.ContainsAny(v, digits):
		return strings.ToUpper(hexes)
	case only(v, lowers):
		return lowers
	case only(v, uppers):
		return uppers
	case only(v, lowers+digits):
		return lowers + digits
	case only(v, uppers+digits):
		return uppers + digits
	}
	return alnums
}

func only(s, alphabet string) bool { return s != "" && allIn(s, alphabet) }

func allIn(s, alphabet string) bool {
	for i := range len(s) {
		if strings.IndexByte(alphabet, s[i]) < 0 {
			return false
		}
	}
	return true
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (v[i] == '-') || !dash && strings.IndexByte(hexes+"ABCDEF", v[i]) < 0 {
			return false
		}
	}
	return true
}

// isBase64: padded, of some length, and not a mere word.
func isBase64(v string) bool {
	if len(v) < 8 || len(v)%4 != 0 {
		return false
	}
	body := strings.TrimRight(v, "=")
	if len(v)-len(body) > 2 || !allIn(body, alnums+"+/") {
		return false
	}
	mixed := strings.ContainsAny(body, lowers) && strings.ContainsAny(body, uppers) && strings.ContainsAny(body, digits)
	return len(body) < len(v) || strings.ContainsAny(body, "+/") && len(v) >= 16 || mixed && len(v) >= 16
}

// prefixes begin tokens of a known make, the longer before the shorter.
var prefixes = []string{
	"sk-ant-api03-", "sk-ant-oat01-", "sk-ant-admin01-", "sk-ant-", "sk-svcacct-", "sk-proj-", "sk-or-v1-", "sk-",
	"sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_", "whsec_",
	"github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "gloas-", "gldt-", "glptt-",
	"npm_", "pypi-", "AIza", "AKIA", "ASIA", "hf_", "xoxb-", "xoxp-", "xapp-", "dop_v1_", "shpat_", "hvs.", "SG.", "ya29.", "lin_api_", "AGE-SECRET-KEY-1",
	"$2a$10$", "$2b$10$", "$2y$10$", "$2b$12$", "$2y$05$", "$apr1$", "{SHA}", "$6$", "$5$",
}

// knownPrefix is what v begins with, if enough follows.
func knownPrefix(v string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(v, p) && len(v) >= len(p)+8 {
			return p
		}
	}
	return ""
}
