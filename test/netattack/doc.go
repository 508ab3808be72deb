// Package netattack runs the network part of a catalogue of attacks against the real
// binary: what a sandboxed program may try against the gate with connections, DNS,
// the proxy endpoint, and data that it wants to carry out. It plays in a world of its
// own (package world), as root and as an ordinary user.
//
// An attack is a row: what it tries, a probe that is data (package probe), and a sign
// by which one sees that it is open. Four rules hold for every row:
//
//   - The sign must be seen on the bare host, where nothing is in the way: the
//     control. For the proxy endpoint a careless proxy stands in. A row that can have
//     no control says why.
//   - Inside, the sign must not be seen, neither by the probe nor by the witnesses:
//     the servers that were never to hear of it, the watch on the cable, the resolver.
//   - What the gate denied is in its journal. It tells of so many refusals in a second
//     one by one, so that two of the launches take their time and the journal is held
//     against the rows there.
//   - It stays so under every flag about the network. Flags that widen what they do
//     not name are a class of bug of its own. One launch for each flag makes all the
//     attempts.
//
// What must go on working stands in the same tables.
//
// The rows keep the numbers of the catalogue. Those that another suite has (the broker) and
// those that are open by decision are listed with the reason: see ids.
package netattack
