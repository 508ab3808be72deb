package sessions

import (
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
	if _, talk, status := w.try("status", w.pasted()); status == 0 || !strings.Contains(talk, "is stopped") {
		t.Errorf("status %d: %s", status, talk)
	}
	w.must("stop", "--time", "0", w.pasted())
	if list := w.ps(); len(list) > 0 {
		t.Errorf("ps tells of %+v after the end", list)
	}
}
