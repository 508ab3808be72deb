package history

import (
	"strings"
	"testing"
)

const firstID = `"11111111-2222-3333-4444-555555555555"`

// honest are records as Claude Code 2.1 writes them.
var honest = []string{
	`{"type":"custom-title","customTitle":"a","sessionId":` + firstID + `}`,
	`{"type":"attachment","cwd":"/w/sub","slug":"calm-blue-sea","agentId":null,"sessionId":` + firstID + `}`,
	`{"type":"permission-mode","permissionMode":"bypassPermissions","sessionId":` + firstID + `}`,
	`{"type":"mode","mode":"normal","sessionId":` + firstID + `}`,
	`{"type":"worktree-state","worktreeSession":null,"sessionId":` + firstID + `}`,
	`{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m","trackedFileBackups":{},"timestamp":"t"},"isSnapshotUpdate":false}`,
	snapshotOf("a/b.go", `{"backupFileName":"0123456789abcdef@v12","version":12,"backupTime":"t"}`),
	snapshotOf("/w/b.go", `{"backupFileName":null,"version":1,"backupTime":"t"}`),
	`{"type":"agent-name","agentName":"Überall: fix the login (again)","sessionId":` + firstID + `}`,
	`{"type":"agent-color","agentColor":"purple","sessionId":` + firstID + `}`,
	`{"type":"pr-link","sessionId":` + firstID + `,"prNumber":7,"prUrl":"https://github.com/a/b.c/pull/7","prRepository":"a/b.c","timestamp":"t"}`,
	`{"type":"isolation-latch","side":"public","sessionId":` + firstID + `}`,
	`{"type":"isolation-latch","side":"public","sessionId":` + firstID + `}`,
	`{"type":"speculation-accept","timestamp":"t","timeSavedMs":1234.5}`,
	`{"type":"progress","data":{"type":"hook_progress"},"sessionId":` + firstID + `}`,
}

// forged are records on which the host's agent would act.
var forged = []string{
	snapshotOf("a", `{"backupFileName":"../../../.bashrc","version":1}`),
	snapshotOf("a", `{"backupFileName":"0123456789abcdef@v1/../../x","version":1}`),
	snapshotOf("a", `{"backupFileName":["0123456789abcdef@v1"],"version":1}`),
	snapshotOf("a", `{"version":1}`),
	snapshotOf("a", `{"backupFileName":null,"realPath":"/etc/x"}`),
	snapshotOf("a", `"0123456789abcdef@v1"`),
	snapshotOf("../b", `{"backupFileName":null}`),
	snapshotOf("/etc/passwd", `{"backupFileName":null}`),
	snapshotOf("/w/../etc/passwd", `{"backupFileName":null}`),
	`{"type":"file-history-snapshot","messageId":"m","snapshot":null}`,
	`{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":[]}}`,
	`{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{},"path":"/etc"}}`,
	`{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{}},"path":"/etc"}`,
	`{"type":"file-history-delta"}`,
	`{"type":"worktree-state","worktreeSession":{"worktreePath":"/w","originalCwd":"/w"},"sessionId":` + firstID + `}`,
	`{"type":"worktree-state","sessionId":` + firstID + `}`,
	`{"type":"permission-mode","permissionMode":{"a":1}}`,
	`{"type":"mode","mode":"coordinator"}`,
	`{"type":"agent-setting","agentSetting":"x"}`,
	`{"type":"isolation-latch","side":"x/y"}`,
	`{"type":"isolation-latch","side":null}`,
	`{"type":"isolation-latch","side":"x","more":1}`,
	`{"type":"agent-name","agentName":"../../x"}`,
	`{"type":"agent-name","agentName":"a/b"}`,
	`{"type":"agent-name","agentName":"a\\u001b]0;x"}`,
	`{"type":"agent-name","agentName":["a"]}`,
	`{"type":"agent-color","agentColor":"../x"}`,
	`{"type":"pr-link","prNumber":7,"prUrl":"http://github.com/a/b/pull/7","prRepository":"a/b"}`,
	`{"type":"pr-link","prNumber":7,"prUrl":"https://me:secret@github.com/a/b/pull/7","prRepository":"a/b"}`,
	`{"type":"pr-link","prNumber":7,"prUrl":"https://github.com/a/b/pull/7","prRepository":"--help"}`,
	`{"type":"pr-link","prNumber":"7;id","prUrl":"https://github.com/a/b/pull/7","prRepository":"a/b"}`,
	`{"type":"speculation-accept","timeSavedMs":"x"}`,
	`{"type":"bridge-session","bridgeSessionId":"x"}`,
	`{"type":"relocated","relocatedCwd":"/w"}`,
	`{"type":"user","sessionId":"../../../x"}`,
	`{"type":"user","sessionId":"11111111-2222-3333-4444-555555555556"}`,
	`{"type":"user","sessionId":7}`,
	`{"type":"user","sessionId":null}`,
	`{"type":"user","slug":"../../.bashrc"}`,
	`{"type":"assistant","agentId":"../x"}`,
	`{"type":"user","teamName":{"a":1}}`,
	`{"type":["user"]}`, `{"type":7}`, `{"type":null}`, `{"Type":"user"}`, `{"message":"x"}`,
}

func snapshotOf(path, backup string) string {
	return `{"type":"file-history-snapshot","messageId":"m","snapshot":{"messageId":"m","trackedFileBackups":{"` + path + `":` + backup + `},"timestamp":"t"},"isSnapshotUpdate":true}`
}

// The host's agent acts on some records. Those come out in the shapes alone that do nothing.
func TestRecordsOnWhichTheAgentActs(t *testing.T) {
	s := Share{Workspaces: []string{"/w"}}
	for _, line := range honest {
		if err := s.ofAgent(first, []byte(said("x")+line+"\n"), 0); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range forged {
		if s.ofAgent(first, []byte(said("x")+line+"\n"), 0) == nil {
			t.Errorf("it comes out: %s", line)
		}
	}
}

// The last latch counts: one of another side would open what an earlier one has shut.
func TestLatchesOfOneSide(t *testing.T) {
	s := Share{Workspaces: []string{"/w"}}
	latch := func(side string) string { return `{"type":"isolation-latch","side":"` + side + `"}` + "\n" }
	own := said("x") + latch("a")
	for text, want := range map[string]bool{own + latch("a"): true, own + latch("b"): false, own: true, said("x") + latch("b"): true} {
		if err := s.ofAgent(first, []byte(text), len(own)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What the host's agent wrote itself does not keep the conversation from going on, and half
// a line of the host's is no place to hide a record.
func TestTheHostsOwnRecordsStay(t *testing.T) {
	r := newRoom(t)
	own := said("outside") + `{"type":"pr-link","prNumber":7}` + "\n"
	r.put(r.Host, first, own)
	r.in(1, 0)
	r.put(r.inside, first, own+said("inside"))
	r.out(1, 0)
	r.has(r.Host, first, own+said("inside"))

	half := said("outside") + `{"type":"`
	r.put(r.Host, second, half)
	r.put(r.inside, second, half+`agent-setting","agentSetting":"x"}`+"\n")
	got := r.out(0, 1)
	if len(got.Left) == 1 && !strings.Contains(got.Left[0].Why, "act on it") {
		t.Errorf("%+v", got)
	}
	r.has(r.Host, second, half)
}
