// Package socks is the server's side of a SOCKS5 handshake (RFC 1928), as far
// as the gate offers it: no authentication, CONNECT alone. It reads where a
// client wants to go and writes the replies; the verdict and the dialling are
// the caller's.
//
// It never takes a byte more than the handshake has, for what follows belongs to
// the tunnel, and a request that it refuses is read to its end where the end is
// known, so that closing the connection does not destroy the reply.
//
// # What is left at risk
//
//   - A domain name is checked for its bytes, and for not being an address in
//     disguise. Whether it is a proper host name is for the caller to judge, and
//     so is where it leads.
//   - Literal addresses are passed on, also loopback and v4-mapped ones: the
//     caller decides them by rules for addresses, never by those for names.
//   - A client that stops in the middle is waited for: deadlines are the
//     caller's. It costs less than a KiB.
package socks
