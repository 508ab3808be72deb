package source

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A role gives short-lived cloud credentials to a session. It is an HTTP handler that
// speaks the container-credentials protocol of AWS: a client inside
// asks it with the phantom as its authorization, and it answers with credentials
// that it got by AssumeRole, with keys that stay on the host.
//
// Unlike everything else that the broker holds, these credentials do enter the
// sandbox: the client signs each request itself, and nothing outside could do it
// in its place. What bounds them is their life (15 minutes to an hour), the role,
// and the session policy. Keys that do not end are refused unless Static says
// that they are meant to enter.
//
// # What is left at risk
//
//   - Credentials that were handed out work until they expire, also after the
//     session and from other machines. Choose a role that may lose them.
//   - The answer of STS is believed as far as its form goes: who can answer in
//     its place, under the transport that was given, chooses the credentials.

// The life that credentials may have.
const (
	MinTTL = 15 * time.Minute
	MaxTTL = time.Hour
)

// RoleConfig says which credentials a session gets.
type RoleConfig struct {
	Phantom string // what the client sends as its authorization
	Session string // of ringfence; it becomes part of the role's session name

	// Keys reads the long-lived keys where they are kept. The token is "" for
	// keys that do not end.
	Keys func(context.Context) (id, secret, token string, err error)

	Role       string        // the ARN; "" only with Static
	TTL        time.Duration // 0: MinTTL
	Policy     string        // a session policy, JSON, or ""
	ExternalID string        // as the role asks for it, or ""
	Region     string        // "us-east-1"
	Endpoint   string        // "": that of the region

	// Static hands out the keys themselves. It has to be said: they do not end.
	Static bool

	Transport http.RoundTripper
	Record    func(RoleEvent) // for the journal; may be nil
	Now       func() time.Time
}

// RoleEvent is one answer to a client.
type RoleEvent struct {
	Status  int
	Renewed bool      // STS was asked for this one
	Expires time.Time // zero where nothing was given out, or without end
	Reason  string    // why not; never holds a secret
}

type roleHandler struct {
	config RoleConfig

	mu   sync.Mutex
	last *question
}

// NewRole checks the configuration and returns the endpoint. Any path is its own.
func NewRole(c RoleConfig) (http.Handler, error) {
	if c.TTL == 0 {
		c.TTL = MinTTL
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Record == nil {
		c.Record = func(RoleEvent) {}
	}
	if err := checkRole(c); err != nil {
		return nil, fmt.Errorf("cloud credentials: %w", err)
	}
	if c.Endpoint == "" {
		c.Endpoint = RoleEndpoint(c.Region)
	}
	return &roleHandler{config: c}, nil
}

func checkRole(c RoleConfig) error {
	switch {
	case len(c.Phantom) < 16:
		return errors.New("the phantom is too short to keep anybody out")
	case c.Keys == nil:
		return errors.New("there is no source of keys")
	case c.Static && c.Role != "":
		return errors.New("static is for keys without a role")
	case c.Static:
		return nil
	case c.Role == "":
		return errors.New("there is no role: keys that do not end enter a sandbox only with static = true")
	case !strings.HasPrefix(c.Role, "arn:") || strings.Count(c.Role, ":") < 5 || !plain(c.Role):
		return fmt.Errorf("role %q is not an ARN", c.Role)
	case c.TTL < MinTTL || c.TTL > MaxTTL:
		return fmt.Errorf("ttl %s is not between %s and %s", c.TTL, MinTTL, MaxTTL)
	case c.Region == "" || strings.Trim(c.Region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return fmt.Errorf("region %q is not a region", c.Region)
	case c.Policy != "" && !json.Valid([]byte(c.Policy)):
		return errors.New("the session policy is not JSON")
	case c.Session == "" || len(c.Session) > 54 || strings.Trim(c.Session, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return fmt.Errorf("session %q cannot be part of a session name", c.Session)
	case c.Transport == nil:
		return errors.New("there is no transport")
	}
	return nil
}

func (h *roleHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines := r.Header.Values("Authorization")
	switch {
	case r.Method != http.MethodGet:
		h.refuse(w, http.StatusMethodNotAllowed, onlyGET, onlyGET)
		return
	case len(lines) != 1 || subtle.ConstantTimeCompare([]byte(lines[0]), []byte(h.config.Phantom)) != 1:
		h.refuse(w, http.StatusUnauthorized, notOurs, notOurs)
		return
	}
	c, renewed, err := h.credentials(r.Context())
	if err != nil {
		h.refuse(w, http.StatusBadGateway, told(err), err.Error())
		return
	}
	again := c.expires
	if again.IsZero() { // some clients take nothing that does not end
		again = h.config.Now().Add(MaxTTL)
	}
	answer := map[string]string{
		"AccessKeyId": c.id, "SecretAccessKey": c.secret, "Token": c.token,
		"Expiration": again.UTC().Format("2006-01-02T15:04:05Z"), "RoleArn": h.config.Role,
	}
	h.config.Record(RoleEvent{Status: http.StatusOK, Renewed: renewed, Expires: c.expires})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(answer) // the client is gone: nobody to tell
}

const (
	onlyGET = "only GET is taken"
	notOurs = "the authorization is not that of this session"
)

// told is as much of an error as the inside may know: paths and addresses of the
// host are for the journal.
func told(err error) string {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return "the credentials cannot be had now: the journal of the session says why"
}

// refuse answers in the form that clients show.
func (h *roleHandler) refuse(w http.ResponseWriter, status int, message, reason string) {
	h.config.Record(RoleEvent{Status: status, Reason: reason})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "ringfence", "message": "ringfence: " + message})
}
