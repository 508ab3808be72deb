package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
)

// Credential is a real credential on its way into a request.
type Credential struct {
	Secret  string // its name, for the journal
	Value   string
	Kind    string // how it is sent: a word of the package that puts it
	Account string // whose it is, where the upstream wants to know
}

// Source is where a real credential comes from, each time it is used.
type Source interface {
	Get(context.Context) (Credential, error)
	Stale(Credential) // the upstream refused it
}

// Missing is a credential that the host does not have, in words for whoever runs the
// session.
type Missing struct{ Reason string }

func (m *Missing) Error() string { return m.Reason }

// Transport makes what requests leave by. Nothing is asked of the environment, and
// answers come as they are: a compressed one could not be searched.
func Transport(reach Reach) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := address.ParseTarget(addr)
			if err != nil {
				return nil, err
			}
			return reach(ctx, t)
		},
		ForceAttemptHTTP2: true, DisableCompression: true,
		TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 32,
		MaxResponseHeaderBytes: 256 << 10, ExpectContinueTimeout: 5 * time.Second,
	}
}

// Direct is the way to an upstream that the user named, wherever it is: also on
// loopback or on a private network. Nothing that the agent says chooses it.
func Direct(ctx context.Context, t address.Target) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(t.Host(), fmt.Sprint(t.Port)))
}

// carrier puts the credential on each request, and takes it out of each answer.
type carrier struct {
	next   http.RoundTripper
	source Source
	put    func(*http.Request, Credential) error
	more   []string // what else must not come back
}

// RoundTrip gets the credential anew each time. One that the upstream calls stale is
// asked for once more: the host may have renewed it meanwhile.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	cred, err := c.source.Get(r.Context())
	if err != nil {
		return nil, err
	}
	resp, err := c.try(r, cred)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return resp, err
	}
	c.source.Stale(cred)
	again, err := c.source.Get(r.Context())
	if err != nil || again.Value == cred.Value {
		return resp, nil
	}
	resp.Body.Close()
	if r.GetBody != nil {
		r = r.Clone(r.Context())
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return c.try(r, again)
}

func (c *carrier) try(r *http.Request, cred Credential) (*http.Response, error) {
	out := r.Clone(deaf{r.Context()})
	if err := c.put(out, cred); err != nil {
		return nil, err
	}
	resp, err := c.next.RoundTrip(out)
	if err != nil {
		return nil, plainError(err)
	}
	answer := *resp // what comes after the body would be added to the one that the transport knows
	answer.Trailer, answer.Request = nil, r
	return scrub(&answer, cred, c.more)
}

// deaf is a context under which nobody hears of answers before the answer: they would
// not have been searched.
type deaf struct{ context.Context }

// Value implements context.Context.
func (deaf) Value(any) any { return nil }

// plainError says what became of a request in a few words of our own: what a library
// says may name an address of the host's network, or quote what was sent.
func plainError(err error) error {
	var timeout net.Error
	var missing *Missing
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &missing), errors.Is(err, errDecoy), errors.Is(err, errLong), errors.Is(err, errCoding), errors.Is(err, errNoWord):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &cert):
		return errors.New("its certificate is not trusted")
	case errors.Is(err, unix.ECONNREFUSED):
		return errors.New("connection refused")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer in time")
	}
	for _, known := range []string{"the name does not exist", "no route to the host", "no answer in time", "connection refused", "no rule allows this host",
		"the host's resolver failed", "the host's resolver does not answer", "out of descriptors"} {
		if strings.HasSuffix(err.Error(), known) {
			return errors.New(known)
		}
	}
	return errors.New("it broke off")
}
