package login

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file/settings"
)

// codexEndpoint is where Codex renews a login by ChatGPT.
var codexEndpoint = &Endpoint{URL: "https://auth.openai.com/oauth/token", ClientID: "app_EMoamEEZ73f0CkXaXp7hrann"}

// codexFormat is auth.json: an API key or the tokens of ChatGPT. The client locks a
// file beside it while it writes, in place, and not yet while it asks.
var codexFormat = format{
	endpoint: codexEndpoint,
	again:    "log in again: run codex login",
	read:     readCodex,
	edits: func(_ *document, g grant, now time.Time) []edit {
		edits := set(nil, g.access, "tokens", "access_token")
		edits = set(edits, g.refresh, "tokens", "refresh_token")
		edits = set(edits, g.id, "tokens", "id_token")
		return append(edits, edit{[]string{"last_refresh"}, now.UTC().Format(time.RFC3339Nano)})
	},
	saving: func(path string) string { return filepath.Join(filepath.Dir(path), "auth.lock") },
}

// readCodex goes by auth_mode; without one a key comes first, as with the client.
func readCodex(d *document) (grant, error) {
	f := fields{d: d}
	mode, key := f.str("auth_mode"), f.str("OPENAI_API_KEY")
	if mode == "" && key != "" {
		mode = "apikey"
	}
	if f.err != nil {
		return grant{}, f.err
	}
	switch strings.ToLower(mode) {
	case "apikey":
		if key == "" {
			return grant{}, errNone
		}
		return grant{kind: APIKey, access: key}, nil
	case "", "chatgpt":
	default:
		return grant{}, errors.New("auth_mode is not one that is known")
	}
	if n := d.root.Get("tokens"); n == nil || n.Kind != settings.Object {
		return grant{}, errNone
	}
	g := grant{kind: OAuth, access: f.str("tokens", "access_token"), refresh: f.str("tokens", "refresh_token"),
		id: f.str("tokens", "id_token"), account: f.str("tokens", "account_id")}
	claims := readClaims(g.access)
	g.expires, g.plan = claims.expires(), claims.Auth.Plan
	if id := readClaims(g.id); g.plan == "" {
		g.plan = id.Auth.Plan
	}
	if g.account == "" {
		g.account = claims.Auth.Account
	}
	return g, f.err
}

// claims is what is read of a token in the form of RFC 7519. Nobody checked its
// signature: it says when to renew, nothing else depends on it.
type claims struct {
	Exp  float64     `json:"exp"`
	Auth claimedPlan `json:"https://api.openai.com/auth"`
}

type claimedPlan struct {
	Plan    string `json:"chatgpt_plan_type,omitempty"`
	Account string `json:"chatgpt_account_id,omitempty"`
}

// readClaims returns nothing for what is no such token.
func readClaims(token string) claims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return claims{}
	}
	var c claims
	if err := json.Unmarshal(text, &c); err != nil || sendable(c.Auth.Plan, "plan") != nil || sendable(c.Auth.Account, "account") != nil {
		return claims{}
	}
	return c
}

func (c claims) expires() time.Time {
	if c.Exp <= 0 || c.Exp > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(c.Exp), 0)
}
