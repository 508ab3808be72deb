// Package attack runs a catalogue of attacks against the real binary, as root and
// as an ordinary user.
//
// The cases are data, in testdata/cases. Each is a short script, run by bash in
// the sandbox, and the suite holds every one of them against three rules:
//
//   - An attack must succeed outside. The same script in the same place without
//     ringfence is its negative control: a probe that cannot report "open" proves
//     nothing by reporting "closed".
//   - The answer matters. What an allow-list leaves out is not there: ENOENT, and
//     not a refusal which tells that it is.
//   - What people need must go on working. A sandbox that is in the way is turned
//     off, so positive controls stand in the same tables.
//
// Every run has a host of its own: namespaces with a file system made for it,
// full of canaries that anybody may read, with services that anybody may talk to,
// so that only the sandbox stands in the way and nothing of the machine is at
// risk. After every sandboxed run that host must be unchanged: no file of it
// outside the workspace and ringfence's own state, no mount, no process.
//
// The cases keep the numbers of the catalogue that they come from. Of its
// categories that this suite covers it leaves out:
//
//   - what guards files in the workspace that the host may later execute, which
//     is the workspace's own matter: FW-005, FW-006, FW-007, FW-010, FW-011 (the
//     hooks of a worktree; that a worktree works is here), FW-016, FW-019, FW-026;
//   - what needs a way out to a network, which does not exist yet: IP-013 (a
//     broker of sockets), RS-007 (connections to a proxy), AG-008, AG-009;
//   - LA-004 (verify tells the truth), the mutation tests of internal/verify;
//   - AG-007 and AG-011, which ask that an option should not exist;
//   - EP-015, which is part of EP-014 here, and KN-019, of KN-014 and KN-018.
//
// Cases whose number begins with RF are our own.
package attack
