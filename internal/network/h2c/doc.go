// Package h2c watches the client's half of a cleartext HTTP/2 connection. Every
// header block is decoded and judged before any byte of it passes; everything else
// passes as it came.
//
// # What it promises
//
// What reaches the origin is a prefix of what the client sent. It ends before the
// first header block that the judge refuses and before the first frame that is
// malformed, unknown or out of place. So the origin decodes the same frames with the
// same HPACK history as we do, and a request that nobody judged cannot be among
// them. What a client can make us hold is bounded by the constants here.
//
// # Why the origin's table cannot differ to the client's gain
//
// Header blocks refer to a table of fields seen before, and the origin may keep a
// larger or smaller one than we do: its SETTINGS go the other way and are not read
// here. Indices count from the newest entry and only the oldest are dropped, so each
// table is the newest part of one and the same history: an index that both have means
// the same to both. One that the origin lacks is a connection error there
// (RFC 7541, 2.3.3); one that we lack is refused here. By induction the histories
// stay the same, whatever sizes are announced.
//
// # What is left at risk
//
//   - Frames of more than 16384 bytes are refused even where the origin has announced
//     that it takes them. Go's own client sends them to Go's own server once it has
//     much to upload.
//   - An authority is checked for its bytes, not as a name: that is for the judge.
//   - A path is passed on as it came; who judges by it must normalise it first.
//   - An origin that breaks RFC 9113 (takes no offence at an index that it lacks, or
//     reads frames that it must refuse) may see something else than we do.
package h2c
