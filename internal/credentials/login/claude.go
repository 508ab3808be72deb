package login

import (
	"path/filepath"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/file/settings"
)

// claudeEndpoint is where Claude Code renews.
var claudeEndpoint = &Endpoint{
	URL:      "https://platform.claude.com/v1/oauth/token",
	ClientID: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
	Extra:    []string{"user:design:read", "user:design:write", "user:projects:read", "user:projects:write"},
	Scopes:   []string{"user:profile", "user:inference", "user:sessions:claude_code", "user:mcp_servers", "user:file_upload"},
}

// claudeFormat is ~/.claude/.credentials.json. The client locks by making two
// directories, and counts one that nobody touched for ten seconds as left behind.
var claudeFormat = format{
	endpoint: claudeEndpoint,
	again:    "log in again: run claude and /login",
	read: func(d *document) (grant, error) {
		const top = "claudeAiOauth"
		if n := d.root.Get(top); n == nil || n.Kind != settings.Object {
			return grant{}, errNone
		}
		f := fields{d: d}
		g := grant{kind: OAuth,
			access: f.str(top, "accessToken"), refresh: f.str(top, "refreshToken"), expires: f.millis(top, "expiresAt"),
			plan: f.str(top, "subscriptionType"), tier: f.str(top, "rateLimitTier"), scopes: f.strs(top, "scopes"),
			client: f.str(top, "clientId")}
		return g, f.err
	},
	edits: func(d *document, g grant, _ time.Time) []edit {
		const top = "claudeAiOauth"
		edits := set(nil, g.access, top, "accessToken")
		edits = set(edits, g.refresh, top, "refreshToken")
		edits = append(edits, edit{[]string{top, "expiresAt"}, g.expires.UnixMilli()})
		if had, err := d.strs(top, "scopes"); err != nil || !slices.Equal(had, g.scopes) {
			edits = append(edits, edit{[]string{top, "scopes"}, g.scopes})
		}
		return edits
	},
	asking: func(path string) []string {
		dir := filepath.Dir(path)
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir
		}
		return []string{filepath.Join(dir, ".oauth_refresh.lock"), real + ".lock"}
	},
}
