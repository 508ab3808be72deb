// Package docs executes the documentation: every command that README.md, docs/*.md, the
// manual and the help show is typed as it stands there, at a shell of a person with a
// fresh HOME, in a small project, and has to end as the page says.
//
// In a page a block that is tagged console holds what is typed: lines that begin with
// "$ ", continued by lines that begin with "> ". Each has to exit with 0, or with N where
// it ends in "# exit N". Lines between them show output and are not compared. Commands
// under any other tag are found and are an error, and so is inline code that names a
// command or a flag that does not exist.
//
// Each page has a world of its own: a HOME, a project that is a git repository, the real
// agents with a scripted model on the loopback, a kept session of the name demo and an
// ended one of the name old. There is no other network. Where root runs the tests, one page
// is played as root and the next as an ordinary user; `make test-all` plays each as both.
//
// `make run` is executed in a copy of the tree. `make test` cannot be executed by itself:
// that it is there, and that CI runs it, is looked up.
package docs
