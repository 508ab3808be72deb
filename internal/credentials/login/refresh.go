package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Endpoint is a server that renews tokens, and what it wants to be told.
type Endpoint struct {
	URL          string
	ClientID     string
	ClientSecret string   // of an installed application: published, and no secret
	Form         bool     // the request is a form and not JSON
	Scopes       []string // asked for each time; empty: the server keeps what it gave
	Extra        []string // asked for as well by a login that has them
}

const (
	maxAnswer = 1 << 20
	maxLife   = 10 * 365 * 24 * 60 * 60 // seconds
	oneTry    = 30 * time.Second
)

// errAway is in the chain of an error that may pass: nobody there, no time, 5xx.
var errAway = errors.New("the server that renews it did not answer")

// refusal is an answer that will not change by asking again.
type refusal struct {
	status int
	code   string // the server's word for it, or ours for an answer that is none
}

func (r *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server that renews it answered %d %s", r.status, r.code))
}

// final holds when the refresh token itself was refused.
func (r *refusal) final() bool {
	return slices.Contains([]string{"invalid_grant", "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated"}, r.code)
}

// ask sends one request for a new token. Its errors are errAway or a refusal.
func (e *Endpoint) ask(ctx context.Context, via http.RoundTripper, g grant) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	req, err := e.request(ctx, g)
	if err != nil {
		return answer{}, err
	}
	// The transport alone, so that no redirect carries the token elsewhere.
	res, err := via.RoundTrip(req)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errAway, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errAway, err)
	}
	switch {
	case res.StatusCode == http.StatusOK:
		a, err := readAnswer(body)
		if err != nil {
			return answer{}, &refusal{res.StatusCode, err.Error()}
		}
		return a, nil
	case res.StatusCode >= 500, res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusRequestTimeout:
		return answer{}, fmt.Errorf("%w: status %d", errAway, res.StatusCode)
	}
	return answer{}, &refusal{res.StatusCode, readCode(body)}
}

func (e *Endpoint) request(ctx context.Context, g grant) (*http.Request, error) {
	ask := map[string]string{"grant_type": "refresh_token", "refresh_token": g.refresh, "client_id": e.ClientID}
	if e.ClientSecret != "" {
		ask["client_secret"] = e.ClientSecret
	}
	if g.client != "" {
		ask["client_id"] = g.client
	}
	if scopes := e.scopes(g); len(scopes) > 0 {
		ask["scope"] = strings.Join(scopes, " ")
	}
	body, kind := []byte(nil), "application/json"
	if e.Form {
		form := url.Values{}
		for name, value := range ask {
			form.Set(name, value)
		}
		body, kind = []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else {
		var err error
		if body, err = json.Marshal(ask); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("renew at %q: %w", e.URL, err)
	}
	// A request that was sent may have used the token up: nobody sends it twice.
	req.GetBody = nil
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ringfence")
	return req, nil
}

// scopes are what is asked for. A login by another client keeps its own.
func (e *Endpoint) scopes(g grant) []string {
	if g.client != "" {
		return g.scopes
	}
	scopes := slices.Clone(e.Scopes)
	for _, s := range e.Extra {
		if slices.Contains(g.scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// answer is what was issued.
type answer struct {
	access, refresh, id string
	life                time.Duration // 0: not said
	scopes              []string
}

// readAnswer is strict about the tokens and quotes nothing. What else is not as it
// should be counts as not said: to refuse the answer is to lose the login.
func readAnswer(body []byte) (answer, error) {
	d, err := parseDocument(body)
	if err != nil {
		return answer{}, err
	}
	must, may := fields{d: d}, fields{d: d}
	a := answer{access: must.str("access_token"), refresh: must.str("refresh_token")}
	if must.err == nil && a.access == "" {
		must.err = errors.New("no access_token")
	}
	if must.err != nil {
		return answer{}, must.err
	}
	if a.id = may.str("id_token"); may.err != nil {
		a.id = ""
	}
	if scope, err := d.str("scope"); err == nil && sendable(scope, "scope") == nil {
		a.scopes = strings.Fields(scope)
	}
	if seconds, err := d.number("expires_in"); err == nil && seconds < maxLife {
		a.life = time.Duration(seconds) * time.Second
	}
	return a, nil
}

// readCode finds the server's word for a refusal: {"error": code} or
// {"error": {"code" or "type": code}}. A word that no server has is left out.
func readCode(body []byte) string {
	d, err := parseDocument(body)
	if err != nil {
		return ""
	}
	for _, path := range [][]string{{"error"}, {"error", "code"}, {"error", "type"}} {
		code, err := d.str(path...)
		if err == nil && code != "" && len(code) <= 64 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_0123456789") == "" {
			return code
		}
	}
	return ""
}

// renewed is the grant with what was issued.
func (g grant) renewed(a answer, now time.Time) grant {
	g.access = a.access
	if a.refresh != "" {
		g.refresh = a.refresh
	}
	if a.id != "" {
		g.id = a.id
	}
	if len(a.scopes) > 0 {
		g.scopes = a.scopes
	}
	switch claimed := readClaims(a.access).expires(); {
	case a.life > 0:
		g.expires = now.Add(a.life)
	case !claimed.IsZero():
		g.expires = claimed
	default:
		g.expires = now.Add(time.Hour)
	}
	return g
}
