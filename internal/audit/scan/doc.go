// Package scan looks at a repository before an agent first starts in it: what of
// it would run, or would change what runs, as soon as an agent, an editor or git
// opens it. It reads and judges; it runs nothing, writes nothing and prints nothing.
//
// Which names are executed by whom and when, and which settings in them are dangerous, is
// package hostexec's knowledge. Here is what a file looks like without them: Scan finds,
// File.Neutral is what stands inside for a file that nobody trusts.
//
// A neutral file is written anew from what was understood, so no other reader can
// find in it what we did not see. What is not understood is left out as a whole, and
// so is what two readers could understand in two ways: see settings.OneReading.
//
// # Bounds
//
// Scan opens a fixed list of names, then lists directories breadth-first until its
// budget is spent, whatever the size of the tree; Report.Complete says which. A file
// is read up to one MiB. Links are followed only where they stay in the tree, and
// never by the walk; what is no regular file is not opened.
//
// # What is left at risk
//
//   - Of agents without a list of harmless settings ([content.pass]), a setting that no
//     rule names is taken for harmless. Agents get new ones.
//   - What is deep in a large tree is found by a scan by hand, not at the launch.
//   - Instructions that are plain to see are not judged: what they say is for whoever
//     reads them.
//   - A script that a trusted command runs is part of the trust, as far as a shell's
//     reading of the command tells which; what the script reads in turn is not, nor is
//     what a program runs that is not known to run its arguments.
package scan
