package broker

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"

	"ringfence.dev/ringfence/internal/leakscan"
)

// errCoding is an answer that cannot be searched.
var errCoding = errors.New("the upstream compressed its answer in a way that cannot be searched for the credential")

// errPart is half an answer, which nobody asked for: half a credential is not found.
var errPart = errors.New("the upstream answered with a part of what it was asked for, which cannot be searched for the credential")

// scrub takes the real credential out of an answer before it enters: a server that
// echoes what it was sent would hand it to the agent. What is put in its place has
// the same length, so that nothing else changes.
func scrub(resp *http.Response, cred Credential, more []string) (*http.Response, error) {
	set, err := needles(cred, more)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	low := strings.ToLower(cred.Value)
	for name, values := range resp.Header {
		// Names lose their case on the way.
		if dropped[name] || strings.Contains(strings.ToLower(name), low) {
			delete(resp.Header, name)
			continue
		}
		for i, v := range values {
			values[i] = set.Redact(v)
		}
	}
	if err := plainBody(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	if resp.StatusCode == http.StatusPartialContent {
		resp.Body.Close()
		return nil, errPart
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if len(resp.Header.Values("Sec-Websocket-Extensions")) > 0 || !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
			resp.Body.Close()
			return nil, errCoding
		}
		if both, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &twoWay{Reader: set.Reader(both), ReadWriteCloser: both}
		}
		return resp, nil
	}
	resp.Body = &body{set.Reader(resp.Body), resp.Body}
	return resp, nil
}

// dropped are fields of answers that would give the agent a credential of another
// kind, or lead it around the broker.
var dropped = map[string]bool{"Set-Cookie": true, "Set-Cookie2": true, "Alt-Svc": true, "Authorization": true, "Trailer": true}

// needles are the forms in which a credential may come back.
func needles(cred Credential, more []string) (*leakscan.Set, error) {
	list := []leakscan.Named{{Name: cred.Secret, Secret: cred.Value}}
	for _, m := range more {
		if len(m) >= leakscan.Shortest {
			list = append(list, leakscan.Named{Name: cred.Secret, Secret: m})
		}
	}
	if user, word, ok := strings.Cut(cred.Value, ":"); ok && len(word) >= leakscan.Shortest && user != "" {
		list = append(list, leakscan.Named{Name: cred.Secret, Secret: word})
	}
	return leakscan.New(list...)
}

// plainBody undoes a coding that the upstream was not asked for.
func plainBody(resp *http.Response) error {
	if resp.Request != nil && resp.Request.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified || resp.StatusCode == http.StatusNoContent {
		return nil // there is none
	}
	switch strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")) {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return errCoding
		}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = &body{z, resp.Body}
		return nil
	}
	return errCoding
}

// body reads from one and closes the other.
type body struct {
	io.Reader
	under io.Closer
}

func (b *body) Close() error { return b.under.Close() }

// twoWay is a connection that changed its protocol: what comes is searched, what goes
// passes.
type twoWay struct {
	io.Reader
	io.ReadWriteCloser
}

func (t *twoWay) Read(b []byte) (int, error) { return t.Reader.Read(b) }

func basic(user, word string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+word))
}
