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
// Cases about the workspace, of kind work or with views, run in the live view and in
// review. What they say of a path is held against two things: the workspace on the
// host, byte by byte, and the report of the session. Whatever changed on the host
// must be in the report; in review nothing may change. Their table is
// docs/workspace-attacks.md. Their controls never run as root.
//
// The cases keep the numbers of the catalogue that they come from. Of its
// categories that this suite covers it leaves out:
//
//   - what is about the network and has suites of its own, test/broker and
//     test/agents: IP-013 (a broker of sockets), RS-007 (connections to a proxy),
//     AG-008 (requests for hosts), GT-014 (pushes with credentials);
//   - LA-004 (verify tells the truth), the mutation tests of internal/sandbox/verify;
//   - AG-007, which asks that an option should not exist;
//   - EP-015, which is part of EP-014 here, and KN-019, of KN-014 and KN-018.
//
// Cases whose number begins with RF are our own.
package attack
