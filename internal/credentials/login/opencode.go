package login

import (
	"fmt"
	"time"
)

// opencodeFormat is one entry of opencode's auth.json. It renews with the servers of
// the vendors; the login of a provider that is not here is used until it ends.
func opencodeFormat(provider string) format {
	endpoints := map[string]*Endpoint{
		"anthropic": claudeEndpoint,
		"openai":    {URL: codexEndpoint.URL, ClientID: codexEndpoint.ClientID, Form: true},
	}
	return format{
		endpoint: endpoints[provider],
		again:    "log in again: run opencode auth login",
		read:     func(d *document) (grant, error) { return readOpencode(d, provider) },
		edits: func(_ *document, g grant, _ time.Time) []edit {
			edits := set(nil, g.access, provider, "access")
			edits = set(edits, g.refresh, provider, "refresh")
			return append(edits, edit{[]string{provider, "expires"}, g.expires.UnixMilli()})
		},
	}
}

func readOpencode(d *document, provider string) (grant, error) {
	if d.root.Get(provider) == nil {
		return grant{}, errNone
	}
	f := fields{d: d}
	var g grant
	switch kind := f.str(provider, "type"); {
	case f.err != nil:
	case kind == "api":
		g = grant{kind: APIKey, access: f.str(provider, "key")}
	case kind == "oauth":
		g = grant{kind: OAuth, access: f.str(provider, "access"), refresh: f.str(provider, "refresh"),
			expires: f.millis(provider, "expires"), account: f.str(provider, "accountId")}
	default:
		return grant{}, fmt.Errorf("the type of %q is not one that is known", provider)
	}
	return g, f.err
}
