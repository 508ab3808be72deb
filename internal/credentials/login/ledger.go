package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ringfence.dev/ringfence/internal/file"
)

// ledger is what the processes of this host tell each other about a login. It is
// read and written under the lock.
type ledger struct {
	Refused string    `json:"refused,omitempty"` // fingerprint of a refresh token that the server refused
	Until   time.Time `json:"until,omitzero"`    // how long it is not asked again; zero: for good
	Renewed time.Time `json:"renewed,omitzero"`  // when a token was last issued
	Rescue  *rescue   `json:"rescue,omitempty"`
}

// rescue is what was issued and is not in the client's file yet.
type rescue struct {
	For     string    `json:"for"` // fingerprint of the refresh token that was used for it
	Access  string    `json:"access"`
	Refresh string    `json:"refresh"`
	ID      string    `json:"id,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"`
}

// String keeps it out of every message.
func (*rescue) String() string { return "rescue" }

func (l *Login) ledgerPath() string { return filepath.Join(l.c.State, l.name+".json") }

// readLedger takes a ledger that cannot be read for an empty one: it is a help, and
// the client's file is what counts.
func (l *Login) readLedger() ledger {
	text, err := os.ReadFile(l.ledgerPath())
	var led ledger
	if err == nil {
		if err = json.Unmarshal(text, &led); err != nil {
			// The text of the error could quote a token.
			err, led = errors.New("not JSON"), ledger{}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.c.Warn(fmt.Errorf("read ledger %s: %w", l.ledgerPath(), err))
	}
	return led
}

func (l *Login) writeLedger(led ledger) error {
	text, err := json.Marshal(led)
	if err != nil {
		return err
	}
	if err := file.Replace(l.ledgerPath(), text, 0o600); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// keepRescue writes down what was just issued.
func (led *ledger) keepRescue(used string, g grant) {
	led.Rescue = &rescue{For: fingerprint(used), Access: g.access, Refresh: g.refresh, ID: g.id, Expires: g.expires, Scopes: g.scopes}
}

// rescued returns the grant of the file with what was issued since. That counts if
// the file still holds the token that was used for it, or none: a client that finds
// its token used up may empty it. Any other token is a newer login.
func (led *ledger) rescued(g grant) (grant, bool) {
	r := led.Rescue
	if r == nil || g.kind != OAuth || g.refresh != "" && fingerprint(g.refresh) != r.For {
		return g, false
	}
	g.access, g.refresh, g.expires = r.Access, r.Refresh, r.Expires
	if r.ID != "" {
		g.id = r.ID
	}
	if len(r.Scopes) > 0 {
		g.scopes = r.Scopes
	}
	return g, true
}
