// Package shell reads command lines as bash would, without running anything. The parser
// is that of mvdan.cc/sh; here are its bounds. It knows nothing of what commands do.
//
// # What is left at risk
//
//   - It reads what is written. What a variable of the environment, a file or a
//     program holds is not known here, and neither are aliases and functions that a
//     shell has from its start-up files.
//   - Where shells differ it follows bash. zsh has expansions that are read as plain
//     text here, or not at all.
//   - What goes beyond the bounds is an error, and whoever asks has to decide without a
//     tree.
package shell
