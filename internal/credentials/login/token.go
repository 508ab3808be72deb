package login

import (
	"fmt"
	"io"
	"time"
)

// Kind is what a token is to the API.
type Kind string

const (
	APIKey Kind = "api-key"
	OAuth  Kind = "oauth"
)

// Token is a credential of the host. No way of printing it shows its value.
type Token struct {
	value *string // behind a pointer: fmt prints the fields of a field without asking it

	Kind    Kind
	Expires time.Time // zero: not known, or never
	Account string    // what ChatGPT wants named beside the token
	Plan    string    // the subscription: "max", "plus"
	Tier    string    // Claude's limit of use
	Scopes  []string
}

// Value is the secret itself.
func (t Token) Value() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// Format shows what a token is and not its value, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { io.WriteString(f, "token("+string(t.Kind)+")") }

// grant is what a login holds: a token and what renews it.
type grant struct {
	kind    Kind
	access  string
	refresh string
	id      string // an identity token, where there is one
	expires time.Time
	account string
	plan    string
	tier    string
	scopes  []string
	client  string // the client id, when it is not the usual one
}

// Format keeps a grant out of every message.
func (g grant) Format(f fmt.State, _ rune) { io.WriteString(f, "grant("+string(g.kind)+")") }

func (g grant) token() Token {
	return Token{value: &g.access, Kind: g.kind, Expires: g.expires, Account: g.account, Plan: g.plan, Tier: g.tier, Scopes: g.scopes}
}
