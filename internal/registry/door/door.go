// Package door is what the registry doors have in common: how they refuse, and how they
// hand out what they have.
package door

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"time"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// Refusal answers in the form whose reason a client shows.
type Refusal func(w http.ResponseWriter, status int, why string)

// Fail answers for an error. 403 is what no client takes for "ask the next one", and what
// none tries again. refused is told what the brakes hold back; nil: nobody is.
func Fail(w http.ResponseWriter, err error, refuse Refusal, refused func(*brake.Held)) {
	h, f := (*brake.Held)(nil), (*upstream.Failure)(nil)
	switch {
	case errors.As(err, &h):
		if refused != nil {
			refused(h)
		}
		refuse(w, http.StatusForbidden, h.Why)
	case errors.Is(err, store.ErrDigest):
		refuse(w, http.StatusForbidden, "what the registry sent is not what the checksum says: it is not passed on")
	case upstream.IsMissing(err):
		refuse(w, http.StatusNotFound, err.Error())
	case errors.Is(err, upstream.ErrOffline):
		refuse(w, http.StatusForbidden, err.Error())
	case errors.As(err, &f) && f.Status == http.StatusUnauthorized:
		refuse(w, http.StatusForbidden, f.Why+": the login that the host has for it is not enough")
	case errors.As(err, &f):
		refuse(w, http.StatusBadGateway, f.Why)
	default:
		refuse(w, http.StatusBadGateway, "the store of packages cannot be used")
	}
}

// Text refuses in plain words.
func Text(w http.ResponseWriter, status int, why string) {
	Say(Deny(w, status), "text/plain; charset=utf-8", []byte("ringfence: "+why+"\n"))
}

// Deny marks an answer as ours and no registry's.
func Deny(w http.ResponseWriter, status int) http.ResponseWriter {
	w.Header().Set("X-Ringfence", "denied")
	return &denied{w, status}
}

// denied writes the status behind the header, whoever completes that.
type denied struct {
	http.ResponseWriter
	status int
}

func (d *denied) Write(b []byte) (int, error) {
	d.WriteHeader(d.status)
	return d.ResponseWriter.Write(b)
}

// Say answers with a text.
func Say(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Write(body)
}

// Index answers with a text that a client may have already.
func Index(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Vary", "Accept")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	Say(w, kind, body)
}

// File hands out a file, or the part of it that was asked for.
func File(w http.ResponseWriter, r *http.Request, kind string, f *os.File) {
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, f)
}
