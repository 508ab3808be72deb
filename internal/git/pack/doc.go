// Package pack reads git's packfiles as far as it takes to follow history:
// commits, trees and tags come out, blobs are passed over. Every object that
// comes out has been rebuilt from its deltas and named by the SHA-1 of its own
// bytes, so whoever made the pack cannot lend one object the name of another.
//
// A pack may be thin: a delta may stand on an object that only the other side
// has. Missing names those, and Add takes them when the caller has got hold of
// them.
//
// Hostile packs cost a bounded amount of memory and work, see Limits.
//
// # What is left at risk
//
//   - SHA-1 is what git names objects by, and two objects with one name can be
//     made for a price. The server behind refuses the known ways to do it; this
//     package does not look for them.
//   - Blobs that come as deltas are not rebuilt, so their names are not checked.
//     Nothing here depends on a blob.
//   - Repositories that name objects by SHA-256 are not understood.
package pack
