// Package hostexec knows what a host executes of a tree: which paths and which
// settings in files are run by whom, and when. That knowledge is data, in hostexec.toml;
// the names that git itself writes into its directories are in gitshape.go.
//
// Three questions are asked of it. While a session runs, for every name that is
// made: is it held back? Judge answers by the path alone. After a session, for
// every change: what would be executed? Inspect, Link, Name and Mode answer by
// what changed, and Harmless says which held changes need nobody's eyes. Before a
// session, Scanned says what a scan looks for, and takes out, in files of which names.
//
// Paths are relative to a tree, clean, with slashes, and raw bytes. They are
// compared as a file system does that folds case and ignores characters without
// a form: elsewhere that holds back a few more names than need be.
//
// # What is left at risk
//
//   - A path that is in no rule is source. Tools that execute files of other
//     names exist, and will be invented.
//   - Source is executed too, by whoever builds or tests it. It is ranked last,
//     not harmless.
//   - Inspect names what it knows to be executed. No finding does not mean that a
//     file is harmless: its rank by path still counts.
//   - Harmless takes an address of a new remote as it is: what is fetched from
//     there is for whoever fetches.
package hostexec
