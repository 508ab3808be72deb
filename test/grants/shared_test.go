package grants

import "ringfence.dev/ringfence/internal/control"

type pending = control.Pending
