package state

// Elsewhere is the file in the directory of a session that says on which machine something of
// it may be that is not here. It is there until all of that was brought over.
const Elsewhere = "elsewhere.json"

// Decided is the file beside it that says that something of the session was applied or
// discarded meanwhile.
const Decided = "decided"
