package login

import "testing"

func TestPeek(t *testing.T) {
	each(t, func(t *testing.T, a Agent) {
		sc := newScene(t, a, past)
		token, ok, err := sc.open(t).Peek(soon(t))
		if !ok || err != nil || token.Value() != inParts(past, 0) {
			t.Error(ok, err)
		}
		sc.put(t, `{"other":{}}`)
		if _, ok, err := sc.open(t).Peek(soon(t)); ok || err != nil {
			t.Error(ok, err)
		}
		sc.put(t, `{`)
		if _, ok, err := sc.open(t).Peek(soon(t)); ok || err == nil {
			t.Error(ok, err)
		}
		if asked, _ := sc.s.count(); asked != 0 {
			t.Error("the server was asked")
		}
	})
}

// TestServer: a login that nobody is known to renew is used until it ends.
func TestServer(t *testing.T) {
	for provider, want := range map[string]string{"openai": "auth.openai.com", "anthropic": "platform.claude.com", "github-copilot": ""} {
		sc := newScene(t, Opencode, future)
		sc.c.Provider, sc.c.Endpoint = provider, nil
		if got := sc.open(t).Server(); got != want {
			t.Errorf("%s: %q", provider, got)
		}
	}
	sc := newScene(t, Opencode, future)
	sc.c.Provider, sc.c.Endpoint = "github-copilot", nil
	sc.put(t, `{"github-copilot":{"type":"oauth","access":"a","refresh":"r","expires":0}}`)
	l := sc.open(t)
	token := mustToken(t, l)
	l.Stale(token)
	if _, err := l.Token(soon(t)); token.Value() != "a" || err == nil {
		t.Error(token.Value(), err)
	}
}
