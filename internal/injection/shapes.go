package injection

import "math/bits"

// step is the next word of a shape, and how many others may stand before it.
type step struct {
	gap int32
	is  meaning
}

// shape is an order of meanings. Shapes of one name count once where they stand together.
type shape struct {
	name   string
	kind   Kind
	weight int  // faint ones have none: they count in comments of instructions alone
	across bool // the end of a sentence may lie in it
	lead   bool // its first word has to stand where an order begins
	denied bool // it counts also if its first word is denied
	hard   bool // what is soft is no step of it
	single bool // it lies within one command, or in none
	steps  []step
	id     int // of its name
}

// How much weight a text needs, where a person sees it and where not.
const (
	seen   = 3
	unseen = 2
)

// shapes is the list.
var shapes = []shape{
	{name: "override", kind: Order, weight: 3, lead: true, steps: []step{{0, mDrop}, {3, mPrior}, {3, mRules}}},
	{name: "override", kind: Order, weight: 2, lead: true, steps: []step{{0, mIgnore}, {3, mPrior}, {3, mRules}}},
	{name: "override", kind: Order, weight: 1, steps: []step{{0, mIgnore}, {3, mPrior}, {3, mRules | mRule}}},
	{name: "override", kind: Order, weight: 3, steps: []step{{0, mIgnoreX}, {3, mPrior}, {3, mRules}}},
	{name: "override", kind: Order, weight: 3, steps: []step{{0, mIgnoreX}, {3, mRules}, {2, mPrior}}},
	{name: "override", kind: Order, weight: 3, steps: []step{{0, mPrior}, {4, mRules}, {5, mIgnoreX}}},
	{name: "override", kind: Order, weight: 3, lead: true, steps: []step{{0, mDrop}, {3, mRules}, {2, mPrior}}},
	{name: "override", kind: Order, weight: 2, lead: true, steps: []step{{0, mIgnore}, {1, mYour}, {2, mRules | mRule}}},
	{name: "override", kind: Order, weight: 2, lead: true, steps: []step{{0, mIgnore}, {1, mEvery}, {1, mYou}, {3, mTold}}},
	{name: "override", kind: Order, weight: 2, lead: true, steps: []step{{0, mIgnore}, {2, mPerson}, {1, mRequest | mTold}}},
	{name: "override", kind: Order, weight: 2, lead: true, steps: []step{{0, mIgnore}, {3, mPrior}, {3, mRule}}},
	{name: "override", kind: Order, weight: 2, denied: true, steps: []step{{0, mNeg}, {0, mDo}, {2, mPrior}, {1, mRules}}},
	{name: "override", kind: Order, weight: 3, denied: true, across: true, steps: []step{{0, mNeg}, {0, mDo}, {2, mPrior}, {1, mRules}, {2, mDo}, {0, mThis}, {1, mLead}}},
	{name: "void", kind: Order, weight: 2, steps: []step{{0, mYour}, {2, mRules | mRule}, {3, mVoid}}},
	{name: "void", kind: Order, weight: 1, steps: []step{{0, mSafety | mRule}, {2, mVoid}}},
	{name: "void", kind: Order, weight: 2, steps: []step{{0, mRules | mRule}, {2, mNo}, {0, mLonger}, {0, mBound}}},
	{name: "task", kind: Order, weight: 1, steps: []step{{0, mYour}, {1, mNew}, {1, mTask}}},
	{name: "task", kind: Order, weight: 1, lead: true, steps: []step{{0, mNew}, {0, mTask}}},

	{name: "end", kind: Imitation, weight: 1, lead: true, steps: []step{{0, mEnd}, {2, mResult}}},

	{name: "secrecy", kind: Order, weight: 3, denied: true, steps: []step{{0, mNeg}, {2, mTell}, {2, mPerson}, {2, mThis}, {1, mRules}}},
	{name: "secrecy", kind: Order, weight: 2, denied: true, steps: []step{{0, mNeg}, {2, mTell}, {2, mThis}, {3, mPerson}}},
	{name: "secrecy", kind: Order, weight: 2, denied: true, steps: []step{{0, mNeg}, {2, mTell}, {2, mPerson}, {3, mThis}}},
	{name: "secrecy", kind: Order, weight: 1, denied: true, steps: []step{{0, mNeg}, {2, mTell}, {4, mPerson}}},
	{name: "secrecy", kind: Order, weight: 1, denied: true, steps: []step{{0, mNeg}, {0, mTell}, {0, mThis}}},
	{name: "secrecy", kind: Order, weight: 2, steps: []step{{0, mTell}, {2, mPerson}, {1, mNothing}}},
	{name: "secrecy", kind: Order, weight: 2, steps: []step{{0, mPerson}, {2, mUntold}}},

	{name: "now", kind: Order, weight: 1, steps: []step{{0, mYou}, {0, mAre}, {0, mNow}}},
	{name: "unbound", kind: Order, weight: 3, steps: []step{{0, mYou}, {0, mAre}, {1, mNow}, {2, mUnbound}}},
	{name: "unbound", kind: Order, weight: 2, steps: []step{{0, mYou}, {1, mNo}, {1, mLimits}}},
	{name: "unbound", kind: Order, weight: 2, steps: []step{{0, mYou}, {0, mAre}, {0, mNo}, {0, mLonger}, {2, mBound}}},
	{name: "unbound", kind: Order, weight: 1, denied: true, steps: []step{{0, mNeg}, {1, mLimits}}},
	{name: "unbound", kind: Order, weight: 1, steps: []step{{0, mUnbound}}},
	{name: "pretend", kind: Order, weight: 1, lead: true, steps: []step{{0, mPretend}, {2, mYou}}},
	{name: "anything", kind: Order, weight: 2, steps: []step{{0, mAnswer}, {0, mNow}}},

	{name: "must", kind: Order, weight: 1, steps: []step{{0, mAgent | mYou}, {4, mMust}, {3, mDo}}},
	{name: "must", kind: Order, weight: 1, steps: []step{{0, mMust}, {1, mYou}, {0, mDo}}},
	{name: "addressed", kind: Order, weight: 1, steps: []step{{0, mAgent}, {1, mMust}, {1, mMust}}},
	{name: "fetch", kind: Order, weight: 2, steps: []step{{0, mAgent}, {4, mMust}, {3, mDo}, {6, mFetch}}},
	{name: "addressed", kind: Order, weight: 1, steps: []step{{0, mIf}, {0, mYou}, {0, mAre}, {3, mAgent}}},
	{name: "addressed", kind: Order, weight: 1, steps: []step{{0, mNote}, {3, mAgent}}},
	{name: "addressed", kind: Order, weight: 1, steps: []step{{0, mAgent}, {2, mRead}, {0, mThis}}},
	{name: "addressed", kind: Order, weight: 1, across: true, steps: []step{{0, mBefore}, {1, mAnswer}}},
	{name: "pipe", kind: Order, weight: 1, steps: []step{{0, mFetch}, {8, mPipe}, {3, mShell}}},
	{name: "pipe", kind: Order, weight: 2, steps: []step{{0, mDecode}, {2, mPipe}, {2, mShell}}},
	{name: "approve", kind: Order, weight: 1, steps: []step{{0, mApprove}, {1, mEvery | mPrior}, {1, mPermission}}},
	{name: "approve", kind: Order, weight: 1, steps: []step{{0, mAsk}, {1, mPerson}, {2, mApprove | mDisable}}},
	{name: "disable", kind: Order, weight: 1, steps: []step{{0, mDisable}, {2, mSafety}}},
	{name: "unasked", kind: Order, weight: 1, denied: true, steps: []step{{0, mNeg}, {0, mAsk}}},
	{name: "unasked", kind: Order, weight: 1, denied: true, steps: []step{{0, mNeg}, {2, mConfirm}}},

	{name: "prompt", kind: Leak, weight: 2, steps: []step{{0, mReveal}, {2, mYour}, {0, mSystem}, {1, mRules}}},
	{name: "prompt", kind: Leak, weight: 1, steps: []step{{0, mReveal}, {2, mSystem}, {1, mRules}}},
	{name: "file", kind: Leak, weight: 3, hard: true, single: true, steps: []step{{0, mSend}, {6, mSecretFile}, {8, mTo}}},
	{name: "file", kind: Leak, weight: 3, hard: true, single: true, steps: []step{{0, mSecretFile}, {12, mSend}, {8, mTo}}},
	{name: "file", kind: Leak, weight: 3, hard: true, single: true, steps: []step{{0, mSend}, {2, mTo}, {4, mSecretFile}}},
	{name: "file", kind: Leak, weight: 3, single: true, steps: []step{{0, mSecretFile}, {12, mSend}, {0, mThis}, {3, mTo}}},
	{name: "file", kind: Leak, weight: 2, single: true, steps: []step{{0, mSend}, {6, mSecretFile}, {8, mTo}}},
	{name: "file", kind: Leak, weight: 2, single: true, steps: []step{{0, mSecretFile}, {12, mSend}, {8, mTo}}},
	{name: "file", kind: Leak, weight: 3, steps: []step{{0, mEnv}, {0, mVariables}, {8, mSend}, {6, mTo}}},
	{name: "file", kind: Leak, weight: 1, steps: []step{{0, mRead}, {4, mSecretFile}}},
	{name: "file", kind: Leak, weight: 1, steps: []step{{0, mSend}, {6, mSecretFile}}},
	{name: "secret", kind: Leak, weight: 2, hard: true, single: true, steps: []step{{0, mSend}, {6, mSecret}, {8, mTo}}},
	{name: "secret", kind: Leak, weight: 1, single: true, steps: []step{{0, mSend}, {6, mSecret}, {8, mTo}}},
	{name: "secret", kind: Leak, weight: 2, hard: true, single: true, steps: []step{{0, mSecret}, {8, mSend}, {4, mTo}}},
	{name: "secret", kind: Leak, weight: 1, single: true, steps: []step{{0, mSecret}, {8, mSend}, {4, mTo}}},
	{name: "secret", kind: Leak, weight: 3, steps: []step{{0, mSteal}, {5, mSecret}}},
	{name: "carry", kind: Link, weight: 3, steps: []step{{0, mAppend}, {3, mSecret | mSaid}, {4, mQuery}, {3, mTo | mQuery}}},
	{name: "carry", kind: Link, weight: 3, steps: []step{{0, mSecret}, {8, mAppend}, {4, mTo}, {4, mQuery}}},

	{name: "marker", kind: Imitation, weight: 2, steps: []step{{0, mMarker}}},
	{name: "turn", kind: Imitation, weight: 1, steps: []step{{0, mTurn}}},

	{name: "fetches", kind: Order, steps: []step{{0, mFetch}, {6, mTo}}},
	{name: "sends", kind: Leak, steps: []step{{0, mSend}, {8, mSecret}}},
	{name: "names", kind: Leak, steps: []step{{0, mSecretFile}}},
}

