// Package clienthello reads the first message of a TLS client, the ClientHello,
// strictly enough to know the one name that the client asks for. It decrypts
// nothing and answers nothing: the gate compares the name with its verdict and
// then sends on, byte for byte, what was read here.
//
// What two readers could understand differently is refused: more than one name,
// an extension twice, lengths that do not add up, bytes after the message. Other
// content (ciphers, key shares) is the business of the server. Unknown values
// pass, also those that clients make up to keep servers honest (GREASE).
//
// # What is left at risk
//
//   - The name in the ClientHello is not the host of the requests that follow
//     inside TLS. A server for many names (a CDN) may serve another one.
//   - With ECH the name in the open is that of a front; the true one is
//     encrypted. See Hello.ECH.
//   - A server may answer with a HelloRetryRequest, and the client then sends a
//     second ClientHello. It has to repeat the first; a server that does not
//     check this may follow another name there. Only the first is read here.
//   - A client that sends nothing is waited for: deadlines are the caller's. So
//     is the number of clients. One that sends nearly Max bytes and stops keeps
//     up to twice as many in memory, one that only announces them about 2 KiB.
package clienthello
