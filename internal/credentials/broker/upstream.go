package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// Direct is the way to an upstream that the user named, wherever it is: also on
// loopback or on a private network. Nothing that the agent says chooses it.
func Direct(ctx context.Context, t address.Target) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(t.Host(), fmt.Sprint(t.Port)))
}

// OwnPort is why an upstream is not reached that turns out to be the agent itself.
const OwnPort = "it is a port that a session publishes, and its agent would get the credential"

// carrier puts the credential on each request, and takes it out of each answer. What it
// sends it has written down before: one record for each request that leaves.
type carrier struct {
	next   http.RoundTripper
	source Source
	put    func(*http.Request, Credential) error
	more   []string // what else must not come back
	// note writes down that a request leaves, and why it does so again. What cannot be
	// written down does not leave.
	note func(r *http.Request, why string) error
}

// errUnrecorded is a request that did not leave because it could not be written down.
var errUnrecorded = errors.New("the journal cannot be written, and what cannot be recorded is not done")

// Why a request is sent once more.
const (
	sentRenewed = "sent again: the credential was renewed"
	sentRefused = "sent again: the connection was closed before an answer"
)

// RoundTrip gets the credential anew each time. One that the upstream calls stale is
// asked for once more: the host may have renewed it meanwhile.
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	cred, err := c.source.Get(r.Context())
	if err != nil {
		return nil, err // with its body: it may go without a credential
	}
	resp, err := c.send(r, cred, "")
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	q, ok := rewound(r)
	if !ok {
		return resp, nil
	}
	c.source.Stale(cred)
	again, err := c.source.Get(r.Context())
	if err != nil || again.Value == cred.Value {
		return resp, nil
	}
	resp.Body.Close()
	return c.send(q, again, sentRenewed)
}

// send tries, and tries once more what is lost and may be sent twice: four times is
// the most that one request of the agent's can leave.
func (c *carrier) send(r *http.Request, cred Credential, why string) (*http.Response, error) {
	resp, err := c.try(r, cred, why, deaf{r.Context()})
	if err == nil {
		return resp, nil
	}
	if q, ok := rewound(r); ok && mayResend(r, err) {
		resp, err = c.try(q, cred, sentRefused, context.WithValue(deaf{r.Context()}, fresh{}, true))
	}
	if err != nil {
		return nil, plainError(err)
	}
	return resp, nil
}

func (c *carrier) try(r *http.Request, cred Credential, why string, ctx context.Context) (*http.Response, error) {
	out := r.Clone(ctx)
	err := c.put(out, cred)
	if err == nil && c.note(r, why) != nil {
		err = errUnrecorded
	}
	if err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := c.next.RoundTrip(out)
	if err != nil {
		return nil, err
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
	var unreached *address.Unreached
	switch {
	case errors.As(err, &unreached):
		return unreached
	case errors.As(err, &missing), errors.Is(err, errDecoy), errors.Is(err, errLong), errors.Is(err, errCoding), errors.Is(err, errPart), errors.Is(err, errNoWord), errors.Is(err, errUnrecorded):
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
	return errors.New("it broke off")
}
