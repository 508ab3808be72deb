package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keys are what a request is signed with.
type keys struct{ id, secret, token string }

// String keeps keys out of logs.
func (keys) String() string { return "(keys)" }

// GoString keeps keys out of logs.
func (keys) GoString() string { return "(keys)" }

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
)

// sign adds a signature of version 4 over all headers that are set, the host and
// the body.
func sign(r *http.Request, body []byte, k keys, region, service string, now time.Time) {
	now = now.UTC()
	r.Header.Set("X-Amz-Date", now.Format(stamp))
	if k.token != "" {
		r.Header.Set("X-Amz-Security-Token", k.token)
	}
	canonical, signed := canonicalRequest(r, body)
	scope := strings.Join([]string{now.Format("20060102"), region, service, "aws4_request"}, "/")
	toSign := strings.Join([]string{algorithm, now.Format(stamp), scope, digest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + k.secret)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+k.id+"/"+scope+
		", SignedHeaders="+signed+", Signature="+hex.EncodeToString(mac(key, toSign)))
}

// canonicalRequest spells a request as both sides hash it, and names the headers
// in it.
func canonicalRequest(r *http.Request, body []byte) (canonical, signed string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	headers := map[string]string{"host": host}
	for name, values := range r.Header {
		var trimmed []string
		for _, v := range values {
			trimmed = append(trimmed, strings.Join(strings.Fields(v), " "))
		}
		headers[strings.ToLower(name)] = strings.Join(trimmed, ",")
	}
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + ":" + headers[name] + "\n")
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	signed = strings.Join(names, ";")
	return strings.Join([]string{r.Method, path, canonicalQuery(r.URL.Query()), lines.String(), signed, digest(body)}, "\n"), signed
}

func canonicalQuery(q url.Values) string {
	var pairs []string
	for name, values := range q {
		for _, v := range values {
			pairs = append(pairs, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape is the escaping of RFC 3986, which knows no plus for a space.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func mac(key []byte, data string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(data))
	return h.Sum(nil)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
