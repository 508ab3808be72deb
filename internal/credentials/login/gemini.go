package login

import "time"

// geminiEndpoint is where Gemini CLI renews a login by Google. What stands in the
// place of a client secret is published with the program: for an installed
// application it is none.
var geminiEndpoint = &Endpoint{
	URL:          "https://oauth2.googleapis.com/token",
	ClientID:     "681255809395-oo8ft2oprdrnp9e3aqf6av3hmdib135j.apps.googleusercontent.com",
	ClientSecret: "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",
	Form:         true,
}

// geminiFormat is ~/.gemini/oauth_creds.json. The client locks nothing.
var geminiFormat = format{
	endpoint: geminiEndpoint,
	again:    "log in again: run gemini and choose to sign in with Google",
	read: func(d *document) (grant, error) {
		if d.root.Get("access_token") == nil && d.root.Get("refresh_token") == nil {
			return grant{}, errNone
		}
		f := fields{d: d}
		g := grant{kind: OAuth, access: f.str("access_token"), refresh: f.str("refresh_token"), id: f.str("id_token"),
			expires: f.millis("expiry_date")}
		return g, f.err
	},
	edits: func(_ *document, g grant, _ time.Time) []edit {
		edits := set(nil, g.access, "access_token")
		edits = set(edits, g.refresh, "refresh_token")
		edits = set(edits, g.id, "id_token")
		return append(edits, edit{[]string{"expiry_date"}, g.expires.UnixMilli()})
	},
}
