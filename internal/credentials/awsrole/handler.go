package awsrole

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

// The life that credentials may have.
const (
	MinTTL = 15 * time.Minute
	MaxTTL = time.Hour
)

// Config says which credentials a session gets.
type Config struct {
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
	Record    func(Event) // for the journal; may be nil
	Now       func() time.Time
}

// Event is one answer to a client.
type Event struct {
	Status  int
	Renewed bool      // STS was asked for this one
	Expires time.Time // zero where nothing was given out, or without end
	Reason  string    // why not; never holds a secret
}

type handler struct {
	config Config

	mu   sync.Mutex
	last *question
}

// New checks the configuration and returns the endpoint. Any path is its own.
func New(c Config) (http.Handler, error) {
	if c.TTL == 0 {
		c.TTL = MinTTL
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Record == nil {
		c.Record = func(Event) {}
	}
	if err := check(c); err != nil {
		return nil, fmt.Errorf("cloud credentials: %w", err)
	}
	if c.Endpoint == "" {
		c.Endpoint = Endpoint(c.Region)
	}
	return &handler{config: c}, nil
}

func check(c Config) error {
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

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	h.config.Record(Event{Status: http.StatusOK, Renewed: renewed, Expires: c.expires})
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
func (h *handler) refuse(w http.ResponseWriter, status int, message, reason string) {
	h.config.Record(Event{Status: status, Reason: reason})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": "ringfence", "message": "ringfence: " + message})
}
