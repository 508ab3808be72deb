package hostexec

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/file/settings"
)

// What comes inside of the user's own settings runs nothing and names no program, no file
// and no address.
func TestHarmlessOwn(t *testing.T) {
	for _, line := range []string{
		"user.name=Zoë \xff", "init.defaultbranch=trunk", "pull.rebase=true", "pull.ff=only", "push.default=current", "push.autosetupremote",
		"core.whitespace=-trailing-space,space-before-tab", "core.commentchar=;", "branch.sort=-committerdate", "color.diff.meta=yellow bold",
		"color.ui=auto", "diff.algorithm=histogram", "diff.colormoved=zebra", "diff.go.xfuncname=^func .*$", "merge.conflictstyle=zdiff3",
		"log.date=format:%Y-%m-%d %H:%M", "advice.detachedhead=false", "rebase.updaterefs=true", "column.ui=auto", "core.abbrev=12",
		"alias.co=checkout", "alias.lg=log --graph --pretty=format:'%Cred%h%Creset %s' --abbrev-commit", "alias.wipe=clean -fdx",
		"alias.ri=rebase -i --autosquash", "alias.x=diff --exit-code --exclude-standard", "alias.g=grep -n", "alias.up=log @{u}..", "alias.was=show @{u}:README", "alias.p=push origin HEAD:main",
	} {
		if !HarmlessOwn(entry(line)) {
			t.Errorf("%s stays outside", line)
		}
	}
	for _, line := range []string{
		"core.pager=less", "core.editor=vi", "core.sshcommand=ssh -i x", "core.hookspath=/x", "core.fsmonitor=/x", "core.askpass=/x", "core.excludesfile=/x",
		"core.gitproxy=x", "core.alternaterefscommand=x", "credential.helper=store", "credential.https://x.helper=!x", "http.extraheader=Authorization: x", "http.proxy=http://u:p@x", "url.git@x:.insteadof=https://x/",
		"diff.external=/x", "diff.tool=x", "diff.go.command=/x", "diff.go.textconv=/x", "merge.tool=x", "merge.go.driver=x %A", "mergetool.x.cmd=x",
		"difftool.x.path=/x", "filter.lfs.clean=git-lfs clean", "gpg.program=/x", "user.signingkey=K", "interactive.difffilter=delta", "pager.log=less",
		"sequence.editor=x", "init.templatedir=/x", "commit.template=/x", "include.path=/x", "includeif.gitdir:/x.path=/x", "protocol.ext.allow=always",
		"uploadpack.packobjectshook=/x", "trailer.x.command=x", "submodule.x.update=!x", "remote.origin.url=/x", "browser.x.cmd=x", "man.x.cmd=x",
		"web.browser=x", "instaweb.httpd=x", "sendemail.smtpserver=/x", "gc.reflogexpire=now", "safe.directory=*", "receive.denycurrentbranch=ignore", "trace2.normaltarget=/x",
		"init.defaultbranch=-x", "pull.rebase=x y", "user.name=", "user.email=a\nb", "color.ui=\x1b[0m", "core.commentchar=\x07", "format.pretty=\x1b]0;x",
		"alias.x=!sh", "alias.x= !sh", "alias.x='!sh'", "alias.x=-c core.pager=x log", "alias.x=difftool", "alias.x=bisect run sh", "alias.x=submodule foreach sh",
		"alias.x=rebase -x sh", "alias.x=rebase -ix sh", "alias.x=rebase --exec=sh", `alias.x=rebase --e"xec" sh`, `alias.x=rebase --ex\ec sh`, "alias.x=log --ext-diff", "alias.x=grep -Oless",
		"alias.x=fetch --upload-pack=x", "alias.x=fetch --upl x", "alias.x=push --receive-pack x", "alias.x=fetch ext::sh", "alias.x=nosuch", "alias.x", "alias.x=",
		"alias.x=push --mirror https://me:TOKEN@host.example/x", `alias.x=fetch ht"tps:"//me:TOKEN@host.example/x`, "alias.x=push --repo=https://TOKEN@host.example/x",
		"alias.x=fetch git@host.example:me/x", "alias.x=fetch me@{u}@host.example:x", "alias.x.command=log", "config.x=y",
	} {
		if HarmlessOwn(entry(line)) {
			t.Errorf("%q comes inside", line)
		}
	}
}

// A repository may say less: what an agent writes must not hide things from the user, nor
// push more than before.
func TestHarmlessInRepo(t *testing.T) {
	for _, line := range []string{"status.showuntrackedfiles=no", "push.default=matching", "push.followtags=true", "alias.co=checkout", "diff.ignoresubmodules=all",
		"fetch.prune=true", "transfer.fsckobjects=false", "advice.addignoredfile=false", "color.ui=never", "rerere.autoupdate=true", "user.name=x\u202ey"} {
		if harmlessInRepo(entry(line)) {
			t.Errorf("%s is applied without a person", line)
		}
	}
	for _, line := range []string{"core.filemode=false", "index.sparse", "user.email=a@b.test"} {
		if !harmlessInRepo(entry(line)) {
			t.Errorf("%s waits for a person", line)
		}
	}
}

func entry(line string) settings.GitEntry {
	key, value, has := strings.Cut(line, "=")
	return settings.GitEntry{Key: key, Value: value, Bare: !has}
}

// No setting of the list makes git run what its value names. The control does.
func TestHarmlessOwnRunsNothing(t *testing.T) {
	dir := t.TempDir()
	mark, program, work := filepath.Join(dir, "mark"), filepath.Join(dir, "program"), filepath.Join(dir, "work")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true"}
		_ = cmd.Run() // it may refuse a value: that is no harm
	}
	git("init", "-q", work)
	git("-C", work, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-m", "x")
	if err := os.WriteFile(filepath.Join(work, "x"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", work, "add", "-A")
	runs := func(setting string) bool {
		git("-C", work, "-c", setting, "diff", "--cached")
		git("-C", work, "-c", setting, "stash", "list")
		git("-C", work, "-c", setting, "x")
		_, err := os.Lstat(mark)
		return err == nil && os.Remove(mark) == nil
	}
	for _, control := range []string{"diff.external=" + program, "alias.x=!program", "core.fsmonitor=" + program} {
		if !runs(control) {
			t.Errorf("the control %s runs nothing", control)
		}
	}
	taken := 0
	for key := range plainKeys {
		full := strings.ReplaceAll(key, "*", "x")
		for _, value := range []string{program, "!" + program, "program"} {
			if HarmlessOwn(settings.GitEntry{Key: full, Value: value}) {
				if taken++; runs(full + "=" + value) {
					t.Errorf("%s=%s runs the program", full, value)
				}
			}
		}
	}
	if taken < 20 {
		t.Errorf("only %d values pass: nothing is tried", taken)
	}
}
