// Package settings gives random and hostile files of settings to the programs that
// obey them, the real agents and git, as they would get them inside: the file itself
// if we say nothing of it, and what stands for it otherwise. Whatever is dangerous in
// such a file is marked. A mark that the program sees is a finding: it reads the text
// in another way than we do. It knows nothing of our rules.
package settings
