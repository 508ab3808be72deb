package login

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// prefixes are what the vendors' tokens start with, longest first. A client looks at
// them; beyond a known one nothing of the real token is repeated.
var prefixes = []string{"sk-ant-oat01-", "sk-ant-api03-", "sk-proj-", "sk-ant-", "sk-svcacct-", "sk-", "ya29.", "AIza"}

// minRandom is how much of a phantom is chance at least, in characters.
const minRandom = 43

// Phantom makes what stands for a token inside: the same prefix, about the same
// length, all else by chance. One in three parts, as ChatGPT's, comes with the same
// end and plan and a signature of noise.
func Phantom(t Token) string {
	value := t.Value()
	if strings.HasPrefix(value, "eyJ") && strings.Count(value, ".") == 2 {
		return phantomClaims(t.Expires, t.Plan)
	}
	prefix := ""
	for _, p := range prefixes {
		if strings.HasPrefix(value, p) {
			prefix = p
			break
		}
	}
	return prefix + chance(min(max(len(value)-len(prefix), minRandom), 256))
}

// chance returns random letters and digits.
func chance(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, 0, n)
	for len(out) < n {
		var raw [64]byte
		rand.Read(raw[:])
		for _, b := range raw {
			if int(b) < 4*len(letters) && len(out) < n {
				out = append(out, letters[int(b)%len(letters)])
			}
		}
	}
	return string(out)
}

// phantomClaims makes a token in three parts. It names no person and no account.
func phantomClaims(expires time.Time, plan string) string {
	if expires.IsZero() {
		expires = time.Now().Add(24 * time.Hour)
	}
	body, err := json.Marshal(struct {
		Exp  int64       `json:"exp"`
		ID   string      `json:"jti"`
		Auth claimedPlan `json:"https://api.openai.com/auth"`
	}{expires.Unix(), chance(minRandom), claimedPlan{Plan: plan, Account: phantomAccount}})
	if err != nil {
		panic("login: claims: " + err.Error())
	}
	signature := make([]byte, 256)
	rand.Read(signature)
	e := base64.RawURLEncoding.EncodeToString
	return e([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + e(body) + "." + e(signature)
}

// phantomAccount stands for every account.
const phantomAccount = "00000000-0000-0000-0000-000000000000"

// File is the login file that an agent finds inside, around a phantom. It names no
// account and nothing that renews: the host does that. Gemini CLI asks Google about
// a file, and is told by its environment instead.
func File(a Agent, provider string, t Token, phantom string, now time.Time) ([]byte, error) {
	var v any
	switch {
	case a == Claude && t.Kind == OAuth:
		v = map[string]any{"claudeAiOauth": claudeFile{phantom, millis(t.Expires), t.Scopes, t.Plan, t.Tier}}
	case a == Codex && t.Kind == APIKey:
		v = map[string]any{"auth_mode": "apikey", "OPENAI_API_KEY": phantom}
	case a == Codex:
		v = map[string]any{"auth_mode": "chatgpt", "OPENAI_API_KEY": nil, "last_refresh": now.UTC().Format(time.RFC3339Nano),
			"tokens": map[string]any{"access_token": phantom, "id_token": phantomClaims(t.Expires, t.Plan), "refresh_token": "", "account_id": phantomAccount}}
	case a == Opencode && provider != "":
		v = map[string]any{provider: map[string]any{"type": "api", "key": phantom}}
	default:
		return nil, fmt.Errorf("no login file for %s with a token of kind %q", a, t.Kind)
	}
	return json.Marshal(v)
}

// claudeFile leaves refreshToken out: with none the client never renews, and with an
// empty one it counts itself as logged out.
type claudeFile struct {
	AccessToken      string   `json:"accessToken"`
	ExpiresAt        *int64   `json:"expiresAt"`
	Scopes           []string `json:"scopes"`
	SubscriptionType string   `json:"subscriptionType,omitempty"`
	RateLimitTier    string   `json:"rateLimitTier,omitempty"`
}

// millis is nil for a time that is not known: the client takes null for never.
func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMilli()
	return &n
}
