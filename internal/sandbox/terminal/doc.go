// Package terminal stands between the user's terminal and the pseudo-terminal
// on which the agent runs. The agent never holds a descriptor of the user's
// terminal: it has a pty of its own, and Relay carries the bytes. What the agent
// prints goes through Filter, an allow-list of what a terminal may be told.
//
// Relay is for terminals alone. When standard output is a file or a pipe the
// bytes belong to another program and must stay as they are: do not use this
// package there.
//
// # What the filter promises
//
// Its output is a concatenation of printable UTF-8, a few C0 controls, and
// whole control sequences of the families in the tables csiFamilies, modeTable,
// escKept and oscFamilies, plus sixel images, all in their 7-bit form. Whatever
// is not of that form is dropped, so that it does not matter how a terminal
// would have read it. Nothing is kept in memory beyond stringLimit.
//
// # What is left at risk
//
//   - Queries with a fixed answer pass, for programs need them. The answer comes
//     in as input, which goes to the agent while the relay runs. When it ends, or
//     the job is stopped, the relay takes in what is under way (see swallow) and
//     throws it away: answers, and the rest of a paste. A terminal that answers
//     nothing and pauses for longer than the relay's patience in the middle of a
//     paste that it does not mark can still have the rest land in the user's shell.
//   - A terminal that does not read UTF-8 may see a C1 control inside a valid
//     character. The sequences which switch a terminal to such a mode are
//     dropped; a user who lives in one is not protected from it.
//   - Text can still lie: an agent may draw a false prompt, and a link may be
//     labelled with another address. Sixel reaches the terminal's image decoder.
//   - After kill -9 of the process that holds the terminal the terminal stays raw
//     (`reset` cures it), and what was on its way in goes to the shell, the rest of
//     a paste too: nobody is left who could take it. kill -STOP is the same.
package terminal
