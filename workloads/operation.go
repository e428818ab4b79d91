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
func (o *operation) end(e history.Event) {
	c := o.client
	e.Type, e.Op = history.TypeComplete, o.id
	c.Record(e)
	if e.Outcome == history.Info {
		c.incarnation++
	}
}

// endLock records the completion of a request to the lock's server.
func (o *operation) endLock(err error) {
	e := history.Event{Time: history.Now(), Outcome: lockOutcome(err)}
	if err != nil {
		e.Error = err.Error()
	}
	o.end(e)
}
