package supervisor

import (
	"testing"
)

// TestLockedKeepsTheModelOfALogin: a login leads to other hosts than a key, and is renewed at
// a third. A session that is locked while it runs still reaches them, as one that began so.
func TestLockedKeepsTheModelOfALogin(t *testing.T) {
	s := newStand(t)
	s.put(".claude/.credentials.json", `{"claudeAiOauth": {"accessToken": "sk-ant-oat01-`+realMark+`-0123456789", "refreshToken": "sk-ant-ort01-`+realMark+`-9876543210", "expiresAt": 4102444800000, "scopes": ["user:inference"]}}`)
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	before := map[string]bool{}
	for _, e := range l.session.Reach.Allow {
		before[e.Text] = true
	}
	if _, err := l.Tighten(Less{Mode: "locked", By: "test", Alone: true}); err != nil {
		t.Fatal(err)
	}
	after := map[string]bool{}
	for _, e := range l.current().Reach.Allow {
		after[e.Text] = true
	}
	models := 0
	for _, h := range l.session.Brokered.Hosts {
		if name := string(h.Name); h.Model && before[name] {
			if models++; !after[name] {
				t.Errorf("%s is closed", name)
			}
		}
	}
	if models < 2 {
		t.Errorf("%d hosts of the model: %v", models, before)
	}
	if len(after) >= len(before) {
		t.Errorf("nothing was closed: %v", after)
	}
}
