package phantom

import (
	"regexp"
	"testing"
)

// TestWhereReadersDisagreed: YAML, lists in brackets and assignments had readers of their
// own. Where they took the same text for different things, this says which was right. W is
// a value that was replaced.
func TestWhereReadersDisagreed(t *testing.T) {
	for _, c := range []struct{ rel, text, want string }{
		{"secrets.yml", "password: ''\nb: 'x'\n", "password: ''\nb: 'x'\n"},                                                // nothing was taken for a secret
		{"secrets.yml", "a: {k: 'it''s s3cret', n: 1}\n", "a: {k: 'W', n: 1}\n"},                                           // two quotes are one, in brackets too
		{"secrets.yml", "a: 'two\n  l1nes''of it'\nb: 1\n", "a: 'W'\nb: 1\n"},                                              // and on the second line
		{"secrets.yml", "a: [one1two2three3, # why\n  \"four4five5six6\"]\n", "a: [W, # why\n  \"W\"]\n"},                  // lines stay lines
		{"secrets.yml", "a: [correct\n  horse, x]\n", "a: [W, x]\n"},                                                       // a text goes on after the end of a line
		{"secrets.yml", "secrets:\n# why\n  a: plainword\n", "secrets:\n# why\n  a: W\n"},                                  // a comment ends no map
		{"a.tfvars", "a = [\"aa11bb22cc33\", // why\n  \"dd44ee55ff66\"]\n", "a = [\"W\", // why\n  \"W\"]\n"},             // a list may begin on its first line
		{"a.tfvars", "secrets = {\n  # why\n  a = \"plainword\"\n}\n", "secrets = {\n  # why\n  a = \"W\"\n}\n"},           // what is below a secret is one
		{"secrets.toml", "a = { b = 'it', token = 'plainword' }\n", "a = { b = 'it', token = 'W' }\n"},                     // as it was written
		{"a.ini", "user = admin ; who\npassword = a b c ; who\n", "user = admin ; who\npassword = W\n"},                    // to others that is the password
		{".env", "A=a1b2c3d4e5\\\n  f6g7h8i9j0\nB='x y1z2' # why\n", "A=W\nB='W' # why\n"},                                 // a value goes on
		{"a.json", `{"a\u0062": "x\u0041", "n": [1, {"secret": "plainword"}]}`, `{"ab": "xA", "n": [1, {"secret": "W"}]}`}, // what it says counts
	} {
		out, _ := mustPhantom(t, c.rel, c.text)
		form := regexp.MustCompile("^" + regexp.MustCompile("W").ReplaceAllString(regexp.QuoteMeta(c.want), "[a-zA-Z0-9]{8,}") + "$")
		if !form.MatchString(out) {
			t.Errorf("%s: %q became %q, want %q", c.rel, c.text, out, c.want)
		}
	}
}
