package login

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestPhantom(t *testing.T) {
	for _, value := range []string{"sk-ant-oat01-" + strings.Repeat("s", 90), "sk-proj-" + strings.Repeat("s", 40), "ya29.ssss", "unknown-token-of-somebody", accessOf(1)} {
		token := Token{value: &value, Kind: OAuth, Expires: future, Plan: "plus"}
		one, two := Phantom(token), Phantom(token)
		if one == two || strings.Contains(one, "ssss") || sendable(one, "phantom") != nil || len(one) < minRandom {
			t.Error(value, one, two)
		}
		for _, p := range prefixes[:2] {
			if strings.HasPrefix(value, p) && (!strings.HasPrefix(one, p) || len(one) != len(value)) {
				t.Error(one)
			}
		}
	}
	access := accessOf(1)
	c := readClaims(Phantom(Token{value: &access, Expires: future, Plan: "plus", Account: "acct"}))
	if !c.expires().Equal(future) || c.Auth.Plan != "plus" || c.Auth.Account != phantomAccount {
		t.Error(c)
	}
}

// TestFile: the file inside reads as the host's does, around the phantom.
func TestFile(t *testing.T) {
	for _, a := range []Agent{Claude, Codex, Opencode} {
		sc := newScene(t, a, future)
		real := mustToken(t, sc.open(t))
		phantom := Phantom(real)
		text, err := File(a, sc.c.Provider, real, phantom, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{real.Value(), "refresh-0", `"acct"`} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: %s holds %s", a, text, secret)
			}
		}
		sc.put(t, string(text))
		got := mustToken(t, sc.open(t))
		if got.Value() != phantom || a != Opencode && !got.Expires.Equal(real.Expires) || a != Opencode && got.Plan != real.Plan {
			t.Errorf("%s: %+v", a, text)
		}
		if a == Claude && strings.Contains(string(text), "refreshToken") {
			t.Error("with an empty one the client counts itself as logged out")
		}
	}
	text, err := File(Codex, "", Token{Kind: APIKey}, "sk-phantom", time.Now())
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), "sk-phantom") {
		t.Error(string(text), err)
	}
	if _, err := File(Gemini, "", Token{Kind: OAuth}, "x", time.Now()); err == nil {
		t.Error("a file for Gemini CLI")
	}
}
