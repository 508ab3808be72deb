package modelapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Kind is what a secret is to its API.
type Kind string

// The kinds of secrets.
const (
	Key     Kind = "key"     // an API key
	Token   Kind = "token"   // a bearer token, such as one for a gateway
	OAuth   Kind = "oauth"   // the access token of a login
	ChatGPT Kind = "chatgpt" // the same for ChatGPT, which goes with an account
)

// Takes reports whether a credential of this kind opens what the rule is about:
// a login and an API key of one vendor have different hosts and different paths.
func (r Rule) Takes(kind Kind) bool {
	switch r.Host {
	case hostAnthropic:
		return kind == Key || kind == Token || kind == OAuth
	case hostOpenAI:
		return kind == Key || kind == Token
	case hostChatGPT:
		return kind == ChatGPT
	case hostGemini:
		return kind == Key || kind == Token || kind == OAuth
	case hostAssist:
		return kind == OAuth
	}
	return false
}

// carriers are the headers in which a client presents a credential to one API or
// another. All count for each: what is meant for somebody else is not passed on.
var carriers = []string{
	"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie",
	"Ocp-Apim-Subscription-Key", "X-Amz-Security-Token", "X-Goog-Iam-Authorization-Token", "X-Openai-Actor-Authorization",
}

// owners say whose credential it is. They are no secrets, and they are not for a
// client to choose.
var owners = []string{
	"Chatgpt-Account-Id", "Openai-Organization", "Openai-Project", "X-Goog-User-Project", "X-Organization-Uuid",
	"Anthropic-Workspace-Id", "X-Openai-Account-Routing-Override", "X-Openai-Agent-Assertion",
}

// parameters are carriers in a query.
var parameters = []string{"key", "access_token", "oauth_token", "api_key", "api-key", "apikey", "token"}

// Strip takes out of a request whatever can carry a credential.
func (a API) Strip(h http.Header, q url.Values) {
	for _, list := range [][]string{carriers, owners} {
		for _, name := range list {
			h.Del(name)
		}
	}
	for _, name := range parameters {
		q.Del(name)
	}
}

// Credential finds the one credential that a request presents, without the word
// Bearer, and the header or parameter that it stands in. "" if there is none;
// many if there is more than one, and then neither is told.
func (a API) Credential(h http.Header, q url.Values) (value, where string, many bool) {
	found := 0
	take := func(name string, values []string) {
		for _, v := range values {
			found++
			value, where = v, name
		}
	}
	for _, name := range carriers {
		take(name, h.Values(name))
	}
	for _, name := range parameters {
		take(name, q[name])
	}
	if found > 1 {
		return "", "", true
	}
	if where == "Authorization" {
		if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "Bearer") {
			value = rest
		}
	}
	return value, where, false
}

// betaOAuth has to be in anthropic-beta for a login.
const betaOAuth = "oauth-2025-04-20"

// errValue does not say what the value is.
var errValue = errors.New("put credential: a value that no header can carry")

// Put puts the real credential into a request, and takes out any other. account
// is the one of a ChatGPT login, "" for other kinds.
func (a API) Put(h http.Header, kind Kind, value, account string) error {
	a.Strip(h, nil)
	if !carriable(value) || kind == ChatGPT && !carriable(account) {
		return errValue
	}
	switch {
	case kind == Key && a == Anthropic:
		h.Set("X-Api-Key", value)
	case kind == Key && a == Gemini:
		h.Set("X-Goog-Api-Key", value)
	case kind == Token, kind == Key && a == OpenAI, kind == OAuth && a != OpenAI, kind == ChatGPT && a == OpenAI:
		h.Set("Authorization", "Bearer "+value)
	default:
		return fmt.Errorf("put credential: %s has none of kind %s", a, kind)
	}
	if kind == ChatGPT {
		h.Set("Chatgpt-Account-Id", account)
	}
	if kind == OAuth && a == Anthropic {
		addBeta(h, betaOAuth)
	}
	return nil
}

// addBeta keeps what is there, in one header.
func addBeta(h http.Header, value string) {
	all := split(h["Anthropic-Beta"])
	for _, b := range all {
		if b == value {
			return
		}
	}
	h.Set("Anthropic-Beta", strings.Join(append(all, value), ","))
}

// carriable reports whether a value is one word of visible ASCII.
func carriable(value string) bool {
	for i := range len(value) {
		if value[i] <= ' ' || value[i] > '~' {
			return false
		}
	}
	return value != ""
}
