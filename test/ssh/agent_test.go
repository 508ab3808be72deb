package ssh

import (
	"crypto/rand"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// A person works with Claude Code on the other machine, in tmux: what is typed is shown, the
// model hears of it from here with the login of here, and a file that the agent writes comes
// back for review. How long a key takes to be shown is measured beside the native rung.
func TestClaude(t *testing.T) {
	const typed, answered = "please write the file", "that-is-all-from-me"
	for _, at := range []struct{ rung, way string }{{"native", "none"}, {"ssh:usual", "50 ms there and back"}} {
		w := newWorld(t)
		w.do("/usr/bin/git", "init", "-q", ".")
		key := "rf-real-" + rand.Text()
		w.put(filepath.Join(w.home, ".claude/.credentials.json"), `{"claudeAiOauth": {"accessToken": "`+key+`", "refreshToken": "`+key+`-again",
			"expiresAt": 4102444800000, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}`)
		m := model.New(typed, model.Turn{Calls: []model.Call{{Tool: "Write", Input: map[string]any{"file_path": w.project + "/made.txt", "content": "by the agent\n"}}}}, model.Turn{Text: answered})
		s := httptest.NewServer(m)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		w.extra = []string{"ANTHROPIC_BASE_URL=" + s.URL, "PATH=/srv/bin:" + agents + "/.bin:/usr/local/bin:/usr/bin:/bin"}
		began := time.Now()
		pane := screen.NewPane(t, stage.Work, w.command(stage.Ringfence, "claude", "--rung", at.rung, "--", "--dangerously-skip-permissions"), false)
		ready := wait.For(func() bool { return pane.Shows("bypass permissions on") || pane.Ended() })
		if !ready || pane.Ended() {
			t.Fatalf("%s: the prompt does not stand:\n%s", at.rung, pane.Screen())
		}
		stands := time.Since(began).Round(time.Millisecond)
		took := typing(t, pane, typed)
		t.Logf("%s (way: %s): the prompt stands after %v; a key is shown after %v in the middle, %v at most, of %d", at.rung, at.way, stands, took[len(took)/2], took[len(took)-1], len(took))
		pane.Do("send-keys", "Enter")
		wait.Eventually(t, "the answer of the model", func() bool { return pane.Shows(answered) })
		for _, q := range m.Requests() {
			if q.Turn >= 0 && !strings.Contains(q.Head.Get("Authorization")+q.Head.Get("X-Api-Key"), key) {
				t.Errorf("%s: the model is asked under another name", at.rung)
			}
		}
		if at.rung != "native" {
			absentThere(t, key)
		}
		pane.Do("send-keys", "C-c")
		pane.Do("send-keys", "C-c")
		wait.Eventually(t, "the end", func() bool { pane.Do("send-keys", "C-c"); return pane.Ended() })
		if d := w.ringfence("diff"); at.rung != "native" && !strings.Contains(d.out, "made.txt") {
			t.Errorf("%s: what the agent wrote is not in the review", at.rung)
		}
	}
}

// typing types a text, each key when the one before is shown, and says how long each took, in
// order of that. tmux is asked again and again, so some milliseconds are its own.
func typing(t *testing.T, pane *screen.Pane, text string) (took []time.Duration) {
	t.Helper()
	for i := range text {
		began := time.Now()
		pane.Do("send-keys", "-l", text[i:i+1])
		if text[i] == ' ' {
			continue // a screen does not tell
		}
		for !pane.Shows(text[:i+1]) { // each question is a program, and takes its time
			if time.Since(began) > wait.Patience {
				t.Fatalf("%q is not shown:\n%s", text[:i+1], pane.Screen())
			}
		}
		took = append(took, time.Since(began).Round(time.Millisecond))
	}
	slices.Sort(took)
	return took
}
