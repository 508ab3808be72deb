// Package audit says how exposed a machine and a project are to an agent that
// starts there: what lies about, which switches stand wrong, on which rung of the
// ladder the user stands and what says climb. It also reads the meter of the three
// legs that make a theft: private data, untrusted content, and a way out.
//
// Every check is a row of data and a small probe. Probes read and change nothing,
// start no program, ask no network and walk no tree but the project's, within a
// budget. What depends on the machine is given in a World, so that the same rows can
// be tried on a made-up one. Values of secrets never leave a probe: findings hold
// names, paths and lines.
//
// Settings of a project are written by strangers. They are read without following a
// link, up to a size and a depth, and what cannot be read is a finding of its own.
//
// # What is left at risk
//
//   - A weakness that is in no row is not found. No findings does not mean safe.
//   - Settings are judged by what they say, not by what the agent makes of them: an
//     agent that gives a key another meaning is judged by the old one.
//   - A secret in a file that no row names, or of a shape that nobody knows.
//   - The answer is as old as the call.
package audit
