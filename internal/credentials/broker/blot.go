package broker

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
)

// A forge's API hands out credentials of other kinds in honest answers: of a clone, of a
// runner. They are taken out of every answer that can hold one, whatever its type says:
// GitLab writes the same in plain text for who asks so. What cannot be read is refused.
// Files of a repository, their differences and archives pass as they are: git hands out
// the same, a changed byte would be a wrong file, and a token that lies in one is not a
// fresh one. What a forge writes in JSON is searched all the same.

// The patterns are large, and few sessions meet an answer that is searched: each is made
// when it is first needed.

// tokens are members of honest answers that are such credentials, in JSON.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`("(?:` + tokenNames + `)"\s*:\s*")((?:[^"\\]|\\.)*)"`)
})

// loose are the same in other forms: of Ruby, YAML, XML, lists of fields.
var loose = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`((?:` + tokenNames + `)"?\s*(?:=>|[:=>])\s*"?)([^"\s,}<&*][^"\s,}<&]*)`)
})

const tokenNames = `temp_clone_token|tempCloneToken|runners_token|runnersToken|registration_token|registrationToken`

// shapes are tokens that forges make, by their look.
var shapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_[A-Za-z0-9_]{20,255}|\bgl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[A-Za-z0-9_.-]{16,255}|\bGR1348941[A-Za-z0-9_-]{16,64}`)
})

var (
	errLetters    = errors.New("the upstream answered in letters that cannot be searched for credentials")
	errLongAnswer = errors.New("the answer is too long to be searched for credentials")
)

// isFile tells of an answer that is a file of a repository, or no text at all.
func isFile(resp *http.Response, kind string) bool {
	for _, binary := range []string{"image/", "audio/", "video/", "font/", "application/zip", "application/gzip", "application/x-gzip", "application/x-tar", "application/x-bzip2",
		"application/x-xz", "application/zstd", "application/pdf", "application/octet-stream"} {
		if strings.HasPrefix(kind, binary) {
			return !strings.HasPrefix(kind, "image/svg") // whatever follows, readable or not
		}
	}
	var d serviceapi.Decision
	if resp.Request != nil {
		d, _ = resp.Request.Context().Value(verdict{}).(serviceapi.Decision)
	}
	return d.Files && (strings.Contains(kind, ".raw") || !strings.Contains(kind, "json") && !strings.Contains(kind, "javascript"))
}

// blot takes such tokens out of an answer. What it puts there has the same length. One
// that is too long to be held is not passed on.
func blot(resp *http.Response) error {
	const most = 16 << 20
	if resp.StatusCode == http.StatusSwitchingProtocols || resp.Request != nil && resp.Request.Method == http.MethodHead {
		return nil
	}
	kind, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = strings.ToLower(resp.Header.Get("Content-Type"))
	}
	if len(resp.Header.Values("Content-Type")) > 1 || err != nil && strings.Contains(kind, "charset") {
		return errLetters
	}
	if isFile(resp, kind) {
		return nil
	}
	room := int64(most)
	if resp.ContentLength >= 0 {
		room = min(room, resp.ContentLength)
	}
	if resp.ContentLength > most || !memory.take(room) {
		return errLongAnswer
	}
	defer memory.give(room)
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return err
	}
	switch {
	case len(b) > most:
		return errLongAnswer
	case !legible(b, params["charset"]):
		return errLetters
	}
	for _, r := range []*regexp.Regexp{tokens(), loose()} {
		b = hide(b, r, 2)
	}
	b = hide(b, shapes(), 0)
	resp.Body = &body{bytes.NewReader(b), resp.Body}
	return nil
}

// hide puts stars in the place of one group of all that matches.
func hide(b []byte, r *regexp.Regexp, group int) []byte {
	for _, at := range r.FindAllSubmatchIndex(b, -1) {
		for i := at[2*group]; i < at[2*group+1]; i++ {
			b[i] = '*'
		}
	}
	return b
}

// legible holds for text in letters whose first half is ASCII. Readers of JSON find out
// by its first bytes that it is in others.
func legible(b []byte, charset string) bool {
	switch strings.ToLower(charset) {
	case "", "utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "iso-8859-15", "windows-1252":
	default:
		return false
	}
	return bytes.IndexByte(b, 0) < 0 && !bytes.HasPrefix(b, []byte("\xfe\xff")) && !bytes.HasPrefix(b, []byte("\xff\xfe"))
}
