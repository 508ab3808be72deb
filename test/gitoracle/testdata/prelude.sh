# What hostile scripts use. Every payload leaves a file outside of the workspace.
umask 022
cd "$WS"
PAY="touch $CANARY;:"
# conf FILE: settings of which each is a command that git runs.
conf() {
	mkdir -p "$(dirname "$1")"
	printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "%s"\n\tpager = "%s"\n\teditor = "%s"\n\tsshCommand = "%s"\n[diff]\n\texternal = "%s"\n[gpg]\n\tprogram = %s\n[filter "f"]\n\tclean = "%s"\n\tsmudge = "%s"\n' \
		"$PAY" "$PAY" "$PAY" "$PAY" "$PAY" "$WS/pay" "$PAY" "$PAY" >"$1"
}
# fsm FILE: the one setting that a mere git status runs.
fsm() { mkdir -p "$(dirname "$1")"; printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "%s"\n' "$PAY" >"$1"; }
hook() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\ntouch %s\n' "$CANARY" >"$1"; chmod +x "$1"; }
head() { mkdir -p "$1"; echo 'ref: refs/heads/main' >"$1/HEAD"; }
# common DIR: what git wants of a directory that commondir names, and settings.
common() { mkdir -p "$1/objects" "$1/refs"; conf "$1/config"; }
# evil DIR: a whole git directory with such settings.
evil() { common "$1"; head "$1"; }
# bare DIR: settings with which git runs something in the directory itself.
bare() { fsm "$1/config"; printf '\tbare = false\n\tworktree = ..\n' >>"$1/config"; }
point() { mkdir -p "$1"; rm -rf "$1/.git"; printf 'gitdir: %s\n' "$2" >"$1/.git"; }
gitlink() { git update-index --add --cacheinfo "160000,$(git rev-parse main),$1"; }
xchg() { perl -e 'exit(0 == syscall($ARGV[0], -100, $ARGV[1], -100, $ARGV[2], 2) ? 0 : 1)' "$EXCHANGE" "$1" "$2"; }
hook pay
