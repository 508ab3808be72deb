# What people and their tools run in a workspace. It is started in the workspace;
# that a command fails is no failure: only what it executes and writes counts.
exec </dev/null >/dev/null 2>&1
export GIT_TERMINAL_PROMPT=0
WS=$PWD
# What mise and its kin run when a shell comes into a directory.
mise() {
	for f in mise.toml .mise.toml mise.local.toml .mise.local.toml .mise/config.toml mise/config.toml .config/mise.toml .config/mise/config.toml .rvmrc .shadowenv.d/x.lisp bin/activate-hermit; do
		if [ -f "$f" ] && ! [ -L "$f" ] && grep -q touch "$f"; then cat "$f" >"$WS/../outside/mise-$RANDOM"; fi
	done
}
# A shell's prompt and an editor, in one directory.
prompt() {
	git rev-parse --is-inside-work-tree --git-dir --show-toplevel --abbrev-ref HEAD
	git -c core.quotepath=false status -z -uall
	mise
	[ ! -e .envrc ] || direnv export bash
}
editor() {
	git status
	git for-each-ref
	git ls-files --stage
	git check-ignore -v README
	git config --get remote.origin.url
	git config --get-regexp '^branch\.'
	git diff
	git diff --cached HEAD
	git log --all -p -5
}
# What a person does in a repository.
person() {
	g=$(git rev-parse --absolute-git-dir)
	[ ! -e "$g/rebase-merge" ] || { git rebase --continue; git add -A; git rebase --continue; git rebase --abort; }
	[ ! -e "$g/rebase-apply" ] || { git am --continue; git am --abort; git rebase --abort; }
	[ ! -e "$g/BISECT_LOG" ] || { git bisect good; git bisect log; git bisect reset; }
	[ ! -e "$g/MERGE_HEAD" ] || { git merge --continue; git merge --abort; }
	[ ! -e "$g/sequencer" ] || { git cherry-pick --continue; git cherry-pick --abort; }
	f=$(git ls-files -- '*.txt' | head -n 1)
	git blame -- "${f:-README}"
	git log --show-signature -1
	script -qec 'git log -p -2' /dev/null
	git fsck
	git worktree list
	git submodule status
	git fetch --all
	[ -z "$f" ] || echo host >>"$f"
	git diff
	git stash
	git stash pop
	git add -A
	git commit -m host
	git checkout -b host-side
	git commit --amend --no-edit
	git checkout main
	git merge --no-edit topic
	git merge --no-edit other
	git merge --abort
	git rebase origin/main
	git rebase --abort
	git reset --hard
	git cherry-pick other
	git cherry-pick --abort
	git branch side/host
	git tag host
	git notes add -m host
	git update-server-info
	git push --dry-run origin HEAD
}
# A guest in a repository below: shorter.
guest() {
	git log -p -2
	script -qec 'git branch' /dev/null
	f=$(git ls-files -- '*.txt' | head -n 1)
	[ -z "$f" ] || { git blame -- "$f"; echo host >>"$f"; }
	git add -A
	git commit -m host
	git fetch
	git merge --no-edit origin/main
	git checkout -f -b host-below
	git reset --hard
	git gc
}
prompt
editor
find . \( -name .git -prune \) -o \( -type d -o -type l \) -print | sort | head -n 40 >"$TMPDIR/dirs"
seen=" $(git rev-parse --absolute-git-dir) "
below=()
while IFS= read -r d; do
	cd -P "$WS/$d" || continue
	prompt
	g=$(git rev-parse --absolute-git-dir) || continue
	case $seen in *" $g "*) continue ;; esac
	seen="$seen$g "
	[ ${#below[@]} -ge 5 ] || below+=("$PWD")
	git status
	git diff HEAD
done <"$TMPDIR/dirs"
cd "$WS"
gh repo view
person
for d in "${below[@]}"; do
	cd "$d" && guest
done
# Last, because it repairs some of what may have been led astray.
cd "$WS"
git submodule update --init
git gc
prompt
git status
git log --all -p -2
for d in "${below[@]}"; do
	cd "$d" && git status
done
