package sessions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// TestStoppedSessionIsInReach: an agent that stops its own job, and with it the session's
// process, is still told of, and can be ended.
func TestStoppedSessionIsInReach(t *testing.T) {
	w := newWorld(t)
	d := w.scripted()
	wait.Eventually(w.t, "a prompt", func() bool { return strings.Contains(d.screen(), "P1>") })
	d.types(fmt.Sprintf("%s run --net none --yes --name %s -- sh -c 'echo rea''dy; read x; kill -TSTP $$; sleep 1000'\r", stage.Ringfence, w.pasted()))
	// Who stops as its first act is let go on: the terminal may just have become its own.
	wait.Eventually(w.t, "the agent", func() bool { return strings.Contains(d.screen(), "ready") })
	d.types("\r")
	wait.Eventually(w.t, "the shell", func() bool { return strings.Contains(d.screen(), "Stopped") })
	list := w.ps()
	if len(list) != 1 || list[0].State != "stopped" || list[0].Name != w.pasted() {
		t.Errorf("ps tells of %+v", list)
	}
	for _, name := range []string{w.pasted(), list[0].Session} {
		told, talk, status := w.try("status", name)
		if status != 0 || !strings.HasPrefix(told, list[0].Session+" "+w.pasted()+" · command · stopped\n") || !strings.Contains(told, "ringfence stop "+list[0].Session) {
			t.Errorf("status %d: %s%s", status, told, talk)
		}
		var all session
		if err := json.Unmarshal([]byte(w.must("status", name, "--json")), &all); err != nil || all.State != "stopped" || all.Session != list[0].Session {
			t.Errorf("status --json tells of %+v, %v", all, err)
		}
	}
	w.must("stop", "--time", "0", w.pasted())
	if list := w.ps(); len(list) > 0 {
		t.Errorf("ps tells of %+v after the end", list)
	}
}

// TestEverySessionIsListed: `ps -a` has those that left nothing too, and not those that
// somebody removed.
func TestEverySessionIsListed(t *testing.T) {
	w := newWorld(t)
	w.try("run", "--net", "none", "--name", "nothing", "--", "sh", "-c", "exit 3")
	w.must("run", "--net", "none", "--name", "something", "--", "sh", "-c", "echo x >new")
	list := w.ps("-a")
	if len(list) != 2 || list[0].Name != "something" || list[0].State != "ended" || list[1].Name != "nothing" || list[1].State != "ended" || list[0].Bare || !list[1].Bare || list[1].Exit == nil || *list[1].Exit != 3 {
		t.Errorf("ps -a tells of %+v", list)
	}
	w.must("rm", "something")
	if list := w.ps("-a"); len(list) != 1 || list[0].Name != "nothing" {
		t.Errorf("ps -a after rm tells of %+v", list)
	}
	w.must("log", "verify")
}

// TestPublishedPorts: `ps` says where a server inside is reached.
func TestPublishedPorts(t *testing.T) {
	w := newWorld(t)
	w.must("run", "-d", "--name", "plain", "--", "sleep", "1000")
	if told := w.must("ps"); strings.Contains(told, "PORTS") {
		t.Errorf("nothing is published:\n%s", told)
	}
	w.must("run", "-d", "--name", "serves", "--publish", "34571:3000", "--publish", "34572", "--", "sleep", "1000")
	if told := w.must("ps"); !strings.Contains(told, " PORTS ") || !strings.Contains(told, "34571→3000 ") || !strings.Contains(told, " 34572") {
		t.Errorf("ps tells:\n%s", told)
	}
}