// names is how many names there can be.
const names = 32

func init() {
	ids := map[string]int{}
	for i := range shapes {
		name := shapes[i].name
		if _, ok := ids[name]; !ok {
			ids[name] = len(ids)
		}
		shapes[i].id = ids[name]
	}
}

// byFirst are the shapes by the meaning that they begin with.
var byFirst = func() (out [64][]*shape) {
	for i := range shapes {
		for m := uint64(shapes[i].steps[0].is); m != 0; m &= m - 1 {
			at := bits.TrailingZeros64(m)
			out[at] = append(out[at], &shapes[i])
		}
	}
	return out
}()

// match is a shape that was found.
type match struct {
	shape   *shape
	at, end int32
}

// matches finds the shapes in what was read.
func matches(w *work, ws []word) (out []match) {
	for i := range ws {
		if w.spent() {
			return out
		}
		for m := uint64(ws[i].is); m != 0; m &= m - 1 {
			for _, s := range byFirst[bits.TrailingZeros64(m)] {
				if end, ok := s.at(w, ws, i); ok {
					out = append(out, match{s, ws[i].at, end})
				}
			}
		}
	}
	return out
}

// at reports whether a shape begins with the word i, and where it ends. The words that
// can be a step are one bit each, so the time is bounded whatever the text is.
func (s *shape) at(w *work, ws []word, i int) (end int32, ok bool) {
	first := &ws[i]
	if s.lead && !first.lead || first.negated && !s.denied || s.hard && first.soft {
		return 0, false
	}
	const window = 48
	ws = ws[i:min(len(ws), i+window)]
	reach := uint64(1)
	for _, st := range s.steps[1:] {
		next := uint64(0)
		for m := reach; m != 0; m &= m - 1 {
			from := bits.TrailingZeros64(m)
			for j := from + 1; j < len(ws) && ws[j].n-ws[from].n-1 <= st.gap; j++ {
				w.charge(1)
				if ws[j].sentence != first.sentence && !s.across {
					break
				}
				if s.single && ws[j].command != first.command {
					break
				}
				if ws[j].is&st.is != 0 && !(s.hard && ws[j].soft) {
					next |= 1 << j
				}
			}
		}
		if reach = next; reach == 0 {
			return 0, false
		}
	}
	return ws[bits.TrailingZeros64(reach)].end, true
}
