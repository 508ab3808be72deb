package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// A transcript is more than what was said. On --resume Claude Code acts on some of its
// records: it changes to the directory of a worktree and removes it, links the copies of
// files that a snapshot names, takes a session's settings. So a line comes out only if its
// type is known here and what it says has the shape that is known of it.

type fields map[string]json.RawMessage

// records are the types that come out.
var records = map[string]func(s Share, f fields) error{
	// What was spoken, and what is shown of it.
	"user": spoken, "assistant": spoken, "system": spoken, "attachment": spoken, "summary": spoken, "last-prompt": spoken,
	"custom-title": spoken, "ai-title": spoken, "tag": spoken, "queue-operation": spoken, "content-replacement": spoken,

	// Every conversation at a terminal has these two. The mode is shown in lists; --resume
	// gives none back, which test/agents shows.
	"permission-mode": only("permissionMode", `^"[A-Za-z]{1,32}"$`),
	"mode":            only("mode", `^"normal"$`),

	"worktree-state":        only("worktreeSession", `^null$`),
	"file-history-snapshot": snapshot,

	// A name and a colour that lists and titles show, which every accepted plan and /rename
	// write down; a pull request that was made.
	"agent-name":  only("agentName", `^"[\pL\pN_@(][\pL\pN _.,:;!?@()#+-]{0,127}"$`),
	"agent-color": only("agentColor", `^"[A-Za-z_]{1,32}"$`),
	"pr-link":     pullRequest,

	// A latch takes tools away; see latched. What it says of time saved, and of a
	// tool's progress, is not read again.
	"isolation-latch":    only("side", `^"[a-z_-]{1,32}"$`),
	"speculation-accept": only("timeSavedMs", `^[0-9.]{1,16}$`),
	"progress":           spoken,
}

// named are the fields that become a part of a path on the host.
var named = []string{"slug", "agentId", "agentName", "teamName", "sessionKind"}

var (
	aName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"[A-Za-z0-9_@-]{1,128}"$`) })
	aBackup = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(null|"[0-9a-f]{16}@v[0-9]{1,9}")$`) })
)

var errActs = errors.New("the host's agent would act on it")

// record judges one line of the conversation id.
func (s Share) record(id string, f fields) error {
	kind, ok := str(f["type"])
	if !ok {
		return errors.New("it does not say what it is")
	}
	judge := records[kind]
	if judge == nil {
		return fmt.Errorf("%.40q: %w", kind, errActs)
	}
	if of, ok := str(f["sessionId"]); f["sessionId"] != nil && (!ok || of != id) {
		return errors.New("it is of another conversation")
	}
	for _, key := range named {
		if kind == "agent-name" && key == "agentName" {
			continue // as a title it may have spaces, and still no slash
		}
		if v := f[key]; v != nil && string(v) != "null" && !aName().Match(v) {
			return fmt.Errorf("%s: %w", key, errActs)
		}
	}
	if err := judge(s, f); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

func spoken(Share, fields) error { return nil }

// only is a record with one value of its own.
func only(key, shape string) func(Share, fields) error {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(shape) })
	return func(_ Share, f fields) error {
		if !re().Match(f[key]) || !f.within("type", "sessionId", "uuid", "timestamp", key) {
			return errActs
		}
		return nil
	}
}

// snapshot names files of the project, and copies of them by digest and version. A person
// who rewinds the conversation gets those copies back, or loses the files that had none.
func snapshot(s Share, f fields) error {
	in, ok := object(f["snapshot"])
	if !ok || !f.within("type", "sessionId", "messageId", "snapshot", "isSnapshotUpdate") || !in.within("messageId", "trackedFileBackups", "timestamp") {
		return errActs
	}
	files, ok := object(in["trackedFileBackups"])
	if !ok {
		return errActs
	}
	for path, backup := range files {
		if !filepath.IsLocal(path) && (!filepath.IsAbs(path) || path != filepath.Clean(path) || !s.within(path)) {
			return errElsewhere
		}
		b, ok := object(backup)
		if !ok || !b.within("backupFileName", "version", "backupTime") || !aBackup().Match(b["backupFileName"]) {
			return errActs
		}
	}
	return nil
}

var (
	aNumber     = regexp.MustCompile(`^[0-9]{1,9}$`)
	aRepository = regexp.MustCompile(`^"[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){1,8}"$`)
	aRequest    = regexp.MustCompile(`^"https://[a-z0-9.-]{1,200}(/[A-Za-z0-9_.-]{1,100}){1,8}/(pull|pulls|merge_requests|pull-requests)/[0-9]{1,9}"$`)
)

// pullRequest is shown, and is what --from-pr finds.
func pullRequest(_ Share, f fields) error {
	if !aNumber.Match(f["prNumber"]) || !aRepository.Match(f["prRepository"]) || !aRequest.Match(f["prUrl"]) ||
		!f.within("type", "sessionId", "uuid", "timestamp", "prNumber", "prUrl", "prRepository") {
		return errActs
	}
	// The three say the same, and no part of a path leads elsewhere.
	repo := strings.Trim(string(f["prRepository"]), `"`)
	for part := range strings.SplitSeq(repo, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") {
			return errActs
		}
	}
	address := strings.Trim(string(f["prUrl"]), `"`)
	if !strings.Contains(address, "/"+repo+"/") || !strings.HasSuffix(address, "/"+string(f["prNumber"])) {
		return errActs
	}
	return nil
}

// latched: the last latch counts, so one of another side would open what an earlier one, of
// the host's own part too, has shut. was is the side until now.
func latched(was string, f fields) (string, error) {
	if kind, _ := str(f["type"]); kind != "isolation-latch" {
		return was, nil
	}
	side, ok := str(f["side"])
	if !ok || was != "" && side != was {
		return was, fmt.Errorf("isolation-latch: %w", errActs)
	}
	return side, nil
}

// within holds if there is no field but these.
func (f fields) within(keys ...string) bool {
	known := 0
	for _, key := range keys {
		if f[key] != nil {
			known++
		}
	}
	return known == len(f)
}

func str(raw json.RawMessage) (v string, ok bool) {
	return v, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &v) == nil
}

func object(raw json.RawMessage) (v fields, ok bool) {
	return v, len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &v) == nil
}
