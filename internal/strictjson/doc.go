// Package strictjson walks over one JSON text that somebody else wrote, once, and
// tells a visitor what is there. It is stricter than RFC 8259, so that whoever
// reads the same bytes after us can read nothing else into them:
//
//   - an object has no name twice, compared as decoded;
//   - strings are UTF-8, and escaped surrogates come in pairs;
//   - a name has no control characters, escaped or not;
//   - nesting, and the members of an object, are bounded;
//   - nothing follows the text but white space, and there is no byte order mark.
//
// It copies nothing: what a visitor is given lies in the text, and strings are
// decoded when they are asked for.
//
// # What is left at risk
//
//   - Names that differ by case alone are different here. Who reads after us may
//     think otherwise: a visitor that judges by name has to fold them.
//   - Numbers are checked for their form, not for their size.
//   - Two names of one object with the same 64-bit hash are taken for equal. The
//     hash is seeded when the process starts, so nobody can aim at it.
package strictjson
