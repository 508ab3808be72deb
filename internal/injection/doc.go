// Package injection judges text that comes from outside: does it try to give orders to
// the agent that reads it? It is one judgement for instruction files, for what tools
// return and for what is on its way to a model. It reads and counts; it runs nothing.
//
// A text is read once, in blocks, as words. Words have meanings (to ignore, earlier,
// instructions), in several languages; shapes are meanings in an order and within a
// distance; each shape has a weight, and what stands close together is added up. What a
// person does not see (comments of a page, text without size or colour, what is encoded)
// is read as text of its own and needs less weight. There are no patterns that could be
// made slow.
//
// # What is left at risk
//
// This is a smoke detector. Who knows the list writes another sentence; a picture, a
// language that is not here, a story that leads to the same end are not seen. What
// quotes such a sentence and talks about it is let pass, which can be feigned. The walls
// are the boundary; nothing here may be relied on against somebody who wants past it.
package injection
