// Package gitproxy stands between a client of git and the forge that holds the
// repository, and speaks git's smart HTTP and LFS to both. The client gets no
// credential: the transport that the caller gives adds it, and only where a
// request is about a repository of this session.
//
// Fetching is passed through. A push is kept back until it has been judged: the
// whole request is spooled, its commands are read by one strict spelling, and
// then it must be shown that each branch may be written, that it only moves
// forward, and that no file which tells the forge what to run is changed. What
// cannot be shown is refused. The proof trusts the forge and nothing that the
// client says: objects of the pushed pack count by the SHA-1 of their bytes, and
// what the server has is asked of the server. A push of which one ref is refused
// is refused as a whole, and nothing of it goes upstream.
//
// # What counts as known to the server
//
// A commit counts as known if one of the server's branches reaches it. That the
// server has an object is not enough: forges keep the objects of all forks and of
// all pull requests together, so a stranger can put objects there.
//
// Every new commit is held to the rule about files that the forge runs, not only
// the last: else a commit could be carried in below a harmless one, and be the
// tip of the next push.
//
// # What is left at risk
//
//   - A branch may be started from an old commit of a branch, and its files that
//     the forge runs are then the old ones.
//   - A build that the forge runs reads other files too (a Makefile, a script).
//     Those may be changed: that is what pushing is for.
//   - The forge applies a push after it was judged. That the ref is still where
//     it was is checked by the forge, by the old value in the command.
//   - Servers that do not speak protocol version 2 can be fetched from, and not
//     pushed to. Repositories with SHA-256 names likewise.
//   - What the forge does with a pushed branch (pages, hooks) is not seen here.
package gitproxy
