package workloads

import "github.com/torture-harness/torture/harness/history"

// operation records one call: its invocation before the request is sent, its
// completion after the reply was read.
type operation struct {
	client *Client
	kind   history.Kind
	id     string
	call   int64
}

// Done is an operation as its client saw it.
type Done struct {
	Op        string          `json:"op,omitempty"` // its id; the grant's too, if it is an acquire that succeeded
	Kind      history.Kind    `json:"kind,omitempty"`
	Outcome   history.Outcome `json:"outcome,omitempty"` // "" if nothing was tried
	Call      int64           `json:"call,omitempty"`    // ns, CLOCK_MONOTONIC
	Return    int64           `json:"return,omitempty"`
	Token     int64           `json:"token,omitempty"`
	WriteID   string          `json:"write_id,omitempty"` // of a read: what it saw
	Version   int64           `json:"version,omitempty"`
	LeaseCall int64           `json:"lease_call,omitempty"`
	LeaseTTL  int64           `json:"lease_ttl,omitempty"`
	Error     string          `json:"error,omitempty"`
	Tries     int             `json:"tries,omitempty"` // of an acquire: attempts made
}

func (c *Client) operation(kind history.Kind) *operation {
	return &operation{client: c, kind: kind, id: c.NewID()}
}

// begin stamps and records the invocation. It is the last thing done before
// the request goes out, and comes after every breakpoint.
func (o *operation) begin(e history.Event) {
	c := o.client
	o.call = history.Now()
	e.Type, e.Time, e.Op, e.Kind = history.TypeInvoke, o.call, o.id, o.kind
	e.Process, e.Worker, e.Client, e.Resource = c.process(), c.Worker, c.name(), c.Resource
	c.Record(e)
}

// end records the completion. The time must have been taken when the reply was read.
func (o *operation) end(e history.Event) Done {
	c := o.client
	e.Type, e.Op = history.TypeComplete, o.id
	c.Record(e)
	if e.Outcome == history.Info {
		c.incarnation++
	}
	return Done{Op: o.id, Kind: o.kind, Outcome: e.Outcome, Call: o.call, Return: e.Time, Token: e.Token, WriteID: e.WriteID,
		Version: e.Version, LeaseCall: e.LeaseCall, LeaseTTL: e.LeaseTTL, Error: e.Error}
}

// endLock records the completion of a request to the lock's server.
func (o *operation) endLock(err error) Done {
	e := history.Event{Time: history.Now(), Outcome: lockOutcome(err)}
	if err != nil {
		e.Error = err.Error()
	}
	return o.end(e)
}
