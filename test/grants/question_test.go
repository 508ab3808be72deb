package grants

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// question is what a person is asked at a plain terminal. Who wants it is not always known
// at once.
var question = regexp.MustCompile(`ringfence: ` + regexp.QuoteMeta(public) + ` is wanted( by "` + hand.Puppet + `")?, and no rule allows it
  [a-z0-9.:-]+: o once, s this session, a always for this project, n no \(in 30 s\): `)

// isAsked waits for the question.
func isAsked(t *testing.T, s *hand.Session) {
	t.Helper()
	wait.Eventually(t, "the question", func() bool { return question.MatchString(strings.ReplaceAll(s.Screen(), "\r\n", "\n")) })
}

// asked begins a session in which a person is asked about the public host.
func asked(t *testing.T, w *world.World) (s *hand.Session, due <-chan order.Answer) {
	t.Helper()
	s = hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	due = s.Begin(order.Order{Do: "get", At: "http://" + public + "/"})
	isAsked(t, s)
	s.Type("\x1b[0n") // as a terminal answers that it has shown it
	return s, due
}

// TestQuestion: each answer does what it says, at once.
func TestQuestion(t *testing.T) {
	for _, c := range []struct {
		name, typed, said string
		status            int
		grants, kept      bool
	}{
		{"once", "o\r", public + " is allowed once", 200, true, false},
		{"this session", "s\r", public + " is allowed for this session", 200, true, false},
		{"always", "a\ry\r", public + " is allowed, and kept for this project", 200, true, true},
		{"always, and not sure", "a\r\r", public + " is refused", 403, false, false},
		{"no", "n\r", public + " is refused", 403, false, false},
		{"nothing", "\r", public + " is refused", 403, false, false},
		{"corrected", "s\x7fn\r", public + " is refused", 403, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s, due := asked(t, w)
			began := time.Now()
			s.Type(c.typed)
			if a := s.Wait(due); a.Status != c.status {
				t.Errorf("the one that waited: %+v", a)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			wait.Eventually(t, "what became of it", func() bool { return strings.Contains(s.Screen(), "ringfence: "+c.said) })
			if got := len(s.Status().Grants) > 0; got != c.grants {
				t.Errorf("grants: %+v", s.Status().Grants)
			}
			files := kept(t, w)
			if got := len(files) > 0; got != c.kept {
				t.Errorf("kept: %q", files)
			}
			line := regexp.MustCompile(`(?m)^  "` + regexp.QuoteMeta(public) + `",  # \d{4}-\d\d-\d\d asked in session ` + s.ID + `, wanted( by "` + hand.Puppet + `")?$`)
			for name, text := range files {
				if !strings.HasPrefix(name, "projects/") || !line.MatchString(text) {
					t.Errorf("%s holds:\n%s", name, text)
				}
			}
		})
	}
}

// TestQuestionIsNotTyped: what is no answer goes to the program, and neither reports of the
// terminal nor what was typed before the question was shown are answers.
func TestQuestionIsNotTyped(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	due := s.Begin(order.Order{Do: "get", At: "http://" + public + "/"})
	isAsked(t, s)
	if a := s.Do(order.Order{Do: "look", At: world.Other}); a.Error != "no such host" {
		t.Errorf("typed before the terminal has answered: %+v", a)
	}
	s.Type("\x1b[0n")
	for _, report := range []string{"\x1b[s", "\x1b[1;1s", "\x1b]11;rgb:a/s/o\x1b\\", "\x1bOs", "\x1b[?1;2c", "\x1b]0;s\x07"} {
		s.Type(report)
	}
	if p, ok := waits(s, public, 80); !ok || len(s.Status().Grants) > 0 {
		t.Fatalf("it was answered: %+v, %+v", p, s.Status().Grants)
	}
	s.Type("s\r")
	if a := s.Wait(due); a.Status != 200 {
		t.Errorf("after the answer: %+v", a)
	}
}

// TestQuestionsAreBounded: a domain that was turned down is not asked about again, and a
// grant from elsewhere closes the question.
func TestQuestionsAreBounded(t *testing.T) {
	w := world.New(t)
	s, due := asked(t, w)
	s.Type("n\r")
	s.Wait(due)
	for _, host := range []string{"a." + public, "b." + public} {
		if a := s.Do(order.Order{Do: "get", At: "http://" + host + "/"}); a.Status != 403 || strings.Contains(s.Screen(), "ringfence: "+host+" is wanted") {
			t.Errorf("%s: %+v", host, a)
		}
	}
	late := s.Begin(order.Order{Do: "get", At: "http://other.example.org/"})
	wait.Eventually(t, "a question about another domain", func() bool { return strings.Contains(s.Screen(), "ringfence: other.example.org is wanted") })
	s.Grant("--host", "other.example.org")
	s.Wait(late)
	if !slices.ContainsFunc(s.Status().Grants, func(g control.Grant) bool { return g.Rule == "other.example.org" }) {
		t.Errorf("grants: %+v", s.Status().Grants)
	}
}
