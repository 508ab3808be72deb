// Package httpfwd reads the heads of HTTP/1 requests and the framing of their
// bodies, so strictly that no server can read the same bytes in another way, and
// writes them anew. The gate judges every request of a connection by what is
// read here: if gate and origin disagree about where a request begins, a request
// that nobody judged reaches the origin.
//
// # What it promises
//
// A head that ReadHead returns has one meaning: CRLF line ends, one target of a
// known form, one Host, one framing of the body. Write does not pass on what came
// in; it makes a new head from what was understood. Host and the framing fields
// are its own, hop-by-hop fields are gone. CopyBody passes exactly the body. What
// a client can make us hold in memory is bounded by the constants here; how long
// it may take is for the caller's deadlines.
//
// Answers are read as strictly, by ReadAnswer, and passed on without the fields that
// would lead the client elsewhere.
//
// # What is left at risk
//
//   - An authority is checked for its bytes and its port, not as a name. Empty
//     labels, hyphens at the edge and IP literals are for the caller to judge.
//   - A target is passed on as it came, with dot segments and escapes. Who judges
//     by path must normalise it first.
//   - Fields that only some servers heed (X-Forwarded-Host, X-HTTP-Method-Override
//     and their like) pass. An origin that trusts them from anybody is open to
//     everybody.
//   - The head says HTTP/1.1 whatever the client spoke. A client of HTTP/1.0 may
//     get a chunked response.
package httpfwd
