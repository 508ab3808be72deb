// Package sign is the endpoint at which an agent has its commits and tags signed
// by the user's key, which stays on the host. It is sign-only, and it signs one
// kind of thing: a git commit or tag object of this session's repository, made
// in the name of the user, now. The agent never reaches an agent socket, chooses
// neither key nor program nor namespace, and gets nothing back but the signature.
//
// What is signed with which key by which program is the word of the user's own
// git config. The repository's config is the agent's to write and is never read.
// Programs, keys and GnuPG's own settings that lie in a workspace are refused for
// the same reason.
//
// What is left at risk: the signature says that the user's key signed, not that
// the user read. Any tree the agent can write can be committed in the user's name
// and signed, that of another repository too if the agent has its objects; each use
// stands in the journal with the hash of what was signed. A committer's time may
// be off by the skew. And whoever answers a pinentry should know that an agent
// asked.
package sign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/git/object"
)

const (
	// Prefix is where the endpoint stands; the format follows.
	Prefix = "/sign/"
	// CreatedHeader carries what gpg says of the signature that it made: the
	// words after SIG_CREATED.
	CreatedHeader = "Sig-Created"

	maxPayload = object.MaxPayload
	maxSubject = 72
	bodyTime   = 30 * time.Second
	// signTime is long, because a pinentry may ask the user.
	signTime         = 2 * time.Minute
	defaultPerMinute = 300
	defaultSkew      = 24 * time.Hour
)

// Config is all that the endpoint knows.
type Config struct {
	// Stores are the object directories of this repository, own one first:
	// absolute, free of symlinks, as the agent writes them. One that does not
	// exist yet may come into being.
	Stores []string
	// Workspaces are the directories that the agent writes. Alternates are
	// followed within them alone, and nothing that decides is taken from them.
	Workspaces []string
	Key        Key
	Identity   Identity
	// Environ is the environment of the launcher. The program that signs gets
	// what it needs of it, by name.
	Environ []string
	// Terminal says that a pinentry may use the terminal in GPG_TTY. Where the
	// agent is shown on that terminal it must not: keys typed for the one would
	// be read by the other.
	Terminal bool
	// Runtime is a directory of the session that is not visible inside.
	Runtime string
	// PerMinute bounds requests; 0 is 300.
	PerMinute int
	// Skew is how far a committer's or tagger's time may be from now; 0 is a
	// day, less than 0 any.
	Skew time.Duration
	// Record is called once for each use, before the answer leaves.
	Record func(Event)
}

// Identity is whose name commits and tags are signed in: user.name and user.email
// of the user's own config.
type Identity struct{ Name, Email string }

// Event is one use.
type Event struct {
	Allowed bool
	Format  string
	Type    string // commit or tag; "" if it was neither
	Payload string // SHA-256 of what was to be signed, in hex
	Subject string // its first line, printable and bounded
	Key     string // fingerprint of the key that signed
	Reason  string // why not, as it was answered
	Detail  string // what is for the host alone: the last words of the program
}

// New returns the endpoint.
func New(c Config) http.Handler {
	if c.PerMinute == 0 {
		c.PerMinute = defaultPerMinute
	}
	if c.Skew == 0 {
		c.Skew = defaultSkew
	}
	c.Environ = c.environ() // no more of it is kept
	return &endpoint{Config: c, limit: limit{most: c.PerMinute}, turn: make(chan struct{}, 1), now: time.Now}
}

type endpoint struct {
	Config
	limit limit
	turn  chan struct{} // one at a time
	now   func() time.Time
}

// refusal is an error with its HTTP status. The text goes inside; detail does not.
type refusal struct {
	status int
	text   string
	detail error
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.detail }

func deny(format string, args ...any) error {
	return &refusal{status: http.StatusForbidden, text: fmt.Sprintf(format, args...)}
}

// failed is for what is wrong on the host.
func failed(err error, format string, args ...any) error {
	return &refusal{status: http.StatusBadGateway, text: fmt.Sprintf(format, args...) + "; the journal of this session says why", detail: err}
}

// ServeHTTP takes a payload and answers with its armoured signature, or with the
// one line why not.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodPost {
		h.Set("Allow", http.MethodPost)
		answer(w, &refusal{status: http.StatusMethodNotAllowed, text: "only POST is understood"})
		return
	}
	ok, first := e.limit.take(e.now())
	if !ok {
		err := &refusal{status: http.StatusTooManyRequests, text: fmt.Sprintf("more than %d signatures in a minute were asked for", e.PerMinute)}
		if first { // the others would fill the journal
			e.record(Event{Reason: err.text})
		}
		answer(w, err)
		return
	}
	ev := Event{Format: strings.TrimPrefix(r.URL.Path, Prefix)}
	s, err := e.handle(w, r, &ev)
	if err != nil {
		ev.Format = known(ev.Format)
		ev.Reason = err.Error()
		if detail := errors.Unwrap(err); detail != nil {
			ev.Detail = detail.Error()
		}
		e.record(ev)
		answer(w, err)
		return
	}
	ev.Allowed, ev.Key = true, s.key
	e.record(ev)
	if s.created != "" {
		h.Set(CreatedHeader, s.created)
	}
	_, _ = io.WriteString(w, s.armour) // who went away needs no signature
}

func (e *endpoint) record(ev Event) {
	if e.Record != nil {
		e.Record(ev)
	}
}

// handle waits for its turn, reads, judges and signs.
func (e *endpoint) handle(w http.ResponseWriter, r *http.Request, ev *Event) (signature, error) {
	if known(ev.Format) == "" {
		return signature{}, &refusal{status: http.StatusNotFound, text: "there is no such format"}
	}
	if ev.Format != e.Key.Format {
		return signature{}, deny("gpg.format is %s on the host, and %s was asked for", e.Key.Format, ev.Format)
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-r.Context().Done():
		return signature{}, deny("the request was given up")
	}
	payload, err := readPayload(w, r)
	if err != nil {
		return signature{}, err
	}
	sum := sha256.Sum256(payload)
	ev.Payload = hex.EncodeToString(sum[:])
	if err := e.judge(payload, ev); err != nil {
		return signature{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), signTime)
	defer cancel()
	return e.sign(ctx, payload)
}

func readPayload(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Who sends slowly keeps the others waiting. A connection without deadlines
	// is a test's.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("it is longer than %d bytes", maxPayload)}
	case err != nil:
		return nil, &refusal{status: http.StatusBadRequest, text: "the request broke off"}
	}
	return payload, nil
}

func answer(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var r *refusal
	if errors.As(err, &r) {
		status = r.status
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, err.Error()+"\n") // nobody is left to tell
}
