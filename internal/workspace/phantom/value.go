package phantom

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// keep reports whether v can stay: it must not repeat what is hidden elsewhere.
func (m *maker) keep(v string) bool {
	return !m.known.shares(v) || words[strings.ToLower(v)]
}

// value makes what stands for the value v of a key: v itself if it is no secret.
func (m *masker) value(k key, v string) string {
	if m.looked++; m.spent() {
		return ""
	}
	bare := strings.TrimSpace(v)
	switch {
	case bare == "" || switches().MatchString(bare) || reference().MatchString(bare) || cipher().MatchString(bare):
		return v
	case strings.Contains(v, "-----BEGIN"):
		return m.pemValue(v)
	case numberForm().MatchString(bare):
		return m.number(k, bare)
	case bare[0] == '{' || bare[0] == '[':
		if out, ok := m.json(k, bare); ok {
			return out
		}
	}
	if out, ok := m.encodedPEM(bare); ok {
		return out
	}
	if isJWT(bare) {
		return m.jwt(k, bare)
	}
	for _, form := range []func(key, string) (string, bool){m.url, m.pairs, m.email, m.login} {
		if out, ok := form(k, bare); ok && !k.strict {
			return out
		}
	}
	stays := plain(bare) && !k.secret || keyFilePath().MatchString(bare) && isPath(bare)
	if stays && !k.strict && m.keep(bare) {
		return v
	}
	return m.opaque(k, bare)
}

// number keeps what is a measure or a port and changes the digits of what is longer.
func (m *maker) number(k key, v string) string {
	if (len(v) < run || len(v) < 8 && !k.strict) && !k.secret && m.keep(v) {
		return v
	}
	body, exponent := v, ""
	if i := strings.IndexAny(v, "eE"); i >= 0 {
		body, exponent = v[:i], v[i:]
	}
	return m.draw(k, fmt.Sprint("number", len(v)), v, func(r *rand.Rand) string {
		b := []byte(body)
		for i := range b {
			if isDigit(b[i]) {
				b[i] = "123456789"[r.IntN(9)]
			}
		}
		return string(b) + exponent
	})
}

func isJWT(v string) bool {
	return strings.HasPrefix(v, "eyJ") && strings.Count(v, ".") == 2 && allIn(v, alnums+"-_.=") && len(v) > 20
}

// jwt is a token in three parts that names nobody and does not expire soon.
func (m *maker) jwt(k key, v string) string {
	e := base64.RawURLEncoding.EncodeToString
	signature := v[strings.LastIndexByte(v, '.')+1:]
	return m.draw(k, "jwt", signature, func(r *rand.Rand) string {
		body := fmt.Sprintf(`{"sub":"%s","iat":1700000000,"exp":4102444800}`, text(r, 12, lowers))
		return e([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + e([]byte(body)) + "." + marked(r, 42, alnums) + "A"
	})
}

var pairForm = lazily(`^ *([A-Za-z][A-Za-z0-9 _.-]{0,40}?) *= *(.*?) *$`)

// pairs are connection strings: Key=value;Key=value, or with blanks.
func (m *masker) pairs(k key, v string) (string, bool) {
	sep := ";"
	if !strings.Contains(v, ";") {
		sep = " "
	}
	var all [][]string
	for p := range strings.SplitSeq(v, sep) {
		if strings.TrimSpace(p) == "" {
			continue
		}
		f := pairForm().FindStringSubmatch(p)
		if f == nil || !proper(f[1]) || !m.keep(f[1]) {
			return "", false
		}
		all = append(all, f)
	}
	if len(all) < 2 {
		return "", false
	}
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = f[1] + "=" + m.value(key{strict: k.strict}.child(f[1]), f[2])
	}
	return strings.Join(out, sep), true
}

var emailForm = lazily(`^[A-Za-z0-9_.+-]{1,64}@([A-Za-z0-9.-]{1,120})$`)

// email keeps the host.
func (m *maker) email(k key, v string) (string, bool) {
	f := emailForm().FindStringSubmatch(v)
	if f == nil || k.secret || !strings.Contains(f[1], ".") || !isHost(f[1]) || !m.keep(f[1]) {
		return "", false
	}
	return m.draw(k, "email", v[:len(v)-len(f[1])-1], func(r *rand.Rand) string { return text(r, 10, lowers) }) + "@" + f[1], true
}

// login is the user and password of a registry, in base64.
func (m *maker) login(k key, v string) (string, bool) {
	name := strings.Trim(strings.ToLower(k.name), "_")
	raw, err := base64.StdEncoding.DecodeString(v)
	if !strings.HasSuffix(name, "auth") || err != nil || !strings.Contains(string(raw), ":") {
		return "", false
	}
	return m.draw(k, "login", v, func(r *rand.Rand) string {
		return base64.StdEncoding.EncodeToString([]byte(text(r, 8, lowers) + ":" + marked(r, 27, alnums)))
	}), true
}

// encodedPEM is PEM in base64, as in the configuration of Kubernetes.
func (m *masker) encodedPEM(v string) (string, bool) {
	if !strings.HasPrefix(v, "LS0tLS1CRUdJT") {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		return "", false
	}
	return base64.StdEncoding.EncodeToString([]byte(m.pemValue(string(raw)))), true
}
