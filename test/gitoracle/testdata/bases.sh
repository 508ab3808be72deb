# The upstreams, and the repositories that sessions begin with.
g() { git -C "$@"; }
git init -q --bare "$UP/lib.git"
git init -q --bare "$UP/app.git"

git init -q lib
echo lib >lib/lib.txt
g lib add -A
g lib commit -qm lib
g lib push -q "$UP/lib.git" main

git init -q plain
cd plain
mkdir -p src sub docs
echo 'a project' >README
printf '%s\n' one two three four five >src/a.txt
echo b >src/b.txt
echo 'ref: refs/heads/main' >docs/HEAD
echo keep >sub/keep.txt
printf 'ignored/\nvendor/\n/wt/\n' >.gitignore
echo '*.txt text' >.gitattributes
git add -A
git commit -qm first
git checkout -q -b topic
echo topic >src/topic.txt
git add -A
git commit -qm topic
git checkout -q -b other main
sed -i s/three/THREE/ src/a.txt
git commit -qam other
git checkout -q main
sed -i s/three/3/ src/a.txt
git commit -qam second
git remote add origin "$UP/app.git"
git push -q -u origin main topic
git tag v1
git notes add -m note
cd ..

cp -a plain rich
cd rich
git rm -rq sub
git submodule --quiet add --name m "$UP/lib.git" sub
git submodule --quiet add --name x/logs/y "$UP/lib.git" hx
git commit -qm submodules
git worktree add -q wt topic
git init -q vendor/n
echo n >vendor/n/n.txt
git -C vendor/n add -A
git -C vendor/n commit -qm n
# The host's own settings name files of the workspace, some of which are not there.
mkdir cfg .githooks
printf '[include]\n\tpath = second\n' >cfg/included
git config include.path ../cfg/included
git config core.hooksPath .githooks
git add -A
git commit -qm settings
git -C vendor/n config include.path ../cfg
git -C vendor/n config core.attributesFile attributes
git -C vendor/n config filter.f.clean cat
cd ..

# The remotes are ahead.
echo more >lib/more.txt
g lib add -A
g lib commit -qm more
g lib push -q "$UP/lib.git" main
git clone -q "$UP/app.git" ahead
echo ahead >ahead/ahead.txt
g ahead add -A
g ahead commit -qm ahead
g ahead push -q origin main
