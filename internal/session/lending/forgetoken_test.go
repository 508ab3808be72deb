package lending

import "testing"

// Logins of the forges' own clients count for the host that they stand under, not for a
// user's name or another key that is spelt like a host.
func TestHasHost(t *testing.T) {
	const gh = "github.com:\n    users:\n        alice.test:\n            oauth_token: x\n    user: alice.test\nghe.test:\n    user: bob\n"
	const glab = "git_protocol: ssh\nhosts:\n    gitlab.com:\n        token: x\n        container.test:\n    lab.test:\n        token: y\nother:\n    evil.test:\n"
	for _, c := range []struct {
		text, below, host string
		want              bool
	}{
		{gh, "", "github.com", true}, {gh, "", "ghe.test", true}, {gh, "", "users", false}, {gh, "", "alice.test", false}, {gh, "", "user", false}, {gh, "", "hub.com", false},
		{glab, "hosts", "gitlab.com", true}, {glab, "hosts", "lab.test", true}, {glab, "hosts", "container.test", false}, {glab, "hosts", "evil.test", false},
		{glab, "hosts", "hosts", false}, {glab, "hosts", "token", false},
	} {
		if got := hasHost([]byte(c.text), c.below, c.host); got != c.want {
			t.Errorf("%s below %q: %v", c.host, c.below, got)
		}
	}
}
